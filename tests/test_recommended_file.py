"""A recommended method that no model file can hold: the best that can is named and shown."""

from dataclasses import replace
from types import SimpleNamespace

from sklearn.datasets import load_iris

from polychotomy.cli.comparisons import _commands
from polychotomy.compare import compare_methods


def test_the_best_that_a_file_can_hold():
    X, y = load_iris(return_X_y=True)
    found = compare_methods(X[::3], y[::3], ["PWC_PSVM", "PWC_KLR"], n_splits=2)
    best = found.recommended
    (other,) = set(found.methods) - {best}
    table = SimpleNamespace(schema=SimpleNamespace(target="kind"))
    loaded = SimpleNamespace(table=table, options="")
    assert found.storable == best
    assert f"--method {best} " in _commands(found, loaded, "my flowers.csv")

    lone = replace(found.candidates[best], storable=False)
    changed = replace(found, candidates={**found.candidates, best: lone})
    assert changed.storable == other
    sentence = f"{best} cannot be kept in a model file; the best that can is {other}."
    assert sentence in changed.reasons
    commands = _commands(changed, loaded, "my flowers.csv")
    assert commands.startswith(f"# {best} cannot be kept in a model file, {other} can\n")
    assert f"polychotomy fit 'my flowers.csv' --target kind --method {other} " in commands

    none = {name: replace(one, storable=False) for name, one in found.candidates.items()}
    assert replace(found, candidates=none).storable is None
    assert _commands(replace(found, candidates=none), loaded, "my flowers.csv") == ""
