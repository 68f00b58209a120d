"""Rules about the code as a whole: who imports whom, where torch is, what a template may say."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from template_rules import ALLOWED, statements

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted([*ROOT.glob("reportgen/**/*.py"), *ROOT.glob("variants/*.py")])
TEMPLATES = sorted(ROOT.glob("reportgen/templates/**/*.md.j2"))
LONGEST = 360
NAMES_A_PATH = {"tests/run/test_scrub.py": "shows what scrubbing takes out of a run"}


def rooms() -> list[str]:
    """The rooms in DESIGN.md's table, top to bottom: `reportgen.errors`, `variants`, …"""
    table = (ROOT / "DESIGN.md").read_text(encoding="utf-8").split("| room |")[1].split("\n\n")[0]
    paths = re.findall(r"^\| `([^`]+)` \|", table, re.M)
    return [path.removesuffix(".py").removesuffix("/").replace("/", ".") for path in paths]


def room_of(module: str, known: list[str]) -> str | None:
    return next((room for room in known if module == room or module.startswith(room + ".")), None)


def module_of(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported(file: Path, tree: ast.AST | None = None) -> set[str]:
    """Absolute names of the modules that a file imports, wherever in it."""
    tree = tree or ast.parse(file.read_text(encoding="utf-8"))
    package = list(file.relative_to(ROOT).parts[:-1])
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1]] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            names |= {f"{start}.{alias.name}" for alias in node.names}
    return names


def test_every_module_is_in_a_room_of_the_design():
    known = rooms()
    homeless = [str(file.relative_to(ROOT)) for file in SOURCES if file.name != "__init__.py" and room_of(module_of(file), known) is None]
    assert homeless == []


def test_every_room_of_the_design_exists_under_the_path_that_it_gives():
    paths = [room.replace(".", "/") for room in rooms()]
    table = (ROOT / "DESIGN.md").read_text(encoding="utf-8")
    assert [path for path in paths if not any((ROOT / f"{path}{end}").exists() and f"`{path}{end}`" in table for end in (".py", "/"))] == []


@pytest.mark.parametrize("file", SOURCES, ids=module_of)
def test_a_room_imports_only_from_rooms_above_it(file):
    known = rooms()
    own = room_of(module_of(file), known)
    if own is None:
        return  # reportgen/__init__.py holds the version only
    below = [name for name in imported(file) if (room := room_of(name, known)) and known.index(room) > known.index(own)]
    assert below == [], f"{own} is above {below} in DESIGN.md"


def test_the_import_rule_sees_relative_and_absolute_imports():
    tree = ast.parse("from ..saying.units import text\nfrom . import board\nimport reportgen.commands.cli\nfrom variants import load")
    names = imported(ROOT / "reportgen" / "pages" / "x.py", tree)
    assert names == {"reportgen.saying.units.text", "reportgen.pages.board", "reportgen.commands.cli", "variants.load"}


@pytest.mark.parametrize("file", SOURCES, ids=module_of)
def test_torch_is_imported_in_capture_and_inside_functions_of_variants_and_probes_only(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    uses = {name for name in imported(file, tree) if name.split(".")[0] in ("torch", "triton", "numpy")}
    where = module_of(file)
    if where.startswith("reportgen.capture") or not uses:
        return
    if where == "reportgen.pages.charts" or where.startswith("reportgen.pages.charts."):
        assert {name for name in uses if not name.startswith("numpy")} == set()
        return
    assert where.startswith(("variants", "reportgen.probes")), f"{where} imports {uses}"
    top = ast.Module([node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))], [])
    assert {name for name in imported(file, top) if name.split(".")[0] == "torch"} == set(), "import torch inside the function"


@pytest.mark.parametrize("file", SOURCES, ids=module_of)
def test_only_the_commands_import_capture(file):
    if module_of(file).startswith(("reportgen.capture", "reportgen.commands.cli", "reportgen.commands.doctor", "reportgen.commands.mapping", "reportgen.commands.asking", "reportgen.commands.comparing", "reportgen.commands.probing")):
        return
    assert [name for name in imported(file) if name.startswith("reportgen.capture")] == []


@pytest.mark.parametrize("command", [[], ["profile", "--help"], ["render", "--help"], ["report", "--help"]])
def test_a_command_is_understood_without_torch_and_without_the_pages_packages(command):
    """So `profile` runs where only torch is, on Python 3.10 as well, and `render` where there is none."""
    heavy = ("torch", "numpy", "jinja2", "matplotlib", "mkdocs", "tomllib", "reportgen.capture", "reportgen.pages", "reportgen.findings", "reportgen.analysis")
    script = ("import contextlib, io, sys\n"
              "from reportgen import errors\n"
              "from reportgen.commands import cli\n"
              f"with contextlib.suppress(SystemExit, errors.ReportError), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()): cli.parser().parse_args({command!r})\n"
              f"print([name for name in {heavy!r} if name in sys.modules])")
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("file", SOURCES, ids=module_of)
def test_modules_are_small(file):
    assert len(file.read_text(encoding="utf-8").splitlines()) <= LONGEST


@pytest.mark.parametrize("file", SOURCES, ids=module_of)
def test_every_module_says_what_it_is(file):
    text = file.read_text(encoding="utf-8")
    assert not text.strip() or ast.get_docstring(ast.parse(text))


def test_there_is_no_drawer():
    assert [str(file) for file in SOURCES if file.stem in ("utils", "util", "helpers", "common", "misc")] == []


def test_the_ledger_and_the_findings_have_the_same_claims():
    from reportgen import findings

    ledger = re.findall(r"^\| `([a-z0-9.-]+)` \|", (ROOT / "CLAIMS.md").read_text(encoding="utf-8"), re.M)
    assert sorted(ledger) == sorted(claim.id for claim in findings.claims())


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: file.name)
def test_a_template_states_no_number_ranking_device_or_verdict(file):
    found = statements(file.read_text(encoding="utf-8"), ALLOWED.get(file.name, {}))
    assert found == [], "\n".join(f"{file.name}:{line}: {what} {text!r}" for line, what, text in found)


def test_every_constant_that_a_template_is_allowed_has_a_reason_and_is_still_in_it():
    held = {file.name: file.read_text(encoding="utf-8") for file in TEMPLATES}
    unused = [(name, constant) for name, constants in ALLOWED.items() for constant, reason in constants.items()
              if not reason or constant not in held[name]]
    assert unused == []


@pytest.mark.parametrize("sentence, what", [
    ("It takes 347 µs.", "number"),
    ("Flash is the fastest backend.", "ranking"),
    ("cuDNN is faster than flash.", "ranking"),
    ("On an H200 the copy disappears.", "device"),
    ("On Hopper this is another kernel.", "device"),
    ("The claim holds.", "verdict"),
    ("Here it holds, there not.", "verdict"),
    ("This differs from the article.", "verdict"),
    ("The gap is within noise.", "verdict"),
    ("There are twenty kernels.", "number"),
    ("It uses more than 48 KiB.", "number"),
    ("They differ by more than a tenth.", "number"),
    ("Two of its processes lie within half a point.", "number"),
    ("The cache is smaller than four times the operands.", "number"),
    ("The cache is smaller than twice the operands.", "number"),
    ("At least two thirds of its time.", "number"),
    ("{{ 'more than 10 % of it' if facts else '' }}", "number"),
    ("{% if verdict == 'x' %}so{% endif %}", "test"),
    ("{% if device.name %}so{% endif %}", "test"),
])
def test_the_template_rule_finds_each_kind_of_statement(sentence, what):
    assert [kind for _, kind, _ in statements(f"Words.\n{sentence}\n", {})] == [what]


@pytest.mark.parametrize("sentence", [
    "A warp has the threads that run together.",
    "{{ published.math_slowdown }} is the article's value.",
    "{{ rules.enough }} or more, and {{ rules.caches_full }} the cache.",
    "{{ value[0] | text('x9') }} of them; two runs, in half precision; a third kind.",
    "```python\nx = torch.zeros(1024)\n```",
    "Use `q[0]` and `sm_90`.",
    "The block holds the tile in shared memory.",
    "FP32 and bfloat16 have the same exponent; sums lose digits in 16 bits.",
    "That holds as long as the GPU is what one waits for.",
    "{% extends \"finding.md.j2\" %}",
])
def test_the_template_rule_lets_mechanism_pass(sentence):
    assert statements(sentence, {}) == []


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_tracked_file_names_a_path_of_a_machine_or_a_package_registry():
    forbidden = re.compile(rb"/(?:home|root|work|Users|opt/wheels)/[\w.]|(?:py" rb"pi|pythonhosted|npmjs|download\.pytorch)\.org|deb\.debian\.org")
    found = []
    for file in tracked():
        content = file.read_bytes()
        if file.suffix == ".gz":
            import gzip

            content = gzip.decompress(content)
        match = forbidden.search(content)
        name = str(file.relative_to(ROOT))
        if match and file != Path(__file__) and name not in NAMES_A_PATH:
            found.append(f"{name}: {match.group().decode()}")
    assert found == []
