"""A headless Chromium, spoken to over its debugging pipe: opens pages, and tells what they did.

    with served(site) as address, Browser(program, folder) as browser:
        browser.screen(1440, 900)
        seen = browser.open(address + "index.html", "({title: document.title})")

Standard library alone: messages are JSON, each ended by a zero byte, on the browser's file descriptors 3 and 4.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-pipe")
SECONDS = 60.0


@dataclass
class Seen:
    """What a page did, and what stands in it.

    dialogs: their texts; requests: addresses of all that was asked for; errors: what the console and uncaught exceptions said;
    document: what `look` returned
    """

    dialogs: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    document: dict[str, Any] = field(default_factory=dict)


class Browser:
    """One tab in which one page after another is opened."""

    def __init__(self, program: str, folder: Path) -> None:
        self._command = [program, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        self._number, self._rest = 0, b""
        self._seen = Seen()
        self._loaded = False

    def __enter__(self) -> Browser:
        ours, theirs = os.pipe(), os.pipe()
        self._write, self._read = ours[1], theirs[0]
        high = [fcntl.fcntl(one, fcntl.F_DUPFD, 100) for one in (ours[0], theirs[1])]  # neither is 3 or 4
        self._said = tempfile.TemporaryFile()
        self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._said, close_fds=False,
                                         preexec_fn=lambda: (os.dup2(high[0], 3), os.dup2(high[1], 4)) and None)
        for one in (ours[0], theirs[1], *high):
            os.close(one)
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session: str | None = None
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._call(f"{domain}.enable")
        # each page is a first visit: what one stored as the reader's choice of colours steers none after it
        self._call("Page.addScriptToEvaluateOnNewDocument", source="try { localStorage.clear(); } catch { /* a page without an origin has none */ }")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(20)
        self._said.close()
        os.close(self._read)
        os.close(self._write)

    def screen(self, width: int, height: int) -> None:
        """The window's size in CSS pixels, one device pixel each."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme: str = "light", media: str = "") -> None:
        """The colours that a reader prefers, `light` or `dark`, and the medium: `print`, or empty for the screen. Seen by the next page."""
        self._call("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])
        until = time.monotonic() + 5  # a page that is opened before this one follows may still take the former colours
        while self.ask("matchMedia('(prefers-color-scheme: dark)').matches") != (scheme == "dark") and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.1)

    def picture(self, full: bool = False) -> bytes:
        """A PNG of the window, or of the page as a whole."""
        shot = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=full, **({"clip": self._whole()} if full else {}))
        return base64.b64decode(shot["data"])

    def printed(self) -> bytes:
        """The page as an A4 PDF."""
        return base64.b64decode(self._call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, printBackground=True)["data"])

    def _whole(self) -> dict[str, float]:
        size = self._call("Page.getLayoutMetrics")["cssContentSize"]
        return {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1}

    def open(self, address: str, look: str, wait: str = "") -> Seen:
        """Opens a page, waits until it is loaded, and evaluates `look`, which gives an object. wait: something that becomes true within half a minute."""
        self._go("about:blank")  # what the page before still had to say is its own
        self._seen = Seen()
        self._go(address)
        if wait:
            until = time.monotonic() + 30
            while not self.ask(wait) and time.monotonic() < until:
                time.sleep(0.05)
        self._seen.document = self.ask(look)
        return self._seen

    def _go(self, address: str) -> None:
        self._loaded = False
        self._call("Page.navigate", url=address)
        deadline = time.monotonic() + SECONDS
        while not self._loaded:
            self._take(deadline)

    def ask(self, expression: str, promised: bool = False) -> Any:
        """What a JavaScript expression in the page gives. promised: it gives a promise, so wait for that."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=promised)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def _call(self, method: str, **given: Any) -> Any:
        self._number += 1
        number = self._number
        session = {"sessionId": self._session} if getattr(self, "_session", None) else {}
        os.write(self._write, json.dumps({"id": number, "method": method, "params": given, **session}).encode() + b"\0")
        deadline = time.monotonic() + SECONDS
        while True:
            message = self._take(deadline)
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]

    def _take(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "the browser does not answer"
            part = os.read(self._read, 1 << 20)
            assert part, f"the browser has ended: {self._words()}"
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._note(message)
        return message

    def _words(self) -> str:
        self._process.wait(20)
        self._said.seek(0)
        return f"status {self._process.returncode}, {self._said.read()[-2000:].decode(errors='replace')}"

    def _note(self, message: dict[str, Any]) -> None:
        method, given = message.get("method"), message.get("params", {})
        if method == "Page.javascriptDialogOpening":
            self._seen.dialogs.append(given["message"])
            self._number += 1
            os.write(self._write, json.dumps({"id": self._number, "method": "Page.handleJavaScriptDialog", "params": {"accept": True}, "sessionId": self._session}).encode() + b"\0")
        elif method == "Network.requestWillBeSent":
            self._seen.requests.append(given["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = given["exceptionDetails"]
            self._seen.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded" and given["entry"]["level"] == "error":
            self._seen.errors.append(f"{given['entry']['text']} {given['entry'].get('url', '')}".strip())
        elif method == "Page.loadEventFired":
            self._loaded = True


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The address of a folder on this machine alone, with a slash at its end."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
