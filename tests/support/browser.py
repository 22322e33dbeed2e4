"""A headless Chromium that opens a page, waits for what it shows, and takes pictures; controlled over pipes.

It needs nothing but the browser: commands and answers are JSON of the Chrome DevTools Protocol, each ended by a zero.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from types import TracebackType
from typing import Any, NamedTuple, Self

import pytest

BROWSERS = "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"
NO_BROWSER = f"no browser: none of {', '.join(BROWSERS)}"
ANSWER_SECONDS = 60.0
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--remote-debugging-pipe",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "about:blank",
)  # fmt: skip
LAUNCH = """
import fcntl, os, sys
reads, writes = (fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3])
os.dup2(reads, 3)
os.dup2(writes, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""The browser reads commands from descriptor 3 and writes answers to 4."""


def find_browser() -> str | None:
    """Return the path of a browser on this machine, if there is one."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def require_browser() -> str:
    """Return the path of a browser; without one the test is skipped."""
    path = find_browser()
    if path is None:
        pytest.skip(NO_BROWSER)
    return path


class Screen(NamedTuple):
    """What the page is shown on: size in CSS pixels, device pixels of each, and the user's colour scheme."""

    width: int
    height: int
    scale: float = 1.0
    dark: bool = False
    phone: bool = False


LIVE = "document.getElementById('state').textContent === 'live'"
"""JavaScript: whether a worker's page has all that was on the topics when it was opened."""
FIELDS = "window_accuracy", "no_change_accuracy", "majority_accuracy", "labels"
"""Fields of accuracy points that the page's table of models shows."""

DESKTOP, PHONE = Screen(1280, 900), Screen(390, 844, 2.0, phone=True)


class Browser:
    """A browser with one page; a context manager that ends it.

    Parameters
    ----------
    path : str
        From `find_browser`.

    Examples
    --------
    ::

        with Browser(path) as browser:
            browser.open("http://127.0.0.1:8000/", DESKTOP)
            browser.await_true("document.title !== ''", 10)
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._number = 0
        self._session: str | None = None
        self._received = bytearray()
        self.console_messages: list[str] = []
        """Console messages since the page was opened: errors, warnings and uncaught exceptions."""

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="driftway-browser-", ignore_cleanup_errors=True)
        reads, self._commands = os.pipe()
        self._answers, writes = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(reads), str(writes), self._path, f"--user-data-dir={self._folder.name}",
             *OPTIONS],
            pass_fds=(reads, writes), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "en_US.UTF-8"},  # in the locale C, some builds have an invalid language
        )  # fmt: skip
        os.close(reads)
        os.close(writes)
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._ask(f"{domain}.enable")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session = None
        with contextlib.suppress(OSError, AssertionError):
            self._ask("Browser.close")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(ANSWER_SECONDS)
        self._process.kill()
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)
        self._folder.cleanup()

    def open(self, url: str, screen: Screen = DESKTOP) -> None:
        """Open an address on a screen, and clear the messages of earlier pages."""
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=screen.width, height=screen.height, deviceScaleFactor=screen.scale, mobile=screen.phone,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if screen.dark else "light"}
        self._ask("Emulation.setEmulatedMedia", features=[scheme])
        self.console_messages.clear()
        found = self._ask("Page.navigate", url=url)
        assert "errorText" not in found, f"{url}: {found['errorText']}"
        self.await_true("document.readyState === 'complete'", ANSWER_SECONDS)

    def before_each_page(self, script: str) -> None:
        """Run a script in each page that is opened from now on, before its own."""
        self._ask("Page.addScriptToEvaluateOnNewDocument", source=script)

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, which must be JSON."""
        found = self._ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, f"{expression}: {found['exceptionDetails']}"
        return found["result"].get("value")

    def await_true(self, expression: str, seconds: float) -> None:
        """Wait until a JavaScript expression is true; on failure, report the text of the page."""
        deadline = time.monotonic() + seconds
        while not self.evaluate(expression):
            if time.monotonic() > deadline:
                shown = self.evaluate("document.body?.innerText.slice(0, 2000)")
                raise AssertionError(f"not within {seconds:.0f} s: {expression}\n{shown}\n{self.console_messages}")
            time.sleep(0.05)

    def picture(self, most_height: int | None = None) -> bytes:
        """Return a PNG of the whole page, or of its upper part."""
        size = self._ask("Page.getLayoutMetrics")["cssContentSize"]
        height = min(size["height"], most_height or size["height"])
        clip = {"x": 0, "y": 0, "width": size["width"], "height": height, "scale": 1}
        found = self._ask("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(found["data"])

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        command = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            command["sessionId"] = self._session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        deadline = time.monotonic() + ANSWER_SECONDS
        while True:
            message = self._next(deadline, method)
            if message.get("id") == self._number:
                assert "error" not in message, f"{method}: {message['error']}"
                found: dict[str, Any] = message["result"]
                return found
            self._note_event(message)

    def _next(self, deadline: float, method: str) -> dict[str, Any]:
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"the browser has not answered {method} within {ANSWER_SECONDS:.0f} s"
            part = os.read(self._answers, 1 << 20)
            assert part, f"the browser has ended before it answered {method}"
            self._received += part
        first, _, rest = self._received.partition(b"\0")
        self._received = rest
        found: dict[str, Any] = json.loads(first)
        return found

    def _note_event(self, message: dict[str, Any]) -> None:
        """Keep the errors and warnings that an event reports."""
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.console_messages.append(json.dumps(params["exceptionDetails"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.console_messages.append(f"{params['entry']['level']}: {params['entry']['text']}")
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.console_messages.append(f"{params['type']}: {json.dumps(params['args'])}")


def shown(browser: Browser) -> dict[tuple[int, str], dict[str, float]]:
    """Return the page's table of models: (partition, learner) -> field -> value."""
    rows = browser.evaluate(
        "[...document.querySelectorAll('#models tbody tr')].map((row) => [row.dataset.partition, row.dataset.learner, "
        "[...row.querySelectorAll('[data-field]')].map((cell) => [cell.dataset.field, cell.dataset.value])])"
    )
    return {
        (int(partition), learner): {name: float(value or "nan") for name, value in cells if name in FIELDS}
        for partition, learner, cells in rows
    }
