"""The picture of mean ranks: what is in it, and that it can be read."""

import itertools

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from polychotomy.statistics import rank_methods
from polychotomy.study import CriticalDifferenceDisplay


@pytest.fixture(autouse=True)
def without_a_screen():
    with mpl.rc_context():
        plt.switch_backend("Agg")
        yield
        plt.close("all")


def scores(n_methods, n_data_sets=20, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_data_sets, n_methods)) + np.linspace(0, 2, n_methods)


def names(n_methods):
    return [f"method number {i}" for i in range(n_methods)]


def bars(display, color="tab:red"):
    return [line for line in display.ax_.lines if line.get_color() == color]


@pytest.mark.parametrize("n_methods", [2, 3, 7, 12, 25])
def test_texts_neither_overlap_nor_leave_the_picture(n_methods):
    display = CriticalDifferenceDisplay.from_scores(scores(n_methods), names(n_methods))
    display.figure_.canvas.draw()
    boxes = [text.get_window_extent() for text in display.ax_.texts]
    for first, second in itertools.combinations(boxes, 2):
        assert not first.overlaps(second)
    for box in boxes:
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= display.figure_.bbox.x1
        assert box.y1 <= display.figure_.bbox.y1


def test_methods_and_groups_are_where_their_ranks_are():
    display = CriticalDifferenceDisplay.from_scores(scores(7), names(7))
    ranking = display.ranking
    rank_of = dict(zip(ranking.methods, ranking.ranks, strict=True))
    drawn = [text.get_text() for text in display.ax_.texts]
    for method, rank in rank_of.items():
        assert sum(method in text and f"{rank:.2f}" in text for text in drawn) == 1
        assert any(line.get_xdata()[0] == rank for line in display.ax_.lines)
    assert len(bars(display)) == len(ranking.groups) > 1
    for bar, group in zip(bars(display), ranking.groups, strict=True):
        expected = [rank_of[group[0]], rank_of[group[-1]]]
        np.testing.assert_allclose(bar.get_xdata(), expected, atol=0.05)


def test_lines_to_the_labels_do_not_cross():
    display = CriticalDifferenceDisplay.from_scores(scores(12), names(12))
    elbows = [line.get_xydata() for line in display.ax_.lines if len(line.get_xdata()) == 3]
    assert len(elbows) == 12
    for a, b in itertools.permutations(elbows, 2):
        # The level part of a does not meet the upright part of b.
        left, right = sorted(a[1:, 0])
        meets = left < b[0, 0] < right and b[1, 1] < a[1, 1]
        assert not meets


def test_it_draws_into_given_axes_and_takes_data_frames():
    _, ax = plt.subplots()
    frame = pd.DataFrame(scores(4), columns=list("abcd"))
    display = CriticalDifferenceDisplay.from_scores(frame, ax=ax, bar_color="blue")
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert set(display.ranking.methods) == set("abcd")
    assert bars(display, "blue")


def test_accuracies_are_ranked_the_other_way_round():
    up = CriticalDifferenceDisplay.from_scores(scores(4), names(4))
    down = CriticalDifferenceDisplay.from_scores(scores(4), names(4), lower_is_better=False)
    assert up.ranking.methods == down.ranking.methods[::-1]


def test_it_can_be_read_on_a_dark_background():
    with plt.style.context("dark_background"):
        display = CriticalDifferenceDisplay.from_scores(scores(4), names(4))
    assert {text.get_color() for text in display.ax_.texts} == {"white"}
    assert {line.get_color() for line in display.ax_.lines} == {"white", "tab:red"}


def test_bad_input_is_explained():
    with pytest.raises(ValueError, match="methods must name the columns"):
        CriticalDifferenceDisplay.from_scores(scores(3))
    with pytest.raises(ValueError, match="There are no ranks to draw"):
        CriticalDifferenceDisplay(rank_methods([[1.0, np.nan]], ["a", "b"])).plot()
