"""What is optional: every missing package is named with an extra that installs it."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import polychotomy
from polychotomy.core.extras import needed
from polychotomy.core.progress import progress

ROOT = Path(__file__).parents[1]
SOURCE = Path(polychotomy.__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BASE = {"numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl"}


def packages_of(extra):
    """Return what an extra installs, with the extras that it names."""
    found = set()
    for text in PROJECT["optional-dependencies"][extra]:
        inner = re.match(r"polychotomy\[(.*)\]", text)
        if inner:
            found |= set().union(*(packages_of(one) for one in inner[1].split(",")))
        else:
            found.add(re.split(r"[^\w-]", text)[0].lower())
    return found


def calls():
    """Yield the module and extra of every call of `needed` in the library."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "needed":
                yield path.name, *(ast.literal_eval(one) for one in node.args[:2])


def test_the_base_is_small():
    assert {re.split(r"[^\w-]", text)[0] for text in PROJECT["dependencies"]} == BASE


def test_every_extra_that_is_named_installs_the_package():
    found = list(calls())
    assert len(found) > 8
    for file, module, extra in found:
        assert module.partition(".")[0] in packages_of(extra), (file, module, extra)


def test_all_has_the_packages_of_every_extra_for_users():
    for extra in set(PROJECT["optional-dependencies"]) - {"test", "dev", "docs"}:
        assert packages_of(extra) <= packages_of("all"), extra


def hide(*packages):
    """Return code that makes packages look as if they were not installed."""
    return (
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] in {packages!r}:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
    )


OPTIONAL = sorted(packages_of("all"))


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_the_base_gives_the_estimators():
    done = run(
        hide(*OPTIONAL)
        + "import numpy as np, polychotomy\n"
        + "X = np.random.default_rng(0).normal(size=(60, 2)); y = np.arange(60) % 3\n"
        + "print(polychotomy.ProbabilisticSVC().fit(X, y).predict_proba(X[:1]).shape)\n"
        + "polychotomy.compare_decoders(polychotomy.PolychotomyClassifier(), X, y)\n"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "(1, 3)\n"


def test_the_command_line_without_its_packages_is_one_line():
    done = run(hide("typer") + "from polychotomy.__main__ import main; sys.exit(main())")
    assert done.returncode == 2
    expected = "The command line needs typer: pip install 'polychotomy[tool]'."
    assert done.stderr == f"polychotomy: error: {expected}\n"


def test_model_files_without_skops(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    with pytest.raises(ImportError, match=r"need skops: pip install 'polychotomy\[files\]'"):
        polychotomy.save(polychotomy.PolychotomyClassifier(), tmp_path / "m.polychotomy")
    (tmp_path / "m.polychotomy").write_bytes(b"x")
    with pytest.raises(ImportError, match=r"need skops: pip install 'polychotomy\[files\]'"):
        polychotomy.load(tmp_path / "m.polychotomy")


def test_a_broken_package_raises_its_own_error(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import what_it_needs_itself")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="what_it_needs_itself"):
        needed("broken_package", "files", "This needs broken_package")


def test_progress_without_rich_goes_on(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with (
        pytest.warns(UserWarning, match=r"'polychotomy\[tool\]'. Going on without them"),
        progress(True) as tick,
    ):
        tick("a", 1, 2)


def test_versions_are_shown(capsys):
    polychotomy.show_versions()
    shown = capsys.readouterr().out
    assert re.search(rf"^  polychotomy +{re.escape(metadata.version('polychotomy'))}$", shown, re.M)
    for name in BASE | packages_of("all"):
        assert re.search(rf"^  {name} +(\d|not installed)", shown, re.M | re.I), name
    assert "pytest" not in shown


def test_types_are_announced():
    assert (SOURCE / "py.typed").exists()
