"""A server of files that says nothing of each request. Of its own, for the standard library's takes longer to load than most commands need."""

from __future__ import annotations

import os
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler
from typing import Any


class Quiet(SimpleHTTPRequestHandler):
    """Says nothing of each request, and answers a page that is not there with the site's own."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        return None

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Sends site/404.html for a page that is not there."""
        page = os.path.join(self.directory, "404.html")
        if code != HTTPStatus.NOT_FOUND or not os.path.isfile(page):
            super().send_error(code, message, explain)
            return
        with open(page, "rb") as file:
            content = file.read()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
