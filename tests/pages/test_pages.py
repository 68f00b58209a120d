"""Pages: what runs render to, that nothing else decides it, and that both renderers can read it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from builders import activity, estimate, facts, no_lane, unavailable, variant, without
from case_tables import outcome

import variants
from reportgen import pages
from reportgen.analysis import RunFacts, State, VariantFacts
from reportgen.pages import board, claims, compare, device, front, glance, navigation, pictures, site, summaries, tree
from reportgen.pages import finding as finding_page
from reportgen.pages import variant as variant_page
from reportgen.pages.cells import Bar, dims, signed
from reportgen.pages.environment import environment
from reportgen.questions.model import Advice, Because, Case, Chart, Evidence, Finding, claim, decide, not_measurable
from reportgen.run import Clocks, ClockSample, Look, Protocol
from reportgen.run.workload import PRESETS
from reportgen.saying.markup import heading, sentence
from reportgen.saying.tables import Code, Table, columns, markdown
from reportgen.saying.units import Seconds

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).resolve().parents[1] / "golden"
DEVICES = ("h200", "a100", "t4", "rtx4090", "b200", "mi300x", "cpu")


def _flash(run: RunFacts):
    if not run.has_gpu_lane or not run.ok("sdpa_flash"):
        return decide("no-lane")
    return decide("measured", time=Seconds(run.variants["sdpa_flash"].gpu_time.median), small=True)


def _evidence(run: RunFacts) -> Evidence:
    if not run.has_gpu_lane:
        return Evidence()
    table = Table(columns("Name", "#Kernels"), ((Code("a|b<float>`c"), run.variants["sdpa_flash"].kernels),), "What flash runs.")
    chart = Chart("times", "bars", {"labels": ["flash"], "values": [93.0], "unit": "µs"}, "Flash [here] takes 93.0 µs.", "Flash alone.")
    return Evidence((table,), (chart,))


CLAIM = claim("a-claim", "Flash runs `masked_fill_` never.", _flash, {
    "measured": Case("holds", "Flash takes {time}, and _safe_softmax is not there.", (Because("small", "It is small."),), (Because("small", "One shape only."),), (Advice("Use it | now."),)),
    "no-lane": not_measurable("no lane."),
})
STUB = Finding("a-finding", "A finding", "Does it run?", (CLAIM,), _evidence)


@pytest.fixture(autouse=True)
def stub_template(monkeypatch: pytest.MonkeyPatch) -> None:
    """Golden pages depend on one small finding of their own, not on the prose of the real ones."""
    from jinja2 import ChoiceLoader, DictLoader

    template = ('{% extends "finding.md.j2" %}{% block predict %}Guess.{% endblock %}{% block mechanism %}It works by {{ published.math_slowdown }}.{% endblock %}'
                '{% block code %}```python\nx = 1\n```{% endblock %}{% block measured %}By trace.{% endblock %}{% block caveats %}None.{% endblock %}')
    env = environment()
    monkeypatch.setattr(env, "loader", ChoiceLoader([DictLoader({"findings/a-finding.md.j2": template}), env.loader]))


_DRAWN: dict[tuple[str, str, str], bytes] = {}


@pytest.fixture(autouse=True, scope="module")
def draw_each_chart_once():
    """Most tests draw the same pictures; that a draw is a function of its data alone, `test_charts.py` shows."""
    real = site.charts.svg

    def once(form: str, data: object, alt: str = "") -> bytes:
        key = (form, repr(data), alt)
        if key not in _DRAWN:
            _DRAWN[key] = real(form, data, alt)
        return _DRAWN[key]

    site.charts.svg = once
    yield
    site.charts.svg = real


def rendered(*runs: RunFacts, featured: str | None = None) -> dict[str, str]:
    files = pages.render_facts(runs, featured or runs[0].slot, (STUB,))
    return {name: content if isinstance(content, str) else content.decode() for name, content in files.items()}


# What is rendered ------------------------------------------------------------------------------


def test_golden_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole pages, byte for byte, whatever variants were added. After a wanted change: `make golden`, then read the diff."""
    monkeypatch.setattr(variants, "VARIANTS", (*variants.SIX, "naive_compiled"))
    files = rendered(facts("h200"), facts("cpu"))
    slot = facts("h200").slot
    for name in ("index.md", "findings/a-finding.md", "variants/naive.md", "compare.md", f"runs/{slot}/index.md", f"runs/{facts('cpu').slot}/index.md", "nav.yml"):
        golden = GOLDEN / name.replace("/", "__")
        if os.environ.get("UPDATE_GOLDEN"):
            golden.parent.mkdir(exist_ok=True)
            golden.write_text(files[name], encoding="utf-8")
        assert files[name] == golden.read_text(encoding="utf-8"), f"{name} is not what {golden.name} says"


def test_rendering_twice_gives_the_same_bytes_whatever_the_order_of_runs() -> None:
    """Pages are a function of the runs alone: neither order nor an earlier rendering shows."""
    first = pages.render_facts([facts("h200"), facts("cpu")], facts("h200").slot, (STUB,))
    second = pages.render_facts([facts("cpu"), facts("h200")], facts("h200").slot, (STUB,))
    assert first == second
    assert list(first) == list(second) == sorted(first)


@pytest.mark.parametrize("device", DEVICES)
def test_every_device_renders_with_every_finding(device: str) -> None:
    """Missing variants, a missing GPU lane, ROCm without occupancy: nothing stops a page, and nothing prints None or a format hole."""
    files = pages.render_facts([facts(device)], facts(device).slot)
    for name, content in files.items():
        if isinstance(content, str):
            assert not re.search(r"\bNone\b(?!\.$)|\{\w*\}|Undefined|<bound method|\bnan µs|Decimal\(|Estimate\(", _prose(content)), name


def _prose(text: str) -> str:
    return re.sub(r"```.*?```|`[^`]*`|^None\.$", "", text, flags=re.S | re.M)


def test_every_page_says_that_it_is_generated() -> None:
    for name, content in rendered(facts("h200"), facts("cpu")).items():
        assert "Generated from the recorded runs by `make render`" in content[:700], name


def test_the_only_date_is_the_run_s_own_and_no_page_holds_hosts_or_commits() -> None:
    """A confirming rerun leaves the recorded run, so the day stays as well; rendering itself knows no day."""
    dated = replace(facts("h200"), protocol=Protocol(processes=7))
    for name, content in rendered(dated).items():
        own = re.sub(r"\(https://github\.com/[^)\s]*\)", "", content)  # a source at the commit at which it was read
        assert not re.search(r"\b20\d\d-\d\d-\d\d\b|\b[0-9a-f]{40}\b", own), name
    assert "recorded 30 November 2026" in rendered(dated)["index.md"] and "recorded 30 November 2026" in rendered(dated)["findings/a-finding.md"]


def test_tables_stand_at_column_0() -> None:
    """Forges show indented Markdown as code."""
    for name, content in rendered(facts("h200")).items():
        assert not re.search(r"^[ \t]+\|", content, re.M) or not name.endswith(".md"), name


def test_the_activity_table_has_a_row_per_activity_in_launch_order() -> None:
    """Naive on the H200: memset, matmul, scale, copy, mask, softmax, matmul."""
    page = rendered(facts("h200"))["variants/naive.md"]
    rows = re.findall(r"^\| (\d+) \| (\w+) \| (\w+) \|", page, re.M)
    assert rows == [("1", "memset", "memset"), ("2", "kernel", "matmul"), ("3", "kernel", "scale"), ("4", "memcpy", "copy"), ("5", "kernel", "mask"),
                    ("6", "kernel", "softmax"), ("7", "kernel", "matmul")]


def test_the_trace_is_folded_under_the_question() -> None:
    """A variant's page asks before it shows: no kernel name, role or count stands above the first fold."""
    page = rendered(facts("h200"))["variants/naive.md"]
    above, fold, _ = page.partition("<details markdown=\"1\">")
    assert fold and "Predict, then look" in above
    assert "nvjet" not in above and "memset" not in above and "memcpy" not in above.lower()


def test_a_variant_that_failed_shows_its_reason_and_costs_only_itself() -> None:
    files = rendered(unavailable(facts("h200"), "sdpa_cudnn", "cuDNN says <no> | sorry"))
    assert "No results on NVIDIA H200. SDPA cuDNN (refused): cuDNN says &lt;no&gt; | sorry." in files["variants/sdpa_cudnn.md"]
    assert "SDPA flash is the fastest here" in files["index.md"]


def test_a_new_variant_appears_everywhere_and_older_runs_say_recorded_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with an eighth variant beside one without: page, navigation, and a row that says why it is empty."""
    monkeypatch.setattr(variants, "VARIANTS", (*variants.SIX, "naive_compiled"))
    own = VariantFacts("mine", "My variant", False, State.OK, source="x = 1\n", prediction=(("matmul", "all"),), kernels=1, memcpys=0, memsets=0,
                       activities=(activity(),), times={"gpu_time": estimate(80), "wall_time": estimate(85), "host_time": estimate(30)})
    newer = facts("a100")
    newer = replace(newer, variants={**newer.variants, "mine": own})
    files = rendered(newer, facts("h200"))
    assert "variants/mine.md" in files and '"My variant": variants/mine.md' in files["nav.yml"]
    older = files[f"runs/{facts('h200').slot}/index.md"]
    assert "| [My variant](../../../variants/mine.md) | recorded before |" in older
    assert "My variant: this run was recorded before the variant was added." in older
    assert re.search(r"^\| \[My variant\]\(variants/mine.md\) \| 80.0 \|", files["index.md"], re.M)


def test_a_file_and_a_line_put_a_variant_everywhere(tmp_path: Path) -> None:
    """In a copy of the tree: one file in variants/, its name in the list, `render`. The recorded runs are older, and every page says so."""
    for name in ("reportgen", "variants", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("README.md", "mkdocs.yml"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    source = (ROOT / "variants/naive.py").read_text(encoding="utf-8")
    (tmp_path / "variants/my_own.py").write_text(re.sub(r'TITLE = .*', 'TITLE = "My own"', source), encoding="utf-8")
    listed = tmp_path / "variants/__init__.py"
    names = (*variants.SIX, "naive_compiled", "my_own")
    listed.write_text(re.sub(r"^VARIANTS = \(.*?^\)", f"VARIANTS = {names!r}", listed.read_text(encoding="utf-8"), count=1, flags=re.M | re.S), encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "reportgen", "render"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    docs = tmp_path / "docs"
    text = {name: (docs / name).read_text(encoding="utf-8") for name in ("index.md", "compare.md", "claims.md", "nav.yml", "variants/my_own.md")}
    assert "def forward" in text["variants/my_own.md"] and "recorded before" in text["variants/my_own.md"]
    assert '"My own": variants/my_own.md' in text["nav.yml"]
    assert "| [My own](variants/my_own.md) | recorded before | — |" in text["index.md"]
    heads = [line for line in text["compare.md"].split("\n") if line.startswith("| Device | Workload | Naive")]
    assert len(heads) == 5 and all(" My own" in line for line in heads)
    rows = [line for line in text["compare.md"].split("\n") if line.startswith("| [NVIDIA H200]") and "recorded before" in line]
    assert len(rows) == 5 and all("| recorded before |" in line for line in rows)
    for run in (docs / "runs").glob("*/*/index.md"):
        assert "My own: this run was recorded before the variant was added." in run.read_text(encoding="utf-8")


def test_a_variant_of_the_six_that_a_run_lacks_is_recorded_before_too() -> None:
    files = rendered(without(facts("h200"), "sdpa_cudnn"))
    assert "recorded before" in files["variants/sdpa_cudnn.md"]


# The front page's sentences --------------------------------------------------------------------


def test_the_overview_says_in_words_what_it_shows() -> None:
    assert pictures.overview(facts("h200")).alt.startswith("SDPA cuDNN is the fastest of the six on NVIDIA H200. GPU time of one forward: SDPA cuDNN 59.0 µs, SDPA flash 93.0 µs,")
    tied = variant(facts("h200"), "sdpa_flash", gpu_time=estimate(59.2))
    assert pictures.overview(tied).alt.startswith("SDPA cuDNN and SDPA flash are the fastest of the six on NVIDIA H200.")


def _real():
    from reportgen.findings import FINDINGS

    return FINDINGS


def test_the_glance_holds_what_is_compared_first() -> None:
    """H200: cuDNN 59.0 µs is the fastest and stands first, flash 93.0 µs is 1.58 times that; a CPU is ranked by wall time and has no kernels to count."""
    text = markdown(glance.table(facts("h200")))
    assert "| Variant | GPU time (µs) | × the fastest | To scale | A call costs the CPU (µs) | Kernels | Error |" in text
    assert re.search(r"^\| \[SDPA flash\]\(variants/sdpa_flash.md\) \| 93.0 \| 1.58× \| [^|]* \| 43.0 \| 1 \|", text, re.M)
    assert re.findall(r"variants/(\w+).md", text)[:7] == ["sdpa_cudnn", "sdpa_flash", "sdpa_efficient", "naive_inplace", "naive", "sdpa_math"]
    assert markdown(glance.table(facts("cpu"))).startswith("| Variant | Wall time (µs) | × the fastest | To scale | A call costs the CPU (µs) |")
    assert "Kernels" not in markdown(glance.table(facts("cpu")))
    assert markdown(glance.table(unavailable(facts("h200"), "sdpa_flash", "no"))).endswith("| [SDPA flash](variants/sdpa_flash.md) | refused | — | — | — | — | — |")
    assert "| [SDPA flash](variants/sdpa_flash.md) | refused | — |" in markdown(glance.table(unavailable(facts("h200"), "sdpa_flash", "no")))


# Verdicts --------------------------------------------------------------------------------------


def test_the_matrix_has_a_row_per_claim_and_a_cell_per_run() -> None:
    """Every id is an anchor; the word of the verdict stands in each cell, so that the page tells the same without colours and scripts."""
    runs = [facts("h200"), facts("cpu")]
    built = site.build(runs, runs[0].slot, _real())
    page = claims.render(built)
    rows = re.findall(r'<tr id="([\w.-]+)">\n(.*?)</tr>', page, re.S)
    assert [name for name, _ in rows] == [claim.id for finding in _real() for claim in finding.claims]
    in_order = sorted(run.slot for run in runs)
    for name, cells in rows:
        assert re.findall(r'<td><span class="verdict [\w-]+">([\w ]+)</span></td>', cells) == [built.outcomes[slot][name].verdict for slot in in_order]
    assert "<td>ours</td>" in dict(rows)["default-right"] and "<td>the article</td>" in dict(rows)["memcpy-hidden"]


def test_one_reason_for_many_claims_is_said_once() -> None:
    """A CPU run: most claims lack a GPU lane; a sentence that stands behind several claims is one line with their number."""
    run = facts("cpu")
    built = site.build([run], run.slot, _real())
    lines = board.undecided(built, run)
    lane = outcome("math-20-kernels", run)
    assert lane.case == "no-gpu-lane"
    (line,) = [line for line in lines if line.endswith(sentence(lane.reason))]
    assert int(re.search(r"</span> (\d+) claims: ", line)[1]) == sum(other.reason == lane.reason for other in built.outcomes[run.slot].values()) >= 4
    assert not any("Not measurable:" in line for line in lines)


def test_the_front_page_lists_every_claim_that_differs_and_counts_all() -> None:
    run = facts("h200")
    built = site.build([run], run.slot, _real())
    differ = [name for name, said in built.outcomes[run.slot].items() if said.verdict == "differs"]
    lines = board.differing(built, run, "index.md")
    assert len(lines) == len(differ) > 3 and all(f"#{name})**" in line for name, line in zip(differ, lines))
    assert sum(int(count.split()[0]) for _, count in board.counts(built, run)) == sum(len(finding.claims) for finding in _real())


def test_a_second_setting_of_the_featured_device_shows_only_what_comes_out_otherwise() -> None:
    """The same run under a label: no section, no chart of a finding; the answers are told all the same. Another device shows its whole evidence."""
    run = facts("h200")
    again = replace(run, label="again", slot=f"{run.slot}+again")
    files = pages.render_facts([run, again, facts("a100")], run.slot)
    found = files[f"runs/{again.slot}/findings.md"]
    assert "\n## As on NVIDIA H200\n" in found and found.count("\n## ") == 1 and '<a id="hidden-memcpy"></a><a id="memcpy-hidden"></a>' in found
    assert not any(name.startswith(f"runs/{again.slot}/charts/hidden-memcpy") for name in files)
    assert re.search(r"\d+ claims come out alike on both\.", files[f"runs/{again.slot}/index.md"])
    other = files[f"runs/{facts('a100').slot}/findings.md"]
    assert other.count("\n## ") == len(_real()) and "As on NVIDIA H200" not in other
    assert f"runs/{run.slot}/findings.md" not in files and f"runs/{run.slot}/variants.md" not in files and f"runs/{run.slot}/hardware.md" not in files


def test_a_second_run_is_as_above_only_where_nothing_differs() -> None:
    """The same run again is as above; slower in one variant, the verdicts stay and the numbers do not; where a claim turns, its answer stands there."""
    run = facts("h200")
    fastest = next(finding for finding in _real() if finding.slug == "fastest")
    told = {}
    for name, other in (("same", run), ("slower", variant(run, "naive", gpu_time=estimate(1200))), ("turned", variant(run, "sdpa_flash", gpu_time=estimate(40)))):
        again = replace(other, label=name, slot=f"{run.slot}+{name}")
        told[name] = finding_page.others(site.build([run, again], run.slot, (fastest,)), fastest).rows[0][-1]
    assert (told["same"], told["slower"]) == ("as above", "same verdicts, other numbers") and "SDPA flash is the fastest here" in str(told["turned"])


def test_a_second_setting_of_the_featured_device_lists_only_its_own_environment() -> None:
    """The second run with another driver: its page has that one row, and says where the rest is; the featured run's page has all."""
    run = facts("h200")
    again = replace(run, label="again", slot=f"{run.slot}+again", software={**run.software, "driver": "999.9"})
    files = pages.render_facts([run, again], run.slot)
    first, second = (files[f"runs/{slot}/index.md"] for slot in (run.slot, again.slot))
    environment = second.partition("<summary>Environment</summary>")[2].partition("</details>")[0]
    assert [row.split("|")[1].strip() for row in environment.splitlines() if row.startswith("| ")] == ["What", "---", "Driver"]
    assert "What is not listed is as in [NVIDIA H200]" in second and "<summary>Protocol</summary>" not in second
    assert "What is not listed" not in first and "| Compute capability | 9.0 |" in first and "<summary>Protocol</summary>" in first


def test_a_long_list_is_counted_and_a_kernels_family_leads_to_its_names() -> None:
    run = facts("h200")
    run = replace(run, protocol=replace(run.protocol, first_call_order=tuple(f"one{n}" for n in range(21))))
    files = rendered(run)
    assert "| first call order | 21 entries, in `run.json` |" in files["runs/nvidia-h200/article/index.md"] and "one20" not in files["runs/nvidia-h200/article/index.md"]
    assert "| `softmax_warp_forward` | [ATen softmax](../kernel-names.md#names-of-aten-softmax) | no |" in files["variants/naive.md"]
    assert '<a id="names-of-aten-softmax"></a>' in files["kernel-names.md"]
    number = re.search(r"^\| `softmax_warp_forward` \| [^|]* \| \[(\d+)\]\(#sources\) \|", files["kernel-names.md"], re.M)
    assert number and f"\n{number[1]}. PyTorch source, aten/src/ATen/native/cuda/SoftMax.cu\n" in files["kernel-names.md"]


def test_what_comes_out_otherwise_stands_run_beside_run() -> None:
    """Flash made the fastest: two claims of the race turn, and both runs' verdicts stand in the row."""
    run = facts("h200")
    turned = replace(variant(run, "sdpa_flash", gpu_time=estimate(40)), label="turned", slot=f"{run.slot}+turned")
    built = site.build([run, turned], run.slot, _real())
    table, alike = board.otherwise(built, turned, "index.md")
    row = next(row for row in table.rows if "flash-fastest" in str(row[0]))
    assert (str(row[1]), str(row[2])) == ('<span class="verdict differs">differs</span>', '<span class="verdict holds">holds</span>')
    assert alike == f"{sum(len(f.claims) for f in _real()) - len(table.rows)} claims come out alike on both."


def test_a_caveat_of_many_findings_is_said_at_the_top_of_a_runs_page_alone() -> None:
    run = facts("cpu")
    page = pages.render_facts([facts("h200"), run], facts("h200").slot)[f"runs/{run.slot}/findings.md"]
    assert page.count("Judged on another workload than the article's") == 1 and page.index("Judged on another workload") < page.index("\n## ")


def test_the_tally_leaves_out_what_did_not_happen() -> None:
    run = facts("h200")
    assert board.tally(site.build([run], run.slot, (STUB,)), run) == "Of 1 claim, 1 holds."


def test_a_caveat_of_several_claims_is_said_once() -> None:
    """On another workload than the article's, many claims carry the same caveat."""
    run = facts("cpu")
    page = pages.render_facts([run], run.slot)["findings/hidden-memcpy.md"]
    caveat = "Judged on another workload than the article's"
    assert page.count(caveat) == 1 and f"> **Caveat, for several of these.** {caveat}" in page


def test_a_bar_is_as_long_as_its_share_and_never_nothing() -> None:
    """24 cells for the longest, in eighths: a half is 12 cells, 1/64 three eighths, next to nothing one eighth."""
    drawn = [re.sub("<.*?>", "", str(Bar("naive", share))) for share in (1.0, 0.5, 1 / 64, 0.0001)]
    assert drawn == ["█" * 24, "█" * 12, "▍", "▏"]


def test_a_claims_anchor_stands_beside_its_verdict() -> None:
    page = rendered(facts("h200"))["findings/a-finding.md"]
    assert '- <a id="a-claim"></a><span class="verdict holds">holds</span> Flash runs `masked_fill_` never.' in page  # what it shows is the answer above
    assert page.index("Flash takes 93.0 µs") < page.index('<a id="a-claim">')
    assert page.index('<a id="a-claim">') < page.index("![Flash") < page.index("## What to do in your code") < page.index("## How it works") < page.index("## Evidence")
    assert page.index("## Evidence") < page.index("- It is small.") < page.index("<summary>What flash runs</summary>") < page.index("<summary>Predict first") < page.index("## Other devices")


# A device's page -------------------------------------------------------------------------------


def test_phases_show_their_parts_below_them_and_shares_of_the_whole() -> None:
    """Parts are recorded before their phase; 8 of 40 s are 20 %."""
    run = replace(facts("h200"), phases={"survey": 4.0, "timing: rounds": 8.0, "timing: first_call": 2.0, "timing": 16.0, "whole": 40.0})
    rows = [tuple(str(cell) for cell in row) for row in device.phases(run).rows]
    assert rows == [("survey", "4.00 s", "10 %"), ("timing", "16.0 s", "40 %"), ("└ rounds", "8.00 s", "20 %"), ("└ first call", "2.00 s", "5 %"), ("whole", "40.0 s", "100 %")]
    alone = replace(run, phases={"timing: rounds": 3.0, "timing: chains": 1.0})
    assert [str(row[2]) for row in device.phases(alone).rows] == ["100 %", "75 %", "25 %", "100 %"]


def test_what_each_variant_repeats_is_a_table_of_its_own() -> None:
    run = replace(facts("h200"), protocol=Protocol(processes=7, rounds_done=(3, 3, 3), forwards_per_graph={"naive": 20, "sdpa_math": 8}, timer=(), new_shape=PRESETS["small"]))
    assert [tuple(str(cell) for cell in row) for row in device.protocol(run).rows] == [
        ("processes", "7"), ("rounds done", "3 in each of 3"), ("new shape", "name small, batch 1, heads 4, sequence 256, head dim 64, dtype bfloat16, causal on")]
    assert markdown(device.repetitions(run)).split("\n")[2:] == ["| Naive | 20 |", "| SDPA math | 8 |"]
    assert device.repetitions(replace(run, protocol=Protocol(processes=7))) is None


def test_columns_without_a_value_are_left_out_and_named() -> None:
    table = Table(columns("Name", "#A (µs)", "#B (µs)", "Text"), (("x", "1", None, None), ("y", None, None, None)))
    kept = summaries.without_empty(table, "Nothing in: {}.")
    assert [c.title for c in kept.columns] == ["Name", "A (µs)", "Text"] and kept.rows == (("x", "1", None), ("y", None, None)) and kept.notes == ("Nothing in: B.",)
    assert summaries.without_empty(kept, "Nothing in: {}.") == kept


def test_variants_that_share_a_reason_share_a_sentence() -> None:
    run = unavailable(unavailable(facts("h200"), "sdpa_cudnn", "No backend."), "sdpa_efficient", "No backend.")
    assert summaries.why_nots(run) == ("SDPA efficient and SDPA cuDNN (refused): No backend.",)


def test_kernel_names_lead_with_a_list_and_show_what_is_unknown() -> None:
    page = rendered(facts("h200"))["kernel-names.md"]
    assert page.index("| Name, shortened | Family | Tensor Cores | Parts that nobody explains |") < page.index("## ")
    assert re.search(r"^\| `nvjet[^|]*\| cuBLAS nvjet \| yes \| `\w", page, re.M)


# Markup ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text, wanted", [
    ("masked_fill_ and _safe_softmax", r"masked_fill\_ and \_safe_softmax"),
    ("`masked_fill_` stays", "`masked_fill_` stays"),
    ("vector<float> & more", "vector&lt;float&gt; &amp; more"),
    ("two\n lines", "two lines"),
    ("`a|b`", "<code>a&#124;b</code>"),
])
def test_sentences_survive_both_renderers(text: str, wanted: str) -> None:
    assert sentence(text) == wanted


def test_a_heading_has_no_full_stop() -> None:
    assert heading("`x` runs.") == "`x` runs"
    assert dims((2, 66, 1)) == "2×66×1"


def test_brackets_in_alt_text_do_not_end_it() -> None:
    page = rendered(facts("h200"))["findings/a-finding.md"]
    assert "![Flash (here) takes 93.0 µs.](../runs/nvidia-h200/article/charts/a-finding-times.svg)" in page


def test_a_misspelt_name_in_a_template_is_an_error() -> None:
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError, match="'nothing' is undefined"):
        environment().from_string("{{ nothing }}").render()


def test_small_changes_have_no_sign_and_torchs_lines_read_as_one_text() -> None:
    assert (signed(1.26), signed(-0.04), signed(-2.0)) == ("+1.3 %", "0.0 %", "−2.0 %")
    assert sentence("Flash not used because:. It takes no mask.") == "Flash not used because: It takes no mask."


def test_the_exercise_does_not_give_the_prediction_away() -> None:
    """Above the fold stands what computes; what was predicted comes with the trace, and the file's text nowhere else."""
    source = 'PREDICTION = (("matmul", "all"),)\n\n\ndef forward(q):\n    return q\n'
    page = rendered(variant(facts("h200"), "naive", source=source))["variants/naive.md"]
    above, _, below = page.partition("<details")
    assert "def forward" in above and "softmax" not in above and "| softmax: scores to weights |" in below and "PREDICTION" not in page
    assert variant_page.computation('T = 1\nPREDICTION = ()\n\n\ndef forward(q):\n    return q\n') == "def forward(q):\n    return q"
    assert variant_page.computation("forward = other\n") == "forward = other"


def test_every_term_of_the_glossary_can_be_linked() -> None:
    """Each entry has an anchor of its own, and each link to the glossary meets one."""
    files = {name: text for name, text in pages.render_facts([facts("h200")], facts("h200").slot).items() if isinstance(text, str)}
    glossary = files["glossary.md"]
    anchors = re.findall(r'<a id="([\w-]+)"></a>\*\*', glossary)
    assert len(anchors) == len(set(anchors)) > 40
    assert not re.search(r"^\*\*", glossary, re.M)
    linked = {anchor for text in files.values() for anchor in re.findall(r"glossary\.md#([\w-]+)", text)}
    assert linked and linked <= set(anchors)


# Writing and checking --------------------------------------------------------------------------


def test_writing_again_touches_nothing(tmp_path: Path) -> None:
    files = rendered(facts("cpu"))
    tree.write(files, tmp_path)
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.*")}
    tree.write(files, tmp_path)
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.*")} == before
    assert tree.differences(files, tmp_path) == []


def test_an_edited_number_is_found_with_page_and_line(tmp_path: Path) -> None:
    files = rendered(facts("h200"))
    tree.write(files, tmp_path)
    page = tmp_path / "index.md"
    lines = page.read_text(encoding="utf-8").split("\n")
    number = next(i for i, line in enumerate(lines) if "59.0 µs" in line)
    lines[number] = lines[number].replace("59.0 µs", "58.0 µs")
    page.write_text("\n".join(lines), encoding="utf-8")
    (problem,) = tree.differences(files, tmp_path)
    assert problem.startswith(f"{page}:{number + 1}: expected ")
    expected, found = problem.split(", found ")
    assert "59.0 µs" in expected and "58.0 µs" in found


def test_missing_cut_and_stale_files_are_found(tmp_path: Path) -> None:
    files = rendered(facts("h200"), facts("cpu"))
    tree.write(files, tmp_path)
    (tmp_path / "beyond.md").unlink()
    (tmp_path / "method.md").write_text((tmp_path / "method.md").read_text(encoding="utf-8").rsplit("\n", 3)[0], encoding="utf-8")
    (tmp_path / "compare.md").write_text((tmp_path / "compare.md").read_text(encoding="utf-8") + "more\n", encoding="utf-8")
    (tmp_path / "old.md").write_text(files["index.md"], encoding="utf-8")
    problems = "\n".join(tree.differences(files, tmp_path))
    assert f"{tmp_path / 'beyond.md'}:1: expected a generated file, found none" in problems
    assert f"{tmp_path / 'method.md'}:" in problems and "found the file’s end" in problems
    assert f"{tmp_path / 'compare.md'}:" in problems
    assert f"{tmp_path / 'old.md'}:1: expected no such file, found a page that no run renders to" in problems
    assert len(problems.split("\n")) == 4


def test_a_run_that_is_gone_takes_its_pages_along_and_leaves_files_of_others(tmp_path: Path) -> None:
    """Stale generated pages and charts go; a page somebody wrote by hand stays."""
    tree.write(rendered(facts("h200"), facts("cpu")), tmp_path)
    (tmp_path / "by-hand.md").write_text("# Mine\n", encoding="utf-8")
    files = rendered(facts("h200"))
    tree.write(files, tmp_path)
    assert not (tmp_path / "runs" / facts("cpu").slot).exists()
    assert (tmp_path / "by-hand.md").exists()
    assert tree.differences(files, tmp_path) == []


def test_runs_on_disk_render_into_a_folder_of_their_own(tmp_path: Path) -> None:
    """Where the pages go elsewhere, evidence and style sheets go along; a run that is gone takes its copies with it."""
    from run_builder import record

    from reportgen import run as run_room

    runs = [run_room.load(record(tmp_path / "docs/runs")), run_room.load(record(tmp_path / "docs/runs", slug="nvidia-b300"))]
    (tmp_path / "docs/assets").mkdir()
    (tmp_path / "docs/assets/report.css").write_text("p {}", encoding="utf-8")
    out = tmp_path / "build/docs"
    pages.render(runs, out, runs[0].slot, tmp_path / "docs")
    assert (out / "runs" / runs[1].slot / "sdpa_flash.trace.json.gz").read_bytes() == (runs[1].path / "sdpa_flash.trace.json.gz").read_bytes()
    assert (out / "assets/report.css").is_file() and (out / "runs" / runs[0].slot / "run.json").is_file()
    assert pages.check(runs, out, runs[0].slot) == []
    assert not (tmp_path / "docs/index.md").exists()
    pages.render(runs[:1], out, runs[0].slot, tmp_path / "docs")
    assert not (out / "runs/nvidia-b300").exists()
    assert runs[1].path.is_dir()


def test_featuring_a_run_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="no recorded run in slot 'nobody/article'; there are nvidia-h200/article"):
        rendered(facts("h200"), featured="nobody/article")


def test_navigation_lists_every_page_once() -> None:
    """MkDocs warns of a page that is in no menu, and the strict build fails on it."""
    files = rendered(facts("h200"), facts("cpu"))
    listed = re.findall(r": (\S+\.md)$", files["nav.yml"], re.M)
    assert sorted(listed) == sorted(name for name in files if name.endswith(".md"))


def test_a_new_device_adds_rows_to_shared_pages_and_changes_none() -> None:
    """Two branches that each add a device merge: shared pages only gain lines."""
    before, after = rendered(facts("h200"), facts("b200"), featured=facts("h200").slot), rendered(facts("h200"), facts("b200"), facts("t4"), featured=facts("h200").slot)
    for name in ("index.md", "compare.md", "nav.yml", "variants/naive.md", "findings/a-finding.md", "beyond.md"):
        gone = [line for line in before[name].split("\n") if line not in after[name].split("\n")]
        assert gone == [], name


def test_compare_puts_the_article_beside_the_devices() -> None:
    built = site.build([facts("h200"), facts("cpu")], facts("h200").slot, (STUB,))
    ratios = markdown(compare.ratios(built))
    assert "| A100-SXM4-80GB (the article) | article | — | 13.3× | 49.3× | 1.89× | 1.00× | 1.27× |" in ratios
    assert "| [NVIDIA H200](runs/nvidia-h200/article/index.md) | article | 17.9× | 15.8× | 43.7× | 3.02× | 1.58× | 1.00× |" in ratios


def test_reading_a_trace_shows_a_run_with_a_gpu_lane_where_there_is_one() -> None:
    """A CPU run may be featured; the lesson still needs kernels."""
    files = rendered(facts("cpu"), facts("h200"))
    assert "The picture is from [NVIDIA H200]" in files["reading-a-trace.md"]
    assert "The picture is from" not in rendered(no_lane(facts("cpu")))["reading-a-trace.md"]


def test_navigation_quotes_titles() -> None:
    built = site.build([replace(facts("h200"), label='tf32: "on"')], facts("h200").slot, (STUB,))
    assert r'"NVIDIA H200 (tf32: \"on\"), article":' in navigation.render(built)


def test_every_variant_has_a_page() -> None:
    files = rendered(facts("h200"))
    assert [f"variants/{name}.md" in files for name in variants.VARIANTS] == [True] * len(variants.VARIANTS)
    assert front.READING.keys() <= files.keys()


# The site --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All findings on seven devices, built by MkDocs, strictly."""
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    runs = [facts(device) for device in DEVICES]
    tree.write(pages.render_facts(runs, runs[0].slot), folder / "docs")
    for run in runs:
        (folder / "docs/runs" / run.slot / "run.json").write_text("{}", encoding="utf-8")
        for each in run.variants.values():
            if each.trace_file:
                (folder / "docs/runs" / run.slot / each.trace_file).write_bytes(b"")
    (folder / "docs/assets").mkdir()
    (folder / "docs/assets/report.css").write_bytes((ROOT / "docs/assets/report.css").read_bytes())
    settings = {"DOCS_DIR": str(folder / "docs"), "NAV_FILE": str(folder / "docs/nav.yml"), "SITE_DIR": str(folder / "site"),
                "SOURCE_DATE_EPOCH": "315532800", "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict"], cwd=ROOT, env={**os.environ, **settings}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "site"


def test_the_strict_build_passes_and_fetches_nothing_from_outside(built_site: Path) -> None:
    """No script, style, font, image or frame comes from another host."""
    loads = re.compile(r"<(?:script|img|iframe|source)[^>]*\ssrc=\"?(https?:)?//|<link[^>]*rel=\"?(?:stylesheet|preconnect|icon)[^>]*href=\"?(https?:)?//|url\((?:https?:)?//", re.I)
    for file in [*built_site.rglob("*.html"), *built_site.rglob("*.css")]:
        assert not loads.search(file.read_text(encoding="utf-8")), file


def test_tables_inside_folds_become_tables(built_site: Path) -> None:
    """Markdown between `<details markdown>` is rendered, not shown as text."""
    page = (built_site / "variants/naive.html").read_text(encoding="utf-8")
    fold = page[page.index("<details"):page.rindex("</details>")]
    assert fold.count("<table ") >= 3 and fold.count("<summary>") == 3 and "<img alt=" in fold
    assert "| ---" not in fold and "markdown=" not in fold


def test_no_markdown_is_left_unrendered(built_site: Path) -> None:
    """A table that did not become one, a link that stayed text, an emphasis that was opened by an underscore."""
    for file in built_site.rglob("*.html"):
        body = re.sub(r"<(pre|code|script|style)\b.*?</\1>", "", file.read_text(encoding="utf-8"), flags=re.S)
        assert not re.search(r"\|\s*-{3}|\]\([\w./#-]+\)|^#{1,4} ", body, re.M), file


def test_the_word_of_a_verdict_is_in_its_badge(built_site: Path) -> None:
    """Colour alone says nothing to some readers."""
    page = (built_site / "index.html").read_text(encoding="utf-8")
    badges = re.findall(r'<span class="verdict ([\w-]+)">([\w ]+)</span>', page)
    assert badges and all(css == word.replace(" ", "-") for css, word in badges)


def test_a_variant_that_was_timed_in_one_process_says_so() -> None:
    run = facts("h200")
    assert variant_page.processes(run.variants["naive"]) == "over 7 fresh processes"
    once = variant(run, "naive", gpu_time=replace(run.variants["naive"].gpu_time, samples=(1e-3,)))
    assert variant_page.processes(once.variants["naive"]) == "in one process only"


def test_first_calls_have_no_middle_and_times_their_own_unit() -> None:
    """A first call depends on what ran before it in its process, so only the smallest and the largest are told."""
    rows = {row[0]: [str(cell) for cell in row[1:]] for row in variant_page.numbers(facts("h200").variants["sdpa_cudnn"]).rows}
    assert rows["First call"] == ["None", "90.2 ms", "99.8 ms"]
    assert rows["GPU time, the same inputs every time (hot)"][0] == "59.0 µs"


def test_clocks_say_in_how_many_samples_they_were_held_back() -> None:
    samples = (ClockSample("naive", 1980, throttle=()), ClockSample("naive", 1500, throttle=("software power cap",)), ClockSample("sdpa_flash", 1980, throttle=()))
    table = device.clocks(replace(facts("h200"), clocks=Clocks(samples=samples)))
    assert [row[-1] for row in table.rows] == ["1 of 2: software power cap", "0 of 1"]


def test_what_nobody_says_of_throttling_is_unknown_and_not_zero() -> None:
    """A driver may tell neither the clock nor what holds it back, or only one of them."""
    samples = (ClockSample("naive", 1980), ClockSample("naive", 1980), ClockSample("sdpa_flash", None, throttle=("software power cap",)), ClockSample("sdpa_flash", 1980))
    table = device.clocks(replace(facts("h200"), clocks=Clocks(samples=samples)))
    assert [row[-1] for row in table.rows] == [None, "1 of 1: software power cap"]


def test_who_else_was_at_work_is_a_table_without_what_nobody_told() -> None:
    looks = (Look("begin", processes=0, gpu_busy_percent=0.0, load=0.4), Look("process 1", processes=1, load=1.26, others_cpu_share=0.0312))
    table = device.company(replace(facts("h200"), clocks=Clocks(looks=looks)))
    assert [column.title for column in table.columns] == ["When", "Other processes on the GPU", "GPU at work", "Load", "Processors taken by others"]
    assert [[None if cell is None else str(cell) for cell in row] for row in table.rows] == [["begin", "0", "0 %", "0.40", None], ["process 1", "1", None, "1.26", "3.1 %"]]
    assert [note[:30] for note in table.notes] == ["—: not told at that look. Whet"], "no memory was told, so nothing is said of it"
    assert device.company(replace(facts("h200"), clocks=Clocks(looks=(Look("begin"),)))) is None
    assert device.company(facts("h200")) is None


def test_memory_in_use_is_the_drivers_only_where_nobody_else_was_seen() -> None:
    def notes(others: int | None) -> tuple[str, ...]:
        looks = tuple(Look(when, processes=others, graphics_processes=0, gpu_memory_used_bytes=615 * 2**20) for when in ("begin", "end"))
        table = device.company(replace(facts("h200"), clocks=Clocks(looks=looks)))
        assert table is not None
        return table.notes

    assert notes(0) == ("GPU memory in use: looked up while nobody of this run held any; no other process was seen, so it is what the driver keeps for itself.",)
    assert notes(1) == ("GPU memory in use: looked up while nobody of this run held any; the driver's own is in it.",)
    assert "the driver's own is in it" in notes(None)[0], "who was there nobody told"


def test_a_dash_of_an_extra_is_explained_where_there_is_one() -> None:
    """The six have no dash to explain; an extra with a time is ranked nowhere."""
    run = facts("h200")
    extra = replace(run.variants["naive"], id="naive_scaled_q", title="Naive with scaled q")
    said = "—: an extra beside the article's six is not ranked among them"
    assert not any(note.startswith(said) for note in glance.table(run).notes)
    assert any(note.startswith(said) for note in glance.table(replace(run, variants={**run.variants, extra.id: extra})).notes)


def test_gaps_in_a_profiled_forward_are_blamed_on_nobody() -> None:
    run = facts("h200")
    assert pictures.lanes(run.variants["naive"]).caption == "One forward under the profiler, onto an empty queue: without the profiler the gaps differ."
    assert pictures.lanes(no_lane(run).variants["naive"]).caption == "One forward under the profiler."


