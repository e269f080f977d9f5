"""CONTRIBUTING is right: its map is complete, its stops exist, its decoder works."""

import importlib
import re
import tomllib
from pathlib import Path

import polychotomy
from commands import Commands

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()


def packages():
    """Return what is in the root of the package."""
    folder = ROOT / "src" / "polychotomy"
    found = {path.stem for path in folder.glob("*.py")}
    found |= {path.parent.name for path in folder.glob("*/__init__.py")}
    return found - {"__init__", "__main__"}


def test_the_map_names_every_package_in_the_order_of_the_layers():
    rows = re.findall(r"^\| `(\w+)` \|", TEXT, flags=re.MULTILINE)
    assert set(rows) == packages()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    place = {name: number for number, layer in enumerate(layers) for name in layer.split(" | ")}
    assert set(place) == packages()
    assert [place[name] for name in rows] == sorted(place[name] for name in rows)


def test_no_module_of_the_root_is_private():
    assert not [name for name in packages() if name.startswith("_")]


def test_every_stop_on_the_path_of_a_row_exists():
    section = TEXT[TEXT.index("### The path of a row") : TEXT.index("## Add a decoder")]
    stops = re.findall(r"`([a-z_]+(?:\.\w+)+)`", section)
    assert len(stops) > 20
    for stop in stops:
        parts = stop.split(".")
        found = polychotomy
        for number, part in enumerate(parts):
            if not hasattr(found, part):
                found = importlib.import_module(".".join(["polychotomy", *parts[: number + 1]]))
            else:
                found = getattr(found, part)
        assert found is not None, stop


def test_the_decoder_in_ten_minutes_works(tmp_path):
    files = re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)```", TEXT, flags=re.DOTALL)
    assert [name for name, _ in files] == ["product.py", "try_product.py"]
    for name, code in files:
        (tmp_path / name).write_text(code)
    done = Commands(tmp_path).run_script("try_product.py")
    assert done.code == 0, done.err
    assert "Product()" in done.out
    assert done.out.endswith("True\n")
