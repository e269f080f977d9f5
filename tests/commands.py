"""The program, imported once: every command runs in a process of its own, forked from that."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SERVER = """
import contextlib, io, json, os, sys, traceback
import jinja2, matplotlib, pandas, pyarrow.csv, pyarrow.parquet, scipy.stats, skops.io
import pyarrow.compute, sklearn.compose, sklearn.impute, sklearn.preprocessing, sklearn.tree
import polychotomy.compare, polychotomy.persistence._model, polychotomy.tables
from polychotomy.cli import main

with contextlib.redirect_stdout(io.StringIO()):
    main(["methods", "PWC_PSVM"])  # it imports what reads the arguments

for line in iter(sys.stdin.readline, ""):
    job = json.loads(line)
    child = os.fork()
    if child == 0:
        try:
            os.chdir(job["folder"])
            write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            for number, name in enumerate(job["streams"]):
                os.dup2(os.open(name, write if number else os.O_RDONLY, 0o666), number)
            sys.stdin = os.fdopen(0)
            code = main(job["arguments"])
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
            code = 70
        sys.stderr.flush()
        os._exit(code)
    _, status, usage = os.wait4(child, 0)
    print(json.dumps([os.waitstatus_to_exitcode(status), usage.ru_maxrss]), flush=True)
"""


@dataclass(frozen=True)
class Result:
    code: int
    raw: bytes
    err: str
    kilobytes: int

    @property
    def out(self):
        return self.raw.decode()

    @property
    def json(self):
        return json.loads(self.out)


class Commands:
    """Runs commands in a folder; `run` returns the exit code, both streams and the memory."""

    def __init__(self, folder):
        self.folder = folder
        one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
        self._server = subprocess.Popen(
            [sys.executable, "-c", SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **one_thread, "POLYCHOTOMY_DEBUG": "", "MPLBACKEND": "agg"},
        )

    def run(self, *arguments, stdin="/dev/null", folder=None):
        streams = [str(stdin), *(str(self.folder / name) for name in (".out", ".err"))]
        job = {
            "arguments": [str(one) for one in arguments],
            "folder": str(folder or self.folder),
            "streams": streams,
        }
        self._server.stdin.write(json.dumps(job).encode() + b"\n")
        self._server.stdin.flush()
        code, kilobytes = json.loads(self._server.stdout.readline())
        raw, err = (Path(name).read_bytes() for name in streams[1:])
        return Result(code, raw, err.decode(), kilobytes)

    def close(self):
        self._server.stdin.close()
        self._server.wait(20)
        self._server.stdout.close()


def options_of(command):
    """Return the options of a command, from the program itself."""
    import typer.main

    from polychotomy.cli import app

    found = typer.main.get_command(app).commands[command]
    return {name for parameter in found.params for name in parameter.opts}
