"""What holds for all pictures."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from polychotomy import OneVsOne, plots
from polychotomy.plots import _drawing


@pytest.mark.parametrize("name", plots.__all__)
def test_public_names_have_an_example(name):
    assert ">>>" in getattr(plots, name).__doc__


def test_public_names_are_sorted():
    assert plots.__all__ == sorted(plots.__all__)


def test_without_matplotlib_one_sentence_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'polychotomy\[plot\]'"):
        plots.CodebookDisplay.from_codebook(OneVsOne().build(3))
    with pytest.raises(ImportError, match="Drawing needs matplotlib"):
        plots.ReliabilityDisplay.from_predictions([0, 1], np.eye(2))


def luminance(colour):
    channel = np.array(to_rgb(colour))
    linear = np.where(channel <= 0.04045, channel / 12.92, ((channel + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(first, second):
    light, dark = sorted([luminance(first), luminance(second)], reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_lines_and_texts_stand_out_in_light_and_dark(style):
    with plt.style.context(style):
        y, p = np.array([0, 1] * 20), np.tile([[0.7, 0.3], [0.4, 0.6]], (20, 1))
        display = plots.ReliabilityDisplay.from_predictions(y, p)
        paper = display.ax_.get_facecolor()
        assert contrast(_drawing.text_colour(), paper) > 10
        assert contrast(display.lines_[None].get_color(), paper) > 10


@pytest.mark.parametrize("colour", ["white", "black", "#542788", "#fdb863", "0.5", "#00ff00"])
def test_numbers_have_the_better_contrast_with_their_cell(colour):
    best = max(["black", "white"], key=lambda text: contrast(text, colour))
    assert _drawing.readable_on(to_rgb(colour)) == best
