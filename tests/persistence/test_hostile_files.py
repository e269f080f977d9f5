"""Files from strangers: nothing in them is run, and nothing crashes."""

import contextlib
import io
import json
import re
import tracemalloc
import warnings
import zipfile
from functools import cache

import numpy as np
import pytest
from scipy.sparse import csr_matrix, save_npz

import polychotomy as pc
from polychotomy.persistence import ModelFileError, _container, describe

from . import mutations
from .models import fitted, loaded, saved
from .mutations import edited, file_of, members_of, node_at, with_array, with_node

FILES = ("svm", "lssvm", "lssvm of a given C", "sparse svc", "forest", "probabilistic svc")
MUTATIONS = (
    mutations.change_schema,
    mutations.change_array,
    mutations.flip_member,
    mutations.flip_and_seal,
    mutations.flip_byte,
    mutations.truncate,
)
PER_TEST = 18  # 6 files, 6 mutations: 648


@cache
def real(name):
    model, inputs = fitted(name)
    return saved(model), inputs, model.classes_


def refused(data, words=None):
    with pytest.raises(ModelFileError, match=words):
        loaded(data)


def outcome(data):
    """Return the model in a file, or the sentence with which it was refused."""
    try:
        return loaded(data), None
    except ModelFileError as error:
        return None, str(error)


@pytest.mark.parametrize("mutation", MUTATIONS)
@pytest.mark.parametrize("name", FILES)
def test_mutations(name, mutation):
    data, inputs, _ = real(name)
    rng = np.random.default_rng([ord(letter) for letter in name + mutation.__name__])
    n_refused = 0
    for _ in range(PER_TEST):
        model, sentence = outcome(mutation(data, rng))
        if model is None:
            assert sentence.endswith(".")
            n_refused += 1
            continue
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            answer = model.predict(inputs)
        assert answer.shape == (inputs.shape[0],)
        assert set(answer) <= set(model.classes_)
    assert n_refused >= PER_TEST // 3
    if mutation in (mutations.flip_byte, mutations.truncate):
        assert n_refused == PER_TEST


@pytest.mark.parametrize("mutation", MUTATIONS[:3])
@pytest.mark.parametrize("name", ["columns", "scalers", "rare categories", "export"])
def test_mutations_of_what_comes_before(name, mutation):
    # A file that still makes sense may stand for other columns or categories, which scikit-learn
    # then misses in the table, or for scales that overflow: an ordinary error, and no crash.
    data, inputs, _ = real(name)
    rng = np.random.default_rng(0)
    for _ in range(PER_TEST):
        model, sentence = outcome(mutation(data, rng))
        assert model is not None or sentence.endswith(".")
        if model is not None:
            with warnings.catch_warnings(), contextlib.suppress(Exception):
                warnings.simplefilter("ignore")
                model.predict(inputs)


@pytest.mark.parametrize("path", ["machine", "parts_.decoder", "machines_.fitted.coefficients"])
def test_injected_calls_are_not_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, _, _ = real("svm")
    for hostile in mutations.calling_nodes("open('stolen', 'w')"):
        replaced = {**hostile, "__id__": 10**9 + 3}

        def edit(schema, replaced=replaced):
            node = node_at(schema, path)
            node.clear()
            node.update(replaced)

        refused(edited(data, edit))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("module", "name"),
    [("os", "system"), ("builtins", "eval"), ("pickle", "loads"), ("polychotomy.core.types", "np")],
)
@pytest.mark.parametrize("loader", ["FunctionNode", "TypeNode", "ObjectNode", "ListNode"])
def test_injected_types_are_named(module, name, loader):
    data, _, _ = real("svm")
    hostile = {"__module__": module, "__class__": name, "__loader__": loader}
    refused(with_node(data, "parts_.calibrator", **hostile), re.escape(f"{module}.{name}"))


def test_classes_that_only_skops_trusts_are_refused():
    data, _, _ = real("svm")
    other = {
        "__module__": "sklearn.linear_model._stochastic_gradient",
        "__class__": "SGDClassifier",
    }
    refused(with_node(data, "machine", **other), "SGDClassifier, which is not on the list")
    ufunc = {"__module__": "numpy", "__class__": "add", "__loader__": "FunctionNode"}
    refused(with_node(data, "machine", **ufunc), "numpy.add")


FACTOR = "machines_.fitted.pieces[0].basis.triangle"
OUT_OF_RANGE = {
    ("precomputed", "machines_.fitted.support"): lambda a: a + 1000,
    ("svm", "machines_.source"): lambda a: a + 3,
    ("svm", "machines_.sign"): lambda a: a * 2,
    ("svm", "machines_.fitted.support_inputs"): lambda a: a[:, :-1],
    ("svm", "machines_.fitted.support_inputs "): lambda a: a * np.nan,
    ("svm", "machines_.fitted.coefficients"): lambda a: a[:-1],
    ("svm", "machines_.fitted.biases"): lambda a: a[:-1],
    ("svm", "calibrator_.slopes_"): lambda a: a[:-1],
    ("svm", "classes_"): lambda a: np.append(a, 7),
    ("svm", "classes_ "): lambda a: a * 0,
    ("svm", "class_sizes_"): lambda a: -a,
    ("lssvm", "machines_.fitted.pieces[0].columns"): lambda a: a + 1,
    ("lssvm", "machines_.fitted.pieces[0].basis.reflectors"): lambda a: a[:5, :5],
    ("lssvm", "machines_.fitted.pieces[0].basis.off_diagonal"): lambda a: a[:5],
    ("lssvm", "machines_.fitted.pieces[0].prior"): lambda a: a + 2,
    ("lssvm of a given C", FACTOR): lambda a: a[:5, :5],
    ("lssvm of a given C", f"{FACTOR} "): lambda a: -a,
    ("lssvm of a given C", f"{FACTOR}  "): lambda a: a * np.nan,
    ("lssvm of a given C", f"{FACTOR}   "): lambda a: a + 1,
    ("lssvm of a given C", f"{FACTOR}    "): lambda a: a.astype(np.float32),
    ("lssvm", "decoder_.priors_"): lambda a: a[:2],
    ("precomputed svc", "machines_.fitted.rows[0]"): lambda a: a + 1000,
    ("precomputed svc", "machines_.fitted.estimators[0].support_"): lambda a: a + np.int32(1000),
    ("precomputed svc", "machines_.fitted.estimators[0]._n_support"): lambda a: a + np.int32(1000),
    ("precomputed svc", "machines_.fitted.estimators[0]._dual_coef_"): lambda a: a[:, :1],
    ("neighbours", "machines_.fitted.estimators[0]._y"): lambda a: a + 100_000,
}  # fmt: skip


@pytest.mark.parametrize(("name", "path"), OUT_OF_RANGE)
def test_indices_and_shapes_out_of_range(name, path):
    refused(with_array(real(name)[0], path.strip(), OUT_OF_RANGE[name, path]))


@pytest.mark.parametrize("value", ["0.0", "-1.0", "NaN", "Infinity", "null", "true"])
def test_ridges_that_are_not_positive(value):
    data = real("lssvm of a given C")[0]
    path = "machines_.fitted.pieces[0].basis.ridge"
    assert loaded(with_node(data, path, content="0.5"))
    refused(with_node(data, path, content=value), "ridge")


@pytest.mark.parametrize("value", ["true", "1"])
def test_sigmoids_that_are_not_there(value):
    # LIBSVM would read them, beyond the end of an empty array.
    data = real("sparse svc")[0]
    names = vars(loaded(data).machines_.fitted.estimators[0])
    told = "_effective_probability" if "_effective_probability" in names else "probability"
    path = f"machines_.fitted.estimators[0].{told}"
    refused(with_node(data, path, content=value), "probability")


def tree_with(change):
    data, _, _ = real("forest")
    path = "machines_.fitted.estimators[0].estimators_[0].tree_.nodes"

    def changed(nodes):
        nodes = nodes.copy()
        assert nodes["left_child"][0] > 0
        change(nodes)
        return nodes

    return with_array(data, path, changed)


@pytest.mark.parametrize("field", ["left_child", "right_child", "feature"])
@pytest.mark.parametrize("value", [-7, 0, 10**6, 2**62])
def test_nodes_of_trees_out_of_range(field, value):
    def change(nodes):
        nodes[field][0] = value

    data = tree_with(change)
    if (field, value) == ("feature", 0):
        loaded(data)
    else:
        refused(data)


def test_sizes_of_trees():
    data, _, _ = real("forest")
    tree = "machines_.fitted.estimators[0].estimators_[0].tree_"
    refused(with_array(data, f"{tree}.nodes", lambda nodes: nodes[:-1]), "nodes")
    refused(with_array(data, f"{tree}.values", lambda values: values[:, :, :1]), "nodes")

    def edit(schema, key, value):
        sizes = node_at(schema, tree)["__reduce__"]["args"]
        numbered = {node["__id__"]: node for node in mutations.nodes_of(schema)}
        numbered[sizes["__id__"]]["content"][key] = mutations.text_node(value, 10**9)

    for key, value in [(0, 0), (0, 10**12), (2, 2), (2, 10**6), (1, 3)]:
        refused(edited(data, lambda schema, k=key, v=value: edit(schema, k, v)))

    def count(schema):
        numbered = {node["__id__"]: node for node in mutations.nodes_of(schema)}
        state = numbered[node_at(schema, tree)["content"]["__id__"]]
        state["content"]["node_count"] = mutations.text_node(10**6, 10**9)

    refused(edited(data, count), "as many nodes")


def test_depth_of_trees():
    data, _, _ = real("forest")

    def depth(schema):
        numbered = {node["__id__"]: node for node in mutations.nodes_of(schema)}
        tree = node_at(schema, "machines_.fitted.estimators[0].estimators_[0].tree_")
        state = numbered[tree["content"]["__id__"]]
        state["content"]["max_depth"] = mutations.text_node(0, 10**9)

    refused(edited(data, depth), "depth")


def with_sparse(data, path, arrays):
    members = members_of(data)
    node = node_at(json.loads(members["schema.json"]), path)
    with np.load(io.BytesIO(members[node["file"]])) as old:
        stream = io.BytesIO()
        np.savez(stream, **{**old, **{name: change(old[name]) for name, change in arrays.items()}})
    members[node["file"]] = stream.getvalue()
    return file_of(members)


@pytest.mark.parametrize(
    "arrays",
    [
        {"indices": lambda a: a + 1000},
        {"indices": lambda a: a - 5},
        {"indptr": lambda a: a * 3},
        {"indptr": lambda a: a[::-1].copy()},
        {"indptr": lambda a: a[:-1]},
        {"data": lambda a: a[:-1]},
        {"data": lambda a: a * np.nan},
        {"shape": lambda a: np.array([2**40, 2**40])},
        {"shape": lambda a: np.array([a[0], a[1] - 1])},
        {"format": lambda a: np.array(b"dia")},
        {"format": lambda a: np.array(b"os")},
    ],
)
@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("polynomial", "machines_.fitted.support_inputs"),
        ("sparse svc", "machines_.fitted.estimators[0].support_vectors_"),
    ],
)
def test_sparse_matrices_out_of_range(name, path, arrays):
    refused(with_sparse(real(name)[0], path, arrays))


def test_codes_of_categories_out_of_range():
    data, _, _ = real("columns")
    encoder = "steps[0][1].transformers_[1][1]"
    for change in (
        lambda content: content["_n_features_outs"].update(mutations.text_node(5, 10**9)),
        lambda content: content["drop_idx_"].update(mutations.text_node(5, 10**9)),
        lambda content: content.pop("_n_features_outs"),
    ):

        def edit(schema, change=change):
            numbered = {node["__id__"]: node for node in mutations.nodes_of(schema)}
            attributes = numbered[node_at(schema, encoder)["content"]["__id__"]]
            change(attributes["content"])

        refused(edited(data, edit))


@pytest.mark.parametrize("shape", [(2**40,), (2**31, 2**31), (2**62, 2**62, 4), (-1,), (10**30,)])
@pytest.mark.parametrize("descr", ["<f8", "|O", "<U0", "|V8"])
def test_huge_declared_shapes(shape, descr):
    members = members_of(real("svm")[0])
    stream = io.BytesIO()
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, header)
    for name in ("0.npy", "3.npy"):
        refused(file_of({**members, name: stream.getvalue()}))


def test_pickles_in_arrays_are_not_loaded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    class Hostile:
        def __reduce__(self):
            return open, ("stolen", "w")

    data, _, _ = real("svm")
    hostile = np.array([Hostile()], dtype=object)
    refused(with_array(data, "machines_.fitted.coefficients", lambda _: hostile), "not a plain")
    members = members_of(data)
    stream = io.BytesIO()
    np.savez(stream, data=hostile)
    refused(file_of({**members, "0.npz": stream.getvalue()}))
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_unpacks_to_more_than_it_may():
    data, _, _ = real("svm")
    bomb = {**members_of(data), "99.npy": bytes(1 << 21)}
    with pytest.raises(ModelFileError, match="max_size"):
        pc.load(io.BytesIO(file_of(bomb)), max_size=1 << 20)
    refused(file_of(bomb), "belongs to no part")
    assert pc.load(io.BytesIO(data), max_size=1 << 20)


def test_a_sparse_matrix_that_unpacks_to_more_than_it_may():
    members = members_of(real("polynomial")[0])
    node = node_at(json.loads(members["schema.json"]), "machines_.fitted.support_inputs")
    stream = io.BytesIO()
    save_npz(stream, csr_matrix(np.ones((1000, 1000))))
    members[node["file"]] = stream.getvalue()
    with pytest.raises(ModelFileError, match="max_size"):
        pc.load(io.BytesIO(file_of(members)), max_size=1 << 20)


def test_deep_nesting():
    data, _, _ = real("svm")

    def edit(schema, loader="ListNode", name="list"):
        node = node_at(schema, "priors")
        for number in range(400):
            inner = dict(node)
            node.clear()
            node.update(
                __class__=name, __module__="builtins", __loader__=loader,
                content=[inner], __id__=10**9 + number,
            )  # fmt: skip

    refused(edited(data, edit), "deep")
    text = members_of(data)
    text["schema.json"] = b'{"content":' * 100_000 + b"1" + b"}" * 100_000
    refused(file_of(text))


def test_an_object_inside_itself():
    data, _, _ = real("svm")

    def edit(schema):
        node = node_at(schema, "parts_.decoder")
        number = node["__id__"]
        numbered = {node["__id__"]: node for node in mutations.nodes_of(schema)}
        numbered[node["content"]["__id__"]]["content"]["pair_weights"] = {"__id__": number}

    refused(edited(data, edit), "number of another object")


def test_members_that_do_not_belong():
    members = members_of(real("svm")[0])
    for name in ("../escape.npy", "a.bin", "/etc/passwd", "1.npy/2.npy"):
        refused(file_of({**members, name: b""}), "does not belong")
    refused(file_of({"header.json": members["header.json"]}), "no schema")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, content in [*members.items(), ("0.npy", b"")]:
            archive.writestr(name, content)
        archive.comment = b"0" * 64
    refused(_container.sealed(stream.getvalue()), "same name")


def test_attributes_that_do_not_belong():
    data, _, _ = real("svm")

    def edit(schema, path, name):
        numbered = {node["__id__"]: node for node in mutations.nodes_of(schema)}
        attributes = numbered[node_at(schema, path)["content"]["__id__"]]
        attributes["content"][name] = mutations.text_node("x", 10**9)
        numbered[attributes["key_types"]["__id__"]]["content"].append(
            {
                "__class__": "str", "__module__": "builtins",
                "__loader__": "TypeNode", "__id__": 10**9 + 1,
            }
        )  # fmt: skip

    for path in ("machines_", "machines_.fitted", "parts_.decoder", "machine"):
        refused(edited(data, lambda schema, p=path: edit(schema, p, "predict")), "attribute")
    forest, _, _ = real("forest")
    path = "machines_.fitted.estimators[0]"
    refused(edited(forest, lambda schema: edit(schema, path, "predict_proba")), "attribute")


def test_more_threads_than_any_machine_has():
    data, _, _ = real("svm")

    def edit(schema):
        numbered = {node["__id__"]: node for node in mutations.nodes_of(schema)}
        numbered[schema["content"]["__id__"]]["content"]["n_jobs"] = mutations.text_node(10**6, 1e9)

    refused(edited(data, edit))


def test_something_else_than_a_model():
    members = members_of(real("svm")[0])
    schema = {
        "__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": [],
        "__id__": 1, "protocol": json.loads(members["schema.json"])["protocol"],
    }  # fmt: skip
    only = {"header.json": members["header.json"], "schema.json": json.dumps(schema).encode()}
    refused(file_of(only), "holds a list instead of a model")


def test_names_in_a_file_do_not_reach_the_terminal():
    data, _, _ = real("svm")
    changed = with_node(data, "machine", __class__="\x1b[2J\x07", __module__="os")
    model, sentence = outcome(changed)
    assert model is None
    assert sentence.isprintable()
    assert "os." in sentence


def test_not_a_model_file():
    for data in (b"", b"PK", b"\x80\x04K\x01.", b"PK" + bytes(200), b"x" * 1000):
        refused(data)
        with pytest.raises(ModelFileError):
            describe(io.BytesIO(data))
    refused(b"x" * 1000, "not a polychotomy model file")
    refused(real("svm")[0][:-1], "damaged or incomplete")


def test_a_newer_format():
    members = members_of(real("svm")[0])
    header = json.loads(members["header.json"])
    newer = {**header, "format": 3, "polychotomy": "9.1"}
    members["header.json"] = json.dumps(newer).encode()
    refused(file_of(members), "has format 3, written by polychotomy 9.1; .* Upgrade polychotomy")
    assert describe(io.BytesIO(file_of(members)))["format"] == 3
    for wrong in (0, -1, None, True, "1", [1]):
        members["header.json"] = json.dumps({**header, "format": wrong}).encode()
        refused(file_of(members), "format number")


def bomb(member, content):
    """Return a small file, one JSON member of which is large when unpacked."""
    members = {**members_of(real("svm")[0]), member: content}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, each in members.items():
            archive.writestr(name, each)
        archive.comment = b"0" * 64
    return _container.sealed(buffer.getvalue())


@pytest.mark.parametrize("member", ["schema.json", "header.json"])
@pytest.mark.parametrize(
    "content",
    [
        b'{"a":[' + b"[]," * 10_000_000 + b"[]]}",
        b'{"a":' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}",
        b'{"a":[' + b"1," * 3_000_000 + b"1]}",
        b'{"protocol": 1, "a": "' + b"x" * 40_000_000 + b'"}',
    ],
    ids=["lists", "depth", "numbers", "text"],
)
def test_small_files_do_not_become_large_ones(member, content):
    data = bomb(member, content)
    assert len(data) < 300_000
    tracemalloc.start()
    try:
        refused(data)
        if member == "header.json":
            with pytest.raises(ModelFileError):
                describe(io.BytesIO(data))
        else:
            describe(io.BytesIO(data))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 150e6


def test_members_that_nothing_refers_to_are_not_unpacked():
    members = members_of(real("svm")[0])
    members["77.npy"] = b"0" * 200_000_000
    data = file_of(members)
    tracemalloc.start()
    try:
        refused(data, "belongs to no part of the model")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50e6


def test_a_schema_may_be_larger_with_a_larger_limit():
    members = members_of(real("svm")[0])
    schema = members["schema.json"]
    members["schema.json"] = schema + b" " * (9 << 20)
    refused(file_of(members), "has a schema of .* pass a larger max_size")
    pc.load(io.BytesIO(file_of(members)), max_size=2 << 30)
