"""The command `serve`: the built site on this machine only."""

from __future__ import annotations

import argparse
import errno
from functools import partial
from typing import Any

from ..errors import ReportError
from ..run.layout import Layout
from .interruption import Stages


def register(commands: Any) -> None:
    """Adds the command to the subparsers of `cli.parser`."""
    serve = commands.add_parser("serve", help="show site/ on this machine only")
    serve.add_argument("--port", type=int, default=8000, help="default: %(default)s")
    serve.set_defaults(command=_serve)


def _serve(chosen: argparse.Namespace, layout: Layout, stages: Stages) -> int:
    from http.server import ThreadingHTTPServer

    from .quiet_server import Quiet

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
