"""A page in a real browser, driven by the Chrome DevTools Protocol over a pair of pipes."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
]
# Chromium reads commands from descriptor 3, and answers to 4.
LAUNCHER = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def _pipe():
    """Return the ends of a pipe, with descriptors that are out of the way of 3 and 4."""
    ends = os.pipe()
    moved = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return moved


class Browser:
    """Chromium with no way to the network, and one page.

    `requests` are the addresses that the page asked for, `complaints` what it logged as errors or
    warnings and the exceptions of its scripts.
    """

    def __init__(self, folder, patience=60.0):
        self.patience = patience
        self.requests, self.complaints = [], []
        self._buffer, self._events, self._number, self._session = b"", [], 0, None
        ours_in, theirs_out = _pipe()
        theirs_in, ours_out = _pipe()
        launcher = [sys.executable, "-S", "-c", LAUNCHER, str(theirs_in), str(theirs_out)]
        self._process = subprocess.Popen(
            [*launcher, CHROMIUM, *OPTIONS, f"--user-data-dir={folder}"],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._in, self._out = ours_in, ours_out
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(20)
        os.close(self._in)
        os.close(self._out)

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        answer = self._wait(lambda found: found.get("id") == self._number)
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, path, width=1200, height=900, dark=False):
        scheme = "dark" if dark else "light"
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.call("Page.navigate", url=path.as_uri())
        if not any(event.get("method") == "Page.loadEventFired" for event in self._events):
            self._wait(lambda found: found.get("method") == "Page.loadEventFired")
        self._events.clear()

    def press(self, key):
        """Press a key, as a user of the keyboard does."""
        codes = {"Tab": 9, "Enter": 13, " ": 32}
        text = {"Enter": "\r", " ": " "}.get(key)
        same = {"key": key, "windowsVirtualKeyCode": codes[key]}
        down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
        self.call("Input.dispatchKeyEvent", **same, **down)
        self.call("Input.dispatchKeyEvent", **same, type="keyUp")

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def screenshot(self, path):
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=False)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _wait(self, wanted):
        """Read messages until one is wanted, and note what the page does."""
        give_up = time.monotonic() + self.patience
        while True:
            while b"\0" not in self._buffer:
                ready, _, _ = select.select([self._in], [], [], max(give_up - time.monotonic(), 0))
                data = os.read(self._in, 1 << 16) if ready else b""
                assert data, "The browser is gone, or silent."
                self._buffer += data
            text, _, self._buffer = self._buffer.partition(b"\0")
            message = json.loads(text)
            self._note(message)
            if wanted(message):
                return message
            self._events.append(message)

    def _note(self, message):
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(parameters["exceptionDetails"]["text"])
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(parameters["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.complaints.append(str(parameters["args"]))
