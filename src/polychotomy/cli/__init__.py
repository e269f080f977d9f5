"""The command line: thin, it parses, calls and prints.

One file for each group of commands. Errors are one line on standard error; results go to standard
output, and are the same in a pipe. The exit code is 0 for success, 1 if something failed, 2 for bad
input and 130 after Ctrl-C.
"""

from __future__ import annotations

import os
import select
import sys
import warnings
from collections.abc import Sequence

import typer

from ..core.words import printable
from ..execution.forks import end_waiting
from . import cards, comparisons, models, studies
from ._console import StoppedError, told
from ._interrupts import interrupts_wait_for_imports

app = typer.Typer(
    name="polychotomy",
    help="Multi-class classification from binary classifiers: for tables, and studies.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
comparisons.add_to(app)
models.add_to(app)
cards.add_to(app)
studies.add_to(app)

BAD_INPUT = (ValueError, TypeError, OSError, ImportError)


def _version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        print(f"polychotomy {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    """Multi-class classification from binary classifiers: for tables, and studies."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and turn every exception into one line and an exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the name of the program; that of the process by default.

    Returns
    -------
    code : int
        0, or 1 if something failed, 2 for bad input, 130 after Ctrl-C.

    Examples
    --------
    >>> from polychotomy.cli import main
    >>> main(["--version"])
    polychotomy 0.2.0
    0
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    told.clear()
    long_form, warnings.formatwarning = warnings.formatwarning, _Warnings()
    try:
        with interrupts_wait_for_imports():
            return _run(given)
    except KeyboardInterrupt:  # before a command has begun, or a second one after its end
        return _say("stopped.", 130)
    finally:
        end_waiting()
        warnings.formatwarning = long_form


class _Warnings:
    """Prints warnings as lines, with the options of the command line.

    Several parts of a method may warn of the same rare classes, each in its own words: what to do
    about them is said once.
    """

    def __init__(self) -> None:
        self.advised = False

    def __call__(self, message: Warning | str, *_: object, **__: object) -> str:
        from ..compare._notes import note_of, without_rare_advice

        text = note_of(str(message), "")
        about_rare = "--rare" in text
        # A note may name the method before the same words, and leave out what does not help.
        known = any(one.endswith((text, without_rare_advice(text))) for one in told)
        if not text or known or (about_rare and self.advised):
            return ""
        told.append(text)
        self.advised |= about_rare
        return f"polychotomy: warning: {printable(text)}\n"


def _run(given: list[str]) -> int:
    try:
        code = app(given or ["--help"], prog_name="polychotomy", standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        return _say("stopped.", 130)
    except StoppedError:
        return 130
    except (BrokenPipeError, SystemExit) as error:  # the parser turns the former into the latter
        return 141 if _reader_is_gone() else _say(f"error: {error}", 1)
    except Exception as error:
        if os.environ.get("POLYCHOTOMY_DEBUG"):
            raise
        return _explain(error)
    if code == 130:  # what the parser makes of an interrupt, without a word
        return _say("stopped.", 130)
    return code if isinstance(code, int) else 0


def _reader_is_gone() -> bool:
    """Return whether the reader of our output is gone; then no message can reach it."""
    output = sys.__stdout__
    if output is None or not hasattr(select, "poll"):
        return True
    poll = select.poll()
    poll.register(output.fileno(), 0)
    if not poll.poll(0):
        return False
    # So that the interpreter does not try to flush again at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())
    return True


def _explain(error: Exception) -> int:
    if hasattr(error, "format_message"):  # an error of the parser, for an invalid command
        context = getattr(error, "ctx", None)
        command = "polychotomy" if context is None else context.command_path
        words = error.format_message()
        end = "" if words.endswith((".", "?")) else "."
        return _say(f"error: {words}{end} Try '{command} --help'.", 2)
    if isinstance(error, BAD_INPUT):
        return _say(f"error: {error}", 2)
    if isinstance(error, RuntimeError):  # our own, with a complete message
        return _say(f"error: {error}", 1)
    where = "Set POLYCHOTOMY_DEBUG=1 to see where."
    return _say(f"error: {type(error).__name__}: {error}. {where}", 1)


def _say(text: str, code: int) -> int:
    print(f"polychotomy: {printable(' '.join(text.split()))}", file=sys.stderr)
    return code
