"""The synthetic devices of `builders.py` as plain data. Times in µs, rates per second.

h200: as measured on one H200. a100: the article's values where it gives them. The others are made
up within what their datasheets allow; they exist to turn the evidence round, not to be believed.

gpu, host, profiled, first: per variant in the order of `SIX`; `None` where the variant did not run
scale: how much longer than on the H200 an activity takes, by what bounds it: plain memory traffic
    (`memory`), index arithmetic (`index`), 16-bit matmuls (`mm16`), FP32 matmuls (`mm32`); each
    variant is then normalised to its GPU time
names: kernel names that differ from the H200's, by (variant or `naive*`, role, which of that role)
"""

from __future__ import annotations

from typing import Any

NO_FLASH = "No available kernel. Aborting execution. Flash attention only supports gpu architectures in the range [sm80, sm121]."
NO_CUDNN_T4 = "No available kernel. Aborting execution. cuDNN SDPA only supports gpu architectures in the range [sm80, sm121]."
NO_CUDNN_ROCM = "No available kernel. Aborting execution. Torch was not compiled with cuDNN attention."
NO_KERNEL_CPU = "No available kernel. Aborting execution."

FLASH_NAME = "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t, Flash_kernel_traits<64, 128, 128, 4, cutlass::bfloat16_t> >, false, true, false, false, true, true, false, false>(pytorch_flash::Flash_fwd_params)"

_CUDA = {"torch": "2.11.0+cu130", "cuda": "13.0", "cudnn": "9.19.0", "driver": "580.159.04", "python": "3.12.3", "os": "Linux"}

_SM80_KERNELS: dict[str, Any] = {
    "names": {("naive*", "matmul", 0): "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
              ("naive*", "matmul", 1): "ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x6_nn",
              ("sdpa_math", "matmul", 0): "ampere_sgemm_128x128_tn", ("sdpa_math", "matmul", 1): "ampere_sgemm_128x64_nn",
              ("sdpa_cudnn", "fused attention", 0): "cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16_knob_6_128x64x64_4x1x1_cga1x1x1_kernel0_0"},
    "resources": {("naive*", "matmul", 0): (256, 230, 81920), ("naive*", "matmul", 1): (128, 128, 98304),
                  ("sdpa_math", "matmul", 0): (256, 122, 33792), ("sdpa_math", "matmul", 1): (128, 122, 18432),
                  ("sdpa_cudnn", "fused attention", 0): (256, 240, 81920)},
}
"""The kernels that cuBLAS and cuDNN have for compute capability 8.x."""

DEVICES: dict[str, dict[str, Any]] = {
    "h200": {
        "device": {"kind": "cuda", "name": "NVIDIA H200", "slug": "nvidia-h200", "compute_capability": "9.0", "sm_count": 132,
                   "memory_bytes": 150109880320, "l2_cache_bytes": 62914560, "power_limit_watts": 700.0, "default_power_limit_watts": 700.0, "ecc": True},
        "software": _CUDA, "workload": "article", "default_backend": ("cudnn", "aten::_scaled_dot_product_cudnn_attention"),
        "ceilings": (4.3e12, 788e12, 50e12),
        "gpu": (1056, 930, 2580, 178, 93, 59), "host": (72, 58, 240, 40, 43, 47), "profiled": (183, 150, 437, 71, 81, 83),
        "first": (200e3, 700, 180e3, 1800, 3500, 95e3), "errors": (3.66e-3, 3.66e-3, 1.66e-3, 2.41e-3, 2.4e-3, 2.45e-3),
        "masked": ("nan", "nan", "zeros", "zeros", "takes-no-mask", "other"),
    },
    "a100": {
        "device": {"kind": "cuda", "name": "NVIDIA A100-SXM4-80GB", "slug": "nvidia-a100-sxm4-80gb", "compute_capability": "8.0", "sm_count": 108,
                   "memory_bytes": 85899345920, "l2_cache_bytes": 41943040, "power_limit_watts": 400.0, "default_power_limit_watts": 400.0, "ecc": True},
        "software": {**_CUDA, "torch": "2.13.0+cu130"}, "workload": "article", "default_backend": ("flash", "aten::_scaled_dot_product_flash_attention"),
        "ceilings": (1.72e12, 260e12, 18e12),
        "gpu": (2300, 1955, 7239, 277.9, 146.8, 186.3), "host": (80, 66, 260, 62, 70, 110), "profiled": (190, 160, 450, 117, 138, 214),
        "first": (180e3, 700, 160e3, 1900, 3600, 90e3), "errors": (3.66e-3, 3.66e-3, 1.66e-3, 2.41e-3, 2.4e-3, 2.45e-3),
        "masked": ("nan", "nan", "zeros", "zeros", "takes-no-mask", "zeros"),
        "scale": {"memory": 2.69, "index": 1.45, "mm16": 3.0, "mm32": 2.8}, "no_memset": True, "gemm_api": "cudaLaunchKernel",
        **_SM80_KERNELS,
    },
    "t4": {
        "device": {"kind": "cuda", "name": "Tesla T4", "slug": "tesla-t4", "compute_capability": "7.5", "sm_count": 40,
                   "memory_bytes": 15655829504, "l2_cache_bytes": 4194304, "power_limit_watts": 70.0, "default_power_limit_watts": 70.0, "ecc": True},
        "software": _CUDA, "workload": "article-fp16", "default_backend": ("efficient", "aten::_scaled_dot_product_efficient_attention"),
        "ceilings": (0.27e12, 24e12, 4e12),
        "gpu": (16400, 14100, 43000, 3100, None, None), "host": (120, 98, 400, 90, None, None), "profiled": (260, 220, 700, 170, None, None),
        "first": (260e3, 900, 240e3, 2500, None, None), "errors": (4.6e-4, 4.6e-4, 2.1e-4, 3.0e-4, None, None),
        "masked": ("nan", "nan", "zeros", "zeros", None, None),
        "scale": {"memory": 18.0, "index": 9.0, "mm16": 33.0, "mm32": 12.5}, "no_memset": True, "gemm_api": "cudaLaunchKernel",
        "unavailable": {"sdpa_flash": NO_FLASH, "sdpa_cudnn": NO_CUDNN_T4},
        "names": {("naive*", "matmul", 0): "turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn", ("naive*", "matmul", 1): "turing_fp16_s1688gemm_fp16_256x64_ldg8_f2f_nn",
                  ("sdpa_math", "matmul", 0): "volta_sgemm_128x128_tn", ("sdpa_math", "matmul", 1): "volta_sgemm_128x64_nn",
                  ("sdpa_efficient", "fused attention", 0): "fmha_cutlassF_f16_aligned_64x64_rf_sm75(PyTorchMemEffAttention::AttentionKernel<cutlass::half_t, cutlass::arch::Sm75, true, 64, 64, 64, true, true>::Params)"},
        "resources": {("naive*", "matmul", 0): (256, 166, 32768), ("naive*", "matmul", 1): (256, 122, 20480),
                      ("sdpa_math", "matmul", 0): (256, 122, 33792), ("sdpa_math", "matmul", 1): (128, 122, 18432),
                      ("sdpa_efficient", "fused attention", 0): (128, 160, 18944)},
    },
    "rtx4090": {
        "device": {"kind": "cuda", "name": "NVIDIA GeForce RTX 4090", "slug": "nvidia-geforce-rtx-4090", "compute_capability": "8.9", "sm_count": 128,
                   "memory_bytes": 25393692672, "l2_cache_bytes": 75497472, "power_limit_watts": 450.0, "default_power_limit_watts": 450.0, "ecc": False},
        "software": _CUDA, "workload": "article", "default_backend": ("flash", "aten::_scaled_dot_product_flash_attention"),
        "ceilings": (0.92e12, 158e12, 55e12),
        "gpu": (3680, 3100, 7600, 330, 215, 214), "host": (50, 41, 180, 30, 31, 30.8), "profiled": (140, 120, 350, 60, 62, 90),
        "first": (150e3, 600, 140e3, 1500, 3000, 80e3), "errors": (3.66e-3, 3.66e-3, 1.66e-3, 2.41e-3, 2.4e-3, 2.45e-3),
        "masked": ("nan", "nan", "zeros", "zeros", "takes-no-mask", "zeros"),
        "scale": {"memory": 4.6, "index": 1.0, "mm16": 5.0, "mm32": 0.95}, "no_memset": True, "gemm_api": "cudaLaunchKernel",
        **_SM80_KERNELS,
        "profiler": {("sdpa_flash", "fused attention", 0): 17},
    },
    "b200": {
        "device": {"kind": "cuda", "name": "NVIDIA B200", "slug": "nvidia-b200", "compute_capability": "10.0", "sm_count": 148,
                   "memory_bytes": 191000000000, "l2_cache_bytes": 132644864, "power_limit_watts": 1000.0, "default_power_limit_watts": 1000.0, "ecc": True},
        "software": {**_CUDA, "torch": "2.14.1+cu130"}, "workload": "article", "default_backend": ("cudnn", "aten::_scaled_dot_product_cudnn_attention"),
        "ceilings": (6.6e12, 1550e12, 62e12),
        "gpu": (790, 700, 2190, 165, 86, 33), "host": (60, 49, 210, 33, 36, 44), "profiled": (160, 130, 380, 60, 70, 80),
        "first": (220e3, 700, 200e3, 1800, 3600, 110e3), "errors": (3.66e-3, 3.66e-3, 1.66e-3, 2.41e-3, 2.4e-3, 2.45e-3),
        "masked": ("nan", "nan", "zeros", "zeros", "takes-no-mask", "other"),
        "scale": {"memory": 0.65, "index": 0.85, "mm16": 0.5, "mm32": 0.85},
        "names": {("naive*", "matmul", 0): "nvjet_sm100_tst_256x128_64x6_2x1_2cta_h_bz_TNT", ("naive*", "matmul", 1): "nvjet_sm100_tst_64x256_64x6_1x2_h_bz_NNT",
                  ("sdpa_math", "matmul", 0): "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_tn_align1>(cutlass_80_simt_sgemm_256x128_8x4_tn_align1::Params)",
                  ("sdpa_math", "matmul", 1): "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nn_align1>(cutlass_80_simt_sgemm_128x64_8x5_nn_align1::Params)",
                  ("sdpa_cudnn", "fused attention", 0): "cudnn_generated_fort_native_sdpa_sm100_flash_fprop_f16_knob_2_128x128x64_4x1x1_cga1x1x1_kernel0_0"},
        "resources": {("naive*", "matmul", 0): (384, 168, 213188), ("naive*", "matmul", 1): (384, 168, 163972),
                      ("sdpa_math", "matmul", 0): (256, 216, 49152), ("sdpa_math", "matmul", 1): (128, 122, 20480),
                      ("sdpa_cudnn", "fused attention", 0): (512, 128, 180224)},
    },
    "mi300x": {
        "device": {"kind": "rocm", "name": "AMD Instinct MI300X", "slug": "amd-instinct-mi300x", "compute_capability": None, "sm_count": 304,
                   "memory_bytes": 205520896000, "l2_cache_bytes": 268435456, "power_limit_watts": None, "default_power_limit_watts": None},
        "software": {**_CUDA, "torch": "2.11.0+rocm7.0", "cuda": None, "cudnn": None, "driver": None}, "workload": "article",
        "default_backend": ("flash", "aten::_scaled_dot_product_flash_attention"),
        "ceilings": (3.9e12, 610e12, 90e12),
        "gpu": (1400, 1180, 2500, 240, 160, None), "host": (75, 62, 250, 48, 52, None), "profiled": (180, 150, 430, 75, 85, None),
        "first": (300e3, 900, 280e3, 2500, 4200, None), "errors": (3.66e-3, 3.66e-3, 1.66e-3, 2.41e-3, 2.4e-3, None),
        "masked": ("nan", "nan", "zeros", "zeros", "takes-no-mask", None),
        "scale": {"memory": 1.2, "index": 1.1, "mm16": 1.6, "mm32": 0.6}, "no_memset": True, "rocm": True,
        "unavailable": {"sdpa_cudnn": NO_CUDNN_ROCM},
        "names": {("naive*", "matmul", 0): "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x128x64_MI16x16x1_SN_LDSB1_AFC1_WG32_8_1",
                  ("naive*", "matmul", 1): "Cijk_Ailk_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x64x64_MI16x16x1_SN_LDSB1_AFC1_WG32_8_1",
                  ("naive", "copy", 0): "__amd_rocclr_copyBuffer",
                  ("sdpa_math", "matmul", 0): "Cijk_Alik_Bljk_SB_MT128x128x16_MI32x32x2x1_SN_LDSB0_AFC0_WG64_4_1",
                  ("sdpa_math", "matmul", 1): "Cijk_Ailk_Bljk_SB_MT128x64x16_MI32x32x2x1_SN_LDSB0_AFC0_WG64_4_1",
                  ("sdpa_efficient", "fused attention", 0): "attn_fwd", ("sdpa_flash", "fused attention", 0): "attn_fwd"},
    },
    "cpu": {
        "device": {"kind": "cpu", "name": "AMD EPYC 7763 64-Core Processor", "slug": "amd-epyc-7763-64-core-processor", "l2_cache_bytes": 33554432},
        "software": {"torch": "2.13.0+cpu", "cuda": None, "cudnn": None, "driver": None, "python": "3.12.3", "os": "Linux"}, "workload": "small",
        "default_backend": ("flash", "aten::_scaled_dot_product_flash_attention_for_cpu"),
        "ceilings": (18e9, 120e9, 90e9),
        "gpu": (None,) * 6, "host": (1450, 1400, 2900, None, 640, None), "profiled": (1600, 1500, 3200, None, 700, None),
        "first": (2600, 2300, 4300, None, 1400, None), "errors": (3.66e-3, 3.66e-3, 1.66e-3, None, 2.4e-3, None),
        "masked": ("nan", "nan", "zeros", None, "takes-no-mask", None),
        "unavailable": {"sdpa_efficient": NO_KERNEL_CPU, "sdpa_cudnn": NO_KERNEL_CPU},
    },
}
