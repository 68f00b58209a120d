"""Publicly reported cases that reproduce or not, and gradients that are wrong. The probes are those of `probe_doubles`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from probe_doubles import REFUSED, as_json, compared, cured, everywhere, recorded, wrong

from reportgen.run import OwnShape, Pick

from ..recorded import SIX, Traces
from ..registry import perturbation

_PICKS = (Pick("none", False, False, 1024, 1024, "cudnn"), Pick("none", True, False, 1024, 1024, "cudnn"), Pick("bool", False, False, 1024, 1024, "cudnn"))


def _gradients(run: dict[str, Any], wrong_one: str = "", masked_wrong: str = "") -> None:
    """Every variant's gradients were compared: right, but for those of one, and those of another under a mask."""
    right = [asdict(compared(f"gradient of {one}", 0.003)) for one in "qkv"]
    for name in SIX:
        bad = name == wrong_one
        first = asdict(compared("gradient of q", 0.2)) if bad else right[0]
        run["variants"][name]["training"].update(status="wrong" if bad else "ok", compared=[first, *right[1:]])
        own = OwnShape("takes-no-mask") if name == "sdpa_flash" else OwnShape("right", None, (compared("output", 0.002),))
        if name == masked_wrong:
            own = OwnShape("wrong", None, (compared("output", 0.002), compared("gradient of v", 0.05)))
        run["variants"][name]["own_mask"] = asdict(own)


@perturbation("right")
def probe_nowhere(run: dict[str, Any], traces: Traces) -> None:
    """No publicly reported case reproduces, and all gradients are right."""
    run["correctness"] = as_json(recorded(picks=_PICKS))
    _gradients(run)


@perturbation("right")
def probe_on_default(run: dict[str, Any], traces: Traces) -> None:
    """A mask in FP32 beside queries in FP16 gives NaN on cuDNN, which torch picks by itself; the cast cures it."""
    found = {"default": wrong(error=None, picked="cudnn"), "cudnn": wrong(error=None)}
    run["correctness"] = as_json(recorded({"mask-in-fp32": found}, {"mask-in-fp32": cured()}, picks=_PICKS))
    _gradients(run)


@perturbation("right")
def probe_elsewhere(run: dict[str, Any], traces: Traces) -> None:
    """Keys shared by all heads come out wrong on efficient alone, which torch does not pick."""
    run["correctness"] = as_json(recorded({"shared-heads": {"efficient": wrong()}}, {"shared-heads": cured(choice="efficient")}, picks=_PICKS))
    _gradients(run)


@perturbation("right")
def probes_refused(run: dict[str, Any], traces: Traces) -> None:
    """torch refuses every publicly reported case, with every backend."""
    run["correctness"] = as_json(recorded({name: everywhere(REFUSED) for name in ("mask-in-fp32", "far-logits", "shared-heads", "one-query-causal")}))
    _gradients(run)


@perturbation("right")
def trap_only(run: dict[str, Any], traces: Traces) -> None:
    """The unpinned call is otherwise than meant in a documented trap alone."""
    trapped = {choice: wrong(error=1.2, picked="cudnn" if choice == "default" else None) for choice in ("default", "math", "efficient", "flash", "cudnn")}
    run["correctness"] = as_json(recorded({"one-query-causal": trapped}, {"one-query-causal": cured()}, picks=_PICKS))
    _gradients(run)


@perturbation("right", older=True)
def old_run_without_probes(run: dict[str, Any], traces: Traces) -> None:
    """An older program wrote the run: nobody tried a publicly reported case, and no gradient was compared."""
    run["recorded_on"] = "2026-08-31"


@perturbation("right")
def wrong_gradients(run: dict[str, Any], traces: Traces) -> None:
    """Flash's forward is right and its gradient of q is off by 20 %."""
    run["correctness"] = as_json(recorded(picks=_PICKS))
    _gradients(run, "sdpa_flash")


@perturbation("right")
def wrong_gradients_under_a_mask(run: dict[str, Any], traces: Traces) -> None:
    """cuDNN, which torch picks, is right in its own causal call; under a mask of one's own its gradient of v is off by 5 %."""
    run["correctness"] = as_json(recorded(picks=_PICKS))
    _gradients(run, masked_wrong="sdpa_cudnn")
