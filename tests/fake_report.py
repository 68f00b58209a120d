"""`report` as it is, in the checkout FAKE_ROOT, but for pages and site, which are a few small files."""

from __future__ import annotations

import signal

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # as reportgen's own __main__ does

import os  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402

PAGES = 30


def render(layout):
    """Pages whose text is the driver of the recorded run."""
    from reportgen.company import signals
    from reportgen.pages import tree

    runs = layout.recorded_runs()
    with signals.held():
        tree.write({f"page-{number}.md": f"{runs[0].software['driver']}\n" * 100 for number in range(PAGES)}, layout.docs)
    return runs


def build(layout, docs):
    """A site, by a process of its own as MkDocs is one."""
    subprocess.run([sys.executable, "-c", f"import time; time.sleep(0.2); from pathlib import Path; p = Path({str(layout.site)!r}); p.mkdir(exist_ok=True); (p / 'index.html').write_text('x')"], check=True)


def main() -> int:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from reportgen.commands import cli, saving
    from reportgen.pages import publish

    cli.ROOT = Path(os.environ["FAKE_ROOT"])
    publish.render_recorded, publish.build_site = render, build
    if os.environ.get("FAKE_GPU"):
        saving.a_gpu_is_likely = lambda: True
    if os.environ.get("FAKE_NO_LOOK"):  # as if the disk had become full after the look at it
        saving.look = lambda layout, chosen: None
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
