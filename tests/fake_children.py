"""What a child process does in tests: a module's functions, since a fresh process imports them by name."""

from __future__ import annotations

import os
import signal
import sys
import time


def answers(report, value):
    report.at("a variant", "at work")
    return value * 2


def aborts(report):
    report.at("a variant", "at work")
    print("loading the library\nterminate called: no such symbol", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGABRT)


def sleeps(report, line):
    report.at("a variant", str(os.getpid()))
    time.sleep(60)
