"""What follows from a workload's shape, by hand for the article's 8 × 16 × 1024 × 64 in bf16."""

import pytest

from reportgen.errors import ReportError
from reportgen.run.workload import ARTICLE, PRESETS, Workload


def test_bytes_of_the_articles_workload():
    assert ARTICLE.operand_bytes == 67_108_864          # 4 tensors of 8·16·1024·64 × 2 B
    assert ARTICLE.score_elements == 134_217_728
    assert ARTICLE.score_bytes == 268_435_456           # 256 MiB


def test_flop_of_the_articles_workload():
    assert ARTICLE.matmul_flop == 17_179_869_184        # what Nsight Compute counts for each naive matmul
    assert ARTICLE.full_flop == 34_359_738_368
    assert ARTICLE.causal_flop == 17_196_646_400        # 2·8·16·1024·1025·64


def test_a_renamed_workload_is_the_same_shape():
    assert Workload("mine", 8, 16, 1024, 64).same_shape(ARTICLE)
    assert not PRESETS["article-fp16"].same_shape(ARTICLE)


def test_impossible_sizes_say_which_flag_to_mend():
    with pytest.raises(ReportError, match="--head-dim"):
        Workload("x", 1, 1, 8, 0)
    with pytest.raises(ReportError, match="dtype 'int8'"):
        Workload("x", 1, 1, 8, 8, "int8")


def test_the_readme_shows_every_preset_as_it_is():
    from pathlib import Path

    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    for preset in PRESETS.values():
        assert f"| `{preset.name}` | {preset.batch} | {preset.heads} | {preset.sequence:,} | {preset.head_dim} | {preset.dtype} |" in readme


def test_profiling_may_hold_eight_score_matrices_in_fp32():
    """8 · 16 · 1024² scores of 4 bytes are 512 MiB; eight of them are 4 GiB."""
    assert PRESETS["article"].held_bytes == 4 * 2**30
