"""What the tests of pictures share."""

import itertools

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def without_a_screen():
    with mpl.rc_context():
        plt.switch_backend("Agg")
        yield
        plt.close("all")


@pytest.fixture
def can_be_read():
    """Return a check that the texts of a figure neither overlap nor leave it."""

    def check(figure):
        figure.canvas.draw()
        whole = figure.bbox.padded(1.0)
        for ax in figure.findobj(mpl.axes.Axes):
            texts = [text for text in _texts(ax) if text.get_visible() and text.get_text()]
            boxes = [(text.get_window_extent(), text) for text in texts]
            for box, text in boxes:
                assert whole.x0 <= box.x0 <= box.x1 <= whole.x1, text
                assert whole.y0 <= box.y0 <= box.y1 <= whole.y1, text
            # The boxes around slanted texts overlap even if they do not.
            straight = [(box, text) for box, text in boxes if text.get_rotation() in (0, 90)]
            for (first, one), (second, other) in itertools.combinations(straight, 2):
                assert not first.overlaps(second), (one, other)

    return check


def _texts(ax):
    """Return the texts that are drawn; of the ticks those within the limits."""
    yield from (ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts)
    if ax.get_legend() is not None:
        yield from (ax.get_legend().get_title(), *ax.get_legend().get_texts())
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        # Ticks without labels have none here.
        named = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=False)
        for place, label in named:
            if low <= place <= high:
                yield label
