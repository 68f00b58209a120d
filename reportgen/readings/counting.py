"""Whether this run counted, and if not why and what would: said first on every page that needs counters."""

from __future__ import annotations

from ..analysis import RunFacts
from ..analysis.kernels import readable
from ..analysis.traffic import forward_traffic
from ..questions.model import Case, Decision, Question, answer, decide
from ..saying.units import listed

COUNTING_ANSWERS: dict[str, Case] = {
    "counted": answer("Counted by {tool}, kernel by kernel, in one forward per variant; copies and memsets are from the trace."),
    "some": answer("Counted by {tool}, kernel by kernel, in one forward per variant; not counted: {missing}. Copies and memsets are from the trace."),
    "modelled-only": answer("Modelled only: this run has no hardware counters ({reason})."),
    "recorded-before": answer("Modelled only: this run was recorded before hardware counters were taken. `make report` on this machine records it anew, with them where they are allowed."),
    "not-matched": answer("Modelled only: hardware counters were taken by {tool}, and match no variant's trace: {missing}."),
    "no-gpu": answer("This run has no GPU, so there is no kernel to count or to model."),
    "no-lane": answer("This run's traces have no GPU lane, so there is no kernel to count or to model."),
}


def counting_rule(facts: RunFacts) -> Decision:
    if facts.device.kind == "cpu":
        return decide("no-gpu")
    if not facts.has_gpu_lane:
        return decide("no-lane")
    if facts.counters_tool is None:
        reason = (facts.counters_reason or "").rstrip(".")
        return decide("modelled-only", reason=reason) if reason else decide("recorded-before")
    missing = [(v.title, v.counters_reason or "a metric is missing") for v in readable(facts) if forward_traffic(v) is None]
    args = {"tool": facts.counters_tool, "missing": listed([f"{title} ({why})" for title, why in missing])}
    if not missing:
        return decide("counted", **args)
    return decide("not-matched" if len(missing) == len(readable(facts)) else "some", **args)


COUNTING = Question("counted", "Were the bytes counted?", counting_rule, COUNTING_ANSWERS)

