"""The program, imported once: commands and scripts run in processes of their own, forked from it.

To start Python and import everything anew takes longer than most commands.
"""

import atexit
import functools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

# What is not installed is not needed: the tests of the core run with few packages.
SERVER = """
import contextlib, importlib, io, json, os, pkgutil, runpy, sys, traceback, warnings
import polychotomy

ours = pkgutil.walk_packages(polychotomy.__path__, "polychotomy.")
others = '''sklearn.datasets sklearn.impute sklearn.linear_model sklearn.tree scipy.stats
    matplotlib jinja2 skops.io pytest encodings.ascii pyarrow.compute pyarrow.csv
    pyarrow.parquet pyarrow.pandas_compat pyarrow.vendored.version narwhals._interchange
    narwhals._pandas_like.expr narwhals._pandas_like.group_by narwhals._pandas_like.namespace
    narwhals.stable.v2._namespace'''.split()
for name in [*(one.name for one in ours if not one.name.endswith("__main__")), *others]:
    with contextlib.suppress(ImportError):
        importlib.import_module(name)

if "polychotomy.cli" in sys.modules:
    from polychotomy.cli import main

    with contextlib.redirect_stdout(io.StringIO()):
        main(["methods", "PWC_PSVM"])  # it imports what reads the arguments


def script(name, *arguments):
    warnings.simplefilter("error")
    sys.argv = [name, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(name)))
    runpy.run_path(name, run_name="__main__")
    sys.exit()  # as every script ends: threads, what is registered for the end, all modules


for line in iter(sys.stdin.readline, ""):
    job = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(job["folder"])
        os.environ.update(job["environment"])
        write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        for number, name in enumerate(job["streams"]):
            os.dup2(os.open(name, write if number else os.O_RDONLY, 0o666), number)
        sys.stdin = os.fdopen(0)
        if job["script"]:
            script(*job["arguments"])
        try:
            code = main(job["arguments"])
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
            code = 70
        sys.stderr.flush()
        os._exit(code)
    print(child, flush=True)
    _, status, usage = os.wait4(child, 0)
    print(json.dumps([os.waitstatus_to_exitcode(status), usage.ru_maxrss]), flush=True)
"""


HANGS_AFTER = 300.0
"""Seconds after which a process is taken for one that hangs; none needs more than a few."""


@functools.cache
def _server():
    """Start the server of this process, which is shared by all tests in it."""
    one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **one_thread, "POLYCHOTOMY_DEBUG": "", "MPLBACKEND": "agg"},
    )
    atexit.register(_close, server)
    return server


def _close(server):
    server.stdin.close()
    server.wait(20)
    server.stdout.close()


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

    def __init__(self, folder, environment=None):
        self.folder = Path(folder)
        self._environment = environment or {}
        _server()  # it imports while this process goes on

    def run(self, *arguments, stdin="/dev/null", stdout=None, folder=None):
        """Run a command to its end."""
        with self._started(arguments, folder, stdin=stdin, stdout=stdout) as process:
            return process.end()

    def run_script(self, *arguments):
        """Run a file of Python with arguments to its end; warnings are errors in it."""
        with self.started_script(*arguments) as process:
            return process.end()

    def run_code(self, code):
        """Run Python to its end; warnings are errors in it."""
        with self.started_code(code) as process:
            return process.end()

    def started_script(self, *arguments):
        """Start a file of Python; no other command can be run until its end."""
        return self._started(arguments, script=True)

    def started_code(self, code):
        """Start Python; no other command can be run until its end."""
        name = self.folder / "script.py"
        name.write_text(code, encoding="utf-8")
        return self.started_script(name)

    @contextmanager
    def _started(self, arguments, folder=None, stdin="/dev/null", stdout=None, script=False):
        out, err = self.folder / ".out", self.folder / ".err"
        for path in (out, err):
            path.write_bytes(b"")  # nothing of the command before
        job = {
            "arguments": [str(one) for one in arguments],
            "folder": str(folder or self.folder),
            "streams": [str(stdin), str(stdout or out), str(err)],
            "environment": self._environment,
            "script": script,
        }
        server = _server()
        server.stdin.write(json.dumps(job).encode() + b"\n")
        server.stdin.flush()
        process = Started(int(server.stdout.readline()), out, err)
        too_long = threading.Timer(HANGS_AFTER, process.kill)
        too_long.start()
        try:
            yield process
        finally:
            if process.result is None:
                process.kill()
                process.end()
            too_long.cancel()


class Started:
    """A process that was started, and can be sent signals."""

    def __init__(self, pid, out, err):
        self.pid, self._out, self._err = pid, out, err
        self.result = None

    def says(self, text):
        """Wait until the process has written a text."""
        while text not in self._out.read_text():
            self.send_signal(0)  # an error if it has ended
            time.sleep(0.01)

    def send_signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        with suppress(ProcessLookupError):
            self.send_signal(signal.SIGKILL)

    def end(self):
        """Wait for the end, and return what `Commands.run` does."""
        if self.result is None:
            code, kilobytes = json.loads(_server().stdout.readline())
            out, err = self._out.read_bytes(), self._err.read_bytes().decode()
            self.result = Result(code, out, err, kilobytes)
        return self.result


def options_of(command):
    """Return the options of a command, from the program itself."""
    import typer.main

    from polychotomy.cli import app

    found = typer.main.get_command(app).commands[command]
    return {name for parameter in found.params for name in parameter.opts}
