"""The papers' studies and their printed numbers, and mistakes in study files."""

import math
import re

import numpy as np
import pytest

import polychotomy
from polychotomy import datasets
from polychotomy.statistics import Printed
from polychotomy.study.definition import load_study, printed_tables, read_tables, study_names

MINE = """
name = "mine"
partitions = 5
methods = ["pwc-psvm", {name = "trees", recipe = "VOTE", learner = "tree"}]

[[datasets]]
name = "iris"
train = 0.5
"""

TABLES = """
[[tables]]
id = "Table 1"
title = "Errors"
figure = "error"
unit = "percent"
rows = ["iris"]
columns = ["PWC_PSVM", "trees"]
mean = [[4.0, 5]]
deviation = [[0.5, 0.25]]

[[tables.doubtful]]
rows = ["iris"]
column = "trees"
part = "mean"
reason = "It is my own."
"""


def study_from(text, folder):
    path = folder / "mine.toml"
    path.write_text(text)
    return load_study(path)


def tables_from(text, folder):
    path = folder / "mine_tables.toml"
    path.write_text(text)
    return read_tables(path, study_from(MINE, folder))


def table(study, id):
    return {one.id: one for one in printed_tables(study)}[id]


def cell(study, id, row, column):
    """Return a printed number and its deviation by the paper's own label of the row."""
    found = table(study, id)
    i, j = found.paper_rows.index(row), found.columns.index(column)
    return found.values()[i, j], found.deviations()[i, j]


@pytest.mark.parametrize("name", study_names())
def test_the_papers_studies_fit_what_is_known_of_the_data(name):
    study = load_study(name)
    assert study.name == name
    for part in study.datasets:
        facts = datasets.facts(part.name)
        assert part.paper.get("rows", facts.rows) == facts.rows
        assert part.paper.get("inputs", facts.inputs) == facts.inputs
        assert part.paper.get("classes", facts.n_classes) == facts.n_classes
        assert part.train_rows() >= facts.n_classes


def test_protocols():
    found = {
        name: (s.partitions, s.split, s.inputs, s.search.folds, s.search.ties, s.search.steps)
        for name, s in ((name, load_study(name)) for name in study_names())
    }
    assert found == {
        "duan2003": (20, "stratified", "continuous", 5, "duan2003", "two"),
        "duan2005": (20, "stratified", "continuous", 5, "duan2005", "two"),
        "galar": (10, "stratified", "continuous", 5, "duan2003", "two"),
        "vangestel2002": (10, "random", "all", 10, "duan2003", "coarse"),
    }


@pytest.mark.parametrize(
    ("name", "paper"), [("duan2003", "DUAN03"), ("duan2005", "DUAN05"), ("vangestel2002", "VANGES")]
)
def test_the_studies_have_all_methods_of_their_papers(name, paper):
    of_the_paper = {
        key
        for key, recipe in polychotomy.recipes().items()
        if any(one.startswith(paper) for one in recipe.papers)
    }
    assert {method.name for method in load_study(name).methods} == of_the_paper


def test_galar_has_every_aggregation_with_every_learner():
    study = load_study("galar")
    of_the_paper = {k for k, v in polychotomy.recipes().items() if "GALAR" in v.papers}
    for learner in (None, "tree", "knn"):
        assert {m.recipe for m in study.methods if m.learner == learner} == of_the_paper
    for method in study.methods:
        assert method.name == f"{method.recipe}_{method.learner or 'svm'}"
    assert len({type(method.machine(0)).__name__ for method in study.methods}) == 3


def test_van_gestel_trains_on_two_thirds_but_for_usps():
    *parts, usps = load_study("vangestel2002").datasets
    for part in parts:
        assert part.train == math.floor(2 * datasets.facts(part.name).rows / 3)
        assert len(part.methods) == 32
    assert (usps.train, usps.split, usps.partitions, len(usps.methods)) == (7291, "given", 1, 4)


def test_sizes_of_the_training_parts_of_duan2005():
    sizes = "280 560 1120 300 500 1000 1000 1500 2000 250 500 1000 150 300 600"
    study = load_study("duan2005")
    assert [part.train for part in study.datasets] == [int(size) for size in sizes.split()]
    assert [part.label for part in study.datasets] == list(table("duan2005", "Table 2").rows)


@pytest.mark.parametrize(
    ("study", "id", "shape"),
    [
        ("duan2003", "Table 2", (5, 5)),
        ("duan2003", "Table 3", (5, 7)),
        ("duan2003", "Table 4", (5, 8)),
        ("duan2003", "Section 5, PWC_KLR", (5, 10)),
        ("duan2005", "Table 2", (15, 4)),
        ("vangestel2002", "Table II, linear kernel", (10, 8)),
        ("vangestel2002", "Table III, RBF kernel", (10, 8)),
        ("vangestel2002", "Section 5, usps", (1, 4)),
    ],
)
def test_shapes(study, id, shape):
    assert table(study, id).values().shape == shape


# Retyped from the papers: the paper's row, our column, mean and deviation.
RETYPED = {
    ("duan2003", "Table 2"): """
        ABE SMC1va 0.91 0.37
        DNA WTA_PSVM 7.73 1.00
        SAT WTA_KLR 10.28 0.47
        SEG SSMC1va 5.91 0.94
        WAV WTA_SVM 15.29 0.74""",
    ("duan2003", "Table 3"): """
        ABE SMC1v1 1.20 .0061
        ABE PWC_KLR 0.93 0.37
        DNA SSMC1v1 7.96 0.77
        SAT MWV_SVM 10.37 0.71
        SEG PWC_PSVM 5.42 0.90
        WAV MWV_KLR 14.63 0.66
        WAV MWV_PSVM 14.62 0.82""",
    ("duan2003", "Table 4"): """
        ABE SMC1v1 .0661 .0413
        DNA PWC_PSVM .2105 .0166
        SAT WTA_KLR .2887 .0462
        SEG SSMC1v1 .2723 .0782
        SEG PWC_KLR .1752 .0134
        WAV WTA_PSVM .3617 .0229
        WAV SMC1va .3808 .0452""",
    ("duan2003", "Section 5, PWC_PSVM"): """
        SEG WTA_SVM 1.5271e-6
        SAT WTA_KLR 7.6409e-5
        WAV MWV_SVM 3.0141e-7
        DNA SSMC1va 0.7975
        ABE SSMC1v1 0.0410
        SEG MWV_KLR 0.9960""",
    ("duan2003", "Section 5, PWC_KLR"): """
        SAT WTA_SVM 6.0812e-25
        ABE WTA_PSVM 0.8127
        WAV SMC1v1 0.8008
        SEG SMC1va 1.2190e-7
        DNA MWV_KLR 0.0027
        SAT SSMC1v1 0.9896""",
    ("duan2003", "Section 5, MWV_KLR"): "WAV MWV_SVM 1.0282e-5\n DNA MWV_PSVM 0.3713",
    ("duan2003", "Section 5, MWV_PSVM"): "DNA MWV_SVM 0.8499\n WAV MWV_SVM 1.4880e-7",
    ("duan2003", "Section 5, WTA_KLR"): "SEG WTA_SVM 2.5044e-5\n WAV WTA_PSVM 0.0078",
    ("duan2003", "Section 5, WTA_PSVM"): "SEG WTA_SVM 0.0092\n SAT WTA_SVM 0.9323",
    ("duan2003", "Section 5, SSMC1va"): "SAT SMC1va 9.9571e-6\n SEG SMC1va 0.9070",
    ("duan2003", "Section 5, SSMC1v1, error"): "ABE SMC1v1 0.0088\n WAV SMC1v1 0.6939",
    ("duan2003", "Section 5, SSMC1v1, NLL"): "SAT SMC1v1 1.0274e-4\n WAV SMC1v1 0.1437",
    ("duan2005", "Table 2"): """
        ABE:280 WTA_SVM 1.92 0.65
        ABE:1,120 PWC_KLR 0.57 0.26
        DNA:300 PWC_PSVM 9.23 1.73
        DNA:1,000 MWV_SVM 5.72 0.57
        SAT:2,000 PWC_PSVM 9.47 0.65
        SEG:250 WTA_SVM 9.43 0.54
        SEG:500 PWC_KLR 4.83 0.68
        WAV:300 PWC_PSVM 12.97 2.02
        WAV:600 WTA_SVM 14.09 0.55""",
    ("vangestel2002", "Table II, linear kernel"): """
        bal LSSVM_LIN_MOC_Hamming 92.0 2.2
        gla LSSVM_LIN_ECOC_Bayes 59.0 7.6
        iri LSSVM_LIN_1vsA_Hamming 81.4 5.3
        zoo LSSVM_LIN_1vs1_Bayes 91.2 3.9""",
    ("vangestel2002", "Table II, RBF kernel"): """
        der LSSVM_RBF_ECOC_Hamming 97.7 0.8
        gla LSSVM_RBF_1vsA_Hamming 54.4 4.4
        veh LSSVM_RBF_1vs1_Bayes 82.8 1.5
        ssd LSSVM_RBF_MOC_Bayes 95.0 2.6""",
    ("vangestel2002", "Table III, linear kernel"): """
        led SVM_LIN_ECOC_loss 55.2 8.4
        veh SVM_LIN_1vsA_Hamming 69.4 6.9
        nth SVM_LIN_1vs1_Hamming 96.0 2.6
        win SVM_LIN_1vs1_loss 93.5 4.1""",
    ("vangestel2002", "Table III, RBF kernel"): """
        gla SVM_RBF_MOC_loss 76.4 6.3
        iri SVM_RBF_1vs1_loss 77.8 11.3
        bal SVM_RBF_ECOC_Hamming 89.0 2.6
        zoo SVM_RBF_1vsA_Hamming 86.2 8.4""",
    ("vangestel2002", "Section 5, usps"): """
        usps SVM_RBF_1vs1_Hamming 95.1
        usps SVM_RBF_1vs1_loss 94.0
        usps LSSVM_RBF_1vs1_Hamming 95.2
        usps LSSVM_RBF_1vs1_Bayes 94.7""",
}


@pytest.mark.parametrize(("study", "id"), RETYPED)
def test_numbers_are_the_papers(study, id):
    for line in RETYPED[study, id].strip().splitlines():
        row, column, *numbers = line.split()
        found = cell(study, id, row.replace(":", " "), column)
        expected = [float(number) for number in numbers]
        assert list(found[: len(expected)]) == expected, line
        assert np.isnan(found[1]) == (len(expected) == 1)


def test_every_table_has_been_retyped_in_part():
    ids = {(name, one.id) for name in study_names() for one in printed_tables(name)}
    assert ids == set(RETYPED)


def test_accuracies_are_those_of_whole_numbers_of_rows():
    # A mean over 10 partitions is a multiple of 1 / (10 rows): with few rows, misread digits show.
    study = load_study("vangestel2002")
    parts = {part.label: part for part in study.datasets}
    for one in printed_tables("vangestel2002")[:4]:
        for label, means in zip(one.rows, one.values(), strict=True):
            rows = 10 * (datasets.facts(label).rows - parts[label].train)
            nearest = np.rint(means / 100 * rows) / rows * 100
            assert np.abs(nearest - means).max() <= 0.0501, label


def test_p_values_have_the_side_that_the_means_say():
    errors = {}
    for id in ("Table 2", "Table 3"):
        one = table("duan2003", id)
        errors |= dict(zip(one.columns, one.values(corrected=True).T, strict=True))
    for one in printed_tables("duan2003"):
        if one.figure == "p_error":
            for column, p in zip(one.columns, one.values().T, strict=True):
                difference = errors[one.first] - errors[column]
                doubted = one.doubtful()[:, one.columns.index(column)]
                clear = (np.abs(difference) > 0.011) & ~doubted
                assert np.all((p > 0.5)[clear] == (difference > 0)[clear]), (one.id, column)


def test_misprints_keep_the_printed_number_and_give_the_right_one():
    one = table("duan2003", "Table 3")
    assert one.deviations()[:, 0].tolist() == [0.0061, 0.0096, 0.0064, 0.0156, 0.0087]
    assert one.deviations(corrected=True)[:, 0].tolist() == [0.61, 0.96, 0.64, 1.56, 0.87]
    assert one.values(corrected=True)[1, 1] == 7.69
    assert one.printed("dna", "SMC1v1", 20) == Printed.parse("7.81±0.96", 20)
    assert one.doubtful("mean").sum() == 1
    assert table("duan2003", "Section 5, PWC_KLR").doubtful().sum() == 4
    assert table("duan2005", "Table 2").doubtful().sum() == 2
    glass = table("vangestel2002", "Table III, RBF kernel")
    assert glass.values()[glass.doubtful()].tolist() == [76.4]


def test_a_file_of_ones_own(tmp_path):
    study = study_from(MINE, tmp_path)
    assert [method.name for method in study.methods] == ["PWC_PSVM", "trees"]
    assert (study.seed, study.inputs, study.split) == (0, "continuous", "stratified")
    assert study.datasets[0].train_rows() == 75
    assert load_study(str(tmp_path / "mine.toml")) == study
    assert tables_from(TABLES, tmp_path)[0].doubts[0].reason == "It is my own."


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('name = "mine"', "", "mine.toml: name is missing; it must be a string."),
        ('"mine"', '"my study"', "name must be of letters, digits, _ and - only"),
        ("= 5", '= "five"', "partitions must be a whole number of at least 1, got 'five'."),
        ("= 5", "= true", "partitions must be a whole number of at least 1, got True."),
        ("= 5", "= 5\nsed = 3", "mine.toml: sed is not known. Did you mean 'seed'?"),
        ("= 5", "= 5\nseed = -1", "seed must be a whole number of at least 0, got -1."),
        ("= 5", '= 5\nsplit = "statified"', "split is 'statified'. Did you mean 'stratified'?"),
        ("= 5", "= 5\ninputs = 3", "inputs is 3. Choose 'continuous', 'all' or 'none'."),
        ("= 5", "= 5\nnotes = [1]", "notes must be a list of strings, got [1]."),
        ("= 5", "= 5\nsearch = 3", "search must be a table, got 3."),
        (
            "pwc-psvm",
            "PWC_PSMV",
            "mine.toml: methods[0] is wrong: Unknown recipe 'PWC_PSMV'. Did you mean 'PWC_PSVM'",
        ),
        ("VOTE", "VOTES", "methods[1].recipe is wrong: Unknown recipe 'VOTES'. Did you mean"),
        ('"tree"', '"forest"', "methods[1].learner is 'forest'. Choose 'tree' or 'knn'."),
        ('"trees"', '"PWC_PSVM"', "methods has the name 'PWC_PSVM' twice; give each name once."),
        ('"pwc-psvm"', "7", "methods[0] must be a string or a table, got 7."),
        ('"iris"', '"irs"', "datasets[0].name is 'irs'. Did you mean 'iris'?"),
        ("= 0.5", "= 1.5", "datasets[0].train must be a whole number of rows, or a share"),
        ("= 0.5", "= 150", "train leaves no rows for one of the two parts: iris has 150 rows."),
        ("= 0.5", '= 75\nsplit = "given"', "datasets[0].split can be 'given' for usps only"),
        (
            "= 0.5",
            '= 75\nmethods = ["tres"]',
            "methods has 'tres', which the study does not have. Did",
        ),
        (
            "= 0.5",
            '= 75\n[[datasets]]\nname = "iris"\ntrain = 9',
            "datasets has the label 'iris' twice; give each label once.",
        ),
        ("= 0.5", "= 75\n[search]\nfolds = 1", "search.folds must be a whole number of at least 2"),
        ("= 0.5", '= 75\n[search]\nties = "duan"', "search.ties is 'duan'."),
        ("[[datasets]]", "[datasets]", "datasets must be a list of tables, each under [[datasets"),
        ("partitions", "partitions =", "mine.toml cannot be read as TOML:"),
    ],
)
def test_mistakes_get_a_sentence(tmp_path, old, new, sentence):
    assert old in MINE
    with pytest.raises(ValueError, match=re.escape(sentence)):
        study_from(MINE.replace(old, new, 1), tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("[[4.0, 5]]", "[[4.0]]", "tables[0].mean[0] must have 2 numbers; it has 1."),
        ("[[4.0, 5]]", "[[4.0, 5], [1, 2]]", "rows of 2 numbers; it has 2 rows."),
        ("[[4.0, 5]]", '[[4.0, ""]]', "mean[0] must be a list of 2 numbers, got [4.0, '']."),
        ("[[4.0, 5]]", "[[4.0, nan]]", "mean[0] must be a list of 2 numbers"),
        ('["iris"]', '["wine"]', "tables[0].rows has 'wine', which is not a data set. Choose"),
        ('"trees"]', '"tree"]', "columns has 'tree', which is not a method. Choose"),
        ('"trees"]', '"PWC_PSVM"]', "columns has 'PWC_PSVM' twice; remove one."),
        ('"error"', '"errors"', "tables[0].figure is 'errors'. Did you mean 'error'"),
        ('"error"', '"p_error"', "tables[0].first must be given with p-values"),
        ('"Errors"', '"Errors"\npaper_rows = ["a", "b"]', "paper_rows must be 1 names; it has 2."),
        ('"Errors"', '"Errors"\ndecimals = -1', "decimals must be a whole number of at least 0"),
        ('part = "mean"', 'part = "means"', "tables[0].doubtful[0].part is 'means'. Did you mean"),
        ('part = "mean"', 'part = "mean"\ncorrected = [1, 2]', "corrected must have 1 numbers; it"),
    ],
)
def test_mistakes_in_tables_get_a_sentence(tmp_path, old, new, sentence):
    assert old in TABLES
    with pytest.raises(ValueError, match=re.escape(sentence)):
        tables_from(TABLES.replace(old, new, 1), tmp_path)


def test_unknown_studies_get_a_sentence(tmp_path):
    with pytest.raises(ValueError, match=r"Did you mean 'duan2003'.* must end in \.toml\."):
        load_study("duan_2003")
    with pytest.raises(ValueError, match="Unknown study 'mine'"):
        printed_tables("mine")
    with pytest.raises(FileNotFoundError, match=r"There is no file '.*none\.toml'\."):
        load_study(tmp_path / "none.toml")


def test_every_printed_digit_counts():
    decimals = {"error": 2, "nll": 4, "accuracy": 1, "p_error": None, "p_nll": None}
    for name in study_names():
        for one in printed_tables(name):
            assert one.decimals == (1 if name == "vangestel2002" else decimals[one.figure])
            if one.decimals is not None:
                assert np.array_equal(one.values().round(one.decimals), one.values())
