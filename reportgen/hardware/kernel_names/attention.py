"""Fused attention kernels: which library's, forward or backward, and what the parts of their names say.

Names without parts worth explaining are rows of `attention_table`. What the public sources do not tell stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..attention_ops import Direction
from . import attention_table
from .attention_table import Known
from .shapes import INFERRED, Implementation, KernelName, Part, Stage, TensorCores, Tile, architecture, shorten, unknown_part

FLASH = "PyTorch source, aten/src/ATen/native/transformers/cuda/flash_attn"
FLASH_ATTN = "flash-attention source, csrc/flash_attn/src"
CUTE = "flash-attention source, flash_attn/cute"
EFFICIENT = "PyTorch source, aten/src/ATen/native/transformers/cuda/mem_eff_attention"
CUDNN = "source article (Hugging Face, Profiling in PyTorch, part 3)"
CUDNN_BACKWARD = "names in public traces of cuDNN's backward"
FLEX = "PyTorch source, torch/_inductor/kernel/flex"
PTX = "PTX ISA"
TYPES = {"cutlass::bfloat16_t": "bfloat16", "cutlass::half_t": "FP16"}

# How the template's flags read, by their number: flags were added over the years.
_FLAGS = {
    6: ("dropout", "causal mask", "local window", "the tile divides the sequence lengths", "the head dimension fills the tile", "returns the softmax"),
    7: ("dropout", "causal mask", "local window", "ALiBi", "the tile divides the sequence lengths", "the head dimension fills the tile", "returns the softmax"),
    8: ("dropout", "causal mask", "local window", "ALiBi", "the tile divides the sequence lengths", "the head dimension fills the tile", "soft cap", "returns the softmax"),
}
_BACKWARD_FLAGS = {
    5: ("dropout", "causal mask", "local window", "the tile divides the sequence lengths", "the head dimension fills the tile"),
    6: ("dropout", "causal mask", "local window", "ALiBi", "the tile divides the sequence lengths", "the head dimension fills the tile"),
    7: ("dropout", "causal mask", "local window", "ALiBi", "the tile divides the sequence lengths", "the head dimension fills the tile", "soft cap"),
}
_CAST = re.compile(r"\((?:unsigned )?(?:int|bool|long)\)")
"""Nsight Systems writes template arguments with their types: `(int)128`, `(bool)0`."""
_MMA = "FlashAttention-2 multiplies its tiles with mma.sync, a Tensor Core instruction"


def decode(name: str) -> KernelName | None:
    """`None` where the name is no attention kernel's that the public sources know."""
    for pattern, decoder in _GRAMMARS:
        match = pattern.search(name)
        if match:
            return decoder(name, match)
    found = attention_table.look_up(name)
    return _from_table(name, *found) if found else None


def _fused(implementation: Implementation, name: str, short: str, parts: Sequence[Part], cores: TensorCores, why: str,
           direction: Direction | None = Direction.FORWARD, stage: Stage = Stage.MAIN, tile: Tile | None = None, instruction: str | None = None) -> KernelName:
    return KernelName(name, implementation.value, short, tuple(parts), cores, why, implementation, tile, instruction, direction=direction, stage=stage)


_STAGES = {
    Stage.MAIN: "the {pass} pass of attention in one kernel", Stage.PREPARE: "goes before the {pass} pass of attention", Stage.COMBINE: "adds the parts of a split forward pass",
    Stage.FINISH: "goes after the {pass} pass of attention", Stage.BESIDE: "belongs to the {pass} pass of attention", Stage.CACHE: "writes keys and values into the cache",
}
_TENSOR_CORES = {
    Implementation.FLASH_3: "FlashAttention-3 is written on Hopper's Tensor Core instruction wgmma",
    Implementation.FLASH_4: "FlashAttention-4 multiplies its tiles with Tensor Core instructions",
}
"""Libraries whose main kernels always multiply on Tensor Cores, and why."""


def _from_table(name: str, word: str, known: Known) -> KernelName:
    direction = known.direction.value if known.direction else "unknown"
    part = Part(word, _STAGES[known.stage].replace("{pass}", direction), known.source)
    if known.implementation is None:
        return KernelName(name, "KV cache", shorten(word), (part,), "no", "it only copies keys and values", stage=known.stage, direction=known.direction)
    cores, why = _cores(known.implementation, known.stage, word)
    return _fused(known.implementation, name, shorten(word), (part,), cores, why, known.direction, known.stage)


def _cores(implementation: Implementation, stage: Stage, word: str) -> tuple[TensorCores, str]:
    if stage is Stage.MAIN and implementation in _TENSOR_CORES and not word.endswith("Sm80"):
        return "yes", _TENSOR_CORES[implementation]
    if stage in (Stage.COMBINE, Stage.FINISH, Stage.CACHE):
        return "no", "it only rescales, adds or converts what was computed before"
    return "unknown", "the name does not tell which units it uses"


def _flash2(name: str, match: re.Match[str]) -> KernelName:
    """`pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, …>, false, true, …>`."""
    flat = _CAST.sub("", name)
    parts = [*_whose_flash(name), Part("flash_fwd_kernel", "the forward pass in one kernel", FLASH)]
    traits = re.search(r"Flash_fwd_kernel_traits<(\d+), (\d+), (\d+), (\d+), (\w+), (\w+), ([\w:]+)", flat)
    short, tile = "flash_fwd", None
    if traits:
        head, rows, columns, warps, q_in_registers, shared_qk, element = traits.groups()
        short, tile = f"flash_fwd D={head} {rows}x{columns}", Tile(int(rows), int(columns))
        parts += [Part(head, "head dimension", FLASH), Part(rows, "query rows in a tile", FLASH), Part(columns, "keys in a tile", FLASH),
                  Part(warps, "warps in a block", FLASH), Part(q_in_registers, f"keeps its tile of Q in registers (Is_Q_in_regs): {_yes(q_in_registers)}", FLASH),
                  Part(shared_qk, f"Q and K share a piece of shared memory (Share_Q_K_smem): {_yes(shared_qk)}", FLASH),
                  Part(element, f"elements are {TYPES.get(element, element)}", FLASH)]
    parts += _flash_flags(flat, _FLAGS)
    return _fused(Implementation.FLASH_2, name, short, parts, "yes", f"{_MMA}; it exists for 16-bit types only", tile=tile)


def _whose_flash(name: str) -> list[Part]:
    """The namespace tells whose copy it is; without one nothing is said."""
    if "pytorch_flash::" in name:
        return [Part("pytorch_flash", "PyTorch's copy of FlashAttention-2", FLASH)]
    return [Part("flash", "the flash-attn package's own kernel", FLASH_ATTN)] if re.search(r"\bflash::flash_(?:fwd|bwd)_", name) else []


def _yes(flag: str) -> str:
    return "yes" if flag in ("true", "1") else "no"


def _flash_flags(flat: str, by_number: dict[int, tuple[str, ...]]) -> list[Part]:
    """The flags follow the traits; the number of them tells the generation of the template."""
    tail = re.search(r">\s*((?:,\s*(?:true|false|0|1))+)\s*>\s*(?:\(|$)", flat)
    values = [value.strip() for value in tail.group(1).split(",") if value.strip()] if tail else []
    names = by_number.get(len(values))
    if not names:
        return [unknown_part(value) for value in values]
    return [Part(value, f"{meaning}: {_yes(value)}", FLASH) for value, meaning in zip(values, names)]


def _flash2_backward(name: str, match: re.Match[str]) -> KernelName:
    """`flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 128, 8, …>, false, true, …>`."""
    flat = _CAST.sub("", name)
    parts = [*_whose_flash(name), Part(match.group(0), "the backward pass: gradients of queries, keys and values in one kernel", FLASH_ATTN)]
    traits = re.search(r"Flash_bwd_kernel_traits<(\d+), (\d+), (\d+), (\d+),", flat)
    short, tile = "flash_bwd", None
    if traits:
        head, rows, columns, warps = traits.groups()
        short, tile = f"flash_bwd D={head} {rows}x{columns}", Tile(int(rows), int(columns))
        parts += [Part(head, "head dimension", FLASH_ATTN), Part(rows, "query rows in a tile", FLASH_ATTN), Part(columns, "keys in a tile", FLASH_ATTN),
                  Part(warps, "warps in a block", FLASH_ATTN)]
    parts += _flash_flags(flat, _BACKWARD_FLAGS)
    return _fused(Implementation.FLASH_2, name, short, parts, "yes", f"{_MMA}; it exists for 16-bit types only", Direction.BACKWARD, tile=tile)


def _flash2_split(name: str, match: re.Match[str]) -> KernelName:
    if match.group(1):
        return _fused(Implementation.FLASH_2, name, "flash_fwd_splitkv_combine", [*_whose_flash(name), Part("flash_fwd_splitkv_combine_kernel", "adds the parts of a split forward pass", FLASH)],
                      "no", "it only rescales and adds partial results", stage=Stage.COMBINE)
    return _fused(Implementation.FLASH_2, name, "flash_fwd_splitkv",
                  [*_whose_flash(name), Part("flash_fwd_splitkv_kernel", "the forward pass with keys and values split between blocks", FLASH)], "yes", _MMA)


def _flash4(name: str, match: re.Match[str]) -> KernelName:
    """`kernel_cutlass_kernel_flash_attncuteflash_fwd_sm100FlashAttentionForwardSm100_object_at_…`: module and class of a CuTe DSL kernel, dots left out."""
    word = match.group("cls")
    direction = Direction.BACKWARD if "Backward" in word else Direction.FORWARD
    stage = {"Preprocess": Stage.PREPARE, "Postprocess": Stage.FINISH, "Combine": Stage.COMBINE}.get(re.sub(r".*(?:Backward|Forward)", "", word), Stage.MAIN)
    parts = [Part("flash_attncute", "the flash-attn package's kernels in CuTe DSL", CUTE), Part(word, _STAGES[stage].replace("{pass}", direction.value), CUTE)]
    cores, why = _cores(Implementation.FLASH_4, stage, "")
    return _fused(Implementation.FLASH_4, name, shorten(word), parts, cores, why, direction, stage)


def _flex(name: str, match: re.Match[str]) -> KernelName:
    """`triton_tem_fused_flex_attention_backward_1`: the template's kernel; `triton_red_fused_flex_attention_2`: what is computed beside it."""
    backward = match.group("backward") is not None
    direction = Direction.BACKWARD if backward else Direction.FORWARD
    stage = Stage.MAIN if match.group("kind") == "tem" else Stage.BESIDE
    word = f"flex_attention{'_backward' if backward else ''}"
    parts = [Part("triton", "written by torch.compile in Triton", FLEX), Part(word, _STAGES[stage].replace("{pass}", direction.value), FLEX)]
    cores: TensorCores = "unknown" if stage is Stage.MAIN else "no"
    why = "a Triton template's name does not tell which units it uses" if stage is Stage.MAIN else "torch.compile's pointwise and reduction kernels multiply no matrices"
    return _fused(Implementation.FLEX, name, shorten(f"triton_{match.group('kind')} {word}"), parts, cores, why, direction, stage)


def _efficient(name: str, match: re.Match[str]) -> KernelName:
    """`fmha_cutlassF_bf16_aligned_64x64_rf_sm80`, `fmha_cutlassB_f16_aligned_64x64_k64_dropout_sm80`."""
    text = match.group(0)
    letter = "cutlassB" if "cutlassB" in text else "cutlassF"
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
    return _fused(Implementation.EFFICIENT, name, shorten(f"fmha_{letter} {element or ''} {size.group(0) if size else ''} {compiled}"), parts, cores, why,
                  Direction.BACKWARD if letter == "cutlassB" else Direction.FORWARD, tile=Tile(int(size.group(1)), int(size.group(2))) if size else None)


def _efficient_part(token: str) -> Part:
    known = {"fmha": "fused multi-head attention", "cutlassF": "written with CUTLASS, NVIDIA's open matrix templates; F: forward",
             "cutlassB": "written with CUTLASS, NVIDIA's open matrix templates; B: backward", "dropout": "compiled with dropout",
             "seqaligned": "the tile divides the sequence lengths",
             "bf16": "works on bfloat16, without a cast to FP32", "f16": "works on FP16, without a cast to FP32", "f32": "works on FP32",
             "aligned": "operands are aligned for wide loads", "notaligned": "operands need not be aligned",
             "rf": "the output is accumulated in the register file", "gmem": "the output is accumulated in global memory"}
    if token in known:
        return Part(token, known[token], EFFICIENT)
    tile = re.fullmatch(r"(\d+)x(\d+)", token)
    if tile:
        return Part(token, f"tile: {tile.group(1)} queries × {tile.group(2)} keys", EFFICIENT)
    most = re.fullmatch(r"k(\d+)", token)
    if most:
        return Part(token, f"for head dimensions up to {most.group(1)}", EFFICIENT)
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
    way = next((word for word in ("flash_fprop", "flash_bprop") if f"_{word}_" in f"{text}_"), "")
    short = " ".join(word for word in ("cudnn sdpa", way, size.group(1) if size else "") if word)
    return _fused(Implementation.CUDNN, name, shorten(short), parts, cores, why, {"flash_fprop": Direction.FORWARD, "flash_bprop": Direction.BACKWARD}.get(way),
                  tile=Tile(*tile[:2]) if tile else None, instruction=instruction)


def _cudnn_beside(name: str, match: re.Match[str]) -> KernelName:
    """`cudnn::fusion::compute_dot_do_o_specialized`: the small kernels around cuDNN's backward."""
    word = match.group("word")
    stage = Stage.PREPARE if word.startswith("compute_dot_do_o") else Stage.FINISH
    meaning = {"compute_dot_do_o": "sums the products of output and its gradient, row by row, before the backward pass", "convert_dq_to_16bits": "converts the gradient of the queries to 16 bits",
               "fmha_reduce_head": "sums gradients over the query heads that share a key head"}[match.group("stem")]
    return _fused(Implementation.CUDNN, name, shorten(f"cudnn {word}"), [Part(word, meaning, CUDNN_BACKWARD)], "no", "it only adds or converts", Direction.BACKWARD, stage)


def _cudnn_tile(piece: str) -> tuple[int, int, int] | None:
    """`64x128x64`: queries, keys and a third size; what is smaller (`4x1x1`) counts something else."""
    sizes = re.fullmatch(r"(\d+)x(\d+)x(\d+)", piece)
    return (int(sizes[1]), int(sizes[2]), int(sizes[3])) if sizes and int(sizes[1]) >= 16 else None


def _cudnn_part(piece: str) -> Part:
    known = {
        "cudnn_generated": ("generated for this problem at run time, not shipped as a finished kernel", CUDNN),
        "sdpa": ("scaled dot-product attention", CUDNN), "flash_fprop": ("the forward pass in FlashAttention's style", CUDNN),
        "flash_bprop": ("the backward pass in FlashAttention's style", CUDNN_BACKWARD),
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
    """`fmhaSm100aKernel_…` and `fmha_v2_flash_attention_…_kernel`: forward only, for inference."""
    return _fused(Implementation.TENSORRT_LLM, name, shorten(match.group(0)), [Part(match.group(0), "fused multi-head attention", INFERRED)], "unknown", "the name does not tell")


_GRAMMARS = tuple((re.compile(pattern), decoder) for pattern, decoder in (
    (r"\bflash_fwd_kernel(?=<|$)", _flash2),
    (r"\bflash_fwd_splitkv_(combine_)?kernel(?=<|$)", _flash2_split),
    (r"\bflash_bwd_dq_dk_dv_loop_(?:seqk_parallel_)?kernel(?=<|$)", _flash2_backward),
    (r"\bkernel_cutlass_\w{0,80}?flash_attncute\w{0,80}?(?P<cls>FlashAttention(?:SparseMLA|MLA)?(?:Forward|Backward)(?:Sm\d+|Combine|Preprocess|Postprocess))", _flash4),
    (r"\bkernel_cutlass_\w{0,80}?flash_attncute\w{0,80}?(?P<cls>BlackwellFusedMultiHeadAttention(?:Forward|Backward)\w{0,40}?(?=Kernel|_object_at))", _flash4),
    (r"^triton_(?P<kind>tem)_fused_(?:\w*?_)??flex_attention(?P<backward>_backward)?(?:_|$)", _flex),
    (r"^triton_(?P<kind>red|per|poi)_fused_flex_attention(?P<backward>_backward)?_\d+$", _flex),
    (r"\bfmha_cutlass[FB]_\w+", _efficient),
    (r"\bcudnn_generated_\w*sdpa\w*", _cudnn),
    (r"\bcudnn::fusion::(?P<word>(?P<stem>compute_dot_do_o|convert_dq_to_16bits|fmha_reduce_head)\w*)", _cudnn_beside),
    (r"\bfmhaSm\d+\w*Kernel\w*|\bfmha_v2_flash_attention_\w+", _trtllm),
))
