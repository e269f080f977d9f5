"""Parts written outside the package, one file each, go through all that ours go through.

Each runs in a process of its own, so that no other test meets them in the registry.
"""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "outside_parts"


@pytest.mark.parametrize("kind", ["decoder", "calibrator", "code", "kernel", "machine"])
def test_a_part_is_one_file(kind):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(FOLDER / "walk.py"), kind],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "done\n", done.stderr[-3000:]


def test_a_recipe_is_one_line():
    script = (
        "import polychotomy as pc\n"
        "from polychotomy.tuning.recipe import register_recipe\n"
        "register_recipe(pc.Recipe('OWN', pc.OneVsOne(), pc.SVM(), pc.Platt(), pc.MaxWins(), ()))\n"
        "assert 'OWN' in str(pc.recipes())\n"
        "assert pc.recipe('own', tuned=True).estimator.decoder.name == 'max_wins'\n"
        "from sklearn.datasets import load_iris\n"
        "X, y = load_iris(return_X_y=True)\n"
        "sweep = pc.MethodSweep(['OWN', 'MWV_SVM'], fine=None, show_progress=False).fit(X, y)\n"
        "assert list(sweep.best_params_) == ['OWN', 'MWV_SVM']\n"
        "print('done')\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stdout == "done\n", done.stderr[-3000:]
