"""The map's page, from synthetic maps, with its sentences read literally."""

from __future__ import annotations

from dataclasses import replace

import probe_doubles
from builders import facts
from map_doubles import built, point, square

from reportgen.analysis import RunFacts
from reportgen.analysis.maps import MapFacts
from reportgen.pages import map_csv, navigation, shape_map, site
from reportgen.questions import map_words
from reportgen.shapes import Call
from reportgen.shapes.presets import PRESETS


def page(*maps: MapFacts, path: str = "map.md", run: RunFacts | None = None) -> str:
    run = run or facts("h200")
    text = shape_map.files(site.build([run], run.slot, (), maps))[path]
    assert isinstance(text, str)
    return text


WINS = [point(square(length), "cudnn", flash=2.0 * length, cudnn=1.0 * length) for length in (128, 512)]
LOSES = point(square(2048), "flash", flash=600.0, cudnn=400.0)


def test_a_device_without_a_map_says_so_and_how_to_take_one():
    text = page()
    assert "No map of NVIDIA H200 was taken. On a machine with the device, `make map` takes one" in text and "<details" not in text


def test_the_answer_stands_first():
    text = page(built(*WINS, LOSES))
    assert text.split("\n\n")[1] == "# Which backend, at which shape?"
    assert ("**cuDNN is the fastest right backend at 3 of 3 calls**. Torch's own pick loses at 1, at worst by +50 % (flash where cuDNN is faster: batch 2, 16 heads, "
            "2,048 queries and keys, causal, head dim 64, bf16), and takes 17 % longer on average over all.") in text
    assert "3 calls · torch 2.11.0+cu130, CUDA 13.0, cuDNN 9.19.0 · begun 3 December 2026" in text
    assert "| batch 2, 16 heads, 2,048 queries and keys, causal, head dim 64, bf16 | +50 % | flash | 600 µs | cuDNN | 400 µs | no |" in text


def test_rows_are_calls_and_columns_are_lengths():
    assert "| Call | 128 | 512 | 2,048 |\n| --- | --- | --- | --- |\n| causal, bf16 | cuDNN 2.0× | cuDNN 2.0× | cuDNN +50 %, torch picks flash |" in page(built(*WINS, LOSES))


def test_one_point_is_a_map():
    text = page(built(LOSES))
    assert "**cuDNN is the fastest right backend at the one call of this map**. Torch's own pick loses at 1, at worst by +50 %" in text
    assert "## The winner, by length" not in text and "## Where the winner changes" not in text


def test_ties_and_open_points_are_told():
    text = page(built(point(square(128), "flash", flash=101.0, cudnn=100.0), point(square(256), "flash", flash=101.0, cudnn="untimed")))
    assert "No backend wins any of 2 calls here: at 1 the first are not told apart and at 1 a right one has no time. Torch's own pick loses at none of them." in text
    assert "| ~ cuDNN, flash | flash? |" in text


def test_a_wrong_default_stands_before_everything():
    text = page(built(*WINS, point(square(1024), "cudnn", flash=300.0, cudnn="wrong")))
    first = text.index("**What torch picks by itself gives a wrong result at 1 call**, as with batch 4, 16 heads, 1,024 queries and keys, causal, head dim 64, bf16.")
    assert first < text.index("**cuDNN is the fastest right backend at 2 of 3 calls**; flash at 1.") < text.index("## Wrong results")
    assert "| batch 4, 16 heads, 1,024 queries and keys, causal, head dim 64, bf16 | cuDNN | gradient of q | 40 % | 0.50 % | yes |" in text


def test_refusals_everywhere_and_no_memory():
    text = page(built(*(point(square(length), None, math="no memory", flash="refused", cudnn="refused") for length in (4096, 2048))))
    assert "**At none of 2 calls does a backend give a right result in a known time.**" in text
    assert "| math | no memory | 2 | math said why not |" in text and "| none | none |" in text


def test_a_refusal_is_torch_s_words_about_that_backend_and_said_once_for_calls_that_differ_in_size():
    said = ("No available kernel. Aborting execution. Memory efficient kernel not used because: Memory Efficient attention has been runtime disabled. "
            "Flash attention kernel not used because: Got Query.size(-1): {}, Key.size(-1): {} instead. cuDNN attention kernel not used because: cuDNN attention has been runtime disabled.")
    refused = [point(square(length), "math", math=9.0 * length, flash="refused") for length in (128, 256)]
    worded = [replace(one, readings=tuple(replace(r, reason=said.format(n, n)) if r.backend == "flash" else r for r in one.readings)) for one, n in zip(refused, (320, 512))]
    assert "| flash | refused | 2 | Got Query.size(-1): …, Key.size(-1): … instead. | batch 32, 16 heads, 128 queries and keys" in page(built(*worded))


def test_nothing_but_math():
    text = page(built(*(point(square(length), "math", math=9.0 * length, flash="refused", cudnn="refused") for length in (128, 256))))
    assert "**math is the fastest right backend at 2 of 2 calls**. Torch's own pick loses at none of them." in text and "| math only | math only |" in text


def test_out_of_memory_from_a_length_on():
    found = built(point(square(2048), "math", math=900.0, efficient=300.0), *(point(square(length), "math", math="no memory", efficient=0.2 * length) for length in (4096, 8192)))
    text = page(found)
    assert "Torch's own pick loses at 1, at worst by 3.0×" in text
    assert rows(found)[-1][11:15] == ["no memory", "1640", "", ""]


def test_crossings_and_the_host_s_limit_are_sentences():
    times = {128: (15.0, 10.0), 512: (100.0, 150.0)}
    text = page(built(*(point(square(length), "cudnn", host=20.0, flash=flash, cudnn=cudnn) for length, (flash, cudnn) in times.items())))
    assert "- Up to 128 cuDNN wins, from 512 on flash: causal, head dim 64, bf16, 16 heads, 4,096 tokens." in text
    assert "- Up to 128: causal, head dim 64, bf16, 16 heads, 4,096 tokens. At 128 the CPU takes 20.0 µs to queue cuDNN, the GPU 10.0 µs to run it." in text


def rows(found: MapFacts) -> list[list[str]]:
    return [line.split(",") for line in map_csv.text(found).splitlines()]


def test_every_call_is_a_line_of_the_csv_with_each_backend_s_time_or_why_it_has_none():
    found = built(point(square(2048), "flash", math="refused", flash=1234.56, cudnn=400.0))
    run = facts("h200")
    files = shape_map.files(site.build([run], run.slot, (), [found]))
    assert files["runs/nvidia-h200/map.csv"] == map_csv.text(found).encode() and "[`map.csv`](runs/nvidia-h200/map.csv)" in files["map.md"]
    head, line = rows(found)
    assert head == ["batch", "heads", "kv heads", "queries", "keys", "head dim", "v's head dim", "type", "mask", "stored", "gradients", "math (µs)", "efficient (µs)", "flash (µs)", "cuDNN (µs)",
                    "fastest", "torch picks", "torch's pick takes longer by (%)", "the CPU's time to queue the fastest (µs)", "the fastest's TFLOP/s", "the fastest's peak memory (MiB)"]
    assert line[:11] == ["2", "16", "16", "2048", "2048", "64", "64", "bfloat16", "causal", "bhsd", "no"]
    assert line[11:19] == ["refused", "", "1230", "400", "cuDNN", "flash", "209", "20.0"]


def test_the_csv_calls_nobody_the_fastest_where_a_right_backend_has_no_time():
    tie, open_, wrong = rows(built(point(square(128), "flash", flash=101.0, cudnn=100.0), point(square(256), "flash", flash=101.0, cudnn="untimed"),
                                   point(square(1024), "cudnn", flash=300.0, cudnn="wrong")))[1:]
    assert tie[15:18] == ["cuDNN or flash", "flash", "0"] and open_[15:18] == ["undecided", "flash", ""] and wrong[14:18] == ["wrong", "flash", "cuDNN", "wrong result"]


def test_a_cpu_has_no_host_time():
    text = page(built(*(point(square(length), "flash", host=None, math=9.0 * length, flash=1.0 * length) for length in (128, 256)), kind="cpu"))
    assert "time to queue" not in text and "the times are those of the GPU" not in text and "## Where the CPU is the limit" not in text


def test_a_model_s_calls_name_what_is_left_out():
    preset = next(one for one in PRESETS if one.name == "Gemma 2 9B")
    text = page(built(point(preset.calls[0], "cudnn", flash=150.0, cudnn=100.0)))
    assert "| [Gemma 2 9B](https://huggingface.co/google/gemma-2-9b/blob/main/config.json) | batch 1, 16 heads over 8, 2,048 queries and keys, causal, head dim 256, bf16 | cuDNN +50 % |" in text
    assert "not measured yet" in text and "Gemma 2 9B: without the soft cap of its scores" in text


def test_another_device_has_a_page_of_its_own():
    other = built(*WINS, kind="cpu")
    assert "| [Some CPU](runs/some-cpu/map.md) | 2 | 0 | +0 % |" in page(built(LOSES), other)
    assert "fastest right backend at 2 of 2 calls" in page(built(LOSES), other, path="runs/some-cpu/map.md")
    assert "of Some CPU" in page(other)


def test_a_call_in_words():
    call = Call(16, 32, 8, 1, 4096, 192, 128, "float16", "window", "bshd", True)
    assert map_words.said(call) == "batch 16, 32 heads over 8, 1 query on 4,096 keys, window of 256, head dim 192/128, fp16, stored BSHD, with gradients"


def test_what_to_write_stands_under_the_answer_with_what_it_rests_on():
    text = page(built(*(point(square(length), "flash", flash=2.0 * length, cudnn=1.0 * length, efficient=4.0 * length, math=9.0 * length) for length in (512, 2048)), *WINS[:1]))
    assert ("- **`is_causal=True`, 16-bit, head dim up to 64**: `with sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, "
            "SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH], set_priority=True):` Torch's own pick takes 67 % longer on average over 3 measured calls, 128 to 2,048 keys, "
            "and 2.0 times as long at worst; this order loses nothing there.") in text
    assert "Leave all other calls to torch: at 1 of 3 measured calls its own pick is the fastest, or not told apart from it." in text
    assert text.index("## What to write") < text.index("## Where torch's own pick loses") < text.index("## The winner, by length") < text.index("## Evidence")


def test_where_torch_s_pick_is_never_beaten_nothing_is_to_write():
    text = page(built(*WINS))
    assert "set_priority" not in text
    assert "Leave every call to torch: at 2 of 2 measured calls its own pick is the fastest, or not told apart from it." in text


def test_a_line_of_advice_names_the_calls_that_its_backend_gets_wrong_here():
    """The run of the same device knows a call that cuDNN answers wrongly: the advice that leads there says so."""
    masked = [point(square(length, mask="bool", gradients=True), "efficient", efficient=3.0 * length, cudnn=1.0 * length) for length in (128, 512)]
    plain = [point(square(length, mask="none"), "flash", flash=3.0 * length, cudnn=1.0 * length) for length in (128, 512)]
    run = probe_doubles.tried(facts("h200"), {"mask-in-fp32": {"cudnn": probe_doubles.wrong()}})
    run = replace(run, software={**run.software, "torch": "2.11.0+cu130"}, device=replace(run.device, slug="nvidia-h200"))
    lines = [one for one in page(built(*masked, *plain), run=run).split("\n") if one.startswith("- **")]
    assert len(lines) == 2 and ["Not for unsafe call" in one for one in lines] == ["A bool mask" in one for one in lines]


def test_the_picture_is_the_longest_series():
    files = shape_map.files(site.build([facts("h200")], facts("h200").slot, (), [built(*WINS, LOSES)]))
    assert "![TFLOP/s of each backend by length: causal, head dim 64, bf16, 16 heads, 4,096 tokens.](runs/nvidia-h200/map.svg)" in str(files["map.md"])
    assert b"cuDNN" in bytes(files["runs/nvidia-h200/map.svg"])  # type: ignore[arg-type]


def test_words_of_others_open_nothing():
    evil = "<script>alert(1)</script> | [a](javascript:b) `"
    found = built(replace(LOSES, picked=evil, readings=(*LOSES.readings[:1], replace(LOSES.readings[1], state="failed", gpu=(), reason=evil))), *WINS)
    header = replace(found.header, device=replace(found.header.device, name=evil), software={"torch": evil})
    text = page(replace(found, header=header))
    assert "<script" not in text and "](javascript" not in text


def test_a_model_s_calls_show_what_torch_and_what_the_rules_lose():
    preset = next(one for one in PRESETS if one.name == "Llama 3 8B")
    text = page(built(point(preset.calls[0], "flash", flash=150.0, cudnn=100.0), point(preset.calls[2], "cudnn", flash=150.0, cudnn=100.0)))
    assert "causal, head dim 128, bf16 | cuDNN +50 % | flash | +50 % | cuDNN | as long | 100 µs |" in text
    assert "no mask, head dim 128, bf16 | cuDNN +50 % | cuDNN | as long | leave it to torch | as long | 100 µs |" in text
    assert "On average over the measured calls, from which they were made, these rules lose 0 %, and torch's own pick loses 25 %." in text


def test_the_navigation_has_the_shared_page_and_one_per_further_map():
    run, other = facts("h200"), built(*WINS, kind="cpu")
    alone, both = (navigation.render(site.build([run], run.slot, (), maps)) for maps in ((other,), (built(LOSES), other)))
    assert '  - "Which backend, at which shape?": map.md\n' in alone and "some-cpu" not in alone
    assert '      - "The map of Some CPU": runs/some-cpu/map.md\n' in both
