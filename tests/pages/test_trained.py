"""Forward and backward on pages: what a wrong gradient, a wrong result under a mask and an older run look like."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import facts
from probe_doubles import compared, trained

from reportgen import pages
from reportgen.commands import facts_json
from reportgen.findings import FINDINGS
from reportgen.pages import site
from reportgen.pages.trained import own_mask, training, wrong_gradients
from reportgen.review.diff import Side, compare
from reportgen.review.diff.model import Lack
from reportgen.run import OwnShape

SCALED = compared("gradient of q", 0.0101)
NAN = compared("gradient of q", None)


def line(run: object, title: str) -> list[str | None]:
    """The row of a variant, by its title, as text."""
    table = training(run)  # type: ignore[arg-type]
    assert table is not None
    row = next(row for row in table.rows if row[0].label == title)  # type: ignore[attr-defined]
    return [None if cell is None else str(cell) for cell in row[1:]]


def test_gradients_that_are_right_stand_beside_their_times_with_the_largest_error() -> None:
    found = line(trained(facts()), "SDPA cuDNN")
    assert found[0] == "ok" and found[1] is not None and found[2] is not None and found[-1] == "0.30 %"


@pytest.mark.parametrize(("bad", "shown", "said"), [
    (SCALED, "1.0 %", "SDPA cuDNN: wrong result: gradient of q: relative error 1.01 %, allowed 0.65 %"),
    (NAN, "not finite", "SDPA cuDNN: wrong result: gradient of q: 512 of 512 values not finite"),
])  # fmt: skip
def test_a_wrong_gradient_has_its_error_and_no_time(bad: object, shown: str, said: str) -> None:
    run = trained(facts(), {"sdpa_cudnn": bad})  # type: ignore[dict-item]
    assert line(run, "SDPA cuDNN") == ["wrong result", None, None, None, None, shown]
    assert said in training(run).notes  # type: ignore[union-attr]
    assert line(run, "SDPA flash")[0] == "ok"


def test_a_row_that_says_ok_beside_a_gradient_that_is_off_is_wrong_all_the_same() -> None:
    run = trained(facts(), {"sdpa_cudnn": SCALED})
    cudnn = run.variants["sdpa_cudnn"]
    run = replace(run, variants={**run.variants, "sdpa_cudnn": replace(cudnn, training=replace(cudnn.training, status="ok"))})  # type: ignore[type-var]
    assert line(run, "SDPA cuDNN") == ["wrong result", None, None, None, None, "1.0 %"]


def test_a_run_that_compared_nothing_has_no_column_and_no_word_of_it() -> None:
    table = training(facts())
    assert table is not None and "error" not in " ".join((table.caption or "", *(column.title for column in table.columns), *table.notes))
    assert own_mask(facts().variants["naive"]) is None and wrong_gradients(facts().variants["naive"]) is None


@pytest.mark.parametrize(("found", "said"), [
    (OwnShape("right"), "right"),
    (OwnShape("wrong", None, (compared("gradient of k", None),)), "wrong result: gradient of k: 512 of 512 values not finite"),
    (OwnShape("takes-no-mask", "Flash attention does not support attn_mask."), "the backend takes no `attn_mask`"),
    (OwnShape("refused", "No available kernel."), "refused: No available kernel."),
    (OwnShape("failed", "CUDA error: an illegal memory access was encountered"), "broke off: CUDA error: an illegal memory access was encountered"),
])  # fmt: skip
def test_what_a_mask_of_its_own_gave_in_words(found: OwnShape, said: str) -> None:
    assert own_mask(trained(facts(), masked={"sdpa_cudnn": found}).variants["sdpa_cudnn"]) == said


def test_the_pages_of_the_device_and_of_the_variant_say_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site.charts, "svg", lambda *_: b"<svg/>")
    run = trained(facts(), {"sdpa_cudnn": SCALED}, {"sdpa_flash": OwnShape("takes-no-mask", "no")})
    files = {name: text for name, text in pages.render_facts([run], run.slot, FINDINGS).items() if isinstance(text, str)}
    row = next(one for one in files[f"runs/{run.slot}/index.md"].split("### Forward and backward")[1].splitlines() if one.startswith("| [SDPA cuDNN †]"))
    assert [cell.strip() for cell in row.strip("|").split("|")][1:] == ["wrong result", "—", "—", "—", "—", "1.0 %"]
    assert "- Forward and backward: wrong result: gradient of q: relative error 1.01 %, allowed 0.65 %. Its times count for nothing." in files["variants/sdpa_cudnn.md"]
    assert "- The same attention with its causal mask given as a mask, output and gradients: the backend takes no `attn_mask`." in files["variants/sdpa_flash.md"]


def test_facts_have_what_was_compared() -> None:
    found = facts_json.to_json(trained(facts(), {"sdpa_cudnn": SCALED}), {})["variants"]["sdpa_cudnn"]
    assert (found["training"]["status"], found["training"]["gradients"]) == ("wrong", "wrong")
    assert [(one["tensor"], one["right"], one["error"], one["allowed"]) for one in found["training"]["compared"]][0] == ("gradient of q", False, 0.0101, 0.0065)
    assert (found["own_mask"]["outcome"], found["own_mask"]["gradients"]) == ("right", "right")


def test_a_diff_names_gradients_that_turned_wrong() -> None:
    old, new = trained(facts()), trained(facts(), {"sdpa_cudnn": SCALED}, {"sdpa_cudnn": OwnShape("wrong", None, (NAN,))})
    seen = compare(Side(old, {}), Side(new, {}))
    assert [(one.variant, one.what, one.old, one.new) for one in seen.structure] == [
        ("sdpa_cudnn", "training status", "ok", "wrong"), ("sdpa_cudnn", "output and gradients under a mask of its own", "right", "wrong")]
    assert [(one.lack, one.subject) for one in seen.conditions] == [(Lack.TRAINING, "sdpa_cudnn")]
