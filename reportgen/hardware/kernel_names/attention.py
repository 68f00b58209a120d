"""Fused attention kernels: FlashAttention, CUTLASS's memory-efficient attention, cuDNN, AOTriton."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .shapes import INFERRED, Implementation, KernelName, Part, TensorCores, Tile, architecture, shorten, unknown_part

FLASH = "PyTorch source, aten/src/ATen/native/transformers/cuda/flash_attn"
EFFICIENT = "PyTorch source, aten/src/ATen/native/transformers/cuda/mem_eff_attention"
CUDNN = "source article (Hugging Face, Profiling in PyTorch, part 3)"
PTX = "PTX ISA"
TYPES = {"cutlass::bfloat16_t": "bfloat16", "cutlass::half_t": "FP16"}

# How the template's flags read, by their number: flags were added over the years.
_FLAGS = {
    6: ("dropout", "causal mask", "local window", "the tile divides the sequence lengths", "the head dimension fills the tile", "returns the softmax"),
    7: ("dropout", "causal mask", "local window", "ALiBi", "the tile divides the sequence lengths", "the head dimension fills the tile", "returns the softmax"),
    8: ("dropout", "causal mask", "local window", "ALiBi", "the tile divides the sequence lengths", "the head dimension fills the tile", "soft cap", "returns the softmax"),
}


def decode(name: str) -> KernelName | None:
    for pattern, decoder in ((r"flash_fwd_kernel<", _flash2), (r"flash_fwd_splitkv_(combine_)?kernel<", _flash2_split), (r"FlashAttnFwdSm90", _flash3),
                             (r"\bfmha_cutlassF_\w+", _efficient), (r"\bcudnn_generated_\w*sdpa\w*", _cudnn), (r"\bfmhaSm\w+Kernel\w*", _trtllm),
                             (r"\battn_fwd\w*", _aotriton), (r"\bck_tile::FmhaFwd\w*|\bFmhaFwdKernel", _composable)):
        match = re.search(pattern, name)
        if match:
            return decoder(name, match)
    return None


def _fused(implementation: Implementation, name: str, short: str, parts: Sequence[Part], cores: TensorCores, why: str,
           tile: Tile | None = None, instruction: str | None = None) -> KernelName:
    return KernelName(name, implementation.value, short, tuple(parts), cores, why, implementation, tile, instruction)


def _flash2(name: str, match: re.Match[str]) -> KernelName:
    parts = [Part("pytorch_flash", "PyTorch's copy of FlashAttention-2", FLASH), Part("flash_fwd_kernel", "the forward pass in one kernel", FLASH)]
    traits = re.search(r"Flash_fwd_kernel_traits<(\d+), (\d+), (\d+), (\d+), (\w+), (\w+), ([\w:]+)", name)
    short, tile = "flash_fwd", None
    if traits:
        head, rows, columns, warps, q_in_registers, shared_qk, element = traits.groups()
        short, tile = f"flash_fwd D={head} {rows}x{columns}", Tile(int(rows), int(columns))
        parts += [Part(head, "head dimension", FLASH), Part(rows, "query rows in a tile", FLASH), Part(columns, "keys in a tile", FLASH),
                  Part(warps, "warps in a block", FLASH), Part(q_in_registers, f"keeps its tile of Q in registers (Is_Q_in_regs): {_yes(q_in_registers)}", FLASH),
                  Part(shared_qk, f"Q and K share a piece of shared memory (Share_Q_K_smem): {_yes(shared_qk)}", FLASH),
                  Part(element, f"elements are {TYPES.get(element, element)}", FLASH)]
    parts += _flash_flags(name)
    return _fused(Implementation.FLASH_2, name, short, parts, "yes", "FlashAttention-2 multiplies its tiles with mma.sync, a Tensor Core instruction; it exists for 16-bit types only", tile)


def _yes(flag: str) -> str:
    return "yes" if flag in ("true", "1", "(bool)1") else "no"


def _flash_flags(name: str) -> list[Part]:
    """The flags follow the traits; the number of them tells the generation of the template."""
    tail = re.search(r">\s*((?:,\s*(?:true|false|0|1|\((?:bool)\)[01]))+)\s*>\s*\(", name)
    values = [value.strip() for value in tail.group(1).split(",") if value.strip()] if tail else []
    names = _FLAGS.get(len(values))
    if not names:
        return [unknown_part(value) for value in values]
    return [Part(value, f"{meaning}: {_yes(value)}", FLASH) for value, meaning in zip(values, names)]


def _flash2_split(name: str, match: re.Match[str]) -> KernelName:
    if match.group(1):
        return _fused(Implementation.FLASH_2, name, "flash_fwd_splitkv_combine", [Part("flash_fwd_splitkv_combine_kernel", "adds the parts of a split forward pass", FLASH)],
                      "no", "it only rescales and adds partial results")
    return _fused(Implementation.FLASH_2, name, "flash_fwd_splitkv", [Part("flash_fwd_splitkv_kernel", "the forward pass with keys and values split between blocks", FLASH)],
                  "yes", "FlashAttention-2 multiplies its tiles with mma.sync, a Tensor Core instruction")


def _flash3(name: str, match: re.Match[str]) -> KernelName:
    return _fused(Implementation.FLASH_3, name, "FlashAttnFwdSm90", [Part("FlashAttnFwdSm90", "FlashAttention-3's forward pass for Hopper", "FlashAttention source, hopper/")],
                  "yes", "FlashAttention-3 is written on Hopper's Tensor Core instruction wgmma")


def _efficient(name: str, match: re.Match[str]) -> KernelName:
    """`fmha_cutlassF_bf16_aligned_64x64_rf_sm80`."""
    text = match.group(0)
    tokens = text.split("_")
    parts = [_efficient_part(token) for token in tokens]
    element = next((token for token in tokens if token in ("bf16", "f16", "f32")), None)
    size = next((found for token in tokens if (found := re.fullmatch(r"(\d+)x(\d+)", token))), None)
    compiled = next((token for token in tokens if re.fullmatch(r"sm\d+", token)), "")
    cores: TensorCores = "unknown"
    why = "whether the FP32 variant uses Tensor Cores cannot be told from the name"
    if compiled == "sm50":
        cores, why = "no", "compiled for compute capability 5.0, which has no Tensor Cores"
    elif element in ("bf16", "f16"):
        cores, why = "yes", "CUTLASS's tensor-op tiles on 16-bit elements"
    return _fused(Implementation.EFFICIENT, name, shorten(f"fmha_cutlassF {element or ''} {size.group(0) if size else ''} {compiled}"), parts, cores, why,
                  Tile(int(size.group(1)), int(size.group(2))) if size else None)


def _efficient_part(token: str) -> Part:
    known = {"fmha": "fused multi-head attention", "cutlassF": "written with CUTLASS, NVIDIA's open matrix templates; F: forward",
             "bf16": "works on bfloat16, without a cast to FP32", "f16": "works on FP16, without a cast to FP32", "f32": "works on FP32",
             "aligned": "operands are aligned for wide loads", "notaligned": "operands need not be aligned",
             "rf": "the output is accumulated in the register file", "gmem": "the output is accumulated in global memory"}
    if token in known:
        return Part(token, known[token], EFFICIENT)
    tile = re.fullmatch(r"(\d+)x(\d+)", token)
    if tile:
        return Part(token, f"tile: {tile.group(1)} queries × {tile.group(2)} keys", EFFICIENT)
    return architecture(token) or unknown_part(token)


def _cudnn(name: str, match: re.Match[str]) -> KernelName:
    """`cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0`."""
    text = match.group(0)
    parts = [part for piece in re.findall(r"cudnn_generated|fort_native|flash_fprop|flash_bprop|knob_\d+|kernel\d+_\d+|[^_]+", text) for part in [_cudnn_part(piece)]]
    instruction = next((word for word in ("wgmma", "wmma", "tcgen05", "utcmma") if f"_{word}_" in text), None)
    cores: TensorCores = "yes" if instruction else "unknown"
    why = f"`{instruction}` is a Tensor Core instruction" if instruction else "the name carries no matrix instruction"
    size = re.search(r"_(\d+x\d+x\d+)_", text)
    tile = next((found for piece in text.split("_") if (found := _cudnn_tile(piece))), None)
    return _fused(Implementation.CUDNN, name, shorten(f"cudnn sdpa flash_fprop {size.group(1) if size else ''}".strip()), parts, cores, why,
                  Tile(*tile[:2]) if tile else None, instruction)


def _cudnn_tile(piece: str) -> tuple[int, int, int] | None:
    """`64x128x64`: queries, keys and a third size; what is smaller (`4x1x1`) counts something else."""
    sizes = re.fullmatch(r"(\d+)x(\d+)x(\d+)", piece)
    return (int(sizes[1]), int(sizes[2]), int(sizes[3])) if sizes and int(sizes[1]) >= 16 else None


def _cudnn_part(piece: str) -> Part:
    known = {
        "cudnn_generated": ("generated for this problem at run time, not shipped as a finished kernel", CUDNN),
        "sdpa": ("scaled dot-product attention", CUDNN), "flash_fprop": ("the forward pass in FlashAttention's style", CUDNN),
        "wmma": ("matrix instruction of one warp, on Tensor Cores", PTX), "wgmma": ("matrix instruction of a warp group, on Hopper's Tensor Cores", PTX),
        "f16": ("16-bit elements: FP16 or bfloat16", CUDNN),
    }
    if piece in known:
        return Part(piece, *known[piece])
    if piece.startswith("knob_"):
        return Part(piece, "number of the configuration that cuDNN's heuristic chose", CUDNN)
    cluster = re.fullmatch(r"cga(\d+)x(\d+)x(\d+)", piece)
    if cluster:
        return Part(piece, f"cluster of {' × '.join(cluster.groups())} thread blocks", INFERRED)
    tile = _cudnn_tile(piece)
    if tile:
        return Part(piece, f"tile {' × '.join(map(str, tile))}", CUDNN)
    return architecture(piece) or unknown_part(piece)


def _trtllm(name: str, match: re.Match[str]) -> KernelName:
    return _fused(Implementation.TENSORRT_LLM, name, shorten(match.group(0)), [Part(match.group(0), "fused multi-head attention", INFERRED)], "unknown", "the name does not tell")


def _aotriton(name: str, match: re.Match[str]) -> KernelName:
    return _fused(Implementation.AOTRITON, name, shorten(match.group(0)), [Part(match.group(0), "fused attention, compiled ahead of time from Triton for ROCm", "AOTriton source")],
                  "unknown", "a Triton kernel's name does not tell which units it uses")


def _composable(name: str, match: re.Match[str]) -> KernelName:
    return _fused(Implementation.COMPOSABLE_KERNEL, name, "ck_tile FmhaFwd", [Part(match.group(0), "fused attention of AMD's Composable Kernel", "Composable Kernel source")],
                  "unknown", "an AMD kernel: it has no Tensor Cores, and its Matrix Cores are not judged from the name")
