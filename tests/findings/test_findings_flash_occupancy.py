"""Flash's occupancy: every case, every device, and what counts as a second source."""

from __future__ import annotations

from builders import facts, unavailable
from turned import WIDE, counted, kernels, resident

from reportgen.findings.flash_occupancy import FINDING
from reportgen.questions.evaluate import evaluate

CLAIMS = {claim.id: claim for claim in FINDING.claims}

CASES_REACHED = {
    ("flash-occupancy", "follows"): (
        lambda: facts(),
        "Flash's occupancy is 12.5 %: 2 blocks of 4 warps fit on an SM that holds 64 warps. The profiler's "
        "field shows 13 %."),
    ("flash-occupancy", "other-value"): (
        lambda: facts("rtx4090"),
        "Flash's occupancy is 16.67 % here, not about 12.5 %: 2 blocks of 4 warps fit on an SM that holds 48 warps."),
    ("flash-occupancy", "disagrees"): (
        lambda: counted(facts(), "sdpa_flash", theoretical_pct=6.25),
        "Nsight Compute shows 6.25 % for flash's kernel, but the arithmetic gives 12.5 %."),
    ("flash-occupancy", "unchecked"): (
        lambda: kernels(facts(), "sdpa_flash", profiler_occupancy=None),
        "Not measurable in full: the arithmetic gives 12.5 % for flash, and this run has nothing to check it against (no counters: "
        "synthetic; no field in the trace)."),
}

# claim → device → (verdict, case)
ON_DEVICES = {
    "flash-occupancy": {
        "h200": ("holds", "follows"),
        "a100": ("holds", "follows"),
        "t4": ("not measurable", "unavailable"),
        "rtx4090": ("differs", "other-value"),
        "b200": ("holds", "follows"),
        "mi300x": ("not measurable", "no-arithmetic"),
        "cpu": ("not measurable", "no-gpu-lane"),
    },
}


def test_counters_come_before_the_profilers_field():
    outcome = evaluate(CLAIMS["flash-occupancy"], counted(facts(), "sdpa_flash", theoretical_pct=12.5))
    assert outcome.headline.endswith(". Nsight Compute shows 12.5 %.")


def test_a_false_zero_checks_nothing():
    """Above 48 KiB the field is 0 whatever is resident, so it can neither confirm nor contradict."""
    outcome = evaluate(CLAIMS["flash-occupancy"], resident(facts(), "sdpa_flash", 128, 255, 65536, 0))
    assert outcome.case == "unchecked"
    assert "false zero, because the kernel uses more than 48 KiB" in outcome.headline


def test_a_small_grid_checks_nothing():
    """100 blocks on 132 SMs: the field is capped by the grid, and says nothing about residency."""
    outcome = evaluate(CLAIMS["flash-occupancy"], kernels(facts(), "sdpa_flash", grid=(100, 1, 1), profiler_occupancy=5.0))
    assert outcome.case == "unchecked"


def test_a_field_that_contradicts_decides():
    assert evaluate(CLAIMS["flash-occupancy"], kernels(facts(), "sdpa_flash", profiler_occupancy=25.0)).case == "disagrees"


def test_half_a_point_is_still_about_the_published_value():
    """13 beside 12.5 is rounding; 12 beside 12.5 as well; 14 is not."""
    cases = [evaluate(CLAIMS["flash-occupancy"], kernels(facts(), "sdpa_flash", profiler_occupancy=field)).case for field in (13.0, 12.0, 14.0)]
    assert cases == ["follows", "follows", "disagrees"]


def test_another_workload_still_shows_a_contradiction():
    """The published value is out of reach there, but that arithmetic and counter disagree is not."""
    run = counted(facts(workload=WIDE), "sdpa_flash", theoretical_pct=50.0)
    assert evaluate(CLAIMS["flash-occupancy"], run).case == "disagrees"


def test_the_limiter_is_named_and_an_other_one_is_a_caveat():
    """One register less changes nothing; 100 KiB of shared memory make that the limit instead."""
    assert evaluate(CLAIMS["flash-occupancy"], facts()).because[0].startswith("Limited by registers: 255 registers × 128 threads")
    run = counted(resident(facts(), "sdpa_flash", 128, 64, 102400, 0), "sdpa_flash", theoretical_pct=12.5)
    outcome = evaluate(CLAIMS["flash-occupancy"], run)
    assert outcome.case == "follows"
    assert outcome.caveats == ("Here shared memory limits it, not registers as on the article's GPU.",)


def test_the_slower_neighbour_is_named_only_where_there_is_one():
    assert any("SDPA efficient at 25 % takes 178 µs" in sentence for sentence in evaluate(CLAIMS["flash-occupancy"], facts()).because)
    run = unavailable(unavailable(facts(), "sdpa_efficient"), "sdpa_cudnn")
    assert not any(sentence.startswith("Low occupancy") for sentence in evaluate(CLAIMS["flash-occupancy"], run).because)


def test_every_step_of_the_arithmetic_is_a_row():
    """255 registers: 8,160 per warp, rounded up to 8,192; two such warps per quarter; two blocks; 8 of 64 slots."""
    steps = {row[0]: str(row[2]) for row in FINDING.evidence(facts()).tables[0].rows}
    assert steps["registers per warp"] == "8,192"
    assert (steps["blocks by registers"], steps["blocks by shared memory"], steps["resident warps"]) == ("2", "4", "8")
    assert steps["theoretical occupancy (%)"] == "12.5"


def test_a_kernel_that_two_variants_share_is_one_row_and_its_false_zero_is_explained_once():
    table = FINDING.evidence(facts()).tables[1]
    shared = [row for row in table.rows if row[1].name == "nvjet bf16 256x128 TNT"]
    assert [row[0] for row in shared] == ["Naive; Naive in place"]
    assert (str(shared[0][6]), str(shared[0][7]), shared[0][11]) == ("18.75 %", "0 %", "More than 48 KiB of shared memory")
    assert table.notes[0].startswith("More than 48 KiB of shared memory: the profiler assumes the default limit of 49,152 B per block")
    assert table.notes[1] == "The article, on one A100-SXM4-80GB: SDPA flash 255 registers × 128 threads, about 12.5 %; its profiler shows 13 %."


def test_the_chart_sets_both_sources_side_by_side():
    chart = FINDING.evidence(facts()).charts[0]
    assert chart.alt.endswith("SDPA cuDNN 18.75 % by arithmetic, 0 % by the profiler.")
    assert (chart.data["values"], chart.data["reference"]) == ([12.5, 18.75, 25.0], [13.0, 0.0, 25.0])


def test_achieved_occupancy_is_a_cause_and_a_column_where_it_was_counted():
    run = counted(facts(), "sdpa_flash", theoretical_pct=12.5, achieved_pct=11.97)
    assert any("11.97 % of the warp slots were occupied on average" in sentence for sentence in evaluate(CLAIMS["flash-occupancy"], run).because)
    assert not any("on average" in sentence for sentence in evaluate(CLAIMS["flash-occupancy"], facts()).because)
    row = next(row for row in FINDING.evidence(run).tables[1].rows if row[0] == "SDPA flash")
    assert (str(row[8]), str(row[9])) == ("12.5 %", "11.97 %")


def test_a_counter_that_contradicts_the_arithmetic_is_marked_in_the_table():
    table = FINDING.evidence(counted(facts(), "sdpa_flash", theoretical_pct=6.25)).tables[1]
    assert [row[0] for row in table.rows if row[11] == "⚠ Nsight Compute contradicts the arithmetic"] == ["SDPA flash"]
    assert any(note.startswith("⚠ Nsight Compute calculates a theoretical occupancy more than") for note in table.notes)


def test_there_is_no_table_of_occupancies_where_nobody_has_one():
    assert not any(table.caption.startswith("Occupancy of every kernel") for table in FINDING.evidence(facts("mi300x")).tables)
    assert any(table.caption.endswith("calculated here and by the profiler.") for table in FINDING.evidence(facts("a100")).tables)


def test_a_kernel_at_the_most_registers_is_said_to_be_there():
    """255 is the most that a thread can have; 254 is one less."""
    def said(registers):
        run = counted(resident(facts(), "sdpa_flash", 128, registers, 48 * 1024, None), "sdpa_flash", theoretical_pct=12.5)
        return any("are the maximum per thread" in sentence for sentence in evaluate(CLAIMS["flash-occupancy"], run).because)

    assert (said(255), said(254)) == (True, False)
