"""The regions of two inputs where each class is chosen."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from scipy.sparse import csr_matrix
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, make_blobs
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from polychotomy import PolychotomyClassifier
from polychotomy.plots import DecisionRegionDisplay, decision_region, decision_regions

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])


def test_every_point_is_asked_with_the_others_at_their_medians():
    clf = LogisticRegression(max_iter=1000).fit(X, NAMES[Y])
    regions = decision_regions(clf, X, (3, 1), grid_size=12)
    medians = np.median(X, axis=0)
    assert regions.x[0] < X[:, 3].min() < X[:, 3].max() < regions.x[-1]
    for i, second in enumerate(regions.y):
        for j, first in enumerate(regions.x):
            p = clf.predict_proba([[medians[0], second, medians[2], first]])[0]
            assert regions.winner[i, j] == p.argmax()
            assert regions.probability[i, j] == pytest.approx(p.max())
    assert regions.names == ("input 3", "input 1")
    assert regions.fixed == {"input 0": medians[0], "input 2": medians[2]}


def test_it_does_not_matter_in_which_pieces_the_grid_is_asked(monkeypatch):
    # Not a linear model: the last bits of its products depend on how many rows there are.
    clf = GaussianNB().fit(X, Y)
    whole = decision_regions(clf, X, grid_size=15)
    monkeypatch.setattr(decision_region, "ROWS_AT_ONCE", 16)
    pieces = decision_regions(clf, X, grid_size=15)
    np.testing.assert_array_equal(whole.winner, pieces.winner)
    np.testing.assert_array_equal(whole.probability, pieces.probability)


def test_classifiers_without_probabilities():
    clf = RidgeClassifier().fit(X, NAMES[Y])
    regions = decision_regions(clf, X, (2, 3), grid_size=9)
    assert regions.probability is None
    held = np.median(X, axis=0)
    row = [[held[0], held[1], regions.x[5], regions.y[2]]]
    assert regions.classes[regions.winner[2, 5]] == clf.predict(row)[0]
    display = DecisionRegionDisplay(regions).plot()
    assert len(np.unique(display.im_.get_array()[..., 3])) == 1


def test_data_frames_keep_their_names_and_types():
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["kind"] = pd.Categorical(np.where(np.arange(150) % 3, "often", "rarely"))
    encoder = make_column_transformer((OneHotEncoder(), ["kind"]), remainder=StandardScaler())
    clf = make_pipeline(encoder, LogisticRegression()).fit(frame, Y)
    regions = decision_regions(clf, frame, ("c", "d"), grid_size=8)
    assert regions.names == ("c", "d")
    assert regions.fixed == {"a": np.median(X[:, 0]), "b": np.median(X[:, 1]), "kind": "often"}
    display = DecisionRegionDisplay.from_estimator(clf, frame, Y, ("c", 3), grid_size=8)
    assert display.ax_.get_title() == "3 other inputs at their typical values"
    np.testing.assert_array_equal(display.points, X[:, 2:])


def test_colours_say_the_class_and_how_sure_it_is(can_be_read):
    clf = GaussianNB().fit(X[:, :2], NAMES[Y])
    display = DecisionRegionDisplay.from_estimator(clf, X[:, :2], NAMES[Y], grid_size=30)
    image = display.im_.get_array()
    regions, ax = display.regions, display.ax_
    fills = [to_rgb(points.get_facecolor()[0]) for points in ax.collections[-3:]]
    for k in range(3):
        # Regions have the colours of the rows of their class.
        assert len(np.unique(image[regions.winner == k], axis=0)) > 1
        np.testing.assert_allclose(
            image[regions.winner == k][:, :3], [fills[k]] * ((regions.winner == k).sum())
        )
        rows = ax.collections[k - 3].get_offsets()
        np.testing.assert_array_equal(rows, X[Y == k, :2])
    order = np.argsort(regions.probability.ravel())
    assert (np.diff(image[..., 3].ravel()[order]) >= 0).all()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == NAMES.tolist()
    assert ax.get_title() == ""
    can_be_read(display.figure_)


def test_many_classes_are_written_into_their_regions():
    B, b = make_blobs(130, centers=26, center_box=(-20, 20), cluster_std=0.5, random_state=0)
    clf = GaussianNB().fit(B, b)
    display = DecisionRegionDisplay.from_estimator(clf, B, grid_size=60)
    regions = display.regions
    written = {int(text.get_text()): text.get_position() for text in display.ax_.texts}
    assert set(written) == set(np.unique(regions.winner))
    for label, (x, y) in written.items():
        assert clf.predict([[x, y]])[0] == label
    assert display.ax_.get_legend() is None
    styles = decision_region.class_styles(100)
    assert len({tuple(style.items()) for style in styles}) == 100


def test_given_axes_and_one_held_input(can_be_read):
    clf = PolychotomyClassifier(LogisticRegression()).fit(X[:, :3], Y)
    _, ax = plt.subplots()
    display = DecisionRegionDisplay.from_estimator(
        clf, X[:, :3], grid_size=10, ax=ax, boundaries=False
    )
    assert display.ax_ is ax
    assert not ax.collections
    can_be_read(display.figure_)
    assert ax.get_title() == f"input 2 = {np.median(X[:, 2]):.3g}"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            {"features": (0, 9)},
            "features has 9, which is not an input; X has 4: 'input 0', 'input 1'",
        ),
        ({"features": (0, "a")}, "features has 'a'"),
        ({"features": (1, 1)}, "two different inputs"),
        ({"features": (1,)}, "features must be two inputs"),
        ({"features": "ab"}, "features must be two inputs"),
        ({"grid_size": 5000}, "from 2 to 1000, got 5000"),
        ({"grid_size": 1}, "from 2 to 1000"),
        ({"X": X[:, :1]}, "at least two inputs"),
        ({"X": X[0]}, "X must have 2 dimensions"),
        ({"y": Y[:3]}, "one class for each of the 150 rows"),
        ({"X": np.where(X > 0, "word", "")}, "'input 0' holds no numbers"),
    ],
)
def test_bad_input_is_explained(arguments, sentence):
    clf = GaussianNB().fit(X, Y)
    with pytest.raises(ValueError, match=sentence):
        DecisionRegionDisplay.from_estimator(clf, **{"X": X, "grid_size": 5, **arguments})


def test_sparse_inputs_and_unfitted_classifiers_are_refused():
    with pytest.raises(TypeError, match="need a dense X"):
        decision_regions(GaussianNB().fit(X, Y), csr_matrix(X))
    with pytest.raises(ValueError, match="not fitted"):
        decision_regions(GaussianNB(), X)
