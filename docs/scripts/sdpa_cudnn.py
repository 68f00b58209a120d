"""SDPA cuDNN: GPU time of one forward, the median of CUDA graph replays; without a GPU wall time on the CPU. Generated from the recorded runs by `make render`."""
import statistics, time, torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
gpu = torch.cuda.is_available()
if not gpu: raise SystemExit("the cuDNN backend needs a GPU, and torch sees none here")
shape, kind = (8, 16, 1024, 64), dict(dtype=torch.bfloat16, device="cuda" if gpu else "cpu")
q, k, v = (torch.randn(shape, **kind) for _ in range(3))
mask = torch.ones(1024, 1024, dtype=torch.bool, device=q.device).triu_(1)  # True: may not be seen
calls, times, wait = 100 if gpu else 1, [], torch.cuda.synchronize if gpu else lambda: None
def forward(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)
def run():
    for _ in range(calls): forward(q, k, v, mask)
with torch.no_grad(), sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
    run(); wait()
    if gpu:
        with torch.cuda.graph(graph := torch.cuda.CUDAGraph()): run()
    for _ in range(30):
        began = time.perf_counter()
        (graph.replay if gpu else run)(); wait()
        times.append((time.perf_counter() - began) / calls)
print(f"SDPA cuDNN: {statistics.median(times[5:]) * 1e6:.1f} µs of {'GPU time' if gpu else 'wall time on the CPU'} per forward")
