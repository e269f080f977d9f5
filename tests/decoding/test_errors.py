"""What users are told when their input is wrong."""

import numpy as np
import pytest

from polychotomy import (
    BayesianDecoding,
    BinaryTree,
    Codebook,
    CodeCoupling,
    Context,
    DecisionGraph,
    DynamicallyOrdered,
    HammingDecoding,
    LossDecoding,
    Margins,
    MaxWins,
    Nesting,
    NonDominance,
    OneVsOne,
    OneVsRest,
    PairwiseCoupling,
    SoftMax,
    ValuedPreference,
    WeightedVoting,
    WinnerTakesAll,
)

ONE, REST = OneVsOne().build(3), OneVsRest().build(3)
y = np.array([0, 0, 1, 1, 2, 2])
r = np.full((6, 3), 0.25)
X = np.arange(12.0).reshape(6, 2)
FULL = {
    "X": X,
    "training": Margins(mean=r, probability=r),
    "held_out": Margins(mean=np.arange(18.0).reshape(6, 3)),
    "refit": lambda rows, columns: lambda X: Margins(mean=np.ones((len(X), len(columns)))),
}
PAIRWISE = [
    MaxWins, WeightedVoting, PairwiseCoupling, DecisionGraph, ValuedPreference, NonDominance
]  # fmt: skip
ANY = [HammingDecoding, LossDecoding, BayesianDecoding, CodeCoupling]


def fit(decoder, book=ONE, **more):
    return decoder.fit(Context(book, y, **{**FULL, **more}))


@pytest.mark.parametrize("decoder", PAIRWISE)
@pytest.mark.parametrize("shape", [(2, 2), (2, 4), (2, 0), (2, 3, 2), (2, 1, 1)])
def test_shapes_that_are_no_pairs(decoder, shape):
    sentence = rf"{decoder.__name__}.decode got an array of shape \({shape[0]}, {shape[1]}"
    with pytest.raises(ValueError, match=sentence) as caught:
        decoder().decode(np.full(shape, 0.5))
    assert "(n_rows, M (M - 1) / 2) or (n_rows, M, M)" in str(caught.value)


@pytest.mark.parametrize("decoder", PAIRWISE)
def test_too_few_or_too_many_dimensions(decoder):
    for shape in ((3,), (1, 1, 3, 3), ()):
        with pytest.raises(ValueError, match="must have 2 or 3 dimensions; got an array of shape"):
            decoder().decode(np.full(shape, 0.5))


@pytest.mark.parametrize("decoder", [*PAIRWISE, *ANY])
def test_shapes_that_do_not_fit_the_code(decoder):
    with pytest.raises(ValueError, match=r"shape \(2, 6\), but the code has 3 classes and 3 col"):
        decoder().decode(np.full((2, 6), 0.5), ONE)
    with pytest.raises(ValueError, match=r"shape \(2, 6\), but the code has 3 classes and 3 col"):
        fit(decoder()).decode(np.full((2, 6), 0.5))


@pytest.mark.parametrize("decoder", [WinnerTakesAll, HammingDecoding, CodeCoupling, SoftMax])
def test_square_answers_are_for_one_vs_one_decoders_only(decoder):
    square = np.full((2, 3, 3), 0.5)
    with pytest.raises(ValueError, match="must have 2 dimensions; got an array of shape"):
        decoder().decode(square, REST)
    with pytest.raises(ValueError, match=r"Margins\.probability must have 2 dimensions"):
        decoder().decode(Margins(mean=np.zeros((2, 3)), probability=square), REST)


def test_the_scores_beside_probabilities_are_checked_too():
    margins = Margins(mean=np.zeros((2, 5)), probability=np.full((2, 3), 0.5))
    with pytest.raises(ValueError, match=r"shape \(2, 5\), but the code has 3 classes"):
        LossDecoding().decode(margins, ONE)
    margins = Margins(mean=np.zeros((4, 3)), probability=np.full((2, 3), 0.5))
    with pytest.raises(ValueError, match=r"mean has 4 rows, but Margins\.probability has 2"):
        LossDecoding().decode(margins, ONE)


def test_one_vs_rest_has_at_least_two_columns():
    with pytest.raises(ValueError, match=r"shape \(4, 1\); one-vs-rest answers for M classes"):
        WinnerTakesAll().decode(np.full((4, 1), 0.5))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("decoder", [MaxWins, WeightedVoting, WinnerTakesAll, *ANY])
def test_values_that_are_not_finite_name_their_row(decoder, value):
    values = np.full((6, 3), 0.5)
    values[4, 1] = value
    book = REST if decoder is WinnerTakesAll else ONE
    with pytest.raises(ValueError, match="NaN or infinite value in row 4"):
        decoder().decode(values, book)
    with pytest.raises(ValueError, match="NaN or infinite value in row 4"):
        decoder().decode(Margins(mean=values, probability=np.full((6, 3), 0.5)), book)


@pytest.mark.parametrize("value", [-1e-9, 1 + 1e-9, -3.0])
@pytest.mark.parametrize("decoder", [*PAIRWISE, WinnerTakesAll, BayesianDecoding, CodeCoupling])
def test_probabilities_outside_0_and_1_name_their_row(decoder, value):
    values = np.full((6, 3), 0.5)
    values[2, 0] = value
    book = REST if decoder is WinnerTakesAll else ONE
    with pytest.raises(ValueError, match=r"outside \[0, 1\] in row 2; .*Margins\(mean=scores\)"):
        decoder().decode(values, book)
    with pytest.raises(ValueError, match=r"outside \[0, 1\] in row 2"):
        decoder().decode(Margins(probability=values), book)


@pytest.mark.parametrize("decoder", [*PAIRWISE, BinaryTree, Nesting])
def test_one_vs_one_decoders_refuse_other_codes(decoder):
    sentence = f"{decoder.__name__} is for one_vs_one codes, not for one_vs_rest"
    with pytest.raises(ValueError, match=sentence):
        decoder().decode(np.full((2, 3), 0.5), REST)
    with pytest.raises(ValueError, match=sentence):
        fit(decoder(), REST)


@pytest.mark.parametrize("decoder", [WinnerTakesAll, DynamicallyOrdered])
def test_one_vs_rest_decoders_refuse_other_codes(decoder):
    sentence = f"{decoder.__name__} is for one_vs_rest codes, not for one_vs_one"
    with pytest.raises(ValueError, match=sentence):
        decoder().decode(np.full((2, 3), 0.5), ONE)


def test_soft_max_is_for_two_codes():
    book = Codebook([[1, 1], [1, -1], [-1, 1]], "mine")
    with pytest.raises(ValueError, match="for one_vs_one or one_vs_rest codes, not for mine"):
        fit(SoftMax(), book)


@pytest.mark.parametrize("decoder", [*ANY, SoftMax])
def test_decoders_of_any_code_want_the_code(decoder):
    with pytest.raises(ValueError, match="has not been fitted; pass the codebook to decode"):
        decoder().decode(np.full((2, 3), 0.5))


@pytest.mark.parametrize(
    ("decoder", "book", "sentence"),
    [
        (BinaryTree(), ONE, "BinaryTree must be fitted"),
        (Nesting(), ONE, "Nesting must be fitted"),
        (SoftMax(), ONE, "SoftMax must be fitted"),
        (DynamicallyOrdered(), REST, "needs a fitted orderer and the inputs X"),
    ],
)
def test_decoders_that_learn_want_to_be_fitted(decoder, book, sentence):
    with pytest.raises(ValueError, match=sentence):
        decoder.decode(np.full((2, 3), 0.5), book, X=X[:2])


@pytest.mark.parametrize(
    ("decoder", "book", "missing", "sentence"),
    [
        (BinaryTree(), ONE, "training", "needs the machines' scores of the training rows"),
        (BinaryTree(), ONE, "X", "needs the inputs X"),
        (Nesting(), ONE, "refit", "needs the inputs X, the machines' scores"),
        (Nesting(), ONE, "training", "needs the inputs X, the machines' scores"),
        (Nesting(), ONE, "X", "needs the inputs X, the machines' scores"),
        (SoftMax(), ONE, "held_out", "needs held-out scores in its context"),
    ],
)
def test_what_is_missing_from_the_context(decoder, book, missing, sentence):
    with pytest.raises(ValueError, match=sentence):
        fit(decoder, book, **{missing: None})


def test_random_trees_do_without_inputs():
    assert fit(BinaryTree("random"), X=None).root_.classes == (0, 1, 2)


def test_margins_without_what_is_needed():
    scores, probabilities = Margins(mean=np.zeros((2, 3))), Margins(probability=r[:2])
    with pytest.raises(ValueError, match="WeightedVoting needs Margins with probabilities"):
        WeightedVoting().decode(scores)
    with pytest.raises(ValueError, match=r"LossDecoding needs Margins with scores \(mean\)"):
        LossDecoding().decode(probabilities, ONE)
    with pytest.raises(ValueError, match=r"Margins need scores \(mean\) or probabilities"):
        MaxWins().decode(Margins())
    with pytest.raises(ValueError, match="with probabilities, or with variance and noise"):
        BayesianDecoding().decode(scores, ONE)


@pytest.mark.parametrize(
    ("decoder", "sentence"),
    [
        (PairwiseCoupling("wu_lin_wang"), "Unknown coupling method 'wu_lin_wang'.*'wu_lin_weng'"),
        (PairwiseCoupling("hastie-tibshirani"), "Did you mean 'hastie_tibshirani'"),
        (
            PairwiseCoupling("xyz"),
            "Choose 'wu_lin_weng', 'hastie_tibshirani', 'markov' or 'pair_sums'",
        ),
        (PairwiseCoupling(3), "Unknown coupling method 3. Choose"),
        (PairwiseCoupling("hastie_tibshirani", "pair_size"), "Did you mean 'pair_sizes'"),
        (LossDecoding("hinges"), "Unknown loss 'hinges'. Did you mean 'hinge'"),
        (LossDecoding(dont_care="ignore"), "Unknown dont_care 'ignore'. Did you mean 'ignored'"),
        (BayesianDecoding(update="paralel"), "Unknown update 'paralel'. Did you mean 'parallel'"),
        (BayesianDecoding("trainings"), "Unknown priors 'trainings'. Did you mean 'training'"),
    ],
)
def test_unknown_options_are_met_with_a_suggestion(decoder, sentence):
    with pytest.raises(ValueError, match=sentence):
        decoder.decode(r, ONE)
    with pytest.raises(ValueError, match=sentence):
        fit(decoder)


@pytest.mark.parametrize(
    ("decoder", "sentence"),
    [
        (BinaryTree("centered"), "Unknown selection 'centered'. Did you mean 'centred'"),
        (BinaryTree(threshold=0.51), r"threshold must be in \[0, 0.5\], got 0.51"),
        (BinaryTree(threshold=-0.1), r"threshold must be in \[0, 0.5\], got -0.1"),
        (BinaryTree(threshold=float("nan")), r"threshold must be in \[0, 0.5\], got nan"),
        (SoftMax(0), "C must be a positive number, got 0"),
        (SoftMax(-1.0), "C must be a positive number, got -1.0"),
        (SoftMax(C_values=[1.0, 0.0]), "C_values must be a positive number, got 0.0"),
    ],
)
def test_wrong_values_of_parameters(decoder, sentence):
    with pytest.raises(ValueError, match=sentence):
        fit(decoder)


@pytest.mark.parametrize("C", ["auto", True, [1.0]])
def test_c_of_another_type(C):
    with pytest.raises(TypeError, match="C must be a positive number"):
        fit(SoftMax(C))


def test_one_fold_cannot_choose_c():
    with pytest.raises(ValueError, match="needs two folds of held-out rows to choose C"):
        fit(SoftMax(), folds=np.zeros(6, dtype=int))


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0, 1, 3], [0, 1, 2, 2], []])
def test_orders_that_do_not_name_every_class_once(order):
    for call in (lambda d: d.decode(r), fit):
        with pytest.raises(ValueError, match="order must name every class once: 0, 1 and 2; got"):
            call(DecisionGraph(order))


@pytest.mark.parametrize("sizes", [[1, 2], [1, 2, 0], [1, 2, -1], [1, 2, 3, 4]])
def test_wrong_class_sizes(sizes):
    for call in (lambda d: d.decode(r), fit):
        with pytest.raises(ValueError, match="class_sizes must be 3 positive numbers"):
            call(ValuedPreference(sizes))


def test_class_sizes_that_are_not_finite():
    with pytest.raises(ValueError, match="class_sizes has a NaN or infinite value"):
        ValuedPreference([1, np.nan, 2]).decode(r)


@pytest.mark.parametrize("weights", [[1, 2], [1, 2, 0], [1, 2, -1]])
def test_wrong_pair_weights(weights):
    for call in (lambda d: d.decode(r), fit):
        with pytest.raises(ValueError, match="pair_weights must be 3 positive numbers"):
            call(PairwiseCoupling("hastie_tibshirani", weights))


@pytest.mark.parametrize("method", ["wu_lin_weng", "markov"])
def test_pair_weights_are_for_hastie_tibshirani(method):
    with pytest.raises(ValueError, match=f"method='{method}' has none"):
        PairwiseCoupling(method, [1, 1, 1]).decode(r)


def test_names_for_what_training_gives_need_training():
    with pytest.raises(ValueError, match="pair_weights='pair_sizes' needs a fitted decoder"):
        PairwiseCoupling("hastie_tibshirani", "pair_sizes").decode(r)
    with pytest.raises(ValueError, match="priors='training' needs a fitted decoder"):
        BayesianDecoding("training").decode(r, ONE)


@pytest.mark.parametrize("priors", [[0.5, 0.5], [0, 0, 0], [1, -1, 1], [[1, 1, 1]]])
def test_wrong_priors(priors):
    for call in (lambda d: d.decode(r, ONE), fit):
        with pytest.raises(ValueError, match="priors must"):
            call(BayesianDecoding(priors))


def test_priors_that_name_other_classes():
    with pytest.raises(ValueError, match=r"priors lacks class 2; the classes are \[0, 1, 2\]"):
        fit(BayesianDecoding({0: 0.5, 1: 0.5}))
    with pytest.raises(ValueError, match=r"priors names 7; the classes are \[0, 1, 2\]"):
        fit(BayesianDecoding({0: 0.5, 1: 0.25, 2: 0.25, 7: 1.0}))


def test_log_likelihoods_of_another_shape():
    with pytest.raises(ValueError, match=r"shape \(n_rows, n_columns, 2\), the negative side fir"):
        BayesianDecoding().decode(np.zeros((2, 3, 3)), ONE)
    with pytest.raises(ValueError, match="NaN or infinite value in row 1"):
        BayesianDecoding().decode([[[0.0, 0.0]] * 3, [[0.0, np.nan]] * 3], ONE)


@pytest.mark.parametrize(
    ("variance", "noise"),
    [
        (np.ones((2, 2)), np.ones(3)),
        (np.ones((2, 3)), np.ones(2)),
        (-np.ones((2, 3)), np.ones(3)),
        (np.ones((2, 3)), -np.ones(3)),
    ],
)
def test_wrong_variances(variance, noise):
    with pytest.raises(ValueError, match=r"Margins\.variance must be nonnegative"):
        BayesianDecoding().decode(Margins(np.zeros((2, 3)), variance, noise), ONE)


def test_variances_that_are_not_finite():
    variance = np.ones((2, 3))
    variance[1, 0] = np.nan
    with pytest.raises(ValueError, match=r"Margins\.variance has a NaN or infinite value in row 1"):
        BayesianDecoding().decode(Margins(np.zeros((2, 3)), variance, np.ones(3)), ONE)


def test_a_pull_that_is_not_positive():
    with pytest.raises(ValueError, match="pull must be positive"):
        CodeCoupling(pull=0.0).decode(r, ONE)
