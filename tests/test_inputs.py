"""Inputs that are not arrays of numbers, for machines that take them."""

import io

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import polychotomy as pc

pandas = pytest.importorskip("pandas")
X, Y = load_iris(return_X_y=True)
TEXTS = ["a fine red wine", "a pale ale", "white wine of the coast", "dark ale and stout"] * 12
TEXTS += ["black tea with milk", "green tea"] * 12
DRINKS = np.array((["wine", "ale", "wine", "ale"] * 12) + ["tea"] * 24)


def text_classifier(**options):
    return pc.PolychotomyClassifier(
        make_pipeline(TfidfVectorizer(), LogisticRegression()), **options
    )


@pytest.mark.parametrize("form", [list, np.array, lambda texts: np.array(texts, dtype=object)])
def test_texts(form):
    clf = text_classifier(calibrator="platt", tempering=True, cv=3).fit(form(TEXTS), DRINKS)
    assert clf.predict(form(["a glass of red wine", "green tea"])).tolist() == ["wine", "tea"]
    assert clf.score(TEXTS, DRINKS) == 1.0
    assert clf.explain("stout").prediction == "ale"
    prefit = text_classifier(cv="prefit").fit(form(TEXTS[:60]), DRINKS[:60])
    prefit.calibrate(form(TEXTS[12:]), DRINKS[12:])
    assert prefit.score(form(TEXTS), DRINKS) == 1.0
    table = pc.compare_decoders(text_classifier(), form(TEXTS), DRINKS, ["max_wins"])
    assert table.rows[0]["error"] == 0.0


def test_texts_of_weight_zero_are_left_out():
    weights = np.where(np.arange(len(TEXTS)) % 5, 1.0, 0.0)
    machine = TextClassifier()
    clf = pc.PolychotomyClassifier(machine, decoder="max_wins")
    clf.fit(TEXTS, DRINKS, sample_weight=weights)
    assert clf.n_rows_ == np.count_nonzero(weights)


class TextClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of texts that takes weights."""

    def fit(self, X, y, sample_weight=None):
        assert isinstance(X, list)
        self.model_ = make_pipeline(TfidfVectorizer(), LogisticRegression())
        self.model_.fit(X, y, logisticregression__sample_weight=sample_weight)
        self.classes_ = self.model_.classes_
        return self

    def decision_function(self, X):
        return self.model_.decision_function(X)

    def predict(self, X):
        return self.model_.predict(X)


def mixed():
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    frame["word"] = pandas.Categorical(np.array(["x", "y", "z"])[(Y + np.arange(150) // 40) % 3])
    return frame


def test_data_frames_with_categories():
    frame = mixed()
    machine = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=5)
    clf = pc.PolychotomyClassifier(machine).fit(frame, Y)
    assert clf.n_features_in_ == 5
    assert clf.feature_names_in_.tolist() == list(frame.columns)
    assert clf.score(frame, Y) > 0.9
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(frame[["a", "b", "c", "d", "word"][::-1]])
    assert clf.explain(frame.iloc[[0]]).prediction == 0


def test_columns_by_name_and_missing_values_can_be_saved():
    frame = mixed().astype({"word": object})
    frame.loc[3, "a"] = np.nan
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["a", "c"]),
        (OneHotEncoder(handle_unknown="ignore"), ["word"]),
    )
    clf = pc.PolychotomyClassifier(make_pipeline(columns, LogisticRegression())).fit(frame, Y)
    file = io.BytesIO()
    pc.save(clf, file)
    file.seek(0)
    assert np.array_equal(pc.load(file).predict_proba(frame), clf.predict_proba(frame))
    numbers = frame[["a", "b", "c", "d"]]
    named = make_column_transformer((SimpleImputer(), ["c", "d"]))
    clf = pc.PolychotomyClassifier(make_pipeline(named, LogisticRegression())).fit(numbers, Y)
    assert clf.score(numbers, Y) > 0.9


def test_missing_values_reach_a_machine_that_imputes():
    missing = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    machine = make_pipeline(SimpleImputer(), LogisticRegression(max_iter=1000))
    ours = pc.PolychotomyClassifier(machine, decoder="max_wins").fit(missing, Y)
    theirs = OneVsOneClassifier(machine).fit(missing, Y)
    assert (ours.predict(missing) == theirs.predict(missing)).mean() > 0.98
    with pytest.raises(ValueError, match="NaN"):
        pc.PolychotomyClassifier(LogisticRegression()).fit(missing, Y)
    with pytest.raises(ValueError, match="NaN"):
        pc.PolychotomyClassifier().fit(missing, Y)
    with pytest.raises(ValueError, match="NaN"):
        pc.PolychotomyClassifier(machine, decoder="binary_tree").fit(missing, Y)


def test_words_where_numbers_are_needed():
    with pytest.raises(ValueError, match="Expected 2D array"):
        pc.PolychotomyClassifier().fit(TEXTS, DRINKS)


def test_polars():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": X[:, 2], "b": X[:, 3], "w": np.array(["x", "y"])[Y % 2]})
    columns = make_column_transformer(
        (StandardScaler(), ["a", "b"]), (OneHotEncoder(sparse_output=False), ["w"])
    )
    clf = pc.PolychotomyClassifier(make_pipeline(columns, LogisticRegression())).fit(frame, Y)
    assert clf.score(frame, Y) > 0.9
    numbers = frame[["a", "b"]]
    assert pc.PolychotomyClassifier().fit(numbers, Y).score(numbers, Y) > 0.9


@pytest.mark.parametrize("model", [pc.PolychotomyClassifier(), pc.TwoStepSearchCV()])
def test_several_outputs_name_what_takes_them(model):
    with pytest.raises(ValueError, match=r"y has 2 columns .*MultiOutputClassifier"):
        model.fit(X, np.stack([Y, Y], axis=1))
    with pytest.raises(ValueError, match=r"y has 3 columns \(multilabel.*MultiOutputClassifier"):
        model.fit(X, np.eye(3, dtype=int)[Y])
