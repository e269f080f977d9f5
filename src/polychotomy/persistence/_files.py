"""Saving, loading and describing models."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO

from ..core import files
from ..core.extras import needed
from ..core.state import StateError
from ._container import SCHEMA, SCHEMA_SHARE, json_object, pack, plain_zip, read_header, unpack
from ._errors import ModelFileError

# Larger models are loaded only on request, so that a small file cannot fill memory.
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

    Writing is atomic: the file is complete, or it is not written. It holds the model and a summary
    for :func:`~polychotomy.persistence.describe`: versions, classes, names and types of the
    inputs, the number of training rows and the class sizes. Metadata requests (`set_fit_request`
    and similar), which only training uses, are not saved.

    Parameters
    ----------
    model : estimator
        A fitted classifier of this library, or a pipeline or search of scikit-learn that contains
        one. Functions (for example as a kernel), random generators, unregistered classes of your
        own, and estimators that are not on the list in ``docs/persistence.md`` are refused, with
        an error that names them.
    file : str, path or binary file
        The file to write. The suffix ``.polychotomy`` is recommended.
    feature_types : mapping of str to str, default=None
        The types of the inputs by their names, for `describe`. All inputs of a classifier of this
        library are numbers.
    metadata : mapping, default=None
        Any values that JSON can represent, for `describe`.

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
    needed("skops", "files", "Model files need skops")
    data = _packed(model, feature_types, metadata)
    if hasattr(file, "write"):
        file.write(data)
    else:
        files.write(file, data)


def load(file: File, *, trusted: Iterable[type] = (), max_size: int = MAX_SIZE) -> Any:
    """Load a model that was saved by `save`; no code from the file is run.

    Parameters
    ----------
    file : str, path or binary file
        The file to read.
    trusted : iterable of type, default=()
        Parts of your own that the file may contain. They must be registered. Their attributes in
        the file are checked against the fitted state that they declare.
    max_size : int, default=1 GiB
        The largest number of bytes that the file may unpack to.

    Returns
    -------
    model : estimator

    Raises
    ------
    ModelFileError
        If the file is damaged, has a newer format, or contains anything that a model must not.

    Warns
    -----
    InconsistentVersionWarning
        If the file was saved with another version of scikit-learn.

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
    needed("skops", "files", "Model files need skops")
    try:
        header, model = _restored(data, max_size, list(trusted))
    except ModelFileError:
        raise
    except Exception as error:
        raise _refused(error, _other_version(data)) from None
    _warn_of_version(header, model)
    return model


def describe(file: File) -> dict[str, Any]:
    """Return the header of a model file, a summary of the model, without loading the model.

    Parameters
    ----------
    file : str, path or binary file
        The file to read.

    Returns
    -------
    header : dict
        ``format``, the versions of ``polychotomy``, ``scikit-learn`` and ``numpy``, the time at
        which it was ``saved`` (UTC), the ``model`` as text, its ``classes``, its ``features`` with
        names and types if they are known, a ``training`` summary, and ``metadata``.

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
    # Imported here, because skops and these modules are slow to import.
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
        # Load the file before writing it, so that no file is written that cannot be read.
        needed = max(2 * sum(map(len, members.values())), 2 * len(members[SCHEMA]) / SCHEMA_SHARE)
        _restored(data, max(MAX_SIZE, int(needed)), None)
    except Exception as error:
        raise ModelFileError(
            f"This model cannot be saved safely: {_sentence(error)} Change that part, or use "
            "pickle or joblib for a file that only you will load."
        ) from (None if isinstance(error, StateError) else error)
    return data


def _restored(data: bytes, max_size: int, trusted: list[type] | None) -> tuple[dict[str, Any], Any]:
    """Return the header and the checked model of a file.

    Note: files are checked twice. Before skops builds objects, `check_schema` refuses every class
    and function that is not on the list, so that none of them is imported or called; the list that
    skops trusts by default is longer. Afterwards, `check_model` compares attributes with each
    other, for example shapes and indices, which needs the objects. Neither check alone is enough.
    """
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
        # `load` gives one warning for the whole file later.
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
    """Return a hint if a file comes from another version of scikit-learn."""
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
        text = f"part of it cannot be read ({type(error).__name__}: {str(error)[:200]})."
    # Names in an untrusted file must not reach a terminal as control sequences.
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
