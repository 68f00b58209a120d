"""What pages of perturbed copies may not say, and what they must say, row by row of truth.md.

Each entry follows from what the perturbation does. Patterns are regular expressions, as narrow as lets a reworded truth
pass. `open` names the copies for which an entry fails today; once mended, a copy leaves it, and literal sentences follow.

Places: `front`, `head` (the front page above its first table), `readme`, `terminal`, `terminal head` (its first lines),
`run page`, `findings` (all of their pages), `pages` (every page), `everywhere` (pages, README, terminal), or a page's path.
"""

from __future__ import annotations

from dataclasses import dataclass

ALL = "all"


@dataclass(frozen=True)
class Entry:
    """row: of truth.md; copies: names, with blanks between them; open: those that fail today, or `ALL`"""

    row: str
    copies: str
    place: str
    patterns: tuple[str, ...]
    open: str = ""

    def is_open(self, copy: str) -> bool:
        return self.open == ALL or copy in self.open.split()


NEVER = (
    Entry("A1", "as_recorded", "everywhere", (r"Naive and Naive in place(: their matmuls| \d+\.\d %)",)),
    Entry("A1", "two_dots_near", "everywhere", (r"SDPA (flash|efficient) and SDPA (flash|efficient) \d+(\.\d)? (%|FLOP per byte)",)),
    Entry("A2", "ratios_of_medians", "everywhere", (r"1\.67×",)),
    Entry("A2", "math_ratio_of_medians", "everywhere", (r"\b5\.00×(?! to 5\.00×| \| 5\.00× to| \| — \|)",)),
    Entry("A3", "four_of_six no_fused only_naive only_flash on_a_cpu rocm capability_7_5 float32 wrong_default untimed_winner default_not_asked "
          "old_run_lacks_variant out_of_memory",
          "everywhere", (r"fastest of the six on ",)),
    Entry("A4", "quick no_training no_host_time no_peak_memory memory_probe_failed errors_not_taken no_probes no_masked_rows pin_cannot_be_seen "
          "first_calls_not_taken no_cold_times default_probe_failed default_not_asked only_flash no_compiler cudnn_trace_lost on_a_cpu wrong_default "
          "untimed_winner all_untimed",
          "everywhere", (r"\b(?:was|were) recorded before\b|\(recorded before",)),
    Entry("A5", "on_a_cpu", "everywhere", (r"medians of graph replays", r"GPU times here are")),
    Entry("A5", "on_a_cpu", "findings/flash-hbm.md", (r"allocates no score matrix is measured",)),
    Entry("A5", "on_a_cpu", "findings/cpu-bill.md", (r"GPU time that it queues",)),
    Entry("A5", "on_a_cpu", "findings/saving-per-layer.md", (r"are captured in a CUDA graph each",)),
    Entry("A5", "on_a_cpu launch_bound another_workload", "findings/fastest.md", (r"147 µs",)),
    Entry("A5", "on_a_cpu launch_bound another_workload", "findings/cpu-bill.md", (r"214 µs",)),
    Entry("A5", "on_a_cpu launch_bound another_workload", "findings/math-slowdown.md", (r"\| 3\.7× \|",)),
    Entry("B1", "wrong_default wrong_default_not_finite wrong_but_ok old_wrong_default old_wrong_default_not_finite",
          "everywhere", (r"SDPA cuDNN did not run", r"`?sdpa_cudnn`? did not run",
                        r"because they did not run(?: here)?: (?:`sdpa_cudnn`|SDPA cuDNN)")),
    Entry("B1", "wrong_flash",
          "everywhere", (r"SDPA flash did not run", r"because they did not run(?: here)?: (?:`sdpa_flash`|SDPA flash)")),
    Entry("B1", "wrong_inplace",
          "everywhere", (r"Naive in place did not run", r"because they did not run(?: here)?: (?:`naive_inplace`|Naive in place)")),
    Entry("B1", "wrong_default wrong_but_ok wrong_flash", "everywhere", (r"of the 5 variants that ran[:.]",)),
    Entry("B1", "wrong_default wrong_default_not_finite wrong_but_ok old_wrong_default",
          "front", (r"to get the fastest", r"nothing to pin", r"\*\*SDPA cuDNN is the fastest")),
    Entry("B2", "untimed_winner", "front", (r"\*\*SDPA flash is the fastest here", r"to get the fastest", r"nothing to pin")),
    Entry("B2", "untimed_winner", "findings/fastest.md", (r"Pin the winner",)),
    Entry("B2", "untimed_efficient mixed_timers_flash_fastest", "front", (r"nothing to pin",)),
    Entry("B2", "mixed_timers untimed_winner", "findings/fastest.md", (r"GPU times here are medians of graph replays",)),
    Entry("B2", "all_untimed", "front", (r"of GPU time per forward",)),
    Entry("B3", "clock_spread", "findings/cpu-bill.md", (r"moved by up to 39",)),
    Entry("B3", "throttled", "findings/cpu-bill.md", (r"moved by up to 28",)),
    Entry("B4", "bimodal", "front", (r"cannot be told apart: 92\.3 µs", r"about 35\.0 µs per call")),
    Entry("B4", "host_pair_floor", "front", (r"Their cost on the CPU cannot be told apart",)),
    Entry("B5", "fused_tied flash_cudnn_tied", "hardware/limits.md", (r"SDPA \w+, the fastest here",)),
    Entry("B5", "all_equal", "hardware/limits.md", (r"Naive[^.|]*, the fastest here",)),
    Entry("B5", "compiled_fastest no_fused all_equal", "everywhere", (r"Naive, compiled, the fastest here",)),
    Entry("B5", "winner_tied_with_efficient", "everywhere", (r"Pin the winner",)),
    Entry("B5", "only_flash default_not_asked old_run_lacks_variant old_default_not_asked",
          "front", (r"to get the fastest", r"nothing to pin")),
    Entry("B5", "one_process three_processes bimodal", "front", (r"cannot be told apart:[^\n]*Naive attention needs",)),
    Entry("B5", "no_fused", "front", (r"Naive needs 1\.0\d ms, [\d.]+× as long\. Naive attention needs",)),
    Entry("B5", "default_probe_failed default_not_recorded default_is_unknown", "front", (r"Unpinned, PyTorch picks", r"nothing to pin")),
    Entry("B6", "naive_fastest inplace_slower", "everywhere", (r"write `scores\.masked_fill_\(mask",)),
    Entry("B6", "backends_agree_on_rows all_rows_zeros capability_7_5", "everywhere", (r"backends do not agree",)),
    Entry("B6", "launch_bound", "everywhere", (r"to earn this back", r"attention takes [\d.]+× its GPU time")),
    Entry("B6", "math_no_upcast", "everywhere", (r"still computes in FP32", r"Record the TF32 setting with every math timing")),
    Entry("B6", "all_equal fused_slower_than_naive", "everywhere", (r"Use a fused backend wherever",)),
    Entry("B6", "flash_allocates_scores", "everywhere", (r"it never stores the scores",)),
    Entry("B6", "pin_ignored", "everywhere", (r"Nothing to change: a precompiled kernel",)),
    Entry("C", "flash_allocates_scores no_peak_memory memory_probe_failed capability_7_5",
          "findings/flash-hbm.md", (r"allocates no score matrix is measured",)),
    Entry("C", "fused_do_the_square", "findings/flash-hbm.md", (r"also skips masked tiles",)),
    Entry("C", "no_ceilings", "findings/flash-hbm.md", (r"This run measured how quickly",)),
    Entry("C", "flash_moves_as_much_as_naive flash_allocates_scores fused_do_the_square one_does_the_square",
          "findings/fastest.md", (r"All of them keep the scores on the chip and skip tiles",)),
    Entry("C", "queued_events",
          "everywhere", (r"medians of graph replays", r"come from CUDA graph replays(?! where)", r"are captured in a CUDA graph each",
                        r"GPU time is a replayed CUDA graph", r"(?<!can capture one, )a CUDA graph of many forwards is replayed between")),
    Entry("C", "profiler_fixed driver_call_is_the_cause", "reading-a-trace.md", (r"uses more reads 0",)),
    Entry("C", "profiler_fixed", "glossary.md", (r"with a limit of 48 KiB",)),
    Entry("C", "profiler_fixed", "hardware/occupancy.md", (r"there it reads zero",)),
    Entry("C", "profiler_fixed cudnn_field_19", "everywhere", (r"says that cuDNN's kernel occupies nothing",)),
    Entry("C", "one_process three_processes nine_processes", "findings", (r"\bseven processes",)),
    Entry("C", "one_process three_processes", "everywhere", (r"smallest difference told apart 2 %", r"too close to tell apart")),
    Entry("C", "copy_in_both no_copy", "everywhere", (r"the same steps, but for the copy", r"the copy that is gone")),
    Entry("C", "math_faster", "everywhere", (r"How much slower the math backend is", r"The math backend's slowdown")),
    Entry("C", "float32 math_no_upcast", "findings/math-cuda-cores.md", (r"One of them stays in half precision",)),
    Entry("C", "not_causal", "everywhere", (r"A causal mask hides nearly half",)),
    Entry("C", "rocm", "findings/efficient-kernel.md", (r"It comes from the xFormers library",)),
    Entry("C", "rocm", "everywhere", (r"FLOP/s on Tensor Cores",)),
    Entry("C", "float32", "everywhere", (r"50\.9 TFLOP/s on Tensor Cores",)),
    Entry("C", "on_a_cpu launch_bound another_workload",
          "findings/hidden-memcpy.md", (r"Activities in the article",)),
    Entry("C", "a100_with_another_ratio", "everywhere", (r"in device and software at once",)),
    Entry("C", "cudnn_no_kernel_seen cudnn_trace_lost", "everywhere", (r"our tables lack the limits of this device",)),
    Entry("C", "cudnn_no_kernel_seen", "findings/cudnn-kernel.md", (r"launches 0 kernels",)),
    Entry("C", "cudnn_trace_lost cudnn_no_kernel_seen",
          "everywhere", (r"trace of (?:this run|SDPA cuDNN) has no GPU lane", r"The trace has no GPU lane", r"no GPU lane was recorded")),
    Entry("D", "naive_fastest inplace_slower saving_negative_deep",
          "everywhere", (r"(?:\bsaved|\bsaves?|\bsaving is|\bSaving)\b[^\n]{0,60}?[-−]\d",)),
    Entry("D", "unknown_architecture", "everywhere", (r"[-−]1 %", r"shows [-−]1\b")),
    Entry("D", "two_cost_more cudnn_cheapest_call", "everywhere", (r"SDPA efficient and SDPA flash costs",)),
    Entry("D", "fused_slower_than_naive", "everywhere", (r"Naive and SDPA cuDNN beats",)),
    Entry("D", "one_process", "everywhere", (r"\b1 fresh processes",)),
    Entry("D", "as_recorded", "everywhere", (r"SDPA efficient move less than their",)),
    Entry("D", "out_of_memory autograd_probe_failed", "everywhere", (r"memory\.\.|memory\.\)\.",)),
    Entry("D", "refused_with_echo", "everywhere", (r"because:\.",)),
    Entry("D", "old_run_lacks_variant", "everywhere", (r"(?<![\w`/])sdpa_cudnn did not run",)),
    Entry("D", "wrong_default wrong_flash efficient_more_accurate", "everywhere", (r"the next is `sdpa_", r"most accurate: `sdpa_")),
    Entry("D", "hostile_reason", "pages", (r"(?<!\\)\[x\](?!\\)\(y\.md\)", r"!\[z\]\(w", r"<b>bold")),
    Entry("D", "hostile_everywhere", "pages", (r"(?<!\\)\[x\](?!\\)\(y\.md\)", r"!\[z\]\(w")),
    Entry("D", "hostile_device_name", "pages", (r"(?<!\\)\[X\](?!\\)\(y\)", r"<b>H200")),
    Entry("D", "below_the_floor", "everywhere", (r"\b0\.\d+× as long",)),
    Entry("D", "math_named_tf32_counted_zero", "everywhere", (r"FP32 without Tensor Cores \(`xmma gemm TF32",)),
    Entry("D", "as_recorded", "beyond.md", (r"\| 0\.0538 \|",)),
    Entry("D", "no_field", "findings/cudnn-launch.md", (r"longest kernel: \.",)),
    Entry("D", "only_flash only_naive no_fused", "everywhere", (r"\ball 1 \w+", r"\b1 of 1 ", r"none could answer", r"SDPA \w+ answers to their")),
)

MUST = (
    Entry("A2", "ratios_of_medians", "front", (r"SDPA flash needs 117 µs, 1\.50× as long",)),
    Entry("A2", "ratios_of_medians", "readme", (r"1\.50×",)),
    Entry("B1", "wrong_default wrong_default_not_finite old_wrong_default", "head", (r"SDPA cuDNN\b[^\n]*wrong|wrong[^\n]*SDPA cuDNN",)),
    Entry("B1", "wrong_default wrong_but_ok wrong_flash wrong_inplace", "readme", (r"wrong",)),
    Entry("B1", "wrong_default wrong_but_ok", "beyond.md", (r"SDPA cuDNN\]?[^\n]*30(?:\.0)? %",)),
    Entry("B1", "wrong_default wrong_but_ok", "variants/sdpa_cudnn.md", (r"30(?:\.0)? %|0\.30?\b",)),
    Entry("B1", "wrong_default", "terminal", (r"sdpa_cudnn wrong|sdpa_cudnn[^\n]*wrong",)),
    Entry("B2", "untimed_winner", "head", (r"SDPA cuDNN",)),
    Entry("B2", "mixed_timers mixed_timers_flash_fastest", "head", (r"SDPA cuDNN[^\n]*(?:CUDA graph|queued)",)),
    Entry("B3", "throttled", "head", (r"held back",)),
    Entry("B3", "throttled", "readme", (r"held back",)),
    Entry("B3", "throttled", "findings/fastest.md", (r"held back",)),
    Entry("B3", "neighbours", "head", (r"other compute process",)),
    Entry("B3", "neighbours", "readme", (r"other compute process",)),
    Entry("B3", "neighbours", "findings/fastest.md", (r"other compute process",)),
    Entry("B3", "clock_spread", "head", (r"SM clock differed",)),
    Entry("B3", "clock_spread", "readme", (r"SM clock differed",)),
    Entry("B3", "clock_spread", "findings/fastest.md", (r"SM clock differed",)),
    Entry("B3", "timers_disagree", "head", (r"\btrace\b",)),
    Entry("B3", "timers_disagree", "findings/fastest.md", (r"add up to|disagree",)),
    Entry("B3", "neighbours throttled", "terminal head", (r"other compute process|held back",)),
    Entry("B4", "bimodal", "head", (r"apart|agree",)),
    Entry("ledger", "flash_fastest",
          "front", (r"\*\*SDPA flash is the fastest here\*\*: 40\.0 µs of GPU time per forward\. SDPA cuDNN needs 60\.0 µs, 1\.50× as long",)),
    Entry("ledger", "fused_tied", "front", (r"SDPA efficient, SDPA flash and SDPA cuDNN\*\* are the fastest here and cannot be told apart",)),
    Entry("ledger", "math_as_published", "findings/math-slowdown.md", (r"3\.70×",)),
    Entry("ledger", "unknown_architecture", "everywhere", (r"does not know this compute capability",)),
    Entry("ledger", "out_of_memory", "everywhere", (r"CUDA out of memory",)),
    Entry("ledger", "profiler_fixed", "findings/cudnn-launch.md", (r"The profiler shows 19 % occupancy for cuDNN's kernel, not 0 %",)),
    Entry("D", "below_the_floor ceilings_too_low", "front", (r"ceiling",)),
    Entry("A4", "old_run_without_training", "beyond.md", (r"recorded before training was measured",)),
    Entry("A4", "old_run_lacks_variant", "front", (r"recorded before",)),
    Entry("A4", "default_not_asked only_flash", "front", (r"not tried",)),
    Entry("A1", "as_recorded", "hardware/roofline.md", (r"Naive in place 8\d\.\d %",)),
)
