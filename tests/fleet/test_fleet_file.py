"""The TOML file of a fleet: what it means, and the two lines for what makes no sense."""

from __future__ import annotations

from pathlib import Path

import pytest

from reportgen.errors import ReportError
from reportgen.fleet import plan
from reportgen.fleet.plan import Kind

ROOT = Path(__file__).resolve().parents[2]


def test_the_recipe_is_read_and_names_every_field():
    fleet = plan.read(ROOT / "recipes" / "fleet.toml")
    assert fleet.cluster == "slurm" and [(kind.name, kind.python, kind.minutes, kind.partition, kind.gres) for kind in fleet.kinds] == [
        ("h200", "/shared/torch/bin/python", 30, "h200", "gpu:h200:1"), ("l4", "python3", 45, "batch", "gpu:l4:1")]
    assert fleet.kinds[1].container == ("apptainer", "exec", "--nv", "/shared/torch.sif")
    text = (ROOT / "recipes" / "fleet.toml").read_text()
    assert [name for name in ("python", "partition", "gres", "constraint", "nodelist", "account", "qos", "minutes", "container", "setup", "device", "workload", "label")
            if f"{name} = " not in text] == []


def test_what_stands_above_the_kinds_holds_for_all_and_a_kind_may_say_otherwise(tmp_path: Path):
    (tmp_path / "fleet.toml").write_text('python = "p"\nminutes = 10\n[kinds.a]\n[kinds.b]\nminutes = 20\npython = "q"\n')
    assert plan.read(tmp_path / "fleet.toml").kinds == (Kind("a", "p", minutes=10), Kind("b", "q", minutes=20))


def test_what_runs_on_a_node():
    kind = Kind("l4", "python3", container=("apptainer", "exec", "--nv", "torch.sif"), workload="small", label="tf32")
    assert kind.command(Path("into")) == ["apptainer", "exec", "--nv", "torch.sif", "python3", "-m", "reportgen", "profile", "--for-report", "--into", "into",
                                          "--device", "cuda", "--workload", "small", "--label", "tf32"]


CURE = "recipes/fleet.toml names every field, with an example"
FIELDS = "there are python, partition, gres, constraint, nodelist, account, qos, minutes, container, setup, device, workload, label"


@pytest.mark.parametrize(("text", "problem", "cure"), [
    ("x =", "is no TOML (Invalid value (at end of document))", CURE),
    ("python = 'p'", "names no kind of GPU", "add one: [kinds.h200]"),
    ("kinds = 3", "names no kind of GPU", "add one: [kinds.h200]"),
    ("kinds.a = 3", "kinds.a is 3, expected a table", "write [kinds.a] on a line of its own, and its fields below it"),
    ("[kinds.a]\npython = 'p'\npartitoin = 'x'", "kinds.a.partitoin is no field of a kind", FIELDS),
    ("pyhton = 'p'\n[kinds.a]", "pyhton is no field of a kind", FIELDS),
    ("[kinds.a]", "kinds.a.python is missing", CURE),
    ("cluster = 'sge'\n[kinds.a]\npython = 'p'", "cluster is 'sge', expected one of slurm, local", CURE),
    ("[kinds.a]\npython = 'p'\nminutes = 0", "kinds.a.minutes is 0, expected a whole number from 1 to 2^53", CURE),
    ("[kinds.a]\npython = 'p'\nminutes = 2026-01-01", "kinds.a.minutes is datetime.date(2026, 1, 1), expected a whole number", CURE),
    ("[kinds.a]\npython = 'p'\ncontainer = 'apptainer exec x'", "kinds.a.container is 'apptainer exec x', expected a list", CURE),
    ("[kinds.a]\npython = 'p'\ndevice = 'tpu'", "kinds.a.device is 'tpu', expected one of cuda, cpu", CURE),
    ("[kinds.a]\npython = 'p'\nworkload = 'smal'", "kinds.a.workload is 'smal', which is no preset", "there are article, article-fp16, long, small, wide"),
    ("cluster = 'local'\n[kinds.a]\npython = 'p'\ngres = 'gpu:1'", "kinds.a.gres is for Slurm, and cluster is 'local'", 'leave it out, or write cluster = "slurm"'),
])
def test_a_file_that_makes_no_sense_is_two_lines_that_name_file_and_field(tmp_path: Path, text: str, problem: str, cure: str):
    file = tmp_path / "fleet.toml"
    file.write_text(text)
    with pytest.raises(ReportError) as error:
        plan.read(file)
    assert str(error.value) == f"{file}: {problem}\n  what to do: {cure}"


@pytest.mark.parametrize(("text", "problem"), [
    ("[kinds.'../x']\npython = 'p'", "the kind '../x' cannot be part of a folder's name"),
    ("[kinds.a]\npython = 'p'\nlabel = '../x'", "kinds.a.label is '../x', which cannot be part of a folder's name"),
])
def test_what_becomes_part_of_a_path_keeps_to_the_grammar(tmp_path: Path, text: str, problem: str):
    (tmp_path / "fleet.toml").write_text(text)
    with pytest.raises(ReportError) as error:
        plan.read(tmp_path / "fleet.toml")
    assert error.value.problem == problem


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(ReportError) as error:
        plan.read(tmp_path / "fleet.toml")
    assert str(error.value) == (f"{tmp_path / 'fleet.toml'}: there is no such file\n"
                                "  what to do: copy recipes/fleet.toml there and write your kinds of GPU into it, or name another file: FLEET=…")
