"""What an install costs: seconds, megabytes, packages, beside imbalanced-learn and AutoGluon.

Builds a wheel if none is given, and installs it into fresh environments whose PATH has no
compiler: alone, to fit a classifier, and with [tool], to run ``polychotomy compare iris``. Sizes
are those of the installed files. imbalanced-learn is installed too; AutoGluon is only resolved
(``pip install --dry-run --report``), and its size is that of the wheels.

    python benchmarks/install.py [--wheel FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import unquote
from urllib.request import Request, urlopen

from _table import Table, add_csv_option

WORDS = (
    "Fresh environments without a compiler, by `benchmarks/install.py`; seconds of processor time."
)
ROOT = Path(__file__).parents[1]
HEAD = ["install", "packages", "megabytes", "seconds", "then"]
ESTIMATORS = (
    "import polychotomy, sklearn.datasets as d; X, y = d.load_iris(return_X_y=True); "
    "print(polychotomy.ProbabilisticSVC().fit(X, y).score(X, y))"
)


def spent() -> float:
    """Return the processor time of all programs that have ended: other work does not change it."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fresh(folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    return folder / "bin"


def without_compiler(programs: Path) -> dict[str, str]:
    """Return an environment whose PATH has the programs of an environment and nothing else."""
    kept = {name: value for name, value in os.environ.items() if name not in ("CC", "CXX")}
    return {**kept, "PATH": str(programs), "PIP_NO_BUILD_ISOLATION": "0"}


def size(folder: Path) -> float:
    """Return the megabytes of the packages of an environment, without pip and setuptools."""
    total = 0
    for path in folder.glob("lib/python*/site-packages/**/*"):
        own = path.relative_to(folder).parts[3].startswith(("pip", "setuptools", "_distutils"))
        if path.is_file() and not own and "__pycache__" not in path.parts:
            total += path.stat().st_size
    return total / 1e6


def install(name: str, what: str, then: list[str] | None) -> list[str]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "fresh"
        programs = fresh(folder)
        environment = without_compiler(programs)
        start = spent()
        command = [programs / "pip", "install", "--quiet", "--only-binary", ":all:", what]
        subprocess.run(command, check=True, env=environment, cwd=place)
        seconds = spent() - start
        listed = subprocess.run(
            [programs / "pip", "list", "--format", "json"],
            check=True,
            env=environment,
            capture_output=True,
            text=True,
        ).stdout
        count = sum(one["name"] not in ("pip", "setuptools") for one in json.loads(listed))
        worked = ""
        if then:
            done = subprocess.run(
                [programs / then[0], *then[1:]],
                check=True,
                env=environment,
                cwd=place,
                capture_output=True,
                text=True,
            )
            last = done.stdout.strip().splitlines()[-1][:60]
            worked = f"`{' '.join(then[:3])}`: {last}" if "-c" not in then else f"score {last}"
        return [name, str(count), f"{size(folder):.0f}", f"{seconds:.0f}", worked]


def resolve(name: str) -> list[str]:
    """Return the wheels that pip would install, by their sizes; nothing is downloaded."""
    with tempfile.TemporaryDirectory() as place:
        programs = fresh(Path(place) / "fresh")
        report = Path(place) / "report.json"
        start = spent()
        command = [programs / "pip", "install", "--quiet", "--dry-run", "--report", report, name]
        subprocess.run(command, check=True)
        seconds = spent() - start
        found = json.loads(report.read_text())["install"]
        total, unknown = 0, 0
        for one in found:
            length = wheel_size(one["download_info"]["url"])
            total += length
            unknown += length == 0
        words = "only resolved; sizes of the wheels"
        if unknown:
            words += f", without {unknown} of unknown size"
        return [name, str(len(found)), f"{total / 1e6:.0f}", f"({seconds:.0f} to resolve)", words]


def wheel_size(url: str) -> int:
    if url.startswith("file:"):
        return Path(unquote(url.removeprefix("file://"))).stat().st_size
    try:
        with urlopen(Request(url, method="HEAD"), timeout=60) as answer:
            return int(answer.headers.get("Content-Length") or 0)
    except OSError:
        return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", type=Path, help="a wheel that is built already")
    add_csv_option(parser)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        wheel = arguments.wheel
        if wheel is None:
            command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", place]
            subprocess.run([*command, str(ROOT)], check=True)
            (wheel,) = Path(place).glob("*.whl")
        wheel = wheel.resolve()
        runs = [
            lambda: install("polychotomy", str(wheel), ["python", "-c", ESTIMATORS]),
            lambda: install(
                "polychotomy[tool]", f"{wheel}[tool]", ["polychotomy", "compare", "iris"]
            ),
            lambda: install("imbalanced-learn", "imbalanced-learn", None),
            lambda: resolve("autogluon.tabular[all]"),
        ]
        table = Table("install", WORDS, HEAD)
        for run in runs:
            table.add(*run())
    table.save(arguments.csv)


if __name__ == "__main__":
    main()
