"""`python -m reportgen`."""

from __future__ import annotations

import signal
import sys

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # Until a command handles it, Ctrl-C ends the process without a word; a traceback out of an import says nothing.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

if sys.argv[1:2] == ["explain"]:  # it is a process that reads one file, and starts without what the others need
    from .commands.explaining import main
else:
    from .commands.cli import main

sys.exit(main())
