from numpy import float64, int8
from numpy.typing import NDArray

def couple_wu_lin_weng(r: NDArray[float64], p: NDArray[float64]) -> None: ...
def couple_markov(r: NDArray[float64], p: NDArray[float64]) -> None: ...
def couple_hastie_tibshirani(
    r: NDArray[float64],
    p: NDArray[float64],
    pair_weights: NDArray[float64] | None,
    tolerance: float,
    max_iterations: int,
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
def fit_platt(
    scores: NDArray[float64],
    labels: NDArray[int8],
    weights: NDArray[float64] | None,
    max_iterations: int,
    column: int,
    result: NDArray[float64],
) -> None: ...
def use_baseline_lanes(only_baseline: bool) -> None: ...
def lanes_in_use() -> str: ...
