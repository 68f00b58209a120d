"""Imported by the process that starts the others: it ends with the command, and its children with it."""

import signal

from .parents import at_parents_end

at_parents_end(signal.SIGKILL)
