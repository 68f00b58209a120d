"""The command `serve`: the built site on this machine only."""

from __future__ import annotations

import argparse
import errno
import os
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ..errors import ReportError
from ..run.layout import Layout
from .interruption import Stages


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


def register(commands: Any) -> None:
    """Adds the command to the subparsers of `cli.parser`."""
    serve = commands.add_parser("serve", help="show site/ on this machine only")
    serve.add_argument("--port", type=int, default=8000, help="default: %(default)s")
    serve.set_defaults(command=_serve)


def _serve(chosen: argparse.Namespace, layout: Layout, stages: Stages) -> int:
    if not (layout.site / "index.html").is_file():
        raise ReportError("there is no site yet", cure="make report, or make site")
    try:
        server = ThreadingHTTPServer(("localhost", chosen.port), partial(Quiet, directory=str(layout.site)))
    except (OSError, OverflowError) as error:
        busy = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        raise ReportError(f"port {chosen.port} is in use" if busy else f"port {chosen.port} cannot be used ({error})",
                          cure=f"name another one: make serve PORT={chosen.port + 1 if busy and chosen.port < 65535 else 8000}") from None
    print(f"http://localhost:{server.server_port}/  (Ctrl-C ends)", flush=True)
    with server:
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("\nended", flush=True)  # the way to end it, so no interruption
    stages.ended()
    return 0
