"""A generator of dirty exports: a clean table, and traps that each make it worse in one way.

Most traps only change how a table is written. A model of the dirty table must then answer exactly
as one of the clean table does, which shows that every field was read as what it means.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

ROWS = 75
KINDS = np.array(["None", "NA", "red fox"])


def clean() -> pd.DataFrame:
    """Return a table with numbers, words, dates, gaps, and classes called None and NA."""
    rng = np.random.default_rng(7)
    kind = rng.integers(0, 3, ROWS)
    frame = pd.DataFrame(
        {
            "price": (900 + 800 * kind + rng.normal(0, 600, ROWS)).round(2),
            "share": (30 + 20 * kind + rng.normal(0, 20, ROWS)).round(1),
            "mass": (3 + kind + rng.normal(0, 1, ROWS)).round(2),
            "colour": np.array(["red", "green", "blue"])[(kind + (rng.random(ROWS) < 0.4)) % 3],
            "day": pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 600, ROWS), "D"),
            "kind": KINDS[kind],
        }
    )
    frame["mass"] = frame["mass"].mask(rng.random(ROWS) < 0.1)
    frame["colour"] = frame["colour"].mask(rng.random(ROWS) < 0.1)
    return frame


def written(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table as the texts that are in its file; gaps are empty."""
    return frame.apply(lambda column: column.map(str, na_action="ignore")).fillna("")


@dataclass(frozen=True)
class Trap:
    """One way in which a table can be dirty.

    Attributes
    ----------
    change : callable
        From the texts of a table to worse ones.
    said : sequence of str
        What the program has to say about it.
    options : sequence of str
        Options that deal with it.
    same : bool
        Whether a model answers as one of the clean table does.
    """

    change: Callable[[pd.DataFrame], pd.DataFrame]
    said: Sequence[str] = ()
    options: Sequence[str] = field(default_factory=tuple)
    same: bool = True


def _mapped(name: str, function: Callable[[str], str]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return a change of the fields of a column that are not empty."""

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(**{name: frame[name].map(lambda text: text and function(text))})

    return change


def _gaps(name: str, *markers: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return a change that writes markers where fields are empty."""

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        found = [text or markers[k % len(markers)] for k, text in enumerate(frame[name])]
        return frame.assign(**{name: found})

    return change


def _comma(text: str) -> str:
    return f"{float(text):,.2f}".translate(str.maketrans(",.", ".,"))


def _day(form: str) -> Callable[[str], str]:
    return lambda text: pd.Timestamp(text).strftime(form)


def _copies(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([frame, frame[:30]], ignore_index=True)


def _text(frame: pd.DataFrame) -> pd.DataFrame:
    words = ["was seen near the old barn", "ran over the wet field", "slept all day long"]
    return frame.assign(notes=[f"{words[k % 3]}, {k}" for k in range(len(frame))])


def _towns(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(town=[f"town {k * 7 % 60}" for k in range(len(frame))])


def _spellings(frame: pd.DataFrame) -> pd.DataFrame:
    kinds = [k.upper() if n % 5 == 0 else f"{k} " for n, k in enumerate(frame["kind"])]
    return frame.assign(kind=np.where(frame["kind"] == "red fox", kinds, frame["kind"]))


def _leak(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(group=frame["kind"].map({"None": "7", "NA": "2", "red fox": "9"}))


NUMBERS = {
    "thousands": Trap(
        _mapped("price", lambda text: f"{float(text):,.2f}"), ["'price' holds numbers"]
    ),
    "currency": Trap(
        _mapped("price", lambda text: f"${float(text):,.2f}"), ["was read as"]
    ),
    "decimal commas": Trap(_mapped("price", lambda text: f"{_comma(text)} €"), ["was read as"]),
    "percent": Trap(_mapped("share", lambda text: f"{text} %"), ["'share' holds numbers"]),
    "units": Trap(_mapped("mass", lambda text: f"{text} kg"), ["'mass' holds numbers"]),
    "markers": Trap(
        lambda frame: _gaps("colour", "None", "n/a")(_gaps("mass", "-", "?", "#N/A")(frame)),
        ["Read as missing: ", "'?' in 'mass'", "'None' in 'colour'", "--missing"],
    ),
    "own marker": Trap(_gaps("mass", "-999"), ["'-999' in 'mass'"], ["--missing", "-999"]),
    "spaces": Trap(_mapped("colour", lambda text: f"  {text} ")),
}  # fmt: skip
DATES = {
    "german dates": Trap(_mapped("day", _day("%d.%m.%Y")), ["Dates ('day')"]),
    "times": Trap(_mapped("day", _day("%Y-%m-%dT%H:%M:%SZ")), ["Dates ('day')"]),
}
COLUMNS = {
    "useless": Trap(
        lambda frame: frame.assign(
            id=[str(5000 + k) for k in range(len(frame))], rest="", year="2024"
        ),
        ["'id' looks like an identifier", "--keep id", "'rest' is empty", "only one value"],
    ),
    "text": Trap(_text, options=["--text", "notes"], same=False),
    "many words": Trap(_towns, ["Many categories ('town' 60)"], same=False),
    "leak": Trap(_leak, ["warning: Column 'group' alone tells 'kind'", "--drop group"], same=False),
    "copies": Trap(_copies, ["30 rows occur again", "--unique"], same=False),
    "unique": Trap(_copies, ["30 rows occur again, class and all: skipped"], ["--unique"]),
    "spellings": Trap(_spellings, ["differ only in spelling", "--merge-spellings"], same=False),
    "weights": Trap(lambda frame: frame.assign(w="1"), options=["--weights", "w"]),
}
TRAPS = {**NUMBERS, **DATES, **COLUMNS}
REFUSED = {
    "free text": (_text, ["holds free text", "--text notes", "--drop notes"]),
    "two units": (
        _mapped("mass", lambda text: f"{text} kg" if text > "3" else f"{float(text) * 1000} g"),
        ["the units 'kg' and 'g'", "--drop mass"],
    ),
    "a word": (
        lambda frame: frame.assign(price=["broken", *frame["price"][1:]]),
        ["'broken' in row 1", "--missing broken", "--category price"],
    ),
    "points and commas": (
        lambda frame: frame.assign(share=[_comma(frame["share"][0]), *frame["share"][1:]]),
        ["decimal points and with commas", "--category share"],
    ),
}


def together() -> tuple[pd.DataFrame, list[str], list[str]]:
    """Return a table with many traps at once, the options, and what must be said."""
    chosen = ["currency", "percent", "units", "markers", "spaces", "german dates", "useless"]
    chosen += ["many words", "leak", "copies", "spellings", "text"]
    frame = written(clean())
    for name in chosen:
        frame = TRAPS[name].change(frame)
    options = ["--text", "notes", "--drop", "group", "--merge-spellings"]
    said = ["'price' holds numbers", "'mass' holds numbers", "Read as missing", "Dates ('day')"]
    said += ["'id' looks like an identifier", "'rest' is empty", "Many categories ('town' 60)"]
    return frame, options, said
