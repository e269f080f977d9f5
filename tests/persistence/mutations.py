"""Hostile changes of real model files, each as somebody with an editor could make them."""

import io
import json
import zipfile

import numpy as np

from polychotomy.persistence import _container

HOSTILE = [
    ("os", "system"),
    ("builtins", "eval"),
    ("builtins", "exec"),
    ("subprocess", "Popen"),
    ("posix", "system"),
    ("sklearn.neighbors._kd_tree", "KDTree"),
    ("polychotomy.decoding.voting", "MaxWins"),
    ("polychotomy.pipe.training", "NestedScorer"),
    ("sklearn.svm._classes", "SVC"),
    ("sklearn.tree._tree", "Tree"),
    ("numpy", "ndarray"),
    ("numpy", "int64"),
    ("builtins", "dict"),
    ("builtins", "tuple"),
]
LOADERS = [
    "DictNode",
    "DefaultDictNode",
    "ListNode",
    "SetNode",
    "TupleNode",
    "BytesNode",
    "BytearrayNode",
    "SliceNode",
    "FunctionNode",
    "MethodNode",
    "PartialNode",
    "TypeNode",
    "ConstructorFromReduceNode",
    "ObjectNode",
    "JsonNode",
    "OperatorFuncNode",
    "NdArrayNode",
    "MaskedArrayNode",
    "DTypeNode",
    "RandomStateNode",
    "RandomGeneratorNode",
    "SparseMatrixNode",
    "TreeNode",
    "LossNode",
    "CachedNode",
    "ReduceNode",
]
LITERALS = [
    "null", "true", "-1", "0", "1", "2", "7", "1e308", "-0.5", "NaN", "Infinity", str(2**31),
    str(2**63), "9" * 5000, '"x"', '"precomputed"', '""', "[]", "{}", "[" * 5000, "not json",
]  # fmt: skip


def members_of(data):
    """Return the members of a model file, the header first."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def file_of(members):
    """Return a model file with these members and the right checksum."""
    members = dict(members)
    header = json.loads(members.pop("header.json"))
    return _container.pack(header, members)


def edited(data, edit):
    """Return a model file whose schema was changed in place by a function."""
    members = members_of(data)
    schema = json.loads(members["schema.json"])
    edit(schema)
    members["schema.json"] = json.dumps(schema).encode()
    return file_of(members)


def nodes_of(schema):
    """Return all nodes of a schema with a loader."""
    found = []

    def walk(value):
        if isinstance(value, dict):
            if "__loader__" in value:
                found.append(value)
            for each in value.values():
                walk(each)
        elif isinstance(value, list):
            for each in value:
                walk(each)

    walk(schema)
    return found


def function_node(module, name, number=10**9):
    """Return a node that names a function."""
    return {"__class__": name, "__module__": module, "__loader__": "FunctionNode", "__id__": number}


def text_node(text, number):
    """Return a node of a string."""
    return {
        "__class__": "str", "__module__": "builtins", "__loader__": "JsonNode",
        "content": json.dumps(text), "is_json": True, "__id__": number,
    }  # fmt: skip


def calling_nodes(command):
    """Return nodes that would run a command if skops were to build them."""
    arguments = {
        "__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode",
        "content": [text_node(command, 10**9 + 1)], "__id__": 10**9 + 2,
    }  # fmt: skip
    yield {
        "__class__": "system", "__module__": "os", "__loader__": "ConstructorFromReduceNode",
        "content": arguments, "__id__": 10**9 + 3,
    }  # fmt: skip
    yield {
        "__class__": "eval", "__module__": "builtins", "__loader__": "ConstructorFromReduceNode",
        "content": arguments, "__id__": 10**9 + 3,
    }  # fmt: skip
    yield {
        "__class__": "methodcaller", "__module__": "operator", "__loader__": "OperatorFuncNode",
        "attrs": arguments, "__id__": 10**9 + 3,
    }  # fmt: skip
    yield {
        "__class__": "partial", "__module__": "functools", "__loader__": "PartialNode",
        "content": {
            "func": function_node("os", "system"), "args": arguments,
            "kwds": arguments, "namespace": arguments,
        },
        "__id__": 10**9 + 3,
    }  # fmt: skip
    yield {
        "__class__": "system", "__module__": "os", "__loader__": "NdArrayNode",
        "type": "numpy", "file": "0.npy", "__id__": 10**9 + 3,
    }  # fmt: skip
    yield {
        "__class__": "system", "__module__": "os", "__loader__": "ListNode",
        "content": [text_node(command, 10**9 + 1)], "__id__": 10**9 + 3,
    }  # fmt: skip


def change_schema(data, rng):
    """Change one node of the schema."""

    def edit(schema):
        nodes = nodes_of(schema)
        node = nodes[rng.integers(len(nodes))]
        other = nodes[rng.integers(len(nodes))]
        kind = rng.integers(9)
        if kind == 0:
            node["__module__"], node["__class__"] = HOSTILE[rng.integers(len(HOSTILE))]
        elif kind == 1:
            node["__loader__"] = LOADERS[rng.integers(len(LOADERS))]
        elif kind == 2:
            literals = [each for each in nodes if each["__loader__"] == "JsonNode"] or [node]
            node = literals[rng.integers(len(literals))]
            node["content"] = LITERALS[rng.integers(len(LITERALS))]
        elif kind == 3:
            del node[sorted(node)[rng.integers(len(node))]]
        elif kind == 4:
            mine, theirs = dict(node), dict(other)
            node.clear()
            node.update(theirs)
            other.clear()
            other.update(mine)
        elif kind == 5:
            node["__id__"] = other["__id__"]
        elif kind == 6:
            number = other["__id__"]
            node.clear()
            node["__id__"] = number
        elif kind == 7:
            content = node.get("content")
            if isinstance(content, list) and content:
                content.pop(rng.integers(len(content)))
            elif isinstance(content, dict) and content:
                key = sorted(content)[rng.integers(len(content))]
                content[f"{key}x"] = content.pop(key)
            else:
                node["content"] = []
        else:
            node["file"] = f"{rng.integers(20)}.npy"

    return edited(data, edit)


def change_array(data, rng):
    """Change one array: its entries, its shape, its type, or what its header declares."""
    members = members_of(data)
    arrays = sorted(name for name in members if name.endswith(".npy"))
    name = arrays[rng.integers(len(arrays))]
    array = np.load(io.BytesIO(members[name]))
    kind = rng.integers(6)
    if kind == 0 and array.size and array.dtype.kind in "fiub":
        extremes = {
            "f": [np.nan, np.inf, -1.0, 1e308, 0.0, 1e-310],
            "i": [-1, 127, -100, array.max() + 1],
            "u": [0, 255],
            "b": [True, False],
        }[array.dtype.kind]
        array = array.copy()
        array.reshape(-1)[rng.integers(array.size)] = extremes[rng.integers(len(extremes))]
    elif kind == 1:
        array = array.reshape(-1)[: max(array.size - 1, 0)]
    elif kind == 2:
        array = np.concatenate([array.reshape(-1)] * 2)
    elif kind == 3:
        array = array[None] if array.ndim < 3 else array[0]
    elif kind == 4 and array.dtype.kind in "fiub":
        kinds = [np.float32, np.int64, np.int8, bool, "<U3", complex, ">f8"]
        array = array.astype(kinds[rng.integers(len(kinds))])
    members[name] = npy(array)
    if kind == 5:
        members[name] = declare(members[name], rng)
    return file_of(members)


def npy(array):
    """Return an array in NumPy's format."""
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def declare(content, rng):
    """Declare another shape or type than the array has."""
    stream = io.BytesIO()
    shapes = [(2**40,), (2**62, 2**62), (-1,), (2**31, 0), (1,) * 40]
    descr = ["<f8", "|O", "<U0", "|V8", [("a", "<f8")], "<M8[s]"][rng.integers(6)]
    shape = shapes[rng.integers(len(shapes))]
    np.lib.format.write_array_header_1_0(
        stream, {"descr": descr, "fortran_order": False, "shape": shape}
    )
    return stream.getvalue() + content[-64:]


def flip_byte(data, rng):
    """Flip some bits of one byte."""
    place = int(rng.integers(len(data)))
    return data[:place] + bytes([data[place] ^ int(rng.integers(1, 256))]) + data[place + 1 :]


def truncate(data, rng):
    """Cut off the end."""
    return data[: int(rng.integers(len(data)))]


def flip_and_seal(data, rng):
    """Flip a byte, and put the checksum right again."""
    return _container.sealed(flip_byte(data, rng))


def flip_member(data, rng):
    """Flip a byte of what is inside the zip file, so that all checksums are right."""
    members = members_of(data)
    names = sorted(set(members) - {"header.json"})
    name = names[rng.integers(len(names))]
    members[name] = flip_byte(members[name], rng)
    return file_of(members)


def node_at(schema, path):
    """Return the node of an attribute, as ``machines_.fitted.estimators[0]``."""
    numbered = {node["__id__"]: node for node in nodes_of(schema)}

    def resolved(node):
        return numbered[node["__id__"]]

    node = schema
    for step in path.replace("[", ".[").split("."):
        node = resolved(node)
        if node["__loader__"] in ("ObjectNode", "TreeNode"):
            node = resolved(node["content"])
        content = node["content"]
        node = content[int(step[1:-1])] if step.startswith("[") else content[step]
    return resolved(node)


def with_array(data, path, change):
    """Return a model file in which an array was replaced by a function of it."""
    members = members_of(data)
    node = node_at(json.loads(members["schema.json"]), path)
    members[node["file"]] = npy(change(np.load(io.BytesIO(members[node["file"]]))))
    return file_of(members)


def with_node(data, path, **changes):
    """Return a model file in which some keys of a node were replaced."""
    return edited(data, lambda schema: node_at(schema, path).update(changes))
