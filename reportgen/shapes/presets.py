"""Shapes that public models have in their attention, from their published configurations.

Masks that SDPA has no word for (soft caps, attention sinks) are left out, and the model's `note` says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from .call import Call


@dataclass(frozen=True)
class Preset:
    """A model, where its configuration is published, and its calls: prefill or encoding first, then decoding where it decodes."""

    name: str
    source: str
    calls: tuple[Call, ...]
    note: str = ""


def _decoder(heads: int, kv_heads: int, head_dim: int, value_dim: int | None = None, prompt: int = 2048) -> tuple[Call, ...]:
    value = value_dim or head_dim
    prefill = Call(1, heads, kv_heads, prompt, prompt, head_dim, value)
    return prefill, Call(4, heads, kv_heads, prompt, prompt, head_dim, value, gradients=True), Call(16, heads, kv_heads, 1, 4096, head_dim, value, mask="none")


PRESETS = (
    Preset("Llama 3 8B", "https://huggingface.co/meta-llama/Meta-Llama-3-8B/blob/main/config.json", _decoder(32, 8, 128)),
    Preset("Qwen 2.5 7B", "https://huggingface.co/Qwen/Qwen2.5-7B/blob/main/config.json", _decoder(28, 4, 128)),
    Preset("DeepSeek V3", "https://huggingface.co/deepseek-ai/DeepSeek-V3/blob/main/config.json", _decoder(128, 128, 192, 128),
           "without the absorbed form of its latent attention in decoding"),
    Preset("gpt-oss 20B", "https://huggingface.co/openai/gpt-oss-20b/blob/main/config.json", _decoder(64, 8, 64), "without attention sinks and without its window of 128"),
    Preset("Gemma 2 9B", "https://huggingface.co/google/gemma-2-9b/blob/main/config.json", _decoder(16, 8, 256), "without the soft cap of its scores"),
    Preset("BERT base", "https://huggingface.co/google-bert/bert-base-uncased/blob/main/config.json",
           (Call(32, 12, 12, 512, 512, 64, 64, mask="none"), Call(32, 12, 12, 512, 512, 64, 64, mask="none", gradients=True))),
    Preset("ViT-L/16, 384 px", "https://huggingface.co/google/vit-large-patch16-384/blob/main/config.json",
           (Call(32, 16, 16, 577, 577, 64, 64, mask="none"), Call(32, 16, 16, 577, 577, 64, 64, mask="none", gradients=True))),
    Preset("FLUX.1", "https://huggingface.co/black-forest-labs/FLUX.1-dev/blob/main/transformer/config.json", (Call(1, 24, 24, 4608, 4608, 128, 128, mask="none"),)),
)
