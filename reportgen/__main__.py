"""`python -m reportgen`."""

from __future__ import annotations

import sys

from .commands.cli import main

sys.exit(main())
