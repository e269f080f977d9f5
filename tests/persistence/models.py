"""Models that the tests save, and small data for them."""

import io

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, StratifiedKFold
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC
from sklearn.tree import ExtraTreeClassifier

import polychotomy as pc
import polychotomy.tables

Poly = pc.PolychotomyClassifier
ALL_X, ALL_Y = load_wine(return_X_y=True)
_SOME = np.concatenate([np.flatnonzero(k == ALL_Y)[::3] for k in range(3)])
Y = ALL_Y[_SOME]
X = ((ALL_X - ALL_X.min(axis=0)) / ALL_X.std(axis=0))[_SOME]
TWO = Y > 0
SPARSE = csr_matrix(np.where(X < 1.5, 0.0, X))
GRAM = X @ X.T
WORDS = np.array(["ale", "bière", "酒"])[Y]


def frame():
    import pandas as pd

    table = pd.DataFrame(X.copy(), columns=[f"x{number}" for number in range(X.shape[1])])
    table["colour"] = np.array(["red", "white", "rosé"])[np.arange(len(X)) * 7 % 3]
    table.loc[3, "x0"] = np.nan
    return table


def export():
    """Columns of every kind that a table can have, as `polychotomy.tables` reads them."""
    import pandas as pd

    rows = np.arange(len(X))
    return pd.DataFrame(
        {
            "width": X[:, 0],
            "colour": np.array(["red", "white", "rosé"])[rows * 7 % 3],
            "place": [f"place {row % 55}" for row in rows],
            "day": rows * 1e5,
            "said": [f"it is {('dry', 'sweet', 'sour')[row % 3]} and {row}" for row in rows],
        }
    )


def export_columns(n_classes):
    places = tuple(sorted({*export()["place"]}))
    kinds = (
        pc.tables.Column("width", "number"),
        pc.tables.Column("colour", "category", ("red", "rosé", "white")),
        pc.tables.Column("place", "category", places),
        pc.tables.Column("day", "date"),
        pc.tables.Column("said", "text"),
    )
    return pc.tables.TableSchema("kind", kinds, n_classes=n_classes).preprocessor()


def columns(**options):
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    return make_column_transformer(
        (numbers, [f"x{number}" for number in range(5)]),
        (OneHotEncoder(**options), ["colour"]),
        (OrdinalEncoder(), ["colour"]),
        ("passthrough", ["x6", "x7"]),
    )


def grid(model, grid_, **options):
    return GridSearchCV(model, grid_, cv=StratifiedKFold(2), **options)


MODELS = {
    "svm": (Poly(pc.SVM()), X, Y),
    "klr": (Poly(pc.KernelLogisticRegression(), "one_vs_rest"), X, WORDS),
    "lssvm": (Poly(pc.LSSVM(), "minimal", decoder="bayesian"), X, Y),
    "lssvm widths": (Poly(pc.LSSVM(sigma2="evidence"), "one_vs_rest"), X, Y),
    "lssvm of a given C": (Poly(pc.LSSVM(C=2.0), "minimal", decoder="bayesian"), X, Y),
    "leave one out": (Poly(pc.LSSVM(), calibrator="platt", cv="leave_one_out"), X, Y),
    "polynomial": (Poly(pc.SVM(kernel="poly", degree=2)), SPARSE, Y),
    "precomputed": (Poly(pc.SVM(kernel="precomputed")), GRAM, Y),
    "two classes": (Poly(), X, TWO),
    "priors": (Poly(priors=[0.5, 0.3, 0.2]), X, Y),
    "class weights": (Poly(class_weight={"ale": 2.0, "bière": 1.0}), X, WORDS),
    "custom code": (Poly(code=[[1, 1], [1, -1], [-1, -1]]), X, Y),
    "hierarchy": (Poly(code=pc.NestedCode([["ale", "bière"], "酒"])), X, WORDS),
    "nested": (Poly(Poly(pc.SVM())), X, Y),
    "binary svm": (pc.SVM(), X, TWO),
    "binary klr": (pc.KernelLogisticRegression(kernel="linear"), SPARSE, WORDS == "ale"),
    "binary lssvm": (pc.LSSVM(), X, TWO),
    "binary lssvm of a given C": (pc.LSSVM(C=2.0, kernel="linear"), SPARSE, TWO),
    "probabilistic svc": (pc.ProbabilisticSVC(), X, WORDS),
    "probabilistic svc of two": (pc.ProbabilisticSVC(kernel="linear"), SPARSE, TWO),
    "probabilistic svc of a matrix": (pc.ProbabilisticSVC(kernel="precomputed"), GRAM, Y),
    "sparse svc": (Poly(SVC()), SPARSE, Y),
    "precomputed svc": (Poly(SVC(kernel="precomputed")), GRAM, Y),
    "nested dichotomies": (pc.NestedDichotomies(n_trees=2, random_state=0), X, WORDS),
    "forest": (Poly(RandomForestClassifier(3), random_state=0), X, Y),
    "extra trees": (Poly(ExtraTreesClassifier(3), random_state=0), SPARSE, Y),
    "extra tree": (Poly(ExtraTreeClassifier(), random_state=0), X, Y),
    "neighbours": (Poly(KNeighborsClassifier(3, algorithm="brute")), X, Y),
    "far neighbours": (
        Poly(KNeighborsClassifier(weights="distance", algorithm="brute")),
        SPARSE,
        Y,
    ),
    "multinomial": (Poly(MultinomialNB()), SPARSE, Y),
    "complement": (Poly(ComplementNB()), X, Y),
    "bernoulli": (Poly(BernoulliNB(binarize=1.0)), X, Y),
    "discriminant": (Poly(LinearDiscriminantAnalysis()), X, Y),
    "dummy": (Poly(DummyClassifier()), X, Y),
    "orderer": (
        Poly(LogisticRegression(), "one_vs_rest", decoder=pc.DynamicallyOrdered(MultinomialNB())),
        SPARSE,
        Y,
    ),
    "pipeline inside": (Poly(make_pipeline(StandardScaler(), PCA(3), SVC())), X, Y),
    "search inside": (Poly(grid(LogisticRegression(), {"C": [1, 2]})), X, Y),
    "scalers": (
        make_pipeline(
            MinMaxScaler(),
            MaxAbsScaler(),
            RobustScaler(),
            Normalizer(),
            VarianceThreshold(),
            Poly(),
        ),
        X,
        Y,
    ),
    "union": (make_pipeline(make_union(StandardScaler(), PCA(2)), Poly()), X, Y),
    "columns": (make_pipeline(columns(), Poly()), "frame", Y),
    "columns without one": (
        make_pipeline(columns(drop="first", handle_unknown="ignore"), pc.ProbabilisticSVC()),
        "frame",
        Y,
    ),
    "rare categories": (make_pipeline(columns(min_frequency=2), Poly()), "frame", Y),
    "export": (make_pipeline(export_columns(3), Poly()), "export", WORDS),
    "export of two classes": (make_pipeline(export_columns(2), Poly()), "export", TWO),
    "export of many classes": (make_pipeline(export_columns(99), Poly()), "export", Y),
    "search": (grid(Poly(pc.SVM()), {"machine__C": [1, 10]}), X, Y),
    "search of parts": (
        grid(Poly(), {"machine": [pc.SVM(), pc.SVM(C=2)]}, scoring="f1_macro"),
        X,
        Y,
    ),
    "two scores": (
        grid(Poly(), {"cv": [2]}, scoring=["accuracy", "neg_log_loss"], refit="accuracy"),
        X,
        Y,
    ),
    "two-step search": (
        pc.TwoStepSearchCV(Poly(), {"machine__C": [1, 10]}, cv=2, show_progress=False),
        X,
        Y,
    ),
    "random search": (
        RandomizedSearchCV(Poly(pc.SVM()), {"machine__C": [1, 2]}, n_iter=1, random_state=0, cv=2),
        X,
        Y,
    ),
}


def fitted(name):
    model, inputs, y = MODELS[name]
    inputs = {"frame": frame, "export": export}[inputs]() if isinstance(inputs, str) else inputs
    return model.fit(inputs, y), inputs


def saved(model, **options):
    file = io.BytesIO()
    pc.save(model, file, **options)
    return file.getvalue()


def loaded(data):
    return pc.load(io.BytesIO(data))
