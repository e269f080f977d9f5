"""The commands that write and use a model file: `fit`, `predict`, `evaluate` and `explain`."""

from __future__ import annotations

import typer

from .evaluating import evaluate, explain
from .fitting import fit
from .predicting import predict


def add_to(app: typer.Typer) -> None:
    """Add the commands to an application."""
    for command in (fit, predict, evaluate, explain):
        app.command(command.__name__)(command)
