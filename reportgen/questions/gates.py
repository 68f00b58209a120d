"""The shared gates: why a question cannot be answered on a run, each with its one sentence.

A need (`needs`) finds out, the sentence is said here and nowhere else. After a claim's badge it
follows "Not measurable:"; as the answer of a reading it stands alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from .model import Case, not_measurable

FAULT = "fault"

GATES: Mapping[str, Case] = {
    "unavailable": not_measurable("{missing} did not run here ({reason})."),
    "wrong-result": not_measurable("{missing} ran and gave a wrong result (relative error {error}, allowed {allowed}), so none of its numbers counts."),
    "wrong-result-unsized": not_measurable("{missing} ran and gave a wrong result ({reason}), so none of its numbers counts."),
    "failed": not_measurable("{missing} broke off here ({reason})."),
    "not-tried": not_measurable("{missing} was not tried in this run ({reason})."),
    "before-variant": not_measurable("this run was recorded before {missing} was added."),
    "no-gpu-lane": not_measurable("this run's trace has no GPU lane, so there is nothing to count."),
    "lost-trace": not_measurable("no trace of {missing} could be taken ({reason})."),
    "lost-records": not_measurable("the GPU activities of {missing} cannot be counted: {reason}."),
    "ops-differ": not_measurable("the CPU ops of {missing} cannot be told: its {forwards} have different lists of them, and no list has a majority."),
    "untimed": not_measurable("the {quantity} of {missing} could not be taken ({reason})."),
    "few": Case("within noise", "Nothing can be told apart: this run has {processes} for each variant, and {needed} are needed."),
    "mixed-timers": not_measurable("the GPU times of {mixed} were taken by different timers, and their traces do not settle which is smaller."),
    "other-timers": not_measurable("the GPU times of {mixed} were taken by different timers, so the ratio of the two is not told."),
    "no-gpu-time": not_measurable("this device has no GPU time."),
    "recorded-before": not_measurable("this run was recorded before {what} was measured."),
    "not-taken": not_measurable("this run did not measure {what}{why}."),
    "other-workload": not_measurable("the published value belongs to the article's workload, and this run used another ({workload})."),
    "other-dtype": not_measurable("the claim is about bfloat16, and this run computes in {dtype}."),
    "no-times": not_measurable("this run has no GPU times."),
    "no-ceilings": not_measurable("this run has no measured ceilings for copies and matmuls, so nothing can be held against them."),
    "launches-wait": not_measurable("{names} made every launch wait for the GPU in this run, so its {quantity} has the GPU's time in it."),
    "watched": not_measurable("a profiler or a sanitizer watched this run{names}, so its {quantity} is the tool's as well."),
    "lost-part": not_measurable("{part} could not be taken in this run ({reason})."),
    "no-kernels": not_measurable("no variant of this run has a trace with GPU activities."),
    "not-counted": not_measurable("only hardware counters can tell, and this run has none for {what}."),
    "fits-in-cache": not_measurable("the score matrix ({scores}) is smaller than {rules[caches_full]} the last-level cache ({cache}), so its round trips need not reach HBM."),
    "cache-unknown": not_measurable("the size of this device's last-level cache was not recorded, so nobody can say whether the score matrix ({scores}) stays in it."),
    "no-arithmetic": not_measurable("the occupancy of {what} cannot be worked out, because the trace or our tables lack the limits of this device ({device})."),
    "no-probes": not_measurable("no publicly reported case could be tried here ({reason})."),
    "no-kernel": not_measurable("the trace of {missing} shows no kernel."),
    FAULT: not_measurable("a fault of this program ({kind}) kept it from being judged. Please report it with this run."),
}
