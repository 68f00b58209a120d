"""Pages that help with one's own code: what SDPA accepts, which limit a program is at, how to profile a model."""

from __future__ import annotations

from variants.backends import BACKENDS

from ..analysis import RunFacts
from ..analysis.pace import HOST_BOUND, Pace, paces
from ..analysis.round_trips import HALF
from ..findings.is_it_right_evidence import picks_table
from ..hardware.backends import conditions
from ..questions.limit_words import at_limits_said
from ..saying.tables import Table, Url, columns
from ..saying.units import Percent, listed
from . import padding, summaries
from .environment import page
from .site import Site, device_said, stands

SDPA, LIMIT, PROFILE = "sdpa.md", "which-limit.md", "profile-your-model.md"
TITLES = {SDPA: "What SDPA accepts", LIMIT: "Which limit am I at?", PROFILE: "Profile your own model"}
"""Path → title in the navigation."""
_TEMPLATES = {SDPA: "sdpa.md.j2", LIMIT: "which_limit.md.j2", PROFILE: "profile_your_model.md.j2"}


def render(site: Site, path: str) -> str:
    """One of these pages, with the featured run's numbers where it has any."""
    facts = site.featured
    return page(_TEMPLATES[path], path, device=device_said(facts), folder=f"runs/{facts.slot}/index.md", stands=stands(facts), accepts=accepts(), picks=picks_table(facts), padding=padding.table(site),
                backends=BACKENDS, limits=limits(facts), said=at_limits_said(paces(facts)), half=Percent(100 * HALF), host_bound=Percent(100 * HOST_BOUND))


def accepts() -> Table:
    """A row per condition, a column per backend."""
    found = conditions()
    rows = tuple((row.asks, *(row.cells[name] for name in BACKENDS), Url(row.source, found.url) if row.source else None) for row in found.rows)
    return Table(columns("What", *(backend.title for backend in BACKENDS.values()), "Checked in"), rows, caption="What each backend accepts on NVIDIA's GPUs, by torch's own checks.",
                 notes=(f"Read from torch's sources ({found.read}), not measured. A pin that cannot be met is an error, and the warnings before it name the reason; your version's words count.",))


def limits(facts: RunFacts) -> Table | None:
    """A row per variant: what it is at, and the numbers of the tests."""
    found = paces(facts)
    if not found:
        return None
    issued = any(_issue(one) is not None for one in found)
    rows = tuple((summaries.variant_link(one.variant), one.limit.value, _share(one.host), _share(one.bytes), _share(one.arithmetic), *([_issue(one)] if issued else []),
                  listed([step.role for step in one.below]) or None) for one in found)
    heads = ("Variant", "At its limit", "#Host time ÷ wall time", "#Bytes at copy speed ÷ GPU time", "#FLOP at matmul speed ÷ GPU time", *(["#Issue slots busy"] if issued else []), "Steps below copy speed")
    return Table(columns(*heads), rows, caption="Each variant of this run, tested in this order.")


def _issue(one: Pace) -> Percent | None:
    """Issue slots that were busy in the longest kernel, where they were counted."""
    longest = max((a for a in one.variant.activities if a.kind == "kernel"), key=lambda a: a.duration, default=None)
    value = longest.counters.issue_pct if longest and longest.counters else None
    return None if value is None else Percent(round(value, 1))


def _share(value: float | None) -> Percent | None:
    return None if value is None else Percent(round(100 * value, 1))
