"""Model files with anything changed: refused with a sentence, or answers that make sense.

    nice -n 19 python tests/attack/models.py --calls 100000 --log models.jsonl

Prints how many files were refused and how many answered, and what went wrong, with the number of
each file: ``--only NUMBER`` repeats it. The same command goes on where it was. The exit code is 1
if anything went wrong.
"""

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from persistence import test_hostile_files as hostile
from resumable import main

KINDS = [(name, mutation) for name in hostile.FILES for mutation in hostile.MUTATIONS]


def attempt(number, seed):
    """Change a file and use it; return "refused", "answered", or a report of what went wrong."""
    name, mutation = KINDS[number % len(KINDS)]
    found = use(name, mutation, np.random.default_rng([seed, number]))
    fine = found in ("refused", "answered")
    return found if fine else f"{number} ({name}, {mutation.__name__}): {found}"


def use(name, mutation, rng):
    """Change one file and use it."""
    data, inputs, _ = hostile.real(name)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            model, sentence = hostile.outcome(mutation(data, rng))
            if model is None:
                return "refused" if sentence.endswith(".") else f"half a sentence: {sentence}"
            answer = model.predict(inputs)
    except ValueError as error:
        # Numbers that are fine one by one may overflow together; that is said when they do.
        said = str(error)
        return "refused" if said.endswith(".") else f"half a sentence: {said}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if answer.shape != (inputs.shape[0],) or not set(answer) <= set(model.classes_):
        return "answers that are no classes"
    if mutation in (hostile.mutations.flip_byte, hostile.mutations.truncate):
        return "a damaged file was read"
    return "answered"


if __name__ == "__main__":
    sys.exit(main(attempt, __doc__, calls=100_000))
