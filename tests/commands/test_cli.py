"""The commands: what they choose, what they print, how they end."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
import weakref
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from builders import facts, unavailable

from reportgen import findings
from reportgen import run as run_room
from reportgen.analysis import Caveat, CaveatKind
from reportgen.commands import cli, facts_json, reporting, saving, terminal
from reportgen.commands.interruption import Stages
from reportgen.commands.summary import summary
from reportgen.errors import PageMismatch, ReportError
from reportgen.pages import readme
from reportgen.questions.model import Outcome, Source
from reportgen.run import LostPart, Noticed
from reportgen.run.layout import Layout
from reportgen.run.workload import PRESETS, altered

ROOT = Path(__file__).resolve().parents[2]
OUTCOMES = {
    "memcpy-hidden": Outcome("memcpy-hidden", "holds", "copied", "There is a copy.", source=Source.ARTICLE),
    "flash-fastest": Outcome("flash-fastest", "differs", "other-wins", "Another one wins.", source=Source.ARTICLE),
    "math-slower": Outcome("math-slower", "within noise", "tie", "They tie.", source=Source.ARTICLE),
    "hbm-dominates": Outcome("hbm-dominates", "not measurable", "no-gpu-lane", "no GPU lane.", source=Source.ARTICLE),
    "flash-one-kernel": Outcome("flash-one-kernel", "not measurable", "no-gpu-lane", "no GPU lane.", source=Source.ARTICLE),
}


def run_cli(*arguments: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "reportgen", *arguments], cwd=ROOT, capture_output=True, text=True, **options)


def recorded(root: Path, device: str = "gpu-x", workload: str = "article", kind: str = "cuda") -> Path:
    """A small valid run below `root`."""
    data = {"schema_version": 2, "recorded_on": "2026-11-01", "device": {"kind": kind, "name": device, "slug": device},
            "software": {"torch": "2.13.0"}, "host": {}, "settings": {}, "workload": PRESETS[workload].to_json(), "label": None,
            "protocol": {}, "variants": {}}
    return run_room.save(data, {}, root)


# --- choosing ------------------------------------------------------------------------------------

@pytest.mark.parametrize("arguments, start, expected", [
    ([], "small", ("small", 1, 4, 256, 64, "bfloat16")),
    (["--sequence", "2048"], "article", ("custom-8x16x2048x64-bfloat16", 8, 16, 2048, 64, "bfloat16")),
    (["--sequence", "300"], "small", ("custom-1x4x300x64-bfloat16", 1, 4, 300, 64, "bfloat16")),
    (["--sequence", "300"], "article-fp16", ("custom-8x16x300x64-float16", 8, 16, 300, 64, "float16")),
    (["--dtype", "float32"], "article", ("article-float32", 8, 16, 1024, 64, "float32")),
    (["--dtype", "float32"], "article-fp16", ("article-float32", 8, 16, 1024, 64, "float32")),
    (["--batch", "8", "--heads", "16", "--sequence", "1024"], "small", ("article", 8, 16, 1024, 64, "bfloat16")),
    (["--dtype", "float16"], "article", ("article-fp16", 8, 16, 1024, 64, "float16")),
])
def test_own_sizes_change_a_preset_and_a_shape_has_one_name(arguments, start, expected):
    sizes = cli.own_sizes(cli.parser().parse_args(["profile", *arguments]))
    workload = altered(PRESETS[start], sizes)
    assert (workload.name, workload.batch, workload.heads, workload.sequence, workload.head_dim, workload.dtype) == expected


def test_two_own_sizes_never_share_a_slot():
    assert len({altered(PRESETS["article"], {"sequence": length}).name for length in (100, 200)}) == 2


@pytest.mark.parametrize(("arguments", "label"), [([], None), (["--label", "x"], "x"), (["--quick"], "quick"), (["--quick", "--label", "x"], "x-quick")])
def test_a_quick_run_has_a_slot_of_its_own(arguments, label):
    assert cli._label(cli.parser().parse_args(["profile", *arguments])) == label


@pytest.mark.parametrize("label", ["../up", "a b", "ü", "a/b"])
def test_a_label_that_cannot_be_a_folder_is_refused(label):
    with pytest.raises(ReportError, match="folder's name"):
        cli.checked_label(label)


def test_report_passes_every_capture_option_on():
    given = ["--device", "cpu", "--workload", "small", "--batch", "2", "--heads", "3", "--sequence", "5", "--head-dim", "8", "--dtype", "float32",
             "--label", "x", "--counters", "off", "--no-record", "--quick", "--variants", "naive", "sdpa_math"]
    passed = reporting._passed_on(cli.parser().parse_args(["report", *given]))
    again = vars(cli.parser().parse_args(["profile", *passed]))
    original = vars(cli.parser().parse_args(["profile", *given]))
    assert again == original


# --- ending --------------------------------------------------------------------------------------

def test_help_explains_every_command():
    shown = run_cli("--help").stdout
    for command in ("profile", "render", "site", "facts", "serve", "report", "noise", "diff", "merge"):
        assert f"\n    {command} " in shown


def test_an_error_of_the_users_is_two_lines_and_status_2():
    done = run_cli("facts", "no-such/run")
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) == 2
    assert lines[0] == "error: no-such/run: there is no such run"
    assert lines[1].startswith("  what to do: ")


def test_a_size_that_makes_no_sense_is_an_error_of_the_users():
    done = run_cli("profile", "--sequence", "0")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "error: sequence must be at least 1"


def fake_python(folder: Path, body: str) -> str:
    """An executable that stands in for the capture Python."""
    script = folder / "python"
    script.write_text(f"#!{sys.executable}\n" + textwrap.dedent(body))
    script.chmod(0o755)
    return str(script)


def test_one_mistake_is_told_once(tmp_path):
    python = fake_python(tmp_path, "import sys; print('error: no such device', file=sys.stderr); sys.exit(2)")
    done = run_cli("report", "--capture-python", python)
    assert (done.returncode, done.stderr) == (2, "error: no such device\n")


def test_a_python_that_keeps_the_folder_off_its_path_finds_the_program_all_the_same(tmp_path):
    python = fake_python(tmp_path, "import os, sys; print('safe:', os.environ.get('PYTHONSAFEPATH'), os.getcwd(), file=sys.stderr); sys.exit(2)")
    done = subprocess.run([sys.executable, "-m", "reportgen", "report", "--capture-python", python], cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": str(ROOT)})
    assert (done.returncode, done.stderr) == (2, f"safe: None {ROOT}\n")


def test_report_says_so_when_profiling_dies_without_a_word(tmp_path):
    done = run_cli("report", "--capture-python", fake_python(tmp_path, "import sys; sys.exit(1)"))
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "error: profiling ended with status 1 and recorded no run"


def test_a_capture_python_that_is_not_there_is_an_error_of_the_users():
    done = run_cli("report", "--capture-python", "/nope/python")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "error: /nope/python cannot be run (No such file or directory)"


def test_a_mistyped_choice_is_told_without_the_usage_before_it():
    done = run_cli("report", "--workload", "smal")
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert lines[0].startswith("error: argument --workload: invalid choice: 'smal' (choose from ") and "small" in lines[0]
    assert lines[1:] == ["  what to do: `python -m reportgen report --help` lists what there is"]


def test_a_python_without_the_pages_packages_is_told_so_before_anything_runs(tmp_path):
    """Also where only a chart would miss its package, after profiling."""
    hide = "import importlib.util as u, sys; real = u.find_spec; u.find_spec = lambda name, *a: None if name == 'matplotlib' else real(name, *a); "
    done = subprocess.run([sys.executable, "-c", hide + "from reportgen.commands.cli import main; sys.exit(main(['report', '--capture-python', '/nope/python']))"],
                          cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert re.fullmatch(r"error: this Python \(3\.\d+\) lacks matplotlib, which pages are made with", lines[0])
    assert lines[1].startswith("  what to do: use make ") and len(lines) == 2


def test_serve_on_a_port_that_is_taken_names_another(tmp_path, monkeypatch, capsys):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").touch()
    monkeypatch.setattr(cli, "ROOT", tmp_path)
    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert cli.main(["serve", "--port", str(port)]) == 2
    assert capsys.readouterr().err.splitlines()[0] == f"error: port {port} is in use"


def test_serve_without_a_site_says_how_to_make_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cli, "ROOT", tmp_path)
    assert cli.main(["serve"]) == 2
    assert capsys.readouterr().err == "error: there is no site yet\n  what to do: make report, or make site\n"


@pytest.fixture
def served(tmp_path):
    """`serve` in a folder of its own: the process, and a request that gives status and text."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("the front page")
    (site / "404.html").write_text("the site's own words, — too")
    script = f"import sys; from pathlib import Path; from reportgen.commands import cli; cli.ROOT = Path({str(tmp_path)!r}); sys.exit(cli.main(['serve', '--port', '0']))"
    child = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    address = child.stdout.readline().split()[0]

    def request(path):
        try:
            with urllib.request.urlopen(f"{address}{path}") as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    yield child, request
    child.kill()


def test_serve_answers_a_missing_page_with_the_sites_own_and_says_nothing_of_requests(served):
    child, request = served
    assert request("index.html") == (200, "the front page")
    assert request("no/such/page.html") == (404, "the site's own words, — too")
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=20)
    assert (child.returncode, out, err) == (0, "\nended\n", "")


@pytest.mark.parametrize(("encoding", "line"), [
    ("utf-8", "  µ × — … → 中"), ("ascii", "  u x - ... -> ?"), ("iso-8859-9", "  µ × - ... -> ?"), ("euc_jp", "  u × - … → 中"),
])
def test_a_terminal_without_a_sign_gets_a_plainer_one(encoding, line):
    script = "from reportgen.commands import terminal; terminal.prepare(); print('  µ × — … → 中')"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, env={**os.environ, "PYTHONIOENCODING": f"{encoding}:strict"})
    assert done.stderr == b"" and done.stdout.decode(encoding).rstrip("\n") == line


@pytest.mark.parametrize("encoding", ["ascii", "iso-8859-1", "euc_jp", "iso-8859-9", "koi8-r"])
def test_a_summary_is_printed_whole_in_every_locales_encoding(encoding):
    done = run_cli("facts", "nvidia-h200/article", env={**os.environ, "PYTHONIOENCODING": encoding}, encoding=encoding)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"31 claims", done.stdout)


@pytest.mark.parametrize("locale", [{"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, {"LC_ALL": "C.UTF-8"}, {"LC_ALL": "tr_TR.UTF-8"}, {"LC_ALL": "POSIX"}, {"LC_ALL": "no_SUCH"}])
def test_a_summary_is_printed_whole_in_every_locale(locale):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHON"))}
    done = subprocess.run([sys.executable, "-m", "reportgen", "facts", "nvidia-h200/article"], cwd=ROOT, capture_output=True, env={**environment, **locale})
    assert (done.returncode, done.stderr) == (0, b"") and b"31 claims" in done.stdout


def test_a_folder_whose_name_the_locale_cannot_write_comes_back_byte_for_byte(tmp_path):
    folder = tmp_path / os.fsdecode(b"caf\xe9-\xc3\xbc")
    script = f"import os; from pathlib import Path; from reportgen.commands import saving, terminal; terminal.prepare(); saving.print_folder(Path(os.fsdecode({os.fsencode(folder)!r})))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert Path(os.fsdecode(done.stdout.strip())) == folder


def test_ctrl_c_while_profiling_ends_with_130_after_the_child_has_cleaned_up(tmp_path):
    python = fake_python(tmp_path, f"""
        import sys, time
        print('profiling', file=sys.stderr, flush=True)
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            time.sleep(0.3)
            open({str(tmp_path / 'cleaned')!r}, 'w').close()
            sys.exit(130)
    """)
    child = subprocess.Popen([sys.executable, "-m", "reportgen", "report", "--capture-python", python], cwd=ROOT, stderr=subprocess.PIPE,
                             text=True, start_new_session=True)
    assert child.stderr.readline() == "profiling\n"
    time.sleep(0.2)
    os.killpg(child.pid, signal.SIGINT)
    _, said = child.communicate(timeout=20)
    assert child.returncode == 130
    assert said.strip() == "interrupted; the former run, if there is one, is untouched"
    assert (tmp_path / "cleaned").exists()


def test_the_child_of_a_report_leaves_the_words_about_an_interruption_to_its_parent(capsys, monkeypatch):
    def broken_off(chosen, layout, stages):
        stages.at(None if chosen.for_report else "as it was")
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_profile", broken_off)
    assert cli.main(["profile"]) == 130
    assert capsys.readouterr().err == "\ninterrupted; as it was\n"
    assert cli.main(["profile", "--for-report"]) == 130
    assert capsys.readouterr().err == ""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """A checkout in which `report` profiles in no time, and pages and site are whatever the test says."""
    from reportgen.pages import publish

    def prepare(kind="cuda", render=lambda *given: [], build=lambda *given: None):
        root = tmp_path / "checkout"
        layout = Layout(root)
        layout.recorded.mkdir(parents=True)
        monkeypatch.setattr(cli, "ROOT", root)
        monkeypatch.setattr(reporting, "_profile_elsewhere", lambda chosen, layout, into: recorded(into, "dev-x", kind=kind))
        for name in ("render_recorded", "render_live"):
            monkeypatch.setattr(publish, name, render)
        monkeypatch.setattr(publish, "build_site", build)
        return layout

    return prepare


def interrupt(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize(("kind", "said"), [
    ("cuda", "interrupted; the run is saved in docs/runs/dev-x/article; `make render` and `make site` finish the pages"),
    ("cpu", "interrupted; the run is saved in build/runs/dev-x/article; `make render ARGS=--live` finishes the pages and the site"),
])
def test_ctrl_c_after_the_run_was_saved_says_where_it_is_and_what_finishes_the_pages(stand_in, capsys, kind, said):
    stand_in(kind, render=interrupt)
    assert cli.main(["report"]) == 130
    assert capsys.readouterr().err.splitlines()[-1] == said


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_ctrl_c_that_python_dropped_in_a_callback_still_ends_the_report(stand_in, capsys):
    """An exception in a weak reference's callback is printed and forgotten; the next stage remembers it."""
    built = []

    def render(*given):
        class Thing:
            pass

        thing = Thing()
        kept = weakref.ref(thing, lambda dead: signal.raise_signal(signal.SIGINT))
        del thing
        assert kept() is None
        return []

    stand_in(render=render, build=lambda *given: built.append(given))
    assert cli.main(["report"]) == 130
    assert built == []
    assert "the run is saved in docs/runs/dev-x/article" in capsys.readouterr().err.splitlines()[-1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_while_rendering_names_the_run_that_was_saved(stand_in, capsys):
    def render(*given):
        raise ReportError("does not render", where="docs/x", cure="mend it")

    stand_in(render=render)
    assert cli.main(["report"]) == 2
    assert capsys.readouterr().err.splitlines()[-3:] == ["error: docs/x: does not render", "  the run is saved in docs/runs/dev-x/article",
                                                         "  what to do: mend it; then `make render` and `make site` finish the pages"]


@pytest.mark.parametrize(("kind", "where"), [("cuda", "docs/runs/dev-x/article; `make render` and `make site` finish the pages"),
                                             ("cpu", "build/runs/dev-x/article; `make render ARGS=--live` finishes the pages and the site")])
def test_a_disk_that_is_full_while_rendering_is_two_lines_that_name_the_run(stand_in, capsys, kind, where):
    def render(*given):
        raise OSError(28, "No space left on device", str(cli.ROOT / "docs" / "index.md"))

    stand_in(kind, render=render)
    assert cli.main(["report"]) == 2
    assert capsys.readouterr().err.splitlines()[-2:] == [f"error: docs/index.md: the disk is full; the run is saved in {where}", "  what to do: make room on that disk"]


def test_a_disk_that_does_not_take_the_fresh_run_into_its_slot_is_two_lines_that_name_it(stand_in, monkeypatch, capsys):
    layout = stand_in()
    monkeypatch.setattr("reportgen.run.slots.place", lambda *given: (_ for _ in ()).throw(OSError(30, "Read-only file system", str(layout.recorded))))
    assert cli.main(["report"]) == 2
    assert capsys.readouterr().err.splitlines()[-2:] == [
        f"error: docs/runs: the disk is read-only; the fresh run lies in {layout.root}/build/passes/1/dev-x/article; the former run, if there is one, is untouched",
        "  what to do: use a checkout on a disk that can be written"]


def test_a_checkout_that_cannot_be_written_to_is_told_before_profiling(stand_in, monkeypatch, capsys):
    layout = stand_in()
    (layout.root / "site").write_text("not a folder")
    monkeypatch.setattr(reporting, "_profile_elsewhere", lambda *given: pytest.fail("profiled all the same"))
    assert cli.main(["report", "--device", "cpu"]) == 2
    assert capsys.readouterr().err == "error: site: cannot be written to, so nothing was profiled: File exists\n  what to do: mend that, then run the command again\n"


def test_a_measured_run_that_its_disk_does_not_take_is_saved_elsewhere_and_named(tmp_path, monkeypatch):
    content = {"schema_version": 1, "recorded_on": "2026-11-01", "device": {"kind": "cpu", "name": "x", "slug": "dev-x"}, "software": {}, "host": {},
               "settings": {}, "workload": PRESETS["small"].to_json(), "label": None, "protocol": {}, "variants": {}}
    (tmp_path / "full").write_text("no folder")
    monkeypatch.setattr(saving, "_elsewhere", lambda: [tmp_path])
    with pytest.raises(ReportError) as caught:
        saving.saved(content, {}, tmp_path / "full" / "runs")
    first, second = str(caught.value).splitlines()
    folder = first.rpartition("the run lies in ")[2]
    assert run_room.load(Path(folder)).slot == "dev-x/small"
    assert second.endswith(f"; then `make merge DIRS={folder}` takes it in")


MEASURED = {"schema_version": 1, "recorded_on": "2026-11-01", "device": {"kind": "cpu", "name": "x", "slug": "dev-x"}, "software": {}, "host": {},
            "settings": {}, "workload": PRESETS["small"].to_json(), "label": None, "protocol": {}, "variants": {}}


def test_counters_that_do_not_fit_cost_themselves_and_no_measured_run(tmp_path):
    odd = {"tool": "ncu", "variants": {"naive": [{"kernel": "mul", "metrics": {"sm__warps_active.avg.pct_of_peak_sustained_active": 107.02}}]}}
    found = run_room.load(saving.saved({**MEASURED, "counters": odd}, {}, tmp_path))
    assert found.counters is None
    assert found.counters_reason == ("what the tool gave does not fit (counters.variants.naive[0].metrics.sm__warps_active.avg.pct_of_peak_sustained_active is 107.02, "
                                     "expected a percentage)")


def test_a_run_that_does_not_fit_together_is_kept_as_it_is_and_named(tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "_elsewhere", lambda: [tmp_path])
    with pytest.raises(ReportError) as caught:
        saving.saved({**MEASURED, "protocol": {"processes": -3}}, {}, tmp_path / "runs")
    first, second = str(caught.value).splitlines()
    assert "protocol.processes is -3" in first and second == "  what to do: report it with that file; the former run is untouched"
    assert json.loads(Path(first.rpartition("the numbers lie in ")[2]).read_text())["protocol"] == {"processes": -3}


@pytest.mark.parametrize("damage", ["run", "FEATURED"])
def test_what_is_recorded_is_looked_at_before_profiling(stand_in, monkeypatch, capsys, damage):
    layout = stand_in()
    folder = recorded(layout.recorded, "gpu-y")
    layout.feature_first("gpu-y/article")
    if damage == "run":
        (folder / "run.json").write_text("{")
    else:
        (layout.recorded / "FEATURED").write_text("gpu-z/article\n")
    monkeypatch.setattr(reporting, "_profile_elsewhere", lambda *given: pytest.fail("profiled all the same"))
    assert cli.main(["report"]) == 2
    said = capsys.readouterr().err
    assert ("docs/runs/gpu-y/article/run.json: not valid JSON" if damage == "run" else "docs/runs/FEATURED: names 'gpu-z/article'") in said
    assert "what to do: " in said


def test_accept_profiles_all_the_same_and_says_that_a_run_is_damaged(stand_in, capsys):
    layout = stand_in(render=interrupt)
    (recorded(layout.recorded, "gpu-y") / "run.json").write_text("{")
    assert cli.main(["report", "--accept"]) == 130
    assert capsys.readouterr().err.startswith("warning: a recorded run is damaged; ")


def test_counters_that_were_asked_for_and_not_taken_are_told(stand_in, monkeypatch, capsys):
    layout = stand_in("cpu", render=lambda layout, folder: [run_room.load(folder)])
    real = run_room.from_json
    monkeypatch.setattr("reportgen.run.read.from_json", lambda data, folder: real({**data, "counters_reason": "there is no GPU"}, folder))
    assert cli.main(["report", "--counters", "on"]) == 0
    assert "\nCOUNTERS=on, but no hardware counters were taken: there is no GPU\n" in capsys.readouterr().out
    shutil.rmtree(layout.live)
    assert cli.main(["report"]) == 0
    assert "COUNTERS" not in capsys.readouterr().out


def test_a_reader_that_leaves_early_is_no_error(monkeypatch):
    def gone(chosen, layout, stages):
        raise BrokenPipeError

    monkeypatch.setattr(cli, "_site", gone)
    monkeypatch.setattr(cli.os, "dup2", lambda *ends: None)
    assert cli.main(["site"]) == 0


def test_a_pipe_that_closes_early_leaves_no_trace_in_the_terminal(tmp_path):
    """Also where the text is short enough to be written only when the process ends."""
    folder = recorded(tmp_path / "runs", "gpu-x")
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", "reportgen", "facts", str(folder)], cwd=ROOT, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


# --- where runs lie ------------------------------------------------------------------------------

def test_the_first_recorded_run_becomes_the_featured_one_and_a_later_one_does_not(tmp_path):
    layout = Layout(tmp_path)
    recorded(layout.recorded, "gpu-x")
    recorded(layout.recorded, "gpu-y")
    assert layout.feature_first("gpu-y/article") is True
    assert layout.feature_first("gpu-x/article") is False
    assert layout.featured([run.slot for run in layout.recorded_runs()]) == "gpu-y/article"


def test_without_a_recorded_run_the_live_one_is_featured(tmp_path):
    layout = Layout(tmp_path)
    live = recorded(layout.live, "cpu-x", "small", "cpu")
    assert layout.featured(list(layout.with_live(live)), otherwise="cpu-x/small") == "cpu-x/small"


def test_beside_a_recorded_run_the_live_one_is_shown_and_not_featured(tmp_path):
    layout = Layout(tmp_path)
    recorded(layout.recorded, "gpu-x")
    layout.feature_first("gpu-x/article")
    live = recorded(layout.live, "cpu-x", "small", "cpu")
    runs = list(layout.with_live(live))
    assert runs == ["cpu-x/small", "gpu-x/article"]
    assert layout.featured(runs, otherwise="cpu-x/small") == "gpu-x/article"


def test_a_live_run_stands_in_for_the_recorded_one_of_its_slot(tmp_path):
    layout = Layout(tmp_path)
    recorded(layout.recorded, "gpu-x")
    live = recorded(layout.live, "gpu-x")
    assert list(layout.with_live(live).values()) == [live]


def test_earlier_live_runs_are_shown_too_but_stand_in_for_no_recorded_one(tmp_path):
    layout = Layout(tmp_path)
    kept = recorded(layout.recorded, "gpu-x")
    recorded(layout.live, "gpu-x")
    earlier, fresh = recorded(layout.live, "cpu-x", "small", "cpu"), recorded(layout.live, "cpu-x", "long", "cpu")
    (recorded(layout.live, "old") / "run.json").write_text("{")
    assert list(layout.with_live(fresh).values()) == [fresh, earlier, kept]
    assert list(layout.with_live().values()) == [fresh, earlier, kept]


def test_a_featured_run_that_is_gone_is_an_error_that_names_the_others(tmp_path):
    layout = Layout(tmp_path)
    recorded(layout.recorded, "gpu-x")
    (layout.recorded / "FEATURED").write_text("gpu-z/article\n")
    with pytest.raises(ReportError, match="gpu-z/article.*\n.*gpu-x/article"):
        layout.featured([run.slot for run in layout.recorded_runs()])


def test_a_run_is_found_by_folder_and_by_slot(tmp_path):
    layout = Layout(tmp_path)
    folder = recorded(layout.recorded, "gpu-x")
    assert layout.find_run("gpu-x/article") == folder
    assert layout.find_run(str(folder)) == folder


# --- summary -------------------------------------------------------------------------------------

def test_the_summary_says_what_ran_what_came_out_and_where_the_time_went():
    run = unavailable(facts("h200"), "sdpa_cudnn", "No available kernel.")
    text = summary(run, OUTCOMES, {"profiling": 30.0, "rendering": 2.0}, "the site: site/index.html")
    lines = text.splitlines()
    assert lines[0] == "NVIDIA H200, compute capability 9.0"
    start = next(place for place, line in enumerate(lines) if line.startswith("variant "))
    assert lines[start:start + 6] == [
        "variant         GPU time  × the fastest  wall time  host time  GPU activities",
        "sdpa_flash       93.0 µs          1.00×    96.0 µs    43.0 µs  1 kernel",
        "sdpa_efficient    178 µs          1.91×     181 µs    40.0 µs  1 kernel",
        "naive_inplace     930 µs          10.0×     933 µs    58.0 µs  5 kernels, 1 memset",
        "naive            1.06 ms          11.4×    1.06 ms    72.0 µs  5 kernels, 1 memcpy, 1 memset",
        "sdpa_math        2.58 ms          27.7×    2.58 ms     240 µs  20 kernels"]
    assert "sdpa_cudnn refused: No available kernel." in lines
    assert "5 claims of the article: 1 holds, 1 differs, 1 is within noise, 2 are not measurable" in lines
    assert "  differs       flash-fastest: Another one wins." in lines
    assert lines[lines.index("not measurable here (the run's page has each reason in full)") + 1:][:2] == ["   2  No GPU lane.", "      hbm-dominates, flash-one-kernel"]
    assert "32.0 s in all: profiling 30.0 s, rendering 2.0 s" in lines
    assert lines[-4:] == ["the site: site/index.html", "", "SDPA flash is the fastest here: 93.0 µs of GPU time per forward. SDPA efficient needs 178 µs, 1.91×",
                          "  as long. Naive attention needs 1.06 ms, 11.4× as long."]


def test_on_a_terminal_the_headline_is_coloured_and_says_what_to_mind():
    held = tuple(Caveat(CaveatKind.NEIGHBOURS, {"others": others}) for others in (1, 2, 3))
    run = facts("a100", caveats=held)
    lines = summary(run, {}, {}, "the site", coloured=True).splitlines()
    assert lines[:3] == [f"mind: {others} other compute process{'' if others == 1 else 'es'} used this GPU during the run, so every time here is suspect." for others in (1, 2, 3)]
    assert lines[-6] == "" and lines[-5].startswith("\x1b[1;32mSDPA flash is the fastest here: ") and lines[-5].endswith("\x1b[0m")
    assert lines[-3:] == ["\x1b[33mmind: 1 other compute process used this GPU during the run, so every time here is suspect.\x1b[0m",
                          "\x1b[33mmind: 2 other compute processes used this GPU during the run, so every time here is suspect.\x1b[0m",
                          "\x1b[33mmind: 1 more at the top of this summary\x1b[0m"]
    assert "\x1b" not in summary(run, {}, {}, "the site")


@pytest.mark.parametrize(("tty", "environment", "shown"), [(True, {"TERM": "xterm"}, True), (False, {"TERM": "xterm"}, False), (True, {"TERM": "dumb"}, False), (True, {}, False),
                                                            (True, {"TERM": "xterm", "NO_COLOR": "1"}, False), (True, {"TERM": "xterm", "NO_COLOR": ""}, True)])
def test_colours_are_for_a_terminal_that_wants_them(monkeypatch, tty, environment, shown):
    monkeypatch.setattr("sys.stdout", SimpleNamespace(isatty=lambda: tty))
    monkeypatch.setattr("os.environ", environment)
    assert terminal.coloured() is shown


def test_the_summary_of_a_cpu_run_has_no_gpu_numbers():
    text = summary(facts("cpu"), OUTCOMES, {"profiling": 3.0}, "")
    head, first = next((line, after) for line, after in pairwise(text.splitlines()) if line.startswith("variant "))
    assert head.split() == ["variant", "wall", "time", "×", "the", "fastest", "host", "time"]
    assert first.split()[0] == "sdpa_flash" and first.split()[3] == "1.00×" and "—" not in first


def test_the_summary_counts_reasons_and_shortens_the_list_of_claims():
    many = {f"claim-{number}": Outcome(f"claim-{number}", "not measurable", "x", "cuDNN did not run here (torch 2.13.0 says no). It may elsewhere.", source=Source.ARTICLE)
            for number in range(6)}
    many["alone"] = Outcome("alone", "not measurable", "y", "a long reason " * 20, source=Source.ARTICLE)
    lines = summary(facts("cpu"), many, {}, "").splitlines()
    start = lines.index("not measurable here (the run's page has each reason in full)")
    assert lines[start + 1:start + 3] == ["   6  CuDNN did not run here.", "      claim-0, claim-1, claim-2, claim-3 and 2 more"]
    assert lines[start + 3].startswith("   1  alone: A long reason a long") and lines[start + 3].endswith(" …") and len(lines[start + 3]) <= 100


def test_variants_with_the_same_reason_share_a_line():
    text = summary(unavailable(unavailable(facts("h200"), "sdpa_flash", "None here."), "sdpa_cudnn", "None here."), {}, {}, "")
    assert "sdpa_flash, sdpa_cudnn refused: None here." in text.splitlines()


def test_the_summary_puts_parts_of_a_phase_behind_it_and_counts_nothing_twice():
    phases = {"survey": 1.1, "timing: rounds": 1.9, "timing: first call": 0.2, "timing: chains": 0.6, "timing: warming up": 1.6, "timing": 4.7,
              "evidence: trace": 0.04, "evidence": 2.4, "counters": 0.01, "whole": 8.7}
    lines = summary(facts("cpu", phases=phases), {}, {"profiling": 8.7}, "").splitlines()
    assert lines[lines.index("8.7 s in all: profiling 8.7 s"):-3] == [
        "8.7 s in all: profiling 8.7 s", "  survey     1.1 s", "  timing     4.7 s (rounds 1.9 s, warming up 1.6 s, chains 0.6 s)", "  evidence   2.4 s"]


def test_the_software_of_a_cpu_run_has_nothing_that_only_a_gpu_uses():
    run = facts("cpu", software={"python": "3.12.3", "torch": "2.13.0+cu130", "cuda": "13.0", "triton": "3.6.0", "os": "Linux"})
    assert summary(run, {}, {}, "").splitlines()[1] == "  python 3.12.3, torch 2.13.0+cu130, os Linux"
    assert "(torch 2.13.0+cu130)" in readme.section(run, {})


# --- the README's table --------------------------------------------------------------------------

BLANK = f"# Title\n\n{readme.BEGIN}\n{readme.END}\n\nEnd.\n"


def test_the_readme_is_changed_between_its_markers_only():
    text = readme.update(BLANK, readme.section(facts("h200"), OUTCOMES))
    assert text.startswith(f"# Title\n\n{readme.BEGIN}\n\n**NVIDIA H200**")
    assert text.endswith(f"\n\n{readme.END}\n\nEnd.\n")
    assert "5 claims of the article: 1 holds, 1 differs, 1 is within noise and 2 are not measurable." in text
    assert readme.update(text, readme.section(facts("h200"), OUTCOMES)) == text


def test_the_readme_has_a_row_for_each_of_the_six_also_for_one_that_did_not_run():
    text = readme.update(BLANK, readme.section(unavailable(facts("t4"), "sdpa_math"), OUTCOMES))
    rows = [line for line in text.splitlines() if line.startswith("| [")]
    assert len(rows) == 6
    assert "| [SDPA math](docs/variants/sdpa_math.md) | refused | — | — | — | — | — |" in rows


def test_a_number_edited_by_hand_is_named_with_its_line():
    text = readme.update(BLANK, readme.section(facts("h200"), OUTCOMES))
    edited = text.replace("1 differs", "9 differs")
    (problem,) = readme.differences(edited, text)
    assert problem.startswith("README.md:5: is ")


def test_a_readme_without_markers_is_an_error():
    with pytest.raises(ReportError, match="markers"):
        readme.update("# Title\n", "")


def test_check_names_every_page_and_line_that_differs(tmp_path, monkeypatch):
    from reportgen.pages import publish

    layout = Layout(tmp_path)
    recorded(layout.recorded, "gpu-x")
    layout.feature_first("gpu-x/article")
    layout.readme.write_text("one\ntwo\n")
    monkeypatch.setattr(publish.tree, "differences", lambda files, docs: [f"{docs}/index.md:7: expected 'a', found 'b'"])
    monkeypatch.setattr(publish.readme, "update", lambda text, section: "one\nTWO\n")
    with pytest.raises(PageMismatch) as caught:
        publish.check(layout)
    assert "docs/index.md:7: expected 'a', found 'b'" in str(caught.value).splitlines()
    assert "README.md:2: is 'two', renders to 'TWO'" in str(caught.value).splitlines()


def test_of_an_error_that_mkdocs_did_not_expect_the_last_line_is_told(tmp_path, monkeypatch):
    from reportgen.pages import publish

    said = "INFO - Building\nTraceback (most recent call last):\n  File x, line 1\nOSError: [Errno 28] No space left on device: 'site/index.html'\n"
    monkeypatch.setattr(publish.subprocess, "run", lambda *given, **named: subprocess.CompletedProcess(given, 1, said))
    with pytest.raises(ReportError) as caught:
        publish.build_site(Layout(tmp_path), tmp_path)
    assert str(caught.value).splitlines() == ["the strict build of the site failed", "OSError: [Errno 28] No space left on device: 'site/index.html'",
                                              "  what to do: mend what MkDocs names above, then `make site`"]


def test_facts_of_a_run_are_one_json_object(tmp_path):
    folder = recorded(tmp_path / "runs", "gpu-x")
    done = run_cli("facts", str(folder), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["device"]["slug"] == "gpu-x"
    assert list(found["claims"]) == [claim.id for claim in findings.claims()]
    assert (found["older"], found["noticed"], found["lost"], found["host_time"]) == (False, [], [], {"launches_wait": [], "watched_by": None})


def test_facts_say_what_was_around_the_run_and_what_it_lost():
    run = facts("h200", noticed=(Noticed("no-clocks", "clocks stay unknown"),), lost=(LostPart("memory", "killed by SIGKILL", "naive"),),
                launches_wait=("CUDA_LAUNCH_BLOCKING",), watched_by=("NSYS_SESSION",))
    found = json.loads(json.dumps(facts_json.to_json(run, {})))
    assert (found["older"], found["noticed"], found["lost"], found["host_time"]) == (
        False, [{"cause": "no-clocks", "said": "clocks stay unknown"}], [{"what": "memory", "reason": "killed by SIGKILL", "variant": "naive"}],
        {"launches_wait": ["CUDA_LAUNCH_BLOCKING"], "watched_by": ["NSYS_SESSION"]})


def test_a_chain_of_stages_restores_the_handler_that_was_there():
    mine = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Stages():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # who ignores Ctrl-C goes on ignoring it
    finally:
        signal.signal(signal.SIGINT, mine)


@pytest.mark.parametrize(("device", "cure"), [
    ("mps", "DEVICE=cpu profiles the processor; Apple's GPUs are not profiled"), ("xpu", "DEVICE=cpu profiles the processor; Intel's GPUs are not profiled"),
    ("cuda:1", "CUDA_VISIBLE_DEVICES=1 with DEVICE=cuda: the first visible GPU is profiled"), ("2", "CUDA_VISIBLE_DEVICES=2 with DEVICE=cuda: the first visible GPU is profiled"),
    ("rocm", "DEVICE=cuda: torch calls AMD's GPUs by that name as well"), ("nvidia", "DEVICE=cuda or DEVICE=cpu"),
])  # fmt: skip
def test_a_device_of_another_name_is_answered_with_what_was_meant(device, cure, capsys):
    assert cli.main(["report", "--device", device]) == 2
    assert capsys.readouterr().err == f"error: there is no device '{device}' to profile\n  what to do: {cure}\n"


def test_profile_gives_another_gpu_of_a_recorded_name_a_place_of_its_own(tmp_path, monkeypatch):
    """24 GiB are recorded; 48 GiB under the same name come."""
    from run_builder import data, record

    from reportgen.capture import session

    monkeypatch.setattr(cli, "ROOT", tmp_path)
    layout = Layout(tmp_path)
    first = record(layout.recorded, traces=False, change=lambda run: run["device"].update(memory_bytes=24 * 2**30))
    both = {"nvidia-h200/article", "nvidia-h200-48gb/article"}
    for size, slots in ((24, {"nvidia-h200/article"}), (48, both), (48, both)):
        monkeypatch.setattr(session, "capture", lambda request, shown, size=size: (data(seed=1, change=lambda run: run["device"].update(memory_bytes=size * 2**30)), {}))
        assert cli.main(["profile"]) == 0
        assert {folder.relative_to(layout.recorded).as_posix() for folder in run_room.discover(layout.recorded)} == slots
    assert run_room.load(first).device.memory_bytes == 24 * 2**30


@pytest.mark.parametrize(("arguments", "processes", "chains"), [([], 7, True), (["--quick"], 1, False)])
def test_a_quick_run_takes_one_process(tmp_path, monkeypatch, arguments, processes, chains):
    from reportgen.capture import session

    asked = []

    def refuses(request, shown):
        asked.append(request)
        raise ReportError("nothing is measured here")

    monkeypatch.setattr(cli, "ROOT", tmp_path)
    monkeypatch.setattr(session, "capture", refuses)
    assert cli.main(["profile", "--device", "cpu", *arguments]) == 2
    assert [(one.processes, not one.quick) for one in asked] == [(processes, chains)]
