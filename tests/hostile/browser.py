"""A headless Chromium, spoken to over its debugging pipe: opens pages, and tells what they did.

    with Browser(program, folder) as browser:
        seen = browser.open(address)

Standard library alone: messages are JSON, each ended by a zero byte, on the browser's file descriptors 3 and 4.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-pipe")
SECONDS = 60.0


@dataclass
class Seen:
    """What a page did, and what stands in it.

    dialogs: their texts; requests: addresses of all that was asked for; document: what `LOOK` returned
    """

    dialogs: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
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
        for domain in ("Page", "Runtime", "Network"):
            self._call(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(20)
        self._said.close()
        os.close(self._read)
        os.close(self._write)

    def open(self, address: str, look: str, wait: str = "") -> Seen:
        """Opens a page, waits until it is loaded, and evaluates `look`, which gives an object. wait: something that becomes true within half a minute."""
        self._seen, self._loaded = Seen(), False
        self._call("Page.navigate", url=address)
        deadline = time.monotonic() + SECONDS
        while not self._loaded:
            self._take(deadline)
        if wait:
            until = time.monotonic() + 30
            while not self.ask(wait) and time.monotonic() < until:
                time.sleep(0.05)
        self._seen.document = self.ask(look)
        return self._seen

    def ask(self, expression: str) -> Any:
        """What a JavaScript expression in the page gives."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
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
        elif method == "Page.loadEventFired":
            self._loaded = True
