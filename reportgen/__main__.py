"""`python -m reportgen`."""

from __future__ import annotations

import signal
import sys

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # Until a command handles it, Ctrl-C ends the process without a word; a traceback out of an import says nothing.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from .commands.cli import main  # noqa: E402

sys.exit(main())
