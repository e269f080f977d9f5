"""Names and paths that users know stay where they are."""

import importlib

import pytest

import polychotomy

# All that the documentation has shown; names of `__all__` are checked in test_docstrings.py.
PATHS = """
    polychotomy.blocks Block RowBlocks
    polychotomy.calibration CALIBRATORS Calibrator Platt
    polychotomy.cli main
    polychotomy.codes CODES Code CustomCode DenseRandomCode ErrorCorrectingCode ExhaustiveCode
    polychotomy.codes MinimalCode OneVsOne OneVsRest OrdinalCode SparseRandomCode
    polychotomy.comparing Candidate Conditions Evaluation HeldOut MethodComparison RowExplanation
    polychotomy.comparing candidates compare_methods default_names evaluate_labels explain_row
    polychotomy.comparing html_report tuned_pipeline
    polychotomy.datasets Dataset Facts facts load names
    polychotomy.decisions CostClassifier LabelShift PredictionSets RejectClassifier
    polychotomy.decisions cost_table estimate_frequencies mean_cost reweighted risk_coverage
    polychotomy.decisions set_report
    polychotomy.decoding DECODERS Decoder Context
    polychotomy.kernels Kernel SharedRows
    polychotomy.machines LSSVM SVM KernelLogisticRegression
    polychotomy.persistence ModelFileError describe load save
    polychotomy.plots CodebookDisplay DecisionRegionDisplay FeatureWeightsDisplay PairwiseDisplay
    polychotomy.plots ReliabilityDisplay RiskCoverageDisplay SearchSurfaceDisplay
    polychotomy.plots decision_regions reliability_curves search_surface
    polychotomy.study CriticalDifferenceDisplay
    polychotomy.study.cluster DaskCluster
    polychotomy.study.critical_difference CriticalDifferenceDisplay
    polychotomy.study.definition load_study printed_tables study_names
    polychotomy.study.driver Progress run_study
    polychotomy.study.executors Backlog Executor InProcess LocalProcesses
    polychotomy.study.protocol run_unit sweep_name units_of
    polychotomy.study.quick quick_source quick_study quick_units
    polychotomy.study.report make_report markdown_report write_report
    polychotomy.study.results StudyResults read_results
    polychotomy.study.statistics Printed Summary average_ranks corrected_t_test friedman_test
    polychotomy.study.statistics paired_t_test rank_methods summarise wilcoxon_test
    polychotomy.study.store Store StoreError new_holder
    polychotomy.study.tables Cell Counts OwnTable PValues comparison_tables
    polychotomy.study.units MethodResult Outcome Unit canonical digest plain
    polychotomy.study.work WorkerError example load_once load_task perform versions
    polychotomy.tables Column TableError TableSchema TableWriter infer_column open_table read_table
    polychotomy.tables table_of_frame whole_file
"""
LINES = [line.split() for line in PATHS.strip().splitlines()]


@pytest.mark.parametrize(("module", "names"), [(line[0], line[1:]) for line in LINES])
def test_documented_paths(module, names):
    found = importlib.import_module(module)
    for name in names:
        assert hasattr(found, name)


@pytest.mark.parametrize(
    "name", ["comparing", "datasets", "decisions", "persistence", "plots", "study", "tables"]
)
def test_packages_are_attributes(name):
    assert getattr(polychotomy, name).__name__.startswith("polychotomy.")
