"""Saving, loading and describing models."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO

from ..core import files
from ..core.state import StateError
from ._container import SCHEMA, SCHEMA_SHARE, json_object, pack, plain_zip, read_header, unpack
from ._errors import ModelFileError

# Larger models are loaded only on request, so that a small file cannot fill the memory.
MAX_SIZE = 1 << 30

File = str | os.PathLike[str] | BinaryIO


def save(
    model: Any,
    file: File,
    *,
    feature_types: Mapping[str, str] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Save a fitted model in a file that is safe to load.

    The file is there whole or not at all. Requests of metadata (`set_fit_request` and the like),
    which only training reads, are not kept. It holds the model and, readable by
    :func:`~polychotomy.persistence.describe`, what is known of it: versions, classes, names and
    types of the inputs, the number of training rows and the class sizes.

    Parameters
    ----------
    model : estimator
        A fitted classifier of this library, or a pipeline or search of scikit-learn with one in
        it. Functions (as a kernel, say), random generators, classes of your own that are not
        registered, and estimators that are not on the list in ``docs/persistence.md`` are refused
        with a sentence.
    file : str, path or binary file
        Where to; the suffix ``.polychotomy`` is recommended.
    feature_types : mapping of str to str, default=None
        The types of the inputs by their names, for `describe`. All inputs of a classifier of this
        library are numbers.
    metadata : mapping, default=None
        Anything that JSON can hold, for `describe`.

    Raises
    ------
    ModelFileError
        If the model cannot be saved safely.

    Examples
    --------
    >>> import io
    >>> from sklearn.datasets import load_iris
    >>> import polychotomy
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = polychotomy.PolychotomyClassifier().fit(X, y)
    >>> file = io.BytesIO()  # or a path
    >>> polychotomy.save(clf, file)
    >>> _ = file.seek(0)
    >>> bool((polychotomy.load(file).predict(X) == clf.predict(X)).all())
    True
    """
    if not hasattr(file, "write"):
        files.refuse(file)
    data = _packed(model, feature_types, metadata)
    if hasattr(file, "write"):
        file.write(data)
    else:
        files.write(file, data)


def load(file: File, *, trusted: Iterable[type] = (), max_size: int = MAX_SIZE) -> Any:
    """Load a model that was saved by `save`; no code of the file's maker is run.

    Parameters
    ----------
    file : str, path or binary file
        Where from.
    trusted : iterable of type, default=()
        Parts of your own that the file may hold. They are registered, and what the file holds of
        them is checked against the fitted state that they declare.
    max_size : int, default=1 GiB
        How many bytes the file may unpack to.

    Returns
    -------
    model : estimator

    Raises
    ------
    ModelFileError
        If the file is damaged, of a newer format, or holds anything that a model should not.

    Warns
    -----
    InconsistentVersionWarning
        If it was saved with another version of scikit-learn.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> import polychotomy
    >>> X, y = load_iris(return_X_y=True)
    >>> path = os.path.join(tempfile.mkdtemp(), "iris.polychotomy")
    >>> polychotomy.save(polychotomy.ProbabilisticSVC().fit(X, y), path)
    >>> polychotomy.load(path)
    ProbabilisticSVC()
    """
    data = _read(file)
    try:
        header, model = _restored(data, max_size, list(trusted))
    except ModelFileError:
        raise
    except Exception as error:
        raise _refused(error, _other_version(data)) from None
    _warn_of_version(header, model)
    return model


def describe(file: File) -> dict[str, Any]:
    """Return what a model file says about itself, without loading the model.

    Parameters
    ----------
    file : str, path or binary file
        Where from.

    Returns
    -------
    header : dict
        ``format``, the versions of ``polychotomy``, ``scikit-learn`` and ``numpy``, when it was
        ``saved`` (UTC), the ``model`` in words, its ``classes``, its ``features`` with names and
        types as far as they are known, a ``training`` summary, and ``metadata``.

    Examples
    --------
    >>> import io
    >>> from sklearn.datasets import load_iris
    >>> import polychotomy
    >>> from polychotomy.persistence import describe
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> file = io.BytesIO()
    >>> polychotomy.save(polychotomy.PolychotomyClassifier().fit(X, y), file)
    >>> _ = file.seek(0)
    >>> header = describe(file)
    >>> header["model"], header["classes"]
    ('PolychotomyClassifier()', [0, 1, 2])
    >>> header["features"][0]
    {'name': 'sepal length (cm)', 'type': 'number'}
    """
    data = _read(file)
    try:
        return read_header(data)
    except Exception as error:
        raise _refused(error) from None


def _packed(
    model: Any, feature_types: Mapping[str, str] | None, metadata: Mapping[str, Any] | None
) -> bytes:
    # Imported here, because skops and these imports take long.
    import io
    import zipfile

    import skops.io

    from ._header import header_of
    from ._model import without_requests
    from ._names import Names
    from ._schema import compacted

    header = header_of(model, feature_types, metadata)
    try:
        with without_requests(model):
            dumped = skops.io.dumps(model)
        with zipfile.ZipFile(io.BytesIO(dumped)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        schema, files = compacted(json.loads(members[SCHEMA]), members, Names())
        data = pack(header, {SCHEMA: json.dumps(schema, separators=(",", ":")).encode(), **files})
        # What is written can be read again, or it is not written.
        needed = max(2 * sum(map(len, members.values())), 2 * len(members[SCHEMA]) / SCHEMA_SHARE)
        _restored(data, max(MAX_SIZE, int(needed)), None)
    except Exception as error:
        raise ModelFileError(
            f"This model cannot be saved safely: {_sentence(error)} Change that, or use pickle or "
            "joblib for a file that only you will load."
        ) from (None if isinstance(error, StateError) else error)
    return data


def _restored(data: bytes, max_size: int, trusted: list[type] | None) -> tuple[dict[str, Any], Any]:
    import skops.io

    from ._format_1 import upgraded
    from ._model import check_model
    from ._names import Names
    from ._schema import check_schema, children_of

    names = Names(trusted)
    header, members = unpack(data, max_size)
    schema = json_object(members[SCHEMA], "The schema")
    if header["format"] == 1:
        upgraded(schema, children_of)
    check_schema(schema, members, max_size - sum(map(len, members.values())), names)
    members[SCHEMA] = json.dumps(schema).encode()
    with warnings.catch_warnings():
        # One warning for the whole file follows.
        warnings.simplefilter("ignore")
        model = skops.io.loads(plain_zip(members), trusted=names.trusted())
        check_model(model, names)
    return header, model


def _read(file: File) -> bytes:
    if not isinstance(file, str | os.PathLike):
        return bytes(file.read())
    if os.path.isdir(file):
        raise IsADirectoryError(f"{os.fsdecode(file)!r} is a directory; name a model file in it.")
    with open(file, "rb") as stream:
        return stream.read()


def _refused(error: Exception, hint: str = "") -> ModelFileError:
    sentence = _sentence(error)
    start = "" if sentence[0].isupper() else "The file is refused: "
    return ModelFileError(start + sentence + hint)


def _other_version(data: bytes) -> str:
    """Say that a file comes from another version of scikit-learn, if it does."""
    import sklearn

    try:
        saved = str(read_header(data).get("scikit-learn"))[:50]
    except Exception:
        return ""
    if saved == sklearn.__version__:
        return ""
    return f" It was saved with scikit-learn {saved}; this is {sklearn.__version__}."


def _sentence(error: Exception) -> str:
    if isinstance(error, StateError):
        text = f"{error}."
    elif isinstance(error, RecursionError):
        text = "it is nested too deeply."
    else:
        text = f"something in it cannot be read ({type(error).__name__}: {str(error)[:200]})."
    # Names in the file are its maker's; they must not reach a terminal as commands.
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _warn_of_version(header: Mapping[str, Any], model: Any) -> None:
    import sklearn
    from sklearn.exceptions import InconsistentVersionWarning

    saved = str(header.get("scikit-learn"))[:50]
    if saved != sklearn.__version__:
        warnings.warn(
            InconsistentVersionWarning(
                estimator_name=type(model).__name__,
                current_sklearn_version=sklearn.__version__,
                original_sklearn_version=saved,
            ),
            stacklevel=3,
        )
