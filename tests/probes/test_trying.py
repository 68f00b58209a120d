"""Probes tried on a CPU: nothing is cried about that is right, and faults planted in attention are found."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import faulty  # noqa: E402

from reportgen import probes  # noqa: E402
from reportgen.capture import trying  # noqa: E402
from reportgen.probes import Inputs, Kind, NotHere  # noqa: E402

GIGABYTES = "mask-offsets"
BY_ID = {probe.id: probe for probe in probes.load()}
TRAPS = {"causal-one-query", "masked-nan", "dropout-eval"}
"""Documented traps that a CPU shows. It gives zeros for a row without keys."""


@cache
def case(name: str) -> trying.Case:
    return trying.case(BY_ID[name].make("cpu"))


@pytest.fixture
def attention(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Puts another function in the place of `scaled_dot_product_attention`."""
    yield lambda program: monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", program)


def found(names: Any = BY_ID, choice: str = "default") -> dict[str, str]:
    return {name: trying.tried(case(name), choice, "cpu")["outcome"] for name in names if name != GIGABYTES}


@pytest.mark.parametrize("choice", ["default", "math", "flash"])
def test_a_cpu_is_right_in_every_probe_that_it_does_not_refuse(choice: str) -> None:
    """Zero false alarms; what torch documents comes out as documented. What was reported of torch 2.5 on a CPU (pytorch#141128) is found there."""
    outcomes = found(choice=choice)
    reproduces = {name for name, outcome in outcomes.items() if outcome == "reproduces"}
    reported = {"nan-hidden"} if torch.__version__.startswith("2.5.") and choice != "math" else set()
    assert reported <= reproduces <= TRAPS | reported
    assert "failed" not in outcomes.values()
    if choice != "flash":
        assert reproduces == TRAPS | reported
        assert "refused" not in outcomes.values()


@pytest.mark.parametrize("choice", ["efficient", "cudnn"])
def test_a_backend_that_a_cpu_lacks_is_refused_in_torchs_words(choice: str) -> None:
    tried = trying.tried(case("mask-type"), choice, "cpu")
    assert tried["outcome"] == "refused" and tried["compared"] == [] and tried["picked"] is None
    assert tried["reason"].startswith("torch has this backend on GPUs only: No ")


MASKED = {"masked-backward", "mask-type", "empty-rows", "expanded-kv", "mask-layout", "finite-mask", "masked-leak", "masked-nan"}
WITH_K_AND_V = {"masked-backward", "one-query-backward", "grouped-backward", "odd-length", "upstream-layout", "value-layout", "mask-layout", "strided-channels",
                "causal-alignment", "finite-mask", "value-head-dim", "long-cache", "dropout-backward"}  # fmt: skip
ONE_HEAD = {"masked-backward", "empty-rows", "large-logits", "large-head-dim", "empty-batch", "huge-batch"}
CAUGHT = {
    "a NaN gradient of k": WITH_K_AND_V,
    "a gradient of v that is 1 % off": {"grouped-backward", "strided-channels", "causal-alignment", "finite-mask", "dropout-backward"},
    "a dropped mask": MASKED,
    "a mask that is taken for added numbers": {"masked-backward", "empty-rows", "expanded-kv", "masked-leak"},
    "causal from the bottom right": {"causal-alignment"},
    "two heads swapped": set(BY_ID) - ONE_HEAD - {GIGABYTES},
    "an output that is 1 % off": set(BY_ID) - {"empty-batch", GIGABYTES},
    "the last row forgotten": set(BY_ID) - {"empty-batch", "dropout-backward", GIGABYTES},
    "gradients of another dropout mask": {"dropout-backward"},
    "NaN made to zeros": {"nan-hidden"},
}  # fmt: skip
"""Fault → the probes that must show it: those whose inputs reach it. More may."""


@pytest.mark.parametrize("fault", CAUGHT)
def test_a_planted_fault_is_found_by_every_probe_that_reaches_it(attention: Any, fault: str) -> None:
    attention(faulty.FAULTS[fault])
    outcomes = found(CAUGHT[fault])
    assert {name for name, outcome in outcomes.items() if outcome == "reproduces"} == CAUGHT[fault]


def test_every_planted_fault_is_tried() -> None:
    assert set(CAUGHT) == set(faulty.FAULTS)


class TestWords:
    def test_which_tensor_is_wrong_is_told(self, attention: Any) -> None:
        attention(faulty.FAULTS["a NaN gradient of k"])
        compared = {one["tensor"]: one for one in trying.tried(case("odd-length"), "default", "cpu")["compared"]}
        assert {name for name, one in compared.items() if not one["right"]} == {"gradient of k"}
        assert compared["gradient of k"]["not_finite"] == 6 and compared["gradient of k"]["error"] is None  # one element in each of six heads
        assert compared["gradient of k"]["elements"] == 1 * 6 * 261 * 64

    def test_nan_that_is_hidden_is_counted(self, attention: Any) -> None:
        attention(faulty.FAULTS["NaN made to zeros"])
        (output,) = trying.tried(case("nan-hidden"), "default", "cpu")["compared"]
        assert output["hidden"] == 2 * 2 * 32 and not output["right"]

    def test_another_shape_is_wrong(self, attention: Any) -> None:
        attention(lambda q, k, v, **options: faulty.right(q, k, v, **options)[..., :-1])
        tried = trying.tried(case("mask-type"), "default", "cpu")
        assert tried["outcome"] == "reproduces" and [one["right"] for one in tried["compared"]] == [False]

    def test_an_error_that_declines_is_a_refusal_and_one_that_breaks_off_is_none(self, attention: Any) -> None:
        def raising(text: str) -> Any:
            def attend(*_: Any, **__: Any) -> Any:
                raise RuntimeError(text)

            return attend

        attention(raising("invalid dtype for bias - should match query's dtype"))
        assert trying.tried(case("mask-type"), "default", "cpu") == {
            "outcome": "refused", "compared": [], "picked": None, "reason": "invalid dtype for bias - should match query's dtype."}  # fmt: skip
        for text in ("CUDA error: an illegal memory access was encountered", "same_strides(o, dO_) INTERNAL ASSERT FAILED", "CUDA out of memory. Tried to allocate 2 GiB",
                     "cuDNN Frontend error: [cudnn_frontend] Error: No execution plans support the graph."):  # fmt: skip
            attention(raising(text))
            assert trying.tried(case("mask-type"), "default", "cpu")["outcome"] == "failed"


class TestDropout:
    def test_a_seed_that_does_not_repeat_is_found(self, attention: Any) -> None:
        """Each call goes on drawing where the one before ended."""
        generator = torch.Generator().manual_seed(1)

        def careless(q: Any, k: Any, v: Any, attn_mask: Any, dropout_p: float) -> Any:
            weights = torch.softmax(q.float() @ k.float().mT / 128**0.5, -1)
            kept = torch.rand(weights.shape, generator=generator) >= dropout_p
            return (weights * kept / (1 - dropout_p)).to(q.dtype) @ v

        attention(careless)
        compared = {one["tensor"]: one["right"] for one in trying.tried(case("dropout-backward"), "default", "cpu")["compared"]}
        assert compared == {"output": True, "gradient of q": True, "gradient of k": True, "gradient of v": True, trying.AGAIN: False}

    def test_dropout_that_is_left_out_is_found(self, attention: Any) -> None:
        attention(lambda q, k, v, attn_mask, dropout_p: faulty.right(q, k, v))
        compared = {one["tensor"]: one for one in trying.tried(case("dropout-backward"), "default", "cpu")["compared"]}
        assert compared["output"]["error"] == pytest.approx(0.25, rel=0.01)  # weights where weights ÷ 0.75 are due


class TestAnswer:
    @pytest.mark.parametrize("name", sorted(TRAPS))
    def test_a_cure_is_run_where_its_probe_reproduces_and_timed_by_itself(self, name: str) -> None:
        answer = trying.answer(f"{name} default", "cpu")
        assert answer["tried"]["outcome"] == "reproduces"
        assert answer["cured"]["outcome"] == "right" and answer["cured"]["choice"] == "default"
        assert (answer["cured"]["before"], answer["cured"]["after"]) == (None, None)
        cost = trying.seconds(f"{name} default", "cpu")
        assert list(cost) == ["before", "after"] and all(0 < value < 10 for value in cost.values())

    def test_of_each_probe_the_first_cure_that_gave_a_result_is_timed(self) -> None:
        def cured(outcome: str) -> dict[str, Any]:
            return {"value": {"tried": {}, "cured": {"outcome": outcome}}}

        answers = {("picks", None): {"value": []}, ("probe", "a default"): {"value": {"tried": {}}}, ("probe", "a math"): cured("right"), ("probe", "a flash"): cured("right"),
                   ("probe", "b default"): cured("failed"), ("probe", "b math"): cured("right"), ("probe", "c default"): {"value": None}, ("probe", "d math"): cured("reproduces")}
        assert trying.cures(answers) == [("cure", "a math"), ("cure", "d math")]

    def test_nothing_is_cured_where_nothing_is_wrong(self) -> None:
        assert list(trying.answer("mask-type default", "cpu")) == ["tried"]

    def test_the_control_is_tried_where_the_probe_reproduces(self, attention: Any) -> None:
        """A fault at one length: the control has another, and is right."""
        attention(lambda q, k, v, **options: faulty.right(q, k, v, **options) * (1.1 if q.size(-2) == 65 else 1.0))
        answer = trying.answer("expanded-kv default", "cpu")
        assert answer["tried"]["outcome"] == "reproduces" and answer["control"]["outcome"] == "right"
        assert answer["cured"]["outcome"] == "reproduces"

    def test_inputs_that_do_not_fit_the_device_are_told(self) -> None:
        assert trying.answer(f"{GIGABYTES} flash", "cpu") == {"not_here": "it takes tensors of gigabytes, which is tried on GPUs only"}

    def test_memory_that_runs_out_while_inputs_are_made_is_no_failure_of_a_backend(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: Any) -> Any:
            raise RuntimeError("CUDA out of memory. Tried to allocate 9 GiB")

        monkeypatch.setattr(trying, "case", full)
        trying._case.cache_clear()
        assert trying.answer("mask-layout math", "cpu") == {"not_here": "the inputs and their exact result do not fit the device's memory"}

    @pytest.mark.parametrize(("choice", "picked"), [("default", "flash"), ("math", None), ("flash", None)])
    def test_what_torch_picked_is_told_of_the_default_alone(self, choice: str, picked: str | None) -> None:
        assert trying.answer(f"mask-type {choice}", "cpu")["tried"]["picked"] == picked


@pytest.mark.parametrize("name", [name for name, probe in BY_ID.items() if probe.cure and name != GIGABYTES])
def test_every_cure_is_right_on_a_cpu_and_leaves_no_fault_of_its_own(name: str) -> None:
    tried = trying.tried(case(name), "default", "cpu", BY_ID[name].cure.call)
    assert tried["outcome"] == "right", tried


def test_the_inputs_are_the_same_each_time() -> None:
    for probe in (BY_ID["masked-backward"], BY_ID["dropout-backward"], BY_ID["finite-mask"]):
        first, second = probe.make("cpu"), probe.make("cpu")
        for name in ("q", "k", "v", "mask", "upstream"):
            one, other = getattr(first, name), getattr(second, name)
            assert (one is None and other is None) or torch.equal(one, other)


def test_only_what_a_gpu_has_memory_for_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (3 * 2**30, 16 * 2**30))
    with pytest.raises(NotHere, match="it takes 20 GiB of GPU memory, and 3 GiB are free"):
        BY_ID[GIGABYTES].make("cuda")


def test_a_trap_is_measured_by_what_is_meant_and_a_wrong_result_by_what_is_documented() -> None:
    """One query and four keys: by the documentation the first key alone, by the writer all four."""
    q, k, v = torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 4, 2), torch.tensor([[[[1.0, 0], [2, 0], [3, 0], [6, 0]]]])
    documented = Inputs(q, k, v, options={"is_causal": True})
    meant = Inputs(q, k, v, options={"is_causal": True}, meant=Inputs(q, k, v))
    assert trying.case(documented).exact["output"].flatten().tolist() == [1.0, 0.0]
    assert trying.case(meant).exact["output"].flatten().tolist() == [3.0, 0.0]
    assert trying.tried(trying.case(documented), "default", "cpu")["outcome"] == "right"
    assert trying.tried(trying.case(meant), "default", "cpu")["outcome"] == "reproduces"


def test_a_trap_is_not_called_a_wrong_result() -> None:
    assert {name for name in TRAPS if BY_ID[name].kind is Kind.WRONG} == set()


def test_a_process_that_tries_a_probe_itself_times_its_cure_under_its_own_name() -> None:
    from types import SimpleNamespace

    from reportgen.capture import evidence, rounds
    from reportgen.run.workload import PRESETS

    found: dict[Any, Any] = {}
    report = SimpleNamespace(at=lambda *_: None, result=lambda task, answer: found.update({task: answer}))
    plan = rounds.Plan("cpu", PRESETS["small"], (), process=0, rounds=1, settle_seconds=0.0, most_threads=1)
    evidence.work(report, (("probe", "masked-nan default"), ("cure", None), ("picks", None)), "cpu", PRESETS["small"], plan)  # type: ignore[arg-type]
    assert list(found) == [("probe", "masked-nan default"), ("cure", None), ("cure", "masked-nan default"), ("picks", None)]
    assert set(found["cure", "masked-nan default"]["value"]) == {"before", "after"}
