"""Model files that are safe to load, even from an untrusted source.

`save` writes a fitted model to one file, `load` reads it back, and `describe` returns a summary
without loading the model. The file is written by skops, which stores objects as data. A pickle is a
program instead, which is run when it is loaded. In addition, only classes on a fixed list are
accepted (ours, NumPy's arrays and some of scikit-learn's estimators), and every shape and index is
checked before it is used. Pickle and joblib work too, for files that you made yourself.
"""

from ._errors import ModelFileError
from ._files import describe, load, save

__all__ = ["ModelFileError", "describe", "load", "save"]
