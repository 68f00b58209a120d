"""Attention written by hand is found by its structure; what only looks like it is not."""

from __future__ import annotations

import json

import pytest

from reportgen.hardware.attention_ops import Kind
from reportgen.ledger import by_hand
from reportgen.trace.whole import read_pieces


class Trace:
    """Builds a trace of one thread. Ops follow each other; `inside` nests."""

    def __init__(self, shapes=True):
        self.events, self.clock, self.shapes = [], 100.0, shapes

    def op(self, name, *dims, values=(), inside=(), cat="cpu_op"):
        start = self.clock
        self.clock += 1
        args = {"Input Dims": [list(sizes) for sizes in dims], "Input type": ["float"] * len(dims), "Concrete Inputs": list(values)} if self.shapes and dims else {"External id": 1, "x": 2, "y": 3}
        event = {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": start, "args": args}
        self.events.append(event)
        for call in inside:
            self.op(*call)
        event["dur"] = self.clock - start + 1
        self.clock += 2
        return self

    def matmul(self, first, second):
        flat = [(first[0] * first[1], *first[2:]), (second[0] * second[1], *second[2:])] if len(first) == 4 else [first, second]
        return self.op("aten::matmul", first, second, inside=[("aten::expand", first), ("aten::bmm", *flat)])

    def softmax(self, sizes, dim="-1"):
        inner = ("aten::_softmax", sizes)
        return self.op("aten::softmax", sizes, values=("", dim, ""), inside=[inner])

    def read(self):
        return read_pieces([json.dumps({"traceEvents": self.events})], "made up")

    def chains(self):
        return by_hand.find(self.read())


Q, KT, S, V = (2, 4, 8, 16), (2, 4, 16, 10), (2, 4, 8, 10), (2, 4, 10, 16)


def names(trace):
    read = trace.read()
    (found,) = by_hand.find(read)
    return [read.names[read.threads[part.thread].name[part.event]] for part in found.parts]


def naive(trace):
    return trace.matmul(Q, KT).op("aten::div", S, ()).op("aten::masked_fill", S, (8, 10), ()).softmax(S).op("aten::dropout", S).matmul(S, V)


def test_matmul_scale_mask_softmax_dropout_matmul_is_one_attention():
    assert names(naive(Trace())) == ["aten::matmul", "aten::div", "aten::masked_fill", "aten::softmax", "aten::dropout", "aten::matmul"]


def test_query_key_value_and_mask_are_told_with_their_shapes():
    (found,) = naive(Trace()).chains()
    told = found.arguments
    assert found.kind is Kind.BY_HAND
    assert (told.query.dims, told.key.dims, told.value.dims, told.mask.dims) == ((2, 4, 8, 16), (2, 4, 10, 16), (2, 4, 10, 16), (8, 10))


def test_without_shapes_known_steps_alone_may_stand_between():
    assert len(naive(Trace(shapes=False)).chains()) == 1
    through = Trace(shapes=False).matmul(Q, KT).op("aten::native_layer_norm").softmax(S).matmul(S, V)
    assert through.chains() == []


def test_a_bias_that_is_built_between_is_no_part_of_it():
    """T5's first layer: arange, embedding and many more between scores and softmax."""
    trace = Trace().matmul(Q, KT)
    for _ in range(40):
        trace.op("aten::embedding", (32, 4), (8, 10))
    trace.op("aten::add", S, (1, 4, 8, 10)).softmax(S).op("aten::linear", (2, 10, 64), (64, 64)).matmul(S, V)
    assert names(trace) == ["aten::matmul", "aten::add", "aten::softmax", "aten::matmul"]
    assert trace.chains()[0].arguments.mask.dims == (1, 4, 8, 10)


def test_scores_with_batch_and_heads_in_one_are_the_same_scores():
    """owlv2: `bmm` gives `[batch × heads, q, k]`, the mask is added to `[batch, heads, q, k]`."""
    trace = Trace().op("aten::bmm", (8, 8, 16), (8, 16, 10)).op("aten::view", (8, 8, 10)).op("aten::add", S, (2, 1, 8, 10)).op("aten::view", S).softmax((8, 8, 10)).op("aten::bmm", (8, 8, 10), (8, 10, 16))
    assert names(trace) == ["aten::bmm", "aten::add", "aten::softmax", "aten::bmm"]


def test_baddbmm_and_einsum_multiply_too():
    assert len(Trace().op("aten::baddbmm", (8, 1, 10), (8, 8, 16), (8, 16, 10)).softmax((8, 8, 10)).op("aten::bmm", (8, 8, 10), (8, 10, 16)).chains()) == 1
    scores = [("aten::bmm", (8, 8, 16), (8, 16, 10))]
    values = [("aten::bmm", (8, 8, 10), (8, 10, 16))]
    assert len(Trace().op("aten::einsum", inside=scores).softmax(S).op("aten::einsum", inside=values).chains()) == 1


def test_scores_that_stand_the_other_way_round():
    """keys × queries, the softmax along the keys."""
    trace = Trace().op("aten::bmm", (8, 10, 16), (8, 16, 7)).softmax((8, 10, 7), dim="1").op("aten::bmm", (8, 16, 10), (8, 10, 7))
    (found,) = trace.chains()
    assert (found.arguments.query.dims, found.arguments.key.dims, found.arguments.value.dims) == ((8, 7, 16), (8, 10, 16), (8, 10, 16))


def test_two_at_once_take_each_its_own_products():
    trace = Trace().matmul(Q, KT).matmul(Q, KT).softmax(S).softmax(S).matmul(S, V).matmul(S, V)
    first, second = trace.chains()
    assert not {first.scores, first.softmax, first.values} & {second.scores, second.softmax, second.values}


def test_what_torch_compile_fused_between_two_products():
    trace = Trace().op("Torch-Compiled Region: 0/0", inside=[
        ("aten::bmm", (8, 8, 16), (8, 16, 10)), ("triton_per_fused__softmax_div_masked_fill_0", (8, 8, 10), (8, 8, 10)), ("aten::bmm", (8, 8, 10), (8, 10, 16))])
    assert names(trace) == ["aten::bmm", "triton_per_fused__softmax_div_masked_fill_0", "aten::bmm"]


def test_without_a_compiler_flex_attention_is_flex_attention():
    trace = Trace().op("torch/nn/attention/flex_attention.py(2236): flex_attention", cat="python_function", inside=[
        ("aten::matmul", (1, 2, 8, 16), (1, 2, 16, 8))])
    around = trace.events[0]
    trace.events[1]["args"] = {"Input Dims": [[1, 2, 8, 16], [1, 2, 16, 8]], "Input type": ["float", "float"]}
    trace.op("aten::bmm", (2, 8, 16), (2, 16, 8)).softmax((1, 2, 8, 8)).matmul((1, 2, 8, 8), (1, 2, 8, 16))
    around["dur"] = 1000.0
    assert [found.kind for found in trace.chains()] == [Kind.FLEX]


ROUTED = (64, 8)


@pytest.mark.parametrize("shapes", [True, False])
@pytest.mark.parametrize("what", ["loss", "sampler", "router", "router that multiplies", "pooling", "only scores", "math inside SDPA", "backward"])
def test_a_softmax_that_is_no_attention(what, shapes):
    trace = Trace(shapes)
    if what == "loss":
        trace.op("aten::linear", (64, 32), (1000, 32), inside=[("aten::mm", (64, 32), (32, 1000))]).op("aten::log_softmax", (64, 1000)).op("aten::nll_loss_nd", (64, 1000), (64,))
        trace.matmul(Q, KT)
    elif what == "sampler":
        trace.matmul((1, 1, 1, 32), (1, 1, 32, 1000)).softmax((1, 1, 1, 1000)).op("aten::multinomial", (1, 1000)).matmul((1, 1, 1, 1000), (1, 1, 1000, 32))
    elif what == "router":
        trace.op("aten::linear", (64, 32), (8, 32), inside=[("aten::mm", (64, 32), (32, 8))]).softmax(ROUTED).op("aten::topk", ROUTED).matmul(Q, KT)
    elif what == "router that multiplies":
        trace.op("aten::matmul", (2, 32, 64), (64, 8), inside=[("aten::mm", (64, 64), (64, 8))]).softmax((2, 32, 8)).op("aten::bmm", (2, 8, 32), (2, 32, 64))
    elif what == "pooling":
        trace.op("aten::linear", (2, 10, 32), (1, 32), inside=[("aten::addmm", (1,), (20, 32), (32, 1))]).softmax((2, 10, 1), dim="1").op("aten::bmm", (2, 1, 10), (2, 10, 32))
    elif what == "only scores":
        trace.matmul(Q, KT).softmax(S).op("aten::sum", S).op("aten::linear", (16, 16), (16, 16))
    elif what == "math inside SDPA":
        trace.op("aten::_scaled_dot_product_attention_math", Q, inside=[("aten::bmm", (8, 8, 16), (8, 16, 10)), ("aten::_safe_softmax", S), ("aten::bmm", (8, 8, 10), (8, 10, 16))])
    else:
        trace.matmul(Q, KT).op("aten::_softmax_backward_data", S, S).matmul(S, V)
    assert trace.chains() == []


def test_a_product_of_other_numbers_makes_no_scores():
    assert Trace().matmul(Q, (2, 4, 16, 12)).softmax(S).matmul(S, V).chains() == []
    assert Trace().matmul(Q, KT).softmax(S).matmul((2, 4, 8, 12), (2, 4, 12, 16)).chains() == []


def test_one_head_alone_is_a_product_of_two_matrices():
    trace = Trace().op("aten::matmul", (8, 16), (16, 10), inside=[("aten::mm", (8, 16), (16, 10))]).softmax((8, 10)).op("aten::matmul", (8, 10), (10, 16), inside=[("aten::mm", (8, 10), (10, 16))])
    assert len(trace.chains()) == 1


def test_a_long_way_between_is_given_up():
    trace = Trace().matmul(Q, KT)
    for _ in range(200):
        trace.op("aten::embedding", (32, 4), (8, 10))
    assert trace.softmax(S).matmul(S, V).chains() == []


def ways(torch):
    """What real models do on a CPU, and how many attentions by hand each holds."""
    F = torch.nn.functional
    q = torch.randn(2, 4, 12, 8)
    x = torch.randn(2, 12, 32)
    mask = torch.ones(12, 12, dtype=torch.bool).tril()
    heads = torch.nn.MultiheadAttention(32, 4, batch_first=True)
    table, router = torch.randn(1000, 32), torch.nn.Linear(32, 8)

    def plain():
        return torch.softmax((q @ q.transpose(-2, -1) * 0.3).masked_fill(~mask, float("-inf")), -1) @ q

    def einsum():
        weights = torch.einsum("bhqd,bhkd->bhqk", q, q).softmax(dim=-1, dtype=torch.float32)
        return torch.einsum("bhqk,bhkd->bhqd", F.dropout(weights, 0.1), q)

    def route():
        weights, places = torch.topk(torch.softmax(router(x), -1), 2)
        return (x.unsqueeze(-2) * weights.unsqueeze(-1)).sum(-2) + places.sum()

    def sample():
        return torch.multinomial(torch.softmax(x[:, -1] @ table.T, -1), 1)

    def loss():
        return F.cross_entropy((x @ table.T).flatten(0, 1), torch.zeros(24, dtype=torch.long)) + torch.softmax(x @ table.T, -1).sum()

    return {"plain": (plain, 1), "einsum": (einsum, 1), "grouped": (lambda: torch.softmax(q.view(2, 2, 24, 8) @ q[:, :2].transpose(-2, -1), -1) @ q[:, :2], 1),
            "need_weights": (lambda: heads(x, x, x, need_weights=True), 1), "SDPA": (lambda: F.scaled_dot_product_attention(q, q, q, attn_mask=mask), 0),
            "SDPA by math": (lambda: F.scaled_dot_product_attention(q, q, q, dropout_p=0.5), 0), "router": (route, 0), "sampler": (sample, 0), "loss": (loss, 0)}


@pytest.mark.parametrize("shapes", [True, False])
@pytest.mark.parametrize("way", ["plain", "einsum", "grouped", "need_weights", "SDPA", "SDPA by math", "router", "sampler", "loss"])
def test_a_trace_of_the_cpu_alone(way, shapes, tmp_path):
    torch = pytest.importorskip("torch")
    run, expected = ways(torch)[way]
    run()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=shapes) as profiler:
        run()
        run()
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    from reportgen.trace.whole import read_whole

    assert len(by_hand.find(read_whole(tmp_path / "trace.json"))) == 2 * expected


def test_a_site_without_an_op_of_its_own_is_not_told_by_a_kernel():
    """flex_attention without a compiler: its first kernel, a scaling or a copy, is not what it is known by."""
    from reportgen.ledger.build import build

    trace = Trace().op("models/eyes.py(9): attend", cat="python_function", inside=[("torch/nn/attention/flex_attention.py(2236): flex_attention",)])
    line, flex = trace.events
    flex.update(cat="python_function", dur=500.0)
    line["dur"] = 600.0
    trace.matmul(Q, KT).softmax(S).matmul(S, V)
    product = next(event for event in trace.events if event["name"] == "aten::bmm")
    trace.events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": product["ts"] + 0.2, "dur": 0.3, "args": {"correlation": 5}},
                     {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 300.0, "dur": 2.0, "args": {"correlation": 5, "device": 0, "stream": 7}}]
    (site,) = build(trace.read()).sites
    assert (site.kind, site.where.line, site.where.kernel, site.time.activities) == (Kind.FLEX, "models/eyes.py(9): attend", None, 1)
