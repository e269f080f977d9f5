"""The papers' data sets: generated, from scikit-learn, from a folder, or from OpenML.

`load` returns one by name, after checking that its rows are those of the papers; `names` lists
them, and `facts` says what is known about each: sizes, classes, which inputs are continuous,
licence, citation, and the ways to get it.
"""

from ._dataset import Dataset
from ._facts import Facts
from ._loading import facts, load, names

__all__ = ["Dataset", "Facts", "facts", "load", "names"]
