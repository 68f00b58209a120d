"""Matrix multiplications of cuBLAS, CUTLASS and Tensile (ROCm)."""

from __future__ import annotations

import re
from collections.abc import Callable

from .shapes import INFERRED, KernelName, Part, TensorCores, architecture, shorten, unknown_part

CUTLASS = "CUTLASS documentation, profiler: kernel names and op classes"
PTX = "PTX ISA, matrix multiply-accumulate instructions"
CUBLASLT = "format string inside cuBLASLt 13.1"
TENSILE = "Tensile documentation, kernel parameters"

Rule = tuple[str, str, str]
"""A token's pattern, its meaning (groups as {1}, {2}), its source."""

_TYPES = {"f32": "FP32", "f16": "FP16", "bf16": "bfloat16", "tf32": "TF32", "f64": "FP64", "fp16": "FP16", "fp32": "FP32", "s": "FP32", "h": "FP16", "d": "FP64", "i": "INT32"}


def tokens(text: str, rules: tuple[Rule, ...]) -> tuple[Part, ...]:
    """`text` split at underscores, each token by the first rule that fits it wholly; else `unknown`."""
    return tuple(_token(token, rules) for token in text.split("_") if token)


def _token(token: str, rules: tuple[Rule, ...]) -> Part:
    for pattern, meaning, source in rules:
        match = re.fullmatch(pattern, token)
        if match:
            return Part(token, meaning.format(token, *match.groups()), source)
    return architecture(token) or unknown_part(token)


_SHARED: tuple[Rule, ...] = (
    (r"gemm", "general matrix multiplication", CUTLASS),
    (r"stages", "the pipeline follows", INFERRED),
    (r"[nt]{2}", "layouts of the two operands: n as stored, t transposed", CUTLASS),
    (r"(\d+)x(\d+)", "tile of the output that one thread block computes: {1} × {2}", CUTLASS),
    (r"(\d+)x(\d+)x(\d+)", "tile that one thread block works on: {1} × {2} × {3} (m × n × k)", CUTLASS),
    (r"align(\d+)", "operands are aligned to {1} elements", CUTLASS),
    (r"splitK|splitk", "the inner dimension is split between blocks and added afterwards", CUTLASS),
    (r"relu", "a ReLU is applied on the way out", CUTLASS),
    (r"bias", "a bias is added on the way out", CUTLASS),
)


def decode(name: str) -> KernelName | None:
    for pattern, decoder in _GRAMMARS:
        match = re.search(pattern, name)
        if match:
            return decoder(name, match)
    return None


def _classic(name: str, match: re.Match[str]) -> KernelName:
    """`ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn`: cuBLAS up to Ampere."""
    text, generation, accumulator, instruction = match.group(0), match.group("generation"), match.group("acc"), match.group("mma")
    parts = [Part(generation, f"written for the {generation.capitalize()} generation", INFERRED)]
    for token in filter(None, text[len(generation):].split("_")):
        if token.endswith("gemm"):
            said = f"accumulates in {_TYPES[accumulator]}"
            said += f"; one Tensor Core instruction multiplies {_mma(instruction)} (m × n × k)" if instruction else "; no matrix instruction named: fused multiply-add on CUDA cores"
            parts.append(Part(token, said, PTX if instruction else CUTLASS))
        else:
            parts.append(_token(token, _CLASSIC))
    cores, why = _by_instruction(accumulator, instruction)
    tile = re.search(r"\d+x\d+", text.split("gemm", 1)[1])
    precision = "16-bit in, " if re.search(r"(?:bf|fp)16", text) else ""
    short = f"{accumulator}{instruction or ''}gemm {tile.group(0) if tile else ''} ({precision}{_TYPES[accumulator]})"
    return KernelName(name, "cuBLAS GEMM", shorten(short), tuple(parts), cores, why)


def _mma(digits: str) -> str:
    """`16816` → `16 × 8 × 16`."""
    known = {"16816": "16 × 8 × 16", "1688": "16 × 8 × 8", "16832": "16 × 8 × 32", "8816": "8 × 8 × 16", "884": "8 × 8 × 4", "161616": "16 × 16 × 16"}
    return known.get(digits, digits)


def _by_instruction(accumulator: str, instruction: str | None) -> tuple[TensorCores, str]:
    if instruction:
        return "yes", f"the name carries the Tensor Core instruction {_mma(instruction)}"
    if accumulator in "sd":
        return "no", f"{accumulator}gemm without an instruction shape is fused multiply-add on CUDA cores, whatever the type in memory"
    return "unknown", "the name carries no instruction shape"


_CLASSIC: tuple[Rule, ...] = (
    (r"bf16|fp16|fp32|tf32", "element type {0}", INFERRED),
    (r"ldg(\d+)", "loads {1} elements at a time from global memory", INFERRED),
    (r"f2f", "converts floating point to floating point on the way out", INFERRED),
    (r"sliced(\d+)x(\d+)", "the inner dimension is sliced {1} × {2} inside a block", INFERRED),
    (r"(3[2-9]|64|128|16|8)x(\d)", "each stage holds {1} of the inner dimension; {2} stages are in flight", INFERRED),
    *_SHARED,
)


def _xmma(name: str, match: re.Match[str]) -> KernelName:
    """`sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_…`."""
    text = match.group(0)
    tensor, fma = re.search(r"_tensor(\d+x\d+x\d+)", text), "_ffma" in text
    group = "_warpgroupsize" in text
    cores: TensorCores = "yes" if tensor or group else "no" if fma else "unknown"
    why = {"yes": f"`tensor{tensor.group(1)}` is a Tensor Core instruction shape" if tensor else "`warpgroupsize`: it works in warp groups, as Hopper's Tensor Core instruction wgmma does",
           "no": "`ffma` is fused multiply-add on CUDA cores", "unknown": "the name says neither `tensor` nor `ffma`"}[cores]
    tile = re.search(r"tilesize(\d+x\d+x\d+)", text)
    kind = text.split("_tilesize")[0].split("gemm_")[-1].split("_")[0]
    # FP32 in memory and TF32 in the unit: what the unit computes in is the news
    halves = re.search("(tf32)", text.split("_tilesize")[0]) or re.match(r"(bf16|f16|f32|f64)", kind)
    short = f"xmma gemm {_TYPES.get(halves.group(1), kind) if halves else kind} {tile.group(1) if tile else ''}{' (FMA)' if fma else ''}"
    types = re.search(r"(?<=gemm_)(?:(?:bf16|tf32|f16|f32|f64)+_)+", text)
    before, middle = text.split(types.group(0), 1) if types else (text, "")
    parts = tokens(before, _XMMA)
    if types:
        parts += (Part(types.group(0).rstrip("_"), "element types of the operands, the accumulation and the output", INFERRED),)
    body, tail, ending = middle.partition("_execute")
    parts += tokens(body, _XMMA)
    if tail:
        parts += (Part((tail + ending).lstrip("_"), "the kernel's entry point, built for cuBLAS", INFERRED),)
    return KernelName(name, "cuBLAS xmma GEMM", shorten(short), parts, cores, why)


_XMMA: tuple[Rule, ...] = (
    (r"xmma", "NVIDIA's XMMA kernel library inside cuBLAS", INFERRED),
    (r"[nt]", "layout of the output", INFERRED),
    (r"tilesize(\d+)x(\d+)x(\d+)", "tile that one thread block works on: {1} × {2} × {3} (m × n × k)", INFERRED),
    (r"stage(\d+)", "{1} stages of the pipeline are in flight", INFERRED),
    (r"warpsize(\d+)x(\d+)x(\d+)", "warps of a block: {1} × {2} × {3}", INFERRED),
    (r"warpgroupsize(\d+)x(\d+)x(\d+)", "warp groups of a block: {1} × {2} × {3}", INFERRED),
    (r"ffma", "fused multiply-add in FP32 on CUDA cores", INFERRED),
    (r"tensor(\d+)x(\d+)x(\d+)", "Tensor Core instruction {1} × {2} × {3}", PTX),
    (r"align([ac])(\d+)", "matrix {1} is aligned to {2} elements", INFERRED),
    *_SHARED,
)


def _cutlass(name: str, match: re.Match[str]) -> KernelName:
    """`cutlass_80_simt_sgemm_256x128_8x4_tn_align1`, `cutlass_80_tensorop_bf16_s16816gemm_…`."""
    text = match.group(0)
    tensor, simt = "tensorop" in text, "_simt_" in text
    cores: TensorCores = "yes" if tensor else "no" if simt else "unknown"
    why = {"yes": "op class `tensorop`: CUTLASS's word for Tensor Cores", "no": "op class `simt`: CUTLASS's word for CUDA cores",
           "unknown": "the name carries no op class"}[cores]
    tile = re.search(r"_(\d+x\d+)_", text)
    return KernelName(name, "CUTLASS GEMM", shorten(f"cutlass {'tensorop' if tensor else 'simt' if simt else 'gemm'} {tile.group(1) if tile else ''}".strip()),
                      tokens(text, _CUTLASS), cores, why)


_CUTLASS: tuple[Rule, ...] = (
    (r"cutlass(3x)?", "NVIDIA's open template library for matrix kernels", CUTLASS),
    (r"(\d\d)", "code path of compute capability {1} (major and minor run together)", CUTLASS),
    (r"tensorop", "uses Tensor Cores", CUTLASS), (r"wmma", "through the warp-level WMMA interface", CUTLASS),
    (r"simt", "uses CUDA cores, one multiply-add per thread", CUTLASS),
    (r"([shdi])(\d+)gemm", "matrix multiplication; accumulates in type {1}; instruction shape {2} (m, n and k run together)", CUTLASS),
    (r"([shdi])gemm", "matrix multiplication; accumulates in type {1}", CUTLASS),
    (r"bf16|f16|f32|tf32", "element type {0}", CUTLASS),
    (r"(8|16|32|64|128)x(\d)", "each stage holds {1} of the inner dimension; {2} stages are in flight", CUTLASS),
    *_SHARED,
)


def _nvjet(name: str, match: re.Match[str]) -> KernelName:
    """`nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT`: cuBLASLt's kernels for Hopper and later."""
    text = match.group(0)
    parts, rest = [Part("nvjet", "cuBLASLt's own kernel generator for Hopper and later", INFERRED)], text.split("_")[1:]
    shapes = iter((
        ("output tile of one thread block: {0} (m × n)", CUBLASLT),
        ("each stage holds {1} of the inner dimension; {2} stages are in flight", CUBLASLT),
        ("cluster of {0} thread blocks", CUBLASLT)))
    for token in rest:
        size = re.fullmatch(r"(\d+)x(\d+)", token)
        if size:
            told = next(shapes, None)
            parts.append(Part(token, told[0].format(f"{size.group(1)} × {size.group(2)}", *size.groups()), told[1]) if told else unknown_part(token))
        else:
            parts.append(_token(token, _NVJET))
    types = next((t for t in rest if re.fullmatch(r"[a-z]{3,5}", t)), "")
    tile = next((t for t in rest if re.fullmatch(r"\d+x\d+", t)), "")
    layout = rest[-1] if re.fullmatch(r"[TN]{3}", rest[-1]) else ""
    short = " ".join(part for part in ("nvjet", {"tst": "bf16", "hsh": "fp16"}.get(types, types), tile, layout) if part)
    return KernelName(name, "cuBLAS nvjet", shorten(short), tuple(parts), "yes",
                      "nvjet kernels are built on the Tensor Core instructions of Hopper and later")


_NVJET: tuple[Rule, ...] = (
    (r"tst", "element types; these letters go with bfloat16 in and out, FP32 accumulation", INFERRED),
    (r"hsh", "element types; these letters go with FP16 in and out, FP32 accumulation", INFERRED),
    (r"2cta", "two thread blocks work on one tile together", INFERRED),
    (r"[TN]{3}", "layouts of the two operands and the output: T transposed, N as stored", INFERRED),
    (r"splitK", "the inner dimension is split between blocks and added afterwards", CUBLASLT),
    (r"bias\w*", "a bias is added on the way out", CUBLASLT),
)


def _tensile(name: str, match: re.Match[str]) -> KernelName:
    """`Cijk_Alik_Bljk_BBS_BH_…_MT256x128x64_MI16x16x1_…`: rocBLAS and hipBLASLt on ROCm."""
    text = match.group(0)
    tile = re.search(r"MT(\d+x\d+x\d+)", text)
    short = f"Tensile {'bf16 ' if '_BBS_' in text else 'fp16 ' if '_HHS_' in text else 'fp32 ' if '_SB_' in text else ''}{tile.group(1) if tile else ''}"
    return KernelName(name, "Tensile GEMM", shorten(short.strip()), tokens(text, _TENSILE), "unknown",
                      "an AMD kernel: it has no Tensor Cores, and whether its Matrix Cores do the work is not judged from the name")


_TENSILE: tuple[Rule, ...] = (
    (r"C[ijkl]+", "output indices of the contraction", TENSILE), (r"A[ijkl]+", "indices of operand A", TENSILE), (r"B[ijkl]+", "indices of operand B", TENSILE),
    (r"BBS", "bfloat16 in and out, FP32 compute", TENSILE), (r"HHS", "FP16 in and out, FP32 compute", TENSILE), (r"SB", "FP32, batched", TENSILE),
    (r"MT(\d+)x(\d+)x(\d+)", "macro tile of one work group: {1} × {2} × {3}", TENSILE),
    (r"MI(\d+x\d+x\d+(?:x\d+)?)", "matrix instruction {1}", TENSILE),
)


def _auxiliary(name: str, match: re.Match[str]) -> KernelName:
    text = match.group(0)
    if "splitKreduce" in text:
        meaning = "adds the partial results of a matmul that was split along its inner dimension"
    else:
        meaning = "matrix times vector"
    return KernelName(name, "cuBLAS auxiliary", shorten(text), (Part(text, meaning, INFERRED),), "no", f"{meaning}: no matrix instruction")


_GRAMMARS: tuple[tuple[str, Callable[[str, re.Match[str]], KernelName]], ...] = (
    (r"\bnvjet_\w+", _nvjet),
    (r"\bsm\d+_xmma_\w+", _xmma),
    (r"\bcutlass(?:3x)?_\w*gemm\w*", _cutlass),
    (r"\b(?P<generation>volta|turing|ampere|hopper|maxwell|pascal)_(?:[a-z0-9]+_)*?(?P<acc>[shdi])(?P<mma>\d{3,6})?gemm\w*", _classic),
    (r"\b(?:Custom_)?Cijk_\w+", _tensile),
    (r"\bsplitKreduce\w*|\bgemvx?\w*|\bgemv\w*", _auxiliary),
)
