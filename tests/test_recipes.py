"""The papers' methods by name."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale
from sklearn.tree import DecisionTreeClassifier

import polychotomy as pc

X, y = load_iris(return_X_y=True)
X = scale(X)


def test_all_methods_of_the_papers_are_there():
    table = pc.recipes()
    duan = (
        "SMC1va SSMC1va SMC1v1 SSMC1v1 WTA_SVM WTA_PSVM WTA_KLR MWV_SVM MWV_PSVM MWV_KLR "
        "PWC_PSVM PWC_KLR"
    )
    galar = "VOTE WV PC DDAG LVPC ND BTC NEST PE MAX DOO"
    assert set(duan.split()) == {k for k, v in table.items() if "DUAN03" in v.papers}
    assert set(galar.split()) == {k for k, v in table.items() if "GALAR" in v.papers}
    assert sum("VANGESTEL" in method.papers for method in table.values()) == 32


@pytest.mark.parametrize("name", pc.recipes())
def test_every_recipe_learns_and_has_probabilities_where_it_says_so(name):
    clf = pc.recipe(name, random_state=0)
    assert hasattr(clf, "predict_proba") == pc.recipes()[name].probabilities
    if name.startswith("SMC"):
        clf.set_params(decoder__C_values=[0.1, 1.0, 10.0])
    assert clf.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.75


def test_the_table_prints_a_line_for_every_recipe():
    lines = str(pc.recipes()).splitlines()
    assert len(lines) == 60
    columns = ["name", "code", "machine", "calibrator", "decoder", "probabilities", "paper"]
    assert lines[0].split() == columns
    assert next(list(row) for row in pc.recipes().rows()) == columns


@pytest.mark.parametrize("name", ["pwc-psvm", "PWC PSVM", "pwcpsvm"])
def test_signs_and_case_do_not_matter(name):
    assert pc.recipe(name).get_params()["decoder__method"] == "hastie_tibshirani"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("PWC_PSVN", "'PWC_PSVM'"),
        ("LSSVM_RBF_MOC_Baies", "'LSSVM_RBF_MOC_Bayes'"),
        ("votes", "'VOTE'"),
    ],
)
def test_unknown_names_get_the_nearest_suggested(name, near):
    with pytest.raises(ValueError, match=near):
        pc.recipe(name)


def test_tuned_recipes_are_in_their_papers_search():
    duan = pc.recipe("PWC_KLR", tuned=True)
    assert (duan.ties, duan.coarse, len(duan.fine), duan.cv) == ("duan2003", None, 9, None)
    assert pc.recipe("PWC_KLR", tuned=True, paper="DUAN05").ties == "duan2005"
    svm = pc.recipe("SVM_RBF_MOC_loss", tuned=True)
    assert (svm.fine, svm.cv) == (None, 10)
    assert isinstance(pc.recipe("LSSVM_RBF_MOC_Bayes", tuned=True), pc.PolychotomyClassifier)
    small = {"machine__C": [1.0, 10.0]}
    search = pc.recipe("WTA_SVM", tuned=True).set_params(coarse=small, fine=None)
    assert search.fit(X, y).score(X, y) > 0.8


def test_any_machine_can_take_part():
    own = pc.recipe("PE", machine=LogisticRegression())
    assert isinstance(own.calibrator, pc.NoCalibration)
    p = own.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    tree = pc.recipe("NEST", machine=DecisionTreeClassifier(random_state=0))
    assert tree.fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: pc.recipe("SMC1va", paper="DUAN05"), ValueError, "describes SMC1va"),
        (lambda: pc.recipe(3), TypeError, "name must be a string"),
        (
            lambda: pc.recipe("VOTE", machine=DecisionTreeClassifier(), tuned=True),
            ValueError,
            "which DecisionTreeClassifier does not have",
        ),
    ],
)
def test_bad_requests_are_refused_in_a_sentence(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()
