"""The documentation names every part, and its scripts run."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import polychotomy
from commands import Commands
from polychotomy.core.registry import parts

DOCS = Path(__file__).parents[1] / "docs"
KINDS = ("calibrator", "code", "decoder", "kernel", "machine", "tempering")


@pytest.fixture(scope="module")
def registered():
    # Some modules are imported only when they are needed, and register their parts then.
    for module in pkgutil.walk_packages(polychotomy.__path__, "polychotomy."):
        if module.name != "polychotomy.__main__":
            importlib.import_module(module.name)
    # Only ours: examples and other tests may have registered their own parts in this process.
    return {
        kind: {n for n, cls in parts(kind).items() if cls.__module__.startswith("polychotomy.")}
        for kind in KINDS
    }


@pytest.mark.parametrize("kind", KINDS)
def test_every_registered_name_is_in_the_documentation(registered, kind):
    pages = "".join((DOCS / page).read_text("utf-8") for page in ("methods.md", "guide.md"))
    assert registered[kind]
    assert [name for name in sorted(registered[kind]) if f'`"{name}"`' not in pages] == []


def test_the_script_of_a_part_of_your_own_runs(tmp_path):
    # In its own process, because other tests would see the part that it registers.
    page = (DOCS / "persistence.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(import.*?)```", page, re.DOTALL)
    done = Commands(tmp_path).run_code(code)
    assert done.code == 0, done.err
