"""The schema of a model file: checked node by node before skops builds anything from it.

skops writes an object as a tree of nodes. A node names the class of its object and the loader that
builds it. Its children depend on the loader. Loaders that could call or access other objects
(methods, operators, partial functions, random generators, bytes, ...) are not in `_LOADERS`, and
such nodes are refused.

Note: this list is ours, although skops has a list of trusted types as well. That one may grow with
new versions of skops, and has functions and estimators whose native code is not checked here.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..core.state import StateError
from . import _names
from ._arrays import check_npy, check_npz
from ._container import SCHEMA

Node = dict[str, Any]
MAX_DEPTH = 150
_COMMON = {"__class__", "__module__", "__loader__", "__id__"}
_TOP = {"protocol", "_skops_version"}
_DICT = frozenset({"builtins.dict"})


class _Loader(NamedTuple):
    """The types that a loader may build, and the keys of its nodes.

    `names` are fixed. `looked_up` is the kind of further names, known to `Names`, that its nodes
    may have.
    """

    names: frozenset[str]
    keys: frozenset[str]
    children: Callable[[Node], Iterator[tuple[str, Any]]]
    looked_up: str = ""


def _none(node: Node) -> Iterator[tuple[str, Any]]:
    return iter(())


def _items(node: Node) -> Iterator[tuple[str, Any]]:
    content = node["content"]
    if not isinstance(content, list):
        raise StateError("A list", "has no list of items")
    for number, item in enumerate(content):
        yield f"[{number}]", item


def _dict(node: Node) -> Iterator[tuple[str, Any]]:
    yield " (the types of its keys)", node["key_types"]
    if not isinstance(node["content"], dict):
        raise StateError("A dict", "has no dict of items")
    for key, value in node["content"].items():
        yield f".{key:.60}", value


def _content(node: Node) -> Iterator[tuple[str, Any]]:
    yield "", node["content"]


def _array(node: Node) -> Iterator[tuple[str, Any]]:
    if node["type"] == "json":
        yield from _items(node)
        yield " (its shape)", node["shape"]


def _masked(node: Node) -> Iterator[tuple[str, Any]]:
    yield "", node["content"]["data"]
    yield " (its mask)", node["content"]["mask"]


def _tree(node: Node) -> Iterator[tuple[str, Any]]:
    yield "", node["content"]
    yield " (its sizes)", node["__reduce__"]["args"]


def _loader(
    names: Any,
    keys: str,
    children: Callable[[Node], Iterator[tuple[str, Any]]],
    looked_up: str = "",
) -> _Loader:
    return _Loader(frozenset(names), frozenset(keys.split()), children, looked_up)


# skops builds nodes in the order of their children, and later nodes may refer to earlier ones.
_LOADERS = {
    "ConstructorFromReduceNode": _loader((), "content", _content, "codebook"),
    "DTypeNode": _loader({"numpy.dtype"}, "content", _content),
    "DictNode": _loader(_DICT, "content key_types", _dict),
    "FunctionNode": _loader((), "", _none, "function"),
    "JsonNode": _loader({"builtins.str"}, "content is_json", _none),
    "ListNode": _loader({"builtins.list"}, "content", _items),
    "MaskedArrayNode": _loader(_names.MASKED, "content", _masked),
    "NdArrayNode": _loader(
        _names.NUMPY_SCALARS | {"numpy.ndarray"}, "type file content shape", _array
    ),
    "ObjectNode": _loader(_names.SKLEARN_PRIVATE, "content", _content, "class"),
    "SetNode": _loader({"builtins.set"}, "content", _items),
    "SliceNode": _loader({"builtins.slice"}, "content", _none),
    "SparseMatrixNode": _loader(_names.SPARSE, "type file", _none),
    "TreeNode": _loader({_names.TREE}, "content __reduce__", _tree),
    "TupleNode": _loader({"builtins.tuple"}, "content", _items),
    "TypeNode": _loader(_names.TYPES, "", _none),
}


def children_of(node: Node) -> list[Any]:
    """Return the nodes below a node, in the order in which skops builds them."""
    loader = _LOADERS.get(str(node.get("__loader__")))
    return [] if loader is None else [child for _, child in loader.children(node)]


def check_schema(
    schema: Node, members: dict[str, bytes], max_size: int, names: _names.Names
) -> None:
    """Refuse a schema that contains anything not on the list, or invalid arrays.

    Names in the file are replaced by the paths that skops imports.
    """
    unused = _Walk(members, max_size, names).run(schema) - {SCHEMA}
    if unused:
        raise StateError(f"The member {min(unused)!r}", "belongs to no part of the model")


def compacted(
    schema: Node, members: dict[str, bytes], names: _names.Names
) -> tuple[Node, dict[str, bytes]]:
    """Renumber objects and files consecutively, and write repeated objects only once.

    Classes get the names that they have in files.

    skops numbers objects by their addresses, which differ from run to run, and repeats objects that
    occur several times in the model. When it reads a number that it knows, it uses the object with
    that number.
    """
    numbers: dict[int, int] = {}
    files: dict[str, bytes] = {}

    def visit(node: Node) -> None:
        repeated = node["__id__"] in numbers
        node["__id__"] = numbers.setdefault(node["__id__"], len(numbers) + 1)
        if repeated:
            for key in [key for key in node if key != "__id__"]:
                del node[key]
            return
        if "file" in node:
            name = f"{len(files)}.{node['file'].rpartition('.')[2]}"
            files[name], node["file"] = members[node["file"]], name
        name = names.public(f"{node['__module__']}.{node['__class__']}")
        node["__module__"], _, node["__class__"] = name.rpartition(".")
        # Nodes that are not on the list are not changed: the check refuses them by name.
        for child in children_of(node):
            visit(child)

    visit(schema)
    return schema, files


class _Walk:
    """One pass over all nodes of a schema."""

    def __init__(self, members: dict[str, bytes], max_size: int, names: _names.Names) -> None:
        self.members = members
        self.names = names
        self.budget = max_size
        self.unused = set(members)
        self.known: dict[int, Node] = {}
        self.open: set[int] = set()

    def run(self, schema: Node) -> set[str]:
        if not isinstance(schema.get("protocol"), int):
            raise StateError("The schema", "has no protocol number")
        top = {key: schema[key] for key in schema if key not in _TOP}
        self.visit(top, "model", 0)
        schema.update(top)
        return self.unused

    def visit(self, node: Any, where: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise StateError(where[:60], "is nested too deeply")
        if not isinstance(node, dict):
            raise StateError(where, "is not described by a node")
        number = node.get("__id__")
        if isinstance(number, bool) or not isinstance(number, int):
            raise StateError(where, "has no number")
        if number in self.known:
            if set(node) != {"__id__"} or number in self.open:
                raise StateError(where, "has the number of another object")
            return
        loader = self.checked_loader(node, where)
        self.known[number] = node
        self.open.add(number)
        check = getattr(self, f"check_{node['__loader__']}", None)
        if check is not None:
            check(node, where)
        for label, child in loader.children(node):
            self.visit(child, where + label, depth + 1)
        check = getattr(self, f"finish_{node['__loader__']}", None)
        if check is not None:
            check(node, where)
        self.open.discard(number)

    def checked_loader(self, node: Node, where: str) -> _Loader:
        name = f"{node.get('__module__')}.{node.get('__class__')}"
        kind = node.get("__loader__")
        if not isinstance(kind, str) or kind not in _LOADERS:
            raise StateError(where, _not_listed(kind, name))
        loader = _LOADERS[kind]
        real = self.names.real(name)
        if real is not None and self.names.is_trusted(name, real, loader.looked_up):
            node["__module__"], _, node["__class__"] = real.rpartition(".")
        elif name not in loader.names:
            raise StateError(where, _not_listed(kind, name))
        more = set(node) - _COMMON - loader.keys
        if more:
            raise StateError(where, f"has the unexpected key {min(more)!r:.60}")
        return loader

    def check_JsonNode(self, node: Node, where: str) -> None:
        self.plain(node, where)

    def check_SliceNode(self, node: Node, where: str) -> None:
        content = node["content"]
        fine = set(content) == {"start", "stop", "step"} and all(
            end is None or isinstance(end, int | str) for end in content.values()
        )
        if not fine:
            raise StateError(where, "is not a slice")

    def check_NdArrayNode(self, node: Node, where: str) -> None:
        scalar = node["__class__"] != "ndarray"
        if node["type"] == "json" and not scalar:
            if "file" in node:
                raise StateError(where, "has a file that it does not read")
            return
        if node["type"] != "numpy" or "content" in node or "shape" in node:
            raise StateError(where, "is not an array of a known kind")
        # Only the nodes of a decision tree are records; `finish_TreeNode` checks them.
        shape, _ = check_npy(
            self.file(node, ".npy", where), where, records=where.endswith(".nodes")
        )
        if scalar and shape != ():
            raise StateError(where, "is not a single number")

    def finish_NdArrayNode(self, node: Node, where: str) -> None:
        if node["type"] == "json" and self.resolved(node["shape"])["__loader__"] != "TupleNode":
            raise StateError(where, "has no shape")

    def check_SparseMatrixNode(self, node: Node, where: str) -> None:
        if node["type"] != "scipy":
            raise StateError(where, "is not a sparse matrix of a known kind")
        self.budget -= check_npz(self.file(node, ".npz", where), where, self.budget)

    def finish_DictNode(self, node: Node, where: str) -> None:
        types = self.resolved(node["key_types"])
        if types["__loader__"] != "ListNode" or len(types["content"]) != len(node["content"]):
            raise StateError(where, "does not give the types of its keys")
        for key_type in map(self.resolved, types["content"]):
            name = f"{key_type.get('__module__')}.{key_type.get('__class__')}"
            if key_type["__loader__"] != "TypeNode" or name not in _names.KEY_TYPES:
                raise StateError(where, "has keys that are neither strings nor numbers")

    def finish_ObjectNode(self, node: Node, where: str) -> None:
        content = self.resolved(node["content"])
        empty = content["__loader__"] == "JsonNode" and self.plain(content, where) is None
        if not empty and (content["__loader__"] != "DictNode" or not self.has_str_keys(content)):
            raise StateError(where, "has no attributes")

    def finish_ConstructorFromReduceNode(self, node: Node, where: str) -> None:
        content = self.resolved(node["content"])
        if content["__loader__"] != "TupleNode" or len(content["content"]) != 2:
            raise StateError(where, "is not made of a matrix and a name")
        matrix, name = map(self.resolved, content["content"])
        fine = matrix["__loader__"] == "NdArrayNode" and matrix["type"] == "numpy"
        if not fine or name["__loader__"] != "JsonNode":
            raise StateError(where, "is not made of a matrix and a name")
        if not isinstance(self.plain(name, where), str):
            raise StateError(where, "is not made of a matrix and a name")

    def finish_TreeNode(self, node: Node, where: str) -> None:
        """Check the sizes, which scikit-learn's tree does not check when it is built."""
        args = self.resolved(node["__reduce__"]["args"])
        state = self.resolved(node["content"])
        if args["__loader__"] != "TupleNode" or len(args["content"]) != 3:
            raise StateError(where, "has no sizes")
        n_features, n_classes, n_outputs = map(self.resolved, args["content"])
        features, outputs = self.integer(n_features, where), self.integer(n_outputs, where)
        classes = self.array(n_classes, where)
        fine = classes.shape == (1,) and classes.dtype == np.intp and 1 <= classes[0] < 1 << 31
        if outputs != 1 or not 1 <= features < 1 << 31 or not fine:
            raise StateError(where, "has sizes that do not fit a tree of one output")
        if state["__loader__"] != "DictNode" or not self.has_str_keys(state):
            raise StateError(where, "has no nodes")
        content = {name: self.resolved(part) for name, part in state["content"].items()}
        if set(content) != {"max_depth", "node_count", "nodes", "values"}:
            raise StateError(where, "has no nodes")
        nodes, values = self.array(content["nodes"], where), self.array(content["values"], where)
        count = self.integer(content["node_count"], where)
        if nodes.shape != (count,) or values.shape != (count, 1, int(classes[0])) or count < 1:
            raise StateError(where, "does not have as many nodes as it declares")
        self.integer(content["max_depth"], where)

    def has_str_keys(self, node: Node) -> bool:
        types = self.resolved(node["key_types"])["content"]
        return all(self.resolved(key_type)["__class__"] == "str" for key_type in types)

    def resolved(self, node: Node) -> Node:
        return self.known[node["__id__"]]

    def plain(self, node: Node, where: str) -> Any:
        if node["__loader__"] != "JsonNode" or not isinstance(node["content"], str):
            raise StateError(where, "is not a plain value")
        value = json.loads(node["content"])
        if value is not None and not isinstance(value, str | int | float):
            raise StateError(where, "is not a plain value")
        return value

    def integer(self, node: Node, where: str) -> int:
        if node["__loader__"] == "NdArrayNode" and node["__class__"] != "ndarray":
            value = self.array(node, where).item()
        else:
            value = self.plain(node, where)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 62:
            raise StateError(where, "has a size that is not a whole number")
        return value

    def array(self, node: Node, where: str) -> np.ndarray[Any, Any]:
        if node["__loader__"] != "NdArrayNode" or node["type"] != "numpy":
            raise StateError(where, "is not an array")
        loaded: np.ndarray[Any, Any] = np.load(
            io.BytesIO(self.members[node["file"]]), allow_pickle=False
        )
        return loaded

    def file(self, node: Node, suffix: str, where: str) -> bytes:
        name = node.get("file")
        # Each member is read once, so that a small file cannot expand to a large model.
        if not isinstance(name, str) or not name.endswith(suffix) or name not in self.unused:
            raise StateError(
                where, f"names the member {name!r:.60}, which is missing or already used"
            )
        self.unused.discard(name)
        return self.members[name]


def _not_listed(kind: Any, name: str) -> str:
    if kind == "FunctionNode":
        return f"is the function {name:.100}, which a model file cannot hold"
    if kind == "MethodNode":
        return f"is a method of {name:.100}, which a model file cannot hold"
    if kind in ("RandomStateNode", "RandomGeneratorNode"):
        return "is a random generator, which a model file cannot hold; use an integer"
    return (
        f"is of the type {name:.100}, which is not on the list of types that a model file may hold "
        "(a class of your own: register it at the top level of a module, and load the file with "
        "trusted=[...])"
    )
