"""Model files with anything changed: refused with a sentence, or answers that make sense.

    python tests/attack/models.py --times 100000

Prints how many files were refused and how many answered, and what went wrong, with the seed of each
file. The exit code is 1 if anything did.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from persistence import test_hostile_files as hostile


def attempt(name, mutation, seed):
    """Change a file and use it; return "refused", "answered", or a report of what went wrong."""
    data, inputs, _ = hostile.real(name)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            model, sentence = hostile.outcome(mutation(data, np.random.default_rng(seed)))
            if model is None:
                return "refused" if sentence.endswith(".") else f"half a sentence: {sentence}"
            answer = model.predict(inputs)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if answer.shape != (inputs.shape[0],) or not set(answer) <= set(model.classes_):
        return "answers that are no classes"
    if mutation in (hostile.mutations.flip_byte, hostile.mutations.truncate):
        return "a damaged file was read"
    return "answered"


def run(times, seed=0, first=0, seconds=None):
    """Return the numbers of refused and answered files, and reports of the others."""
    start = time.monotonic()
    counts, reports = {"refused": 0, "answered": 0}, []
    kinds = [(name, mutation) for name in hostile.FILES for mutation in hostile.MUTATIONS]
    for number in range(first, first + times):
        if seconds is not None and time.monotonic() - start > seconds:
            break
        name, mutation = kinds[number % len(kinds)]
        found = attempt(name, mutation, [seed, number])
        if found in counts:
            counts[found] += 1
        else:
            reports.append(f"{number} ({name}, {mutation.__name__}): {found}")
    return counts, reports


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="begin with this number")
    parser.add_argument("--seconds", type=float, default=None, help="stop after these")
    options = parser.parse_args()
    counts, reports = run(options.times, options.seed, options.first, options.seconds)
    print(*reports[:50], sep="\n")
    refused, answered = counts["refused"], counts["answered"]
    tried = refused + answered + len(reports)
    print(f"tried {tried}, {refused} refused, {answered} answered, {len(reports)} wrong")
    return 1 if reports else 0


if __name__ == "__main__":
    sys.exit(main())
