"""Data sets: their laws, their sources, and the checks that follow loading."""

import gzip
import io
import os
import pickle
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr
from sklearn.impute import SimpleImputer

from polychotomy import datasets
from polychotomy.datasets import _loading
from polychotomy.datasets._dataset import checksum, content

FOLDER = os.environ.get("POLYCHOTOMY_DATA")
needs_folder = pytest.mark.skipif(
    not FOLDER, reason="POLYCHOTOMY_DATA does not name the folder with the papers' data sets"
)


@pytest.fixture(autouse=True)
def nothing_at_hand(monkeypatch, tmp_path):
    monkeypatch.delenv("POLYCHOTOMY_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "downloads"))
    _loading._read.cache_clear()


def write_csv(path, dataset, *, end="", change=None):
    """Write a data set as a file of the folder, with some of its text changed."""
    rows = [",".join([*dataset.feature_names, "class"])]
    for row, label in zip(dataset.X.tolist(), dataset.y.tolist(), strict=True):
        rows.append(",".join([*(f"{value:.17g}" for value in row), label]))
    text = "\n".join(rows) + "\n" + end
    text = text if change is None else text.replace(*change, 1)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


# The table


@pytest.mark.parametrize("name", datasets.names())
def test_facts_are_complete(name):
    facts = datasets.facts(name)
    assert facts.name == name
    assert facts.rows == sum(facts.classes.values())
    assert facts.inputs == len(set(facts.feature_names))
    assert facts.discrete <= set(facts.feature_names)
    assert set(facts.differs) <= set(facts.sources)
    assert re.fullmatch("[0-9a-f]{64}", facts.content)
    assert re.fullmatch("[0-9a-f]{64}", facts.checksum)
    for text in (facts.title, facts.papers, facts.citation, facts.licence):
        assert text in str(facts)
    assert pickle.loads(pickle.dumps(facts)) is facts
    with pytest.raises(TypeError):
        facts.classes["A"] = 0


@needs_folder
@pytest.mark.parametrize("name", datasets.names())
def test_every_data_set_is_read_as_the_papers_have_it(name):
    dataset = datasets.load(name, folder=FOLDER)
    facts = dataset.facts
    assert dataset.source == ("scikit-learn" if name == "digits" else "folder")
    assert dataset.exact
    assert dataset.checksum == facts.checksum
    assert dataset.X.shape == (facts.rows, facts.inputs)
    assert dataset.X.dtype == np.float64
    assert dataset.feature_names == facts.feature_names
    assert dataset.continuous.sum() == facts.inputs - len(facts.discrete)
    # Discrete inputs have few values, all of them whole numbers.
    discrete = dataset.X[:, ~dataset.continuous]
    assert (discrete == np.round(discrete)).all()
    assert np.isnan(dataset.X).sum() == (8 if name == "dermatology" else 0)
    assert (dataset.split is not None) == (name == "usps")
    if name == "usps":
        assert Counter(dataset.split.tolist()) == {"train": 7291, "test": 2007}


@needs_folder
def test_abe_is_a_part_of_letter(tmp_path):
    whole, part = (datasets.load(name, folder=FOLDER) for name in ("letter", "abe"))
    assert_array_equal(whole.X[np.isin(whole.y, ["A", "B", "E"])], part.X)
    (tmp_path / "letter.csv.gz").write_bytes((Path(FOLDER) / "letter.csv.gz").read_bytes())
    assert datasets.load("abe", folder=tmp_path).checksum == part.checksum


# The laws


def test_balance_scale_is_generated_exactly():
    scale = datasets.load("balance-scale")
    assert scale.source == "generated"
    assert scale.exact
    for (a, b, c, d), side in zip(scale.X, scale.y, strict=True):
        assert side == "BLR"[int(np.sign(a * b - c * d))]
    assert len(np.unique(scale.X, axis=0)) == 625


def test_led_with_seed_0_is_the_known_sample():
    led = datasets.load("led")
    assert (led.source, led.exact) == ("generated", True)
    assert led.checksum == led.facts.checksum


def test_led_has_a_tenth_of_its_segments_wrong():
    led = datasets.load("led", seed=5, n_rows=20_000)
    assert not led.exact
    lit = np.array([(led.X[led.y == digit].mean(axis=0)) for digit in "0123456789"])
    # 2000 rows a digit: six standard errors are 0.04.
    assert np.abs(np.abs(lit - 0.5) - 0.4).max() < 0.04
    # 0 to 9 light 6, 2, 5, 5, 4, 5, 6, 3, 7 and 6 segments.
    assert_array_equal((lit > 0.5).sum(axis=1), [6, 2, 5, 5, 4, 5, 6, 3, 7, 6])


def waveform_bayes_error(X, y):
    """Return the error of the Bayes rule, with the share of the mixture integrated out."""
    at = np.arange(1, 22)
    middle, right, left = (np.maximum(6 - abs(at - peak), 0) for peak in (11, 15, 7))
    scores = []
    for a, b in ((right, left), (middle, left), (middle, right)):
        # N(x; b + u (a - b), I) as a function of u is a normal density with this centre and width.
        d = a - b
        width = 1 / np.sqrt(d @ d)
        centre = (X - b) @ d * width**2
        rest = ((X - b) ** 2).sum(axis=1) - centre**2 / width**2
        mass = ndtr((1 - centre) / width) - ndtr(-centre / width)
        scores.append(np.log(np.maximum(mass, 1e-300) * width) - rest / 2)
    return np.mean(np.argmax(scores, axis=0) != y.astype(int))


def test_waveform_follows_its_law():
    drawn = datasets.load("waveform", seed=1, n_rows=40_000)
    assert drawn.source == "generated"
    # The Bayes error of this law is 13.29 % (standard error here 0.17 %).
    assert abs(waveform_bayes_error(drawn.X, drawn.y) - 0.1329) < 0.005
    # Peaks 6 high at 11, 15 and 7, mixed evenly, in noise of unit variance.
    assert abs(drawn.X[drawn.y == "0"][:, 10].mean() - 2) < 0.1
    assert abs(drawn.X[drawn.y == "1"][:, 10].mean() - 4) < 0.1
    assert abs(drawn.X[:, 0].var() - 1) < 0.05


@needs_folder
def test_waveform_is_numbered_as_in_the_file():
    waveform = datasets.load("waveform", folder=FOLDER)
    assert waveform_bayes_error(waveform.X, waveform.y) == 0.1288


def test_samples_depend_on_the_seed_alone():
    first, again, other = (datasets.load("waveform", seed=s, n_rows=30) for s in (3, 3, 4))
    assert first.checksum == again.checksum != other.checksum


# Checksums


def test_content_does_not_depend_on_the_order_and_checksum_does():
    wine = datasets.load("wine")
    order = np.random.default_rng(0).permutation(178)
    assert content(wine.X[order], wine.y[order]) == wine.facts.content
    assert checksum(wine.X[order], wine.y[order]) != wine.facts.checksum
    # Classes belong to their rows.
    assert content(wine.X[order], wine.y) != wine.facts.content


def test_checksums_see_values_not_bits():
    X, y = np.array([[0.0, np.nan]]), np.array(["a"])
    odd = np.array([[-0.0, -np.nan]])
    assert checksum(X, y) == checksum(odd, y) == checksum(np.asfortranarray(odd), y)
    assert checksum(X, y) != checksum(np.nan_to_num(X), y)
    assert checksum(X, y) != checksum(X, y, np.array(["train"]))


# scikit-learn and the folder


def test_wine_of_scikit_learn_is_the_papers():
    wine = datasets.load("wine")
    assert (wine.source, wine.exact) == ("scikit-learn", True)
    assert wine.checksum == wine.facts.checksum


def test_iris_of_scikit_learn_is_refused_unless_asked_for():
    with pytest.raises(ValueError, match=r"rows 35 and 38 follow Fisher.*exact=False"):
        datasets.load("iris", source="scikit-learn")
    iris = datasets.load("iris", source="scikit-learn", exact=False)
    assert not iris.exact
    assert str(iris).endswith("not the rows of the papers")
    # With exact=False it need not be named either.
    assert datasets.load("iris", exact=False).source == "scikit-learn"
    if FOLDER:
        papers = datasets.load("iris", folder=FOLDER)
        assert (papers.X != iris.X).any(axis=1).nonzero()[0].tolist() == [34, 37]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_the_folder_comes_first(tmp_path, monkeypatch, ending):
    wine = datasets.load("wine")
    write_csv(tmp_path / f"wine{ending}", wine)
    assert datasets.load("wine", folder=tmp_path).source == "folder"
    monkeypatch.setenv("POLYCHOTOMY_DATA", str(tmp_path))
    read = datasets.load("wine")
    assert (read.source, read.checksum) == ("folder", wine.checksum)
    assert datasets.load("wine", source="scikit-learn").source == "scikit-learn"
    assert datasets.load("led").source == "generated"  # not in this folder


@pytest.mark.parametrize(
    ("end", "change", "sentence"),
    [
        ("", ("14.23", "14.24"), "counts agree, but not its values"),
        ("", (",1\n", ",2\n"), "class '1' has 58 rows, in the papers' data 59"),
        ("1,2,3,4,5,6,7,8,9,10,11,12,13,1\n", None, "179 rows and 13 inputs, the papers' 178"),
        ("1,2\n", None, "2 fields in line 180, but 14 in its header"),
        ("", ("14.23", "much"), "line 2: could not convert string to float: 'much'"),
        ("", (",class", ",type"), "header ends in proline, type"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, end, change, sentence):
    write_csv(tmp_path / "wine.csv", datasets.load("wine"), end=end, change=change)
    with pytest.raises(ValueError, match=re.escape(sentence)):
        datasets.load("wine", folder=tmp_path)


def test_other_rows_are_taken_when_asked_for(tmp_path):
    write_csv(tmp_path / "wine.csv", datasets.load("wine"), change=("14.23", "14.24"))
    wine = datasets.load("wine", folder=tmp_path, exact=False)
    assert (wine.X[0, 0], wine.exact) == (14.24, False)


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "wine.csv.gz"
    write_csv(path, datasets.load("wine"))
    for broken in (path.read_bytes()[:-200], b"not gzip", gzip.compress(b"only,a,class\n")):
        path.write_bytes(broken)
        _loading._read.cache_clear()
        with pytest.raises(ValueError, match=re.escape(str(path))):
            datasets.load("wine", folder=tmp_path)


def test_a_file_is_read_once_unless_it_changes(tmp_path, monkeypatch):
    path = tmp_path / "wine.csv"
    write_csv(path, datasets.load("wine"))
    read, from_file = [], _loading.from_file
    monkeypatch.setattr(_loading, "from_file", lambda *a: read.append(a) or from_file(*a))
    first = datasets.load("wine", folder=tmp_path)
    first.X[:] = 0.0
    first.y[:] = "9"
    assert datasets.load("wine", folder=tmp_path).checksum == first.facts.checksum
    assert len(read) == 1
    write_csv(path, first, change=("14.23", "14.24"))
    os.utime(path, ns=(0, 0))
    with pytest.raises(ValueError, match="not the papers' data"):
        datasets.load("wine", folder=tmp_path)


# Variants


@needs_folder
def test_rows_with_missing_values_can_be_left_out():
    kept = datasets.load("dermatology", folder=FOLDER)
    dropped = datasets.load("dermatology", folder=FOLDER, missing="drop")
    gaps = np.isnan(kept.X[:, kept.feature_names.index("age")])
    # Rows 34 to 37 and 263 to 266, counted from 1.
    assert gaps.nonzero()[0].tolist() == [33, 34, 35, 36, 262, 263, 264, 265]
    assert_array_equal(dropped.X, kept.X[~gaps])
    assert len(dropped.y) == 358
    assert dropped.checksum != kept.checksum


@needs_folder
def test_missing_values_are_filled_from_the_training_part():
    kept = datasets.load("dermatology", folder=FOLDER)
    training = np.arange(0, 366, 2)
    filled = kept.filled(training)
    assert_allclose(filled, SimpleImputer().fit(kept.X[training]).transform(kept.X))
    assert np.isnan(kept.X).sum() == 8


def test_constant_inputs_can_be_left_out():
    digits = datasets.load("digits", drop_constant=True)
    assert digits.X.shape == (1797, 61)
    assert len(digits.feature_names) == len(digits.continuous) == 61
    assert "pixel_0_0" not in digits.feature_names
    if FOLDER:
        segment = datasets.load("segment", folder=FOLDER, drop_constant=True)
        assert segment.X.shape == (2310, 18)
        assert "region_pixel_count" not in segment.feature_names


# OpenML


def as_openml(dataset, *, labels=None, nominal=(), rows=None):
    """Return a stand-in for fetch_openml that has one data set, in the form OpenML gives it."""
    order = np.arange(len(dataset.y)) if rows is None else rows
    data, categories = dataset.X[order].copy(), {}
    names = [name.replace("_", "-").upper() for name in dataset.feature_names]
    for column in nominal:
        values = np.unique(data[~np.isnan(data[:, column]), column])[::-1]
        categories[names[column]] = [f"{value:g}" for value in values]
        known = ~np.isnan(data[:, column])
        data[known, column] = [np.flatnonzero(values == v)[0] for v in data[known, column]]
    target = np.array(
        [(labels or {}).get(label, label) for label in dataset.y[order]], dtype=object
    )

    def fetch_openml(*, data_id, as_frame, parser):
        assert (data_id, as_frame, parser) == (dataset.facts.openml, False, "liac-arff")
        return SimpleNamespace(data=data, target=target, feature_names=names, categories=categories)

    return fetch_openml


def test_openml_in_another_order(monkeypatch):
    wine = datasets.load("wine")
    order = np.random.default_rng(1).permutation(178)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", as_openml(wine, rows=order))
    read = datasets.load("wine", source="openml")
    assert (read.source, read.exact) == ("openml", True)
    assert read.feature_names == wine.feature_names
    assert read.checksum != wine.checksum
    assert_array_equal(read.X, wine.X[order])


def test_openml_with_other_labels_and_nominal_inputs(monkeypatch):
    # Classes of different sizes are told apart by them; categories need not be in order.
    wine = datasets.load("wine")
    labels = {"1": "'a b'", "2": "c", "3": "d"}
    fetch = as_openml(wine, labels=labels, nominal=[4, 12])
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    assert datasets.load("wine", source="openml").checksum == wine.checksum


def test_openml_with_labels_that_cannot_be_told_apart(monkeypatch):
    scale = datasets.load("balance-scale")
    fetch = as_openml(scale, labels={"L": "l", "R": "r"})
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    with pytest.raises(ValueError, match="class 'L' has 0 rows, in the papers' data 288"):
        datasets.load("balance-scale", source="openml")


@needs_folder
@pytest.mark.parametrize("name", ["abe", "dermatology", "glass"])
def test_openml_with_the_quirks_of(name, monkeypatch):
    papers = datasets.load(name, folder=FOLDER)
    whole = datasets.load("letter", folder=FOLDER) if name == "abe" else papers
    quirks = {
        "abe": {},
        "dermatology": {"nominal": range(33)},
        "glass": {"labels": {"1": "'build wind float'", "7": "headlamps"}},
    }
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", as_openml(whole, **quirks[name]))
    assert datasets.load(name, source="openml").checksum == papers.checksum


def test_openml_sets_that_differ_are_refused_before_they_are_fetched(monkeypatch):
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", None)
    for name, reason in [
        ("satimage", "6430 rows"),
        ("waveform", "19 more inputs"),
        ("usps", "smoothed"),
        ("led", "500 rows"),
    ]:
        with pytest.raises(ValueError, match=f"{reason}.*exact=False"):
            datasets.load(name, source="openml")


def test_openml_sets_that_differ_can_be_asked_for(monkeypatch):
    drawn = datasets.load("led", seed=9, n_rows=500)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", as_openml(drawn, nominal=range(7)))
    led = datasets.load("led", source="openml", exact=False)
    assert (led.checksum, led.exact) == (drawn.checksum, False)
    assert not led.continuous.any()


class _Response(io.BytesIO):
    def info(self):
        return {"Content-Encoding": "gzip"}


@pytest.mark.parametrize("name", ["iris", "zoo"])
def test_files_of_openml(name, monkeypatch):
    """Two files of OpenML come with scikit-learn's tests: read them by fetch_openml itself."""
    files = Path(sklearn.datasets.__file__).parent / "tests" / "data" / "openml"
    files /= f"id_{datasets.facts(name).openml}"
    if not files.is_dir():
        pytest.skip("scikit-learn was installed without its tests")

    def urlopen(request, *args, **kwargs):
        address = request.full_url
        kinds = {"/features/": "api-v1-jdf-", "/qualities/": "api-v1-jdq-", "/json/": "api-v1-jd-"}
        kind = next((start for part, start in kinds.items() if part in address), "data-v1-dl-")
        return _Response(next(files.glob(f"{kind}[0-9]*.gz")).read_bytes())

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", urlopen)
    read = datasets.load(name)
    assert (read.source, read.exact) == ("openml", True)
    assert read.checksum == read.facts.checksum


# Sentences


def test_a_set_that_is_not_at_hand_says_the_ways(monkeypatch, tmp_path):
    def unreachable(**options):
        raise URLError("no route to host")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", unreachable)
    for source in ("auto", "openml"):
        with pytest.raises(FileNotFoundError) as caught:
            datasets.load("glass", source=source, folder=tmp_path)
        sentence = str(caught.value)
        assert "no route to host" in sentence
        assert "glass.csv.gz in a folder" in sentence
        assert "OpenML, data set 41" in sentence


def test_waveform_is_not_replaced_in_silence(tmp_path):
    with pytest.raises(FileNotFoundError, match="a fresh sample of the same law"):
        datasets.load("waveform", folder=tmp_path)
    assert datasets.load("waveform", source="generated").X.shape == (5000, 21)
    assert datasets.load("waveform", exact=False).source == "generated"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"name": "wavefrom"}, "Did you mean 'waveform'"),
        ({"name": "new_thyroid"}, "Did you mean 'new-thyroid'"),
        ({"name": "Iris"}, "Did you mean 'iris'"),
        ({"name": "mnist"}, "Choose 'abe'"),
        ({"name": "iris", "source": "sklearn"}, "Did you mean 'scikit-learn'"),
        ({"name": "iris", "missing": "mean"}, "Choose 'keep' or 'drop'"),
        ({"name": "glass", "source": "generated"}, "does not have 'glass'. Ways to get it"),
        ({"name": "soybean-small", "source": "openml"}, "does not have 'soybean-small'"),
        ({"name": "iris", "seed": 1}, "seed is for data sets that are drawn at random"),
        ({"name": "led", "seed": 1, "source": "openml"}, 'goes with source="generated"'),
        ({"name": "led", "seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"name": "led", "n_rows": 2.5}, "n_rows must be a whole number of at least 1, got 2.5"),
    ],
)
def test_bad_options_are_explained(options, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        datasets.load(**options)


def test_folders_that_do_not_exist_are_named(monkeypatch, tmp_path):
    with pytest.raises(FileNotFoundError, match='source="folder" needs folder'):
        datasets.load("iris", source="folder")
    with pytest.raises(FileNotFoundError, match="There is no file of it in"):
        datasets.load("iris", source="folder", folder=tmp_path)
    with pytest.raises(FileNotFoundError, match=r"folder names .*gone.*not a folder"):
        datasets.load("iris", folder=tmp_path / "gone")
    monkeypatch.setenv("POLYCHOTOMY_DATA", str(tmp_path / "gone"))
    with pytest.raises(FileNotFoundError, match=r"POLYCHOTOMY_DATA names .*gone"):
        datasets.load("iris")
