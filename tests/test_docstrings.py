"""Every public thing has a docstring, with an example that runs."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import numpy as np
import pytest

import polychotomy

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(polychotomy.__path__, "polychotomy.")
    if not module.name.endswith("._core")
    # Former names of modules are the modules themselves.
    and importlib.import_module(module.name).__name__ == module.name
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    with np.printoptions(legacy=False):
        result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "tasks").glob("*.md")),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_in_the_documentation_run(page):
    result = doctest.testfile(str(page), module_relative=False)
    assert result.failed == 0


@pytest.mark.parametrize("name", polychotomy.__all__)
def test_public_names_have_an_example(name):
    documented = getattr(polychotomy, name).__doc__
    assert documented
    assert ">>>" in documented


def test_public_names_exist_and_are_sorted():
    assert len(set(polychotomy.__all__)) == len(polychotomy.__all__)
    for name in polychotomy.__all__:
        assert hasattr(polychotomy, name)
