"""What a search found, drawn over its parameters."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import Rectangle
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polychotomy import SVM, MethodSweep, PolychotomyClassifier, TwoStepSearchCV
from polychotomy.plots import SearchSurfaceDisplay, search_surface

X, Y = load_iris(return_X_y=True)
X, Y = X[::2], Y[::2]
GRID = {"machine__sigma2": [1.0, 10.0, 100.0], "machine__C": [0.1, 1.0, 10.0, 100.0]}
# A factor of 10 leads to cells that the coarse grid has already.
FACTORS = [0.5, 1, 10]


@pytest.fixture(scope="module")
def search():
    found = TwoStepSearchCV(coarse=GRID, fine=FACTORS, show_progress=False).fit(X, Y)
    # Two cells that failed: one of the coarse grid, one of the fine one alone.
    failed = [0, int(np.flatnonzero(found.cv_results_["step"] == "fine")[0])]
    found.cv_results_["status"][failed] = "It did not converge."
    for name in ("cv_error", "cv_nll"):
        found.cv_results_[name][failed] = np.nan
    return found


def hatched(display):
    return [patch for patch in display.ax_.patches if patch.get_hatch()]


@pytest.mark.parametrize("figure", ["error", "nll"])
@pytest.mark.parametrize("step", ["coarse", "fine"])
def test_every_cell_is_in_its_place(search, figure, step):
    surface = search_surface(search, figure)
    assert surface.names == ("machine__C", "machine__sigma2")
    across, along, values, failed = surface.grid(step)
    table = search.cv_results_
    cells = {(c["machine__C"], c["machine__sigma2"]): k for k, c in enumerate(table["params"])}
    assert set(across) == {
        c["machine__C"] for k, c in enumerate(table["params"]) if table["step"][k] == step
    }
    assert values.shape == (len(along), len(across))
    for i, sigma2 in enumerate(along):
        for j, C in enumerate(across):
            k = cells[C, sigma2]
            np.testing.assert_equal(values[i, j], table[f"cv_{figure}"][k])
            assert failed[i, j] == (table["status"][k] != "ok")
    assert failed.sum() >= 1


def test_both_steps_are_drawn(search, can_be_read):
    display = SearchSurfaceDisplay.from_search(search)
    ax = display.ax_
    coarse, fine = ax.collections
    _, _, values, failed = display.surface.grid("coarse")
    drawn = coarse.get_array().reshape(values.shape)
    np.testing.assert_array_equal(np.ma.getmaskarray(drawn), failed)
    np.testing.assert_array_equal(drawn.compressed(), values[~failed])
    assert coarse.norm is fine.norm
    n_failed = sum(display.surface.grid(step)[3].sum() for step in ("coarse", "fine"))
    assert len(hatched(display)) == n_failed
    frames = [p for p in ax.patches if isinstance(p, Rectangle) and not p.get_fill()]
    assert len(frames) == 1
    (star,) = ax.lines
    best = search.best_params_
    assert star.get_xydata().tolist() == [[best["machine__C"], best["machine__sigma2"]]]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("C", "sigma2")
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    # A cell is around its value.
    x0, x1 = ax.get_xlim()
    assert x0 == pytest.approx(0.1 / 10**0.5)
    assert x1 > 100
    can_be_read(display.figure_)


@pytest.mark.parametrize("step", ["coarse", "fine"])
def test_one_step_alone(search, step, can_be_read):
    display = SearchSurfaceDisplay.from_search(search, "nll", step)
    assert len(display.ax_.collections) == 1
    assert display.figure_.axes[1].get_ylabel() == "cross-validated NLL"
    can_be_read(display.figure_)


def test_the_default_grids_can_be_read(can_be_read):
    search = TwoStepSearchCV(show_progress=False).fit(X[::3], Y[::3])
    for step in (None, "coarse", "fine"):
        can_be_read(SearchSurfaceDisplay.from_search(search, step=step).figure_)


def test_one_parameter_is_a_curve(can_be_read):
    search = TwoStepSearchCV(
        PolychotomyClassifier(SVM(sigma2=10)),
        {"machine__C": [0.1, 1, 10]},
        [0.5, 2],
        show_progress=False,
    ).fit(X, Y)
    search.cv_results_["status"][0] = "It did not converge."
    _, ax = plt.subplots()
    display = SearchSurfaceDisplay.from_search(make_pipeline(StandardScaler(), search), ax=ax)
    assert display.ax_ is ax
    lines = {line.get_label(): line for line in ax.lines}
    table = search.cv_results_
    good = table["status"] == "ok"
    for step in ("coarse", "fine"):
        rows = good & (table["step"] == step)
        found = sorted(zip(table["param_machine__C"][rows], table["cv_error"][rows], strict=True))
        np.testing.assert_allclose(lines[f"{step} step"].get_xydata(), found)
    assert lines["chosen"].get_xdata().tolist() == [search.best_params_["machine__C"]]
    assert lines["failed"].get_xdata().tolist() == [0.1]
    can_be_read(display.figure_)


def test_a_method_of_a_sweep_is_what_its_own_search_finds():
    sweep = MethodSweep(["MWV_SVM", "PWC_PSVM"], GRID, FACTORS, show_progress=False).fit(X, Y)
    surface = search_surface(sweep, "nll", method="PWC_PSVM")
    classifier = sweep.classifiers_["PWC_PSVM"]
    alone = search_surface(
        TwoStepSearchCV(classifier, GRID, FACTORS, show_progress=False).fit(X, Y), "nll"
    )
    np.testing.assert_array_equal(surface.values, alone.values)
    np.testing.assert_array_equal(surface.figure, alone.figure)
    np.testing.assert_array_equal(surface.best, alone.best)
    display = SearchSurfaceDisplay.from_search(sweep, method="MWV_SVM")
    assert display.ax_.get_title() == "MWV_SVM"
    with pytest.raises(ValueError, match="has no negative log-likelihoods"):
        search_surface(sweep, "nll", method="MWV_SVM")
    with pytest.raises(ValueError, match="method must be one of 'MWV_SVM' or 'PWC_PSVM'"):
        search_surface(sweep)
    with pytest.raises(ValueError, match=r"Unknown method 'PWC_SVM'\. Choose 'MWV_SVM' or"):
        search_surface(sweep, method="PWC_SVM")


def test_other_parameters_are_held_at_their_best():
    grid = {"machine__C": [1.0, 10.0], "machine__kernel": ["linear", "rbf"]}
    search = TwoStepSearchCV(coarse=grid, fine=None, show_progress=False).fit(X, Y)
    surface = search_surface(search)
    best = search.best_params_["machine__kernel"]
    assert surface.names == ("machine__C",)
    assert surface.fixed == {"machine__kernel": best}
    table = search.cv_results_
    np.testing.assert_array_equal(
        surface.figure, table["cv_error"][table["param_machine__kernel"] == best]
    )
    assert SearchSurfaceDisplay(surface).plot().ax_.get_title() == f"kernel = {best}"
    with pytest.raises(ValueError, match="positive numbers, which the values of 'machine__kernel'"):
        search_surface(search, parameters=["machine__kernel"])


def test_an_infinite_nll_has_the_last_colour(search):
    surface = search_surface(search, "nll")
    surface.figure[1] = np.inf
    mesh = SearchSurfaceDisplay(surface).plot(step="coarse").ax_.collections[0]
    finite = surface.figure[np.isfinite(surface.figure) & (surface.step == "coarse")]
    assert mesh.norm.vmax == finite.max()
    assert (mesh.get_array() == finite.max()).sum() == 2


def test_bad_input_is_explained(search):
    with pytest.raises(ValueError, match="Unknown figure 'brier'"):
        search_surface(search, "brier")
    with pytest.raises(ValueError, match="Unknown step 'finest'"):
        SearchSurfaceDisplay.from_search(search, step="finest")
    with pytest.raises(ValueError, match="Unknown parameter 'machine__c'"):
        search_surface(search, parameters="machine__c")
    with pytest.raises(TypeError, match="got GridSearchCV"):
        search_surface(GridSearchCV(LogisticRegression(), {}))
    with pytest.raises(ValueError, match="not fitted"):
        search_surface(TwoStepSearchCV())
    coarse = TwoStepSearchCV(coarse={"machine__C": [1, 10]}, fine=None, show_progress=False)
    with pytest.raises(ValueError, match="no fine cells of its own; choose step='coarse'"):
        SearchSurfaceDisplay.from_search(coarse.fit(X, Y), step="fine")
    nothing = TwoStepSearchCV(coarse={}, show_progress=False).fit(X, Y)
    with pytest.raises(ValueError, match="had no parameters to choose"):
        search_surface(nothing)
