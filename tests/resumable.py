"""Numbered calls that are written down as they are made, so that a long run can go on where it was.

A call is entered in the log before it is made, and again when it has ended. A call that was
entered and never ended took the process with it, or the process was stopped just then: it is made
once more. If it does not end the second time either, it counts as wrong.
"""

import argparse
import faulthandler
import json
import time
from collections import Counter
from pathlib import Path

FINE = ("answered", "refused")


def made_before(log, seed):
    """Return the outcome of every call in a log; a last line that was cut off does not count."""
    if log is None or not log.exists():
        return {}
    begun, known = Counter(), {}
    for line in log.read_text().split("\n")[:-1]:
        entry = json.loads(line)
        number, outcome = entry["call"], entry.get("outcome")
        if entry["seed"] != seed:
            continue
        begun[number] += outcome is None
        if outcome is not None:
            known[number] = outcome
    dead = {number: f"{number}: did not end" for number, times in begun.items() if times > 1}
    return dead | known


def run(calls, make, seed, seconds=None, log=None):
    """Make calls until they are done or the time is up; return counts and reports.

    ``make(number, seed)`` returns "answered", "refused", or what went wrong.
    """
    counts, reports, start = Counter(), [], time.monotonic()
    known = made_before(log, seed)
    for number in calls:
        if seconds is not None and time.monotonic() - start > seconds:
            break
        outcome = known.get(number)
        if outcome is None:
            enter(log, seed=seed, call=number)
            began = time.process_time()
            outcome = make(number, seed)
            spent = round(time.process_time() - began, 3)
            enter(log, seed=seed, call=number, outcome=outcome, seconds=spent)
        counts[outcome if outcome in FINE else "wrong"] += 1
        if outcome not in FINE:
            reports.append(outcome)
    return counts, reports


def enter(log, **entry):
    """Add one line to the log, if there is one."""
    if log is not None:
        with log.open("a") as file:
            file.write(json.dumps(entry) + "\n")


def main(make, description, calls):
    """Run what the command line asks for; print what went wrong, and the counts."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--calls", type=int, default=calls)
    parser.add_argument("--first", type=int, default=0, help="begin with this number")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=None, help="stop after these")
    parser.add_argument("--only", type=int, default=None, help="repeat one call")
    parser.add_argument("--log", type=Path, default=None, help="write calls down, and go on")
    options = parser.parse_args()
    faulthandler.enable()
    numbers = range(options.first, options.first + options.calls)
    if options.only is not None:
        numbers = [options.only]
    counts, reports = run(numbers, make, options.seed, options.seconds, options.log)
    print(*reports[:50], sep="\n")
    words = [f"{counts[word]} {word}" for word in (*FINE, "wrong")]
    print(f"{counts.total()} tried: {', '.join(words)}")
    return 1 if reports else 0
