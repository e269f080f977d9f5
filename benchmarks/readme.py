"""Run the command that the README shows, and print its answer there.

    python benchmarks/readme.py

Seconds depend on the computer; everything else is the same everywhere but for rounding.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
COMMAND = re.compile(r"\.venv/bin/polychotomy (compare iris .*)\n")
ANSWER = re.compile(r"(<!-- its answer -->\n```\n).*?(```\n)", re.DOTALL)


def main() -> None:
    text = README.read_text("utf-8")
    words = COMMAND.search(text)[1].split()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "polychotomy", *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    answer = done.stdout.strip("\n")
    README.write_text(ANSWER.sub(lambda mark: f"{mark[1]}{answer}\n{mark[2]}", text), "utf-8")


if __name__ == "__main__":
    main()
