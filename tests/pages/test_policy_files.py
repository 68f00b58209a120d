"""What programs read of a map: JSON, and code that chooses as the rules do, runs without torch up to the call, and refuses another machine."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from map_doubles import built, point, square

from reportgen.analysis import policy
from reportgen.analysis.policy import Policy
from reportgen.pages import policy_files
from reportgen.shapes import Call

TIMES = {128: (100.0, 150.0), 512: (100.0, 150.0), 1024: (150.0, 100.0), 2048: (300.0, 100.0)}
POINTS = [point(square(n, mask=mask, gradients=gradients), "flash", math=900.0, flash=flash, cudnn=cudnn)
          for n, (flash, cudnn) in TIMES.items() for mask in ("causal", "bool") for gradients in (False, True)]
DECODING = [point(Call(4, 32, 8, 1, keys, 128, 128, mask="none"), "cudnn", flash=50.0, cudnn=80.0, math=900.0) for keys in (1024, 8192)]


def rules() -> Policy:
    return policy.build(built(*POINTS, *DECODING))


def module(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "best_sdpa"}
    exec(compile(text, "best_sdpa.py", "exec"), names)
    return names


def test_the_code_chooses_as_the_rules_do():
    found = rules()
    order, drawn = module(policy_files.as_python(found))["order"], random.Random(7)
    chosen = set()
    for _ in range(2000):
        queries, heads = drawn.randint(1, 4000), drawn.choice((16, 32))
        call = Call(drawn.randint(1, 64), heads, drawn.choice((heads, 8)), queries if drawn.random() < 0.7 else 1, queries, drawn.choice((40, 64, 128, 200)), 64,
                    drawn.choice(("bfloat16", "float32")), drawn.choice(("none", "causal", "bool", "float")), gradients=drawn.random() < 0.5)
        call = Call(**{**call.__dict__, "value_dim": call.head_dim})
        own = order(call.batch, call.heads, call.kv_heads, call.queries, call.keys, call.head_dim, call.value_dim, 32 if call.dtype == "float32" else 16, call.mask, call.gradients)
        assert own == found.order(call)
        chosen.add(own)
    assert chosen == {(), ("cudnn", "flash", "math"), ("flash", "cudnn", "math")}


def test_the_code_is_torch_free_until_it_is_called(tmp_path):
    (tmp_path / "best_sdpa.py").write_text(policy_files.as_python(rules()), encoding="utf-8")
    script = "import sys; sys.modules['torch'] = None\nimport best_sdpa; print(best_sdpa.order(1, 16, 16, 2048, 2048, 64, 64, 16, 'causal', False))"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == "('cudnn', 'flash', 'math')", done.stderr


def fake_torch(name: str = "NVIDIA H200", version: str = "2.11.0+cu130", cudnn: int = 91900) -> Any:
    device = SimpleNamespace(name=name, major=9, minor=0)
    return SimpleNamespace(__version__=version, version=SimpleNamespace(hip=None), backends=SimpleNamespace(cudnn=SimpleNamespace(version=lambda: cudnn)),
                           cuda=SimpleNamespace(get_device_properties=lambda index: device, current_device=lambda: 0))


@pytest.mark.parametrize("other, said", [
    ({"name": "NVIDIA A100-SXM4-80GB"}, "device 'NVIDIA A100-SXM4-80GB' instead of 'NVIDIA H200'"),
    ({"version": "2.12.1+cu130"}, "torch '2.12.1+cu130' instead of '2.11.0+cu130'"),
    ({"cudnn": 92001}, "cudnn '9.20.1' instead of '9.19.0'"),
])
def test_it_refuses_another_device_or_version(monkeypatch: pytest.MonkeyPatch, other: dict[str, Any], said: str):
    names = module(policy_files.as_python(rules()))
    monkeypatch.setitem(sys.modules, "torch", fake_torch(**other))
    with pytest.raises(names["NotThisMachine"], match="these rules were measured elsewhere") as refused:
        names["refuse"]("cuda", 0)
    assert said in str(refused.value)


def test_it_takes_its_own_machine_and_refuses_tensors_on_a_cpu(monkeypatch: pytest.MonkeyPatch):
    names = module(policy_files.as_python(rules()))
    monkeypatch.setitem(sys.modules, "torch", fake_torch())
    assert names["refuse"]("cuda", 0) is None
    with pytest.raises(names["NotThisMachine"], match="kind 'cpu' instead of 'cuda'"):
        names["refuse"]("cpu")


def test_it_runs_where_it_was_made_for(capture_python: str, tmp_path):
    """On a CPU, with the rules of a map of that CPU's torch: the same result as torch's, with a backend pinned and without."""
    found = policy.build(built(*(point(square(n), "math", host=None, math=900.0, flash=100.0) for n in (64, 128)), kind="cpu"))
    (tmp_path / "best_sdpa.py").write_text(policy_files.as_python(found).replace("'2.11.0+cu130'", "__import__('torch').__version__"), encoding="utf-8")
    script = ("import torch, best_sdpa\nfrom torch.nn.functional import scaled_dot_product_attention as sdpa\nq = torch.randn(1, 2, 64, 32, dtype=torch.bfloat16)\n"
              "assert best_sdpa.order(1, 2, 2, 64, 64, 32, 32, 16, 'causal', False) == ('flash', 'math')\n"
              "assert torch.allclose(best_sdpa.best_sdpa(q, q, q, is_causal=True).float(), sdpa(q, q, q, is_causal=True).float(), atol=0.02)\n"
              "assert torch.equal(best_sdpa.best_sdpa(q, q, q), sdpa(q, q, q))\nprint('ran')")
    done = subprocess.run([capture_python, "-W", "ignore", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == "ran", done.stderr


def test_the_json_holds_each_rule_with_what_it_rests_on():
    found = json.loads(policy_files.as_json(rules()))
    assert found["made_for"] == {"kind": "cuda", "torch": "2.11.0+cu130", "device": "NVIDIA H200", "cudnn": "9.19.0"} and found["otherwise"] == []
    decoding = next(rule for rule in found["rules"] if not rule["when"]["square"])
    assert decoding["when"] == {"mask": "none", "bits": 16, "gradients": False, "grouped": True, "square": False, "same_dims": True, "head_dim": [65, 128]}
    assert decoding["backends"] == ["flash", "cudnn", "math"]
    assert decoding["evidence"] == {"calls": ["b4-h32.8-q1-k1024-d128-bf16-none", "b4-h32.8-q1-k8192-d128-bf16-none"], "default_takes_longer": {"mean": 0.6, "worst": 0.6},
                                    "these_take_longer": {"mean": 0.0, "worst": 0.0}, "host_is_the_limit_at": 0}


def test_a_map_without_a_rule_has_no_files():
    assert policy_files.files(policy.build(built())) == {}


def test_a_name_of_others_stays_a_text():
    named = built(*POINTS)
    device = named.header.device.__class__(**{**named.header.device.__dict__, "name": 'a"""\n\'; import os #'})
    text = policy_files.as_python(policy.build(named.__class__(named.slug, named.header.__class__(**{**named.header.__dict__, "device": device}), named.floor, named.spots)))
    assert module(text)["MADE_FOR"]["device"] == 'a""" \'; import os #'
