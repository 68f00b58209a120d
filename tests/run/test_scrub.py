"""Nothing private is saved, and nothing that means something is taken for private."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from run_builder import data, record

from reportgen import run as run_room
from reportgen.run import scrub

RECORDED = Path(__file__).resolve().parents[1] / "data" / "run-schema-1" / "nvidia-h200" / "article"
ADA = scrub.Machine(users=("ada.l", "lovelace"), hosts=("babbage-07",), folders=("/home/ada.l", "/srv/Jane Doe", "/tmp"))


@pytest.mark.parametrize(("private", "public"), [
    ("(Triggered internally at /pytorch/aten/src/ATen/native/transformers/cuda/sdp_utils.cpp:838.)", "(Triggered internally at <path>:838.)"),
    ("GPU-e53a44e6-366e-baf0-c3b3-6719573b3a97", "<uuid>"),
    ("no device MIG-e53a44e6-366e-baf0-c3b3-6719573b3a97 here", "no device <uuid> here"),
    ("CUDA_VISIBLE_DEVICES=GPU-e53a44e6", "CUDA_VISIBLE_DEVICES=<uuid>"),
    ("C:\\Users\\ada\\torch", "<path>"), ("C:/Users/ada/torch", "<path>"), ("\\\\filer\\share\\x", "<path>"),
    ("open ~/notes/x.py", "open <path>"), ("open /home/ada.l/notes/x.py:3", "open <path>:3"),
    ("in /srv/Jane Doe/x.py", "in <path>"), ("in /scratch", "in <path>"), ("in '/data'", "in '<path>'"), ("file:/a/b", "file:<path>"),
    ("file:///a/b", "<url>"), ("expandable:True,conf:/a/b", "expandable:True,conf:<path>"), ("gcc -I/usr/include/x -O2", "gcc -I<path> -O2"), ("a=/opt/b", "a=<path>"),
    ("rpc to 10.1.2.3:29500", "rpc to <address>:29500"), ("no route to 10.77.1.2", "no route to <address>"), ("(192.168.1.20)", "(<address>)"),
    ("peer fe80::1ff:fe23:4567:890a", "peer <address>"), ("peer 2001:db8::7", "peer <address>"), ("[2001:db8:0:1:1:1:1:1]:80", "[<address>]:80"),
    ("card 3c:ec:ef:12:34:56", "card <address>"), ("device 0000:3b:00.0", "device <address>"), ("at 0x7ffe12345678", "at <address>"),
    ("at babbage-07 by ada.l", "at <host> by <host>"), ("at Babbage-07.corp.example, LOVELACE", "at <host>, <host>"),
    ("https://bot:S3CRETPW@index.corp.example/simple/torch", "<url>"), ("http://10.1.1.1:8080/x?token=1", "<url>"), ("postgres://u@h/db", "<url>"),
    ("see https://pytorch.org@corp.example/x", "see <url>"), ("see https://pytorch.org.corp.example/x", "see <url>"),
    ("login hf_abcdefghij0123456789", "login <secret>"), ("ghp_abcdefghij0123456789", "<secret>"), ("AKIAIOSFODNN7EXAMPLE", "<secret>"),
    ("Authorization: Bearer abcdef123456", "Authorization: Bearer <secret>"), ("HF_TOKEN=hunter22", "HF_TOKEN=<secret>"), ("password: hunter22", "password: <secret>"),
    ("ask ada@analytical.example or jane.doe+x@mail.corp.co", "ask <mail> or <mail>"),
])  # fmt: skip
def test_a_sentence_loses_what_identifies_somebody(private, public):
    assert ADA.text(private) == public


@pytest.mark.parametrize("harmless", [
    "void at::native::vectorized_elementwise_kernel<8, at::native::AUnaryFunctor<c10::BFloat16>, std::array<char*, 2ul> >",
    "c10::add of cafe::1", "‖out − ref‖/‖ref‖", "cuDNN 9.19.0.56", "cuDNN version 9.19.0.56", "nvidia-cudnn==9.19.0.56", "2.11.0+cu130", "12.4 GB/s/W", "B/H/S/D", "and/or",
    "No available kernel. Aborting execution.", "CUDA out of memory. Tried to allocate 2.00 GiB", "sm_120 is not compatible", "12:34:56", "ratio 3:4", "1.2.3",
    "see https://pytorch.org/docs/stable/x.html#y and https://developer.nvidia.com/ERR_NVGPUCTRPERM", "~Foo()", "<path>/x", "<path>/x/y", "a.b@c",
])  # fmt: skip
def test_a_sentence_without_anything_private_stays_as_it_is(harmless):
    assert ADA.text(harmless) == harmless


@pytest.mark.parametrize("code", [
    "scores = q @ k.transpose(-2, -1) / math.sqrt(d)", "scores = q@k.mT", "out = weights@v.contiguous()", "# lovelace wrote this", "x = a[::2]", "y = x /b/c", "z = (a) /data/ b", "t: Tensor",
    "# https://pytorch.org/docs/stable/x.html",
])  # fmt: skip
def test_source_code_stays_as_it_is(code):
    assert ADA.code(code) == code


@pytest.mark.parametrize(("code", "public"), [
    ("open('/home/ada.l/x.txt')", "open('<path>')"), ("# see /mnt/share/notes.md", "# see <path>"), ("open('~/x')", "open('<path>')"), ("open('C:/Users/ada/x')", "open('<path>')"),
    ("url = 'https://bot:pw@index.corp.example/x'", "url = '<url>'"), ("t = 'hf_abcdefghij0123456789'", "t = '<secret>'"),
])
def test_source_code_loses_paths_and_logins(code, public):
    assert ADA.code(code) == public


@pytest.mark.parametrize("name", ["nvidia", "aten", "native", "cutlass", "bfloat16", "xeon", "h200", "article", "naive", "cuda", "sdpa_math", "Linux", "memset", "thor"])
def test_a_user_or_host_called_like_a_word_of_the_run_changes_no_name(name):
    machine = scrub.Machine(users=(name,), hosts=(name,))
    given = {"device": {"slug": "nvidia-h200", "name": "NVIDIA Thor"}, "workload": {"name": "article", "dtype": "bfloat16"}, "host": {"cpu": "Intel Xeon"},
             "variants": {"sdpa_math": {"title": "naive", "trace": "sdpa_math.trace.json.gz", "prediction": [["memset", "cutlass"]]}},
             "counters": {"variants": {"naive": [{"kernel": "void cutlass::Kernel2<at::native::x>"}]}}, "software": {"os": "Linux"}}
    assert scrub.content(given, machine) == given
    trace = {"traceEvents": [{"ph": "X", "cat": "kernel", "name": "void at::native::memset<cutlass>", "args": {"Input type": ["c10::BFloat16", "h200"]}}],
             "deviceProperties": [{"name": "NVIDIA H200"}]}
    assert scrub.trace(trace, machine) == trace


def differences(before, after, place=()):
    """The places at which two JSON values differ."""
    if isinstance(before, dict):
        assert list(before) == list(after)
        return [found for key in before for found in differences(before[key], after[key], (*place, key))]
    if isinstance(before, list):
        assert len(before) == len(after)
        return [found for index, pair in enumerate(zip(before, after)) for found in differences(*pair, (*place, index))]
    return [] if before == after else [place]


def test_with_every_word_of_a_run_as_a_users_name_only_sentences_change():
    """A real run and its traces, with an account and a host called like each of its words."""
    texts = {file.name: json.loads(gzip.decompress(file.read_bytes())) for file in RECORDED.glob("*.gz")}
    run = json.loads((RECORDED / "run.json").read_text(encoding="utf-8"))
    words = tuple(sorted(set(re.findall(r"[\w.-]+", json.dumps(run) + "".join(e["name"] for trace in texts.values() for e in trace["traceEvents"])))))
    machine = scrub.Machine(users=words, hosts=words)
    changed = differences(run, scrub.content(run, machine))
    assert changed and {place for place in changed if not {*place} & {"reason", "message", "timer_note", "counters_reason", "environment"}} == set()
    for trace in texts.values():
        events = [place for place in differences(trace, scrub.trace(trace, machine))]
        assert all(trace["traceEvents"][place[1]]["ph"] == "M" for place in events)


def test_an_anonymous_run_is_saved_as_it_is():
    """The recorded run holds nothing private, so scrubbing it again changes nothing."""
    run = json.loads((RECORDED / "run.json").read_text(encoding="utf-8"))
    assert scrub.content(run, ADA) == run
    for file in RECORDED.glob("*.gz"):
        trace = json.loads(gzip.decompress(file.read_bytes()))
        assert scrub.trace(trace, ADA) == trace


def test_a_trace_keeps_only_what_is_known_of_its_top_level():
    """torch 2.13 writes `host_name`; what the next one writes is not known, so nothing unknown is kept."""
    given = {"schemaVersion": 1, "traceName": "/tmp/x.json", "trace_id": "3C54", "host_name": "vm", "hostname": "vm", "username": "ada", "distributedInfo": {"rank": 0},
             "node_of_tomorrow": "vm", "displayTimeUnit": "ms", "baseTimeNanoseconds": 1, "cupti_version": 130001, "traceEvents": [{"ph": "X"}], "deviceProperties": []}
    assert scrub.trace(given, ADA) == {"schemaVersion": 1, "displayTimeUnit": "ms", "baseTimeNanoseconds": 1, "cupti_version": 130001, "traceEvents": [{"ph": "X"}], "deviceProperties": []}


def test_what_a_thread_is_called_is_a_sentence_and_an_events_paths_go():
    given = {"traceEvents": [
        {"ph": "M", "name": "thread_name", "args": {"name": "thread 7 (lovelace)"}},
        {"ph": "X", "cat": "cpu_op", "name": "triton_poi_fused_0", "args": {"kernel_file": "/tmp/torchinductor_lovelace/ab/cab.py", "Ev Idx": 3}},
        {"ph": "X", "cat": "kernel", "name": "lovelace"}]}
    assert scrub.trace(given, ADA)["traceEvents"] == [
        {"ph": "M", "name": "thread_name", "args": {"name": "thread 7 (<host>)"}},
        {"ph": "X", "cat": "cpu_op", "name": "triton_poi_fused_0", "args": {"kernel_file": "<path>", "Ev Idx": 3}},
        {"ph": "X", "cat": "kernel", "name": "lovelace"}]


@pytest.mark.parametrize(("name", "tells"), [("lovelace", True), ("ada", False), ("nvidia", False), ("UBUNTU", False), ("123456", False), ("bfloat16", False)])
def test_a_name_that_is_short_or_common_is_nobodys(name, tells):
    assert scrub.telling(name) is tells


def test_this_machine_is_described_by_its_accounts_host_and_folders(monkeypatch):
    monkeypatch.setenv("LOGNAME", "lovelace")
    monkeypatch.setenv("HOME", "/home/lovelace")
    monkeypatch.setattr("socket.gethostname", lambda: "babbage-07.corp.example")
    here = scrub.Machine.here()
    assert "lovelace" in here.users and {"babbage-07", "babbage-07.corp.example"} <= set(here.hosts) and "/home/lovelace" in here.folders


@pytest.mark.parametrize("account", ["nvidia", "naive", "article", "aten"])
def test_a_saved_run_has_its_names_whoever_saves_it(tmp_path, monkeypatch, account):
    """`LOGNAME=nvidia`, the usual account of a Jetson, once made `<host>-h200` of the slug."""
    monkeypatch.setenv("LOGNAME", account)
    monkeypatch.setattr("socket.gethostname", lambda: account)
    folder = record(tmp_path, change=lambda run: run["variants"]["sdpa_math"].update(status="failed", reason="no room on babbage at /home/x/y"))
    assert folder == tmp_path / "nvidia-h200" / "article"
    saved = run_room.load(folder)
    assert (saved.device.slug, saved.workload.name, list(saved.variants)) == ("nvidia-h200", "article", list(data()["variants"]))
    assert saved.variants["sdpa_math"].reason == "no room on babbage at <path>"
    assert json.loads(gzip.decompress((folder / "naive.trace.json.gz").read_bytes()))["traceEvents"][1]["name"].startswith("aten::")
