from typing import Final

from numpy import float32, float64, int8, int32, int64, uint8
from numpy.typing import NDArray

RECYCLED_STEP: Final[int]
SVM_CONVERGED: Final[int]
SVM_ITERATION_LIMIT: Final[int]
SVM_UNTRAINED: Final[int]
SVM_INDEFINITE: Final[int]
SVM_MOST_ROWS: Final[int]
KLR_CONVERGED: Final[int]
KLR_UNTRAINED: Final[int]
KLR_ITERATION_LIMIT: Final[int]
KLR_STALLED: Final[int]
KLR_INDEFINITE: Final[int]
KLR_NOT_FINITE: Final[int]
SVM_BOUND_SLACK: Final[float]
SVM_LEAST_CURVATURE: Final[float]
SVM_LEAST_SHARE_OF_REACH: Final[float]
SVM_ROUNDING_TERMS: Final[float]

def end_calls() -> None: ...
def forget_calls() -> None: ...
def couple_wu_lin_weng(r: NDArray[float64], p: NDArray[float64]) -> None: ...
def max_wins(
    pairs: NDArray[float64], prior: NDArray[float64], scores: NDArray[float64]
) -> None: ...
def couple_markov(r: NDArray[float64], p: NDArray[float64]) -> None: ...
def couple_hastie_tibshirani(
    r: NDArray[float64],
    p: NDArray[float64],
    pair_weights: NDArray[float64] | None,
    tolerance: float,
    max_iterations: int,
    pull: float,
) -> int: ...
def couple_code(
    r: NDArray[float64],
    matrix: NDArray[int8],
    p: NDArray[float64],
    column_weights: NDArray[float64] | None,
    pull: float,
    tolerance: float,
    max_iterations: int,
) -> int: ...

LARGEST_PULL: float

def couple_one_vs_rest(r: NDArray[float64], p: NDArray[float64], pull: float) -> None: ...
def fit_platt(
    scores: NDArray[float64],
    labels: NDArray[int8],
    weights: NDArray[float64] | None,
    rows: NDArray[int64],
    ends: NDArray[int64],
    max_iterations: int,
    n_threads: int,
    result: NDArray[float64],
) -> None: ...
def recycled(count: int) -> NDArray[float64]: ...
def release_recycled() -> None: ...
def use_baseline_lanes(only_baseline: bool) -> None: ...
def lanes_in_use() -> str: ...
def inspect_gram(
    gram: NDArray[float64] | NDArray[float32], n_threads: int
) -> tuple[bool, float, float]: ...
def gaussian_of_distances(
    distances: NDArray[float64], kernel: NDArray[float64], gamma: float, n_threads: int
) -> None: ...
def gaussian_of_single_products(
    products: NDArray[float32], row_terms: NDArray[float32], column_terms: NDArray[float32]
) -> None: ...
def solve_svm(
    gram: NDArray[float64] | NDArray[float32],
    largest_entry: float,
    labels: NDArray[int8],
    rows: NDArray[int64],
    ends: NDArray[int64],
    C_values: NDArray[float64],
    weights: NDArray[float64] | None,
    tolerance: float,
    max_iterations: int,
    n_threads: int,
    coefficients: NDArray[float64],
    biases: NDArray[float64],
    gaps: NDArray[float64],
    iterations: NDArray[int64],
    status: NDArray[int8],
) -> None: ...
def solve_svm_block(
    gram: NDArray[float64],
    lower: NDArray[float64],
    upper: NDArray[float64],
    beta: NDArray[float64],
    gradient: NDArray[float64],
    least_curvature: float,
    stopping_gap: float,
    max_iterations: int,
) -> int: ...
def subtract_rows(
    gradient: NDArray[float64],
    rows: NDArray[float64],
    places: NDArray[int64],
    amounts: NDArray[float64],
) -> None: ...
def gather_block(
    rows: NDArray[float64],
    places: NDArray[int64],
    columns: NDArray[int64],
    block: NDArray[float64],
) -> None: ...
def gaussian_of_products(
    products: NDArray[float64],
    row_terms: NDArray[float64],
    column_terms: NDArray[float64],
    gamma: float,
) -> None: ...
def sparse_scores(
    kernel: NDArray[float64],
    starts: NDArray[int32],
    rows: NDArray[int32],
    values: NDArray[float64],
    biases: NDArray[float64],
    scores: NDArray[float64],
) -> None: ...
def solve_klr(
    gram: NDArray[float64],
    labels: NDArray[int8],
    weights: NDArray[float64],
    rows: NDArray[int64],
    ends: NDArray[int64],
    C_values: NDArray[float64],
    tolerance: float,
    max_iterations: int,
    n_threads: int,
    coefficients: NDArray[float64],
    biases: NDArray[float64],
    status: NDArray[int32],
    iterations: NDArray[int32],
    criterion: NDArray[float64],
) -> None: ...
def klr_solve_positive_definite(a: NDArray[float64], x: NDArray[float64]) -> bool: ...
def solve_softmax(
    scores: NDArray[float64],
    y: NDArray[int64],
    weights: NDArray[float64],
    n_classes: int,
    one_vs_rest: bool,
    train: NDArray[int64],
    train_ends: NDArray[int64],
    test: NDArray[int64],
    test_ends: NDArray[int64],
    C_values: NDArray[float64],
    tolerance: float,
    max_iterations: int,
    extra_steps: int,
    n_threads: int,
    out_weights: NDArray[float64],
    converged: NDArray[int32],
    iterations: NDArray[int32],
    errors: NDArray[float64],
    losses: NDArray[float64],
) -> None: ...
def solve_weston_watkins(
    features: NDArray[float64],
    y: NDArray[int64],
    bounds: NDArray[float64],
    tolerance: float,
    max_epochs: int,
    seed: int,
    weights: NDArray[float64],
    duals: NDArray[float64],
) -> tuple[float, float, int, bool]: ...
def grow_tree(
    bins: NDArray[uint8],
    bin_counts: NDArray[int64],
    slopes: NDArray[float64],
    curvatures: NDArray[float64],
    most_leaves: int,
    least_rows: int,
    least_curvature: float,
    penalty: float,
    rate: float,
    inputs: NDArray[int64],
    last_bins: NDArray[int64],
    left: NDArray[int64],
    right: NDArray[int64],
    values: NDArray[float64],
    scores: NDArray[float64],
) -> int: ...
def answer_trees(
    roots: NDArray[int64],
    inputs: NDArray[int64],
    thresholds: NDArray[float64],
    left: NDArray[int64],
    right: NDArray[int64],
    values: NDArray[float64],
    depth: int,
    X: NDArray[float64],
    scores: NDArray[float64],
) -> None: ...
def held_out_scores(
    gram: NDArray[float64],
    coefficients: NDArray[float64],
    biases: NDArray[float64],
    rows: NDArray[int64],
    ends: NDArray[int64],
    n_threads: int,
    scores: NDArray[float64],
) -> None: ...
