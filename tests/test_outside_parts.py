"""Parts written outside the package, one file each, go through all that ours go through.

Each runs in a process of its own, so that no other test meets them in the registry.
"""

from pathlib import Path

import pytest

from commands import Commands

FOLDER = Path(__file__).parent / "outside_parts"


@pytest.mark.parametrize("kind", ["decoder", "calibrator", "code", "kernel", "machine"])
def test_a_part_is_one_file(kind, tmp_path):
    done = Commands(tmp_path).run_script(FOLDER / "walk.py", kind)
    assert (done.code, done.out) == (0, "done\n"), done.err[-3000:]


def test_a_recipe_is_one_line(tmp_path):
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
    done = Commands(tmp_path).run_code(script)
    assert (done.code, done.out) == (0, "done\n"), done.err[-3000:]
