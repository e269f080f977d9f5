"""Parts that end the process they are in, for tests of what happens then."""

import os
import signal
import warnings
from pathlib import Path

from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler


def die(folder, name):
    """End this process by SIGKILL if a file has a letter left for this name; take the letter."""
    path = Path(folder) / name
    if path.exists():
        left = path.read_text()
        path.write_text(left[1:])
        if left:
            os.kill(os.getpid(), signal.SIGKILL)


class Deadly(LogisticRegression):
    """A machine whose process dies, as often as a file named after its C has letters."""

    def __init__(self, C=1.0, folder=""):
        super().__init__(C=C)
        self.folder = folder

    def fit(self, X, y, sample_weight=None):
        die(self.folder, f"{self.C:g}")
        return super().fit(X, y, sample_weight)


class Grumbling(LogisticRegression):
    """A machine that warns, and fails for one C."""

    def fit(self, X, y, sample_weight=None):
        if self.C == 2.0:
            raise ArithmeticError("too much")
        warnings.warn("this is odd", UserWarning, stacklevel=2)
        return super().fit(X, y, sample_weight)


class DeadlyScaler(StandardScaler):
    """A step whose process dies, for the split with this mean of the first column."""

    def __init__(self, folder="", mean=0.0):
        super().__init__()
        self.folder = folder
        self.mean = mean

    def fit(self, X, y=None, sample_weight=None):
        if X[:, 0].mean() == self.mean:
            die(self.folder, "split")
        return super().fit(X, y, sample_weight)


def count_calls(context, argument):
    """Note a call in a file, and return its argument; the process dies as often as it should."""
    with open(Path(context) / "calls", "a") as file:
        file.write(f"{argument} {os.getpid()}\n")
    die(context, f"{argument}")
    return argument
