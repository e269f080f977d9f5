"""Models as files that are safe to load, whoever made them.

`save` writes a fitted model into one file, `load` reads it back, `describe` reads what is known of
it without loading it. The file is written by skops, which stores objects as data and not, as pickle
does, as a program that is run; on top of it only the classes of a fixed list are let through (ours,
NumPy's arrays and a number of scikit-learn's estimators), and every shape and index is checked
before it is used. Pickle and joblib work too, for files that you made yourself.
"""

from ._errors import ModelFileError
from ._files import describe, load, save

__all__ = ["ModelFileError", "describe", "load", "save"]
