"""Comparisons of attention on Hopper (configs/attention_hopper.toml) with PyTorch's backends on an NVIDIA GPU.

CASES lists problems: 16,384 rows in all, heads that are 2,048 columns wide together, as in FlashAttention-3's
benchmark. tune() runs `xtune run`; launches() returns PyTorch's backends, ready to be launched, and median_ms() measures
one of them as xtune does: caches are emptied before each launch, and the median counts."""
import json
import statistics
import subprocess
from pathlib import Path

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

SPEC = Path(__file__).resolve().parent.parent.parent / "configs" / "attention_hopper.toml"
CASES = [
    {"TYPE": "bf16", "HEAD_DIM": head_dim, "CAUSAL": causal, "HEADS": 2048 // head_dim, "KV_HEADS": 2048 // head_dim, "BATCH": 16384 // seq, "SEQ": seq}
    for head_dim in (64, 128) for causal in (False, True) for seq in (2048, 8192, 16384)
]
BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}


def tflops(problem, milliseconds):
    """Of the two products; with a causal mask, of half of them."""
    products = 4 * problem["BATCH"] * problem["HEADS"] * problem["SEQ"] ** 2 * problem["HEAD_DIM"]
    return products / (2 if problem["CAUSAL"] else 1) / milliseconds / 1e9


def launches(problem):
    """A function without arguments for each backend of PyTorch that takes the problem. The tensors lie as the kernel's do:
    rows, heads, columns."""
    dtype = {"f16": torch.float16, "bf16": torch.bfloat16}[problem["TYPE"]]

    def random(heads):
        x = torch.randn(problem["BATCH"], problem["SEQ"], problem[heads], problem["HEAD_DIM"], device="cuda", dtype=dtype)
        return x.transpose(1, 2)

    q, k, v = random("HEADS"), random("KV_HEADS"), random("KV_HEADS")
    grouped = problem["HEADS"] != problem["KV_HEADS"]

    def launch(backend):
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=problem["CAUSAL"], enable_gqa=grouped)

    ready = {}
    for name, backend in BACKENDS.items():
        try:
            launch(backend)
        except RuntimeError:
            continue  # not in this build of PyTorch, or not for this problem
        ready[name] = lambda backend=backend: launch(backend)
    return ready


def median_ms(launch, samples=20):
    """The median of single launches, each after overwriting three times the L2 cache."""
    other = torch.empty(3 * torch.cuda.get_device_properties(0).L2_cache_size, dtype=torch.uint8, device="cuda")
    times = []
    for sample in range(samples + 2):
        for _ in range(4):  # long enough for the host to queue the launch meanwhile
            other.fill_(sample)
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        launch()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times[2:])


def tune(xtune, problem, seconds, store=None):
    """What `xtune run --format json` prints."""
    pins = [word for name, value in problem.items() for word in ("-D", f"{name}={str(value).lower() if isinstance(value, bool) else value}")]
    command = [xtune, "run", str(SPEC), *pins, "--seconds", str(seconds), "--format", "json", "--quiet"]
    done = subprocess.run(command + (["--store", store] if store else []), capture_output=True, text=True)
    if not done.stdout.strip():
        raise SystemExit(f"error: {' '.join(command)}:\n{done.stderr}")
    return json.loads(done.stdout)


def compare(xtune, problem, seconds, store=None):
    """TFLOP/s of xtune's best configuration and of PyTorch's backends, and the configuration."""
    best = tune(xtune, problem, seconds, store).get("best") or {}
    times = {"xtune": best.get("time_ms")} | {name: median_ms(launch) for name, launch in launches(problem).items()}
    return {"problem": problem, "config": best.get("config"),
            "TFLOPS": {name: tflops(problem, time) if time else 0.0 for name, time in times.items()}}


def row(result):
    """A line of a table."""
    problem, speed = result["problem"], result["TFLOPS"]
    fastest = max((value for name, value in speed.items() if name != "xtune"), default=0.0)
    sizes = " ".join(f"{name}={problem[name]}" for name in ("TYPE", "HEAD_DIM", "CAUSAL", "BATCH", "SEQ"))
    values = " ".join(f"{name}={value}" for name, value in (result["config"] or {}).items())
    ratio = f"{speed['xtune'] / fastest:.2f}" if fastest else "-"
    return f"{sizes:<60}" + " ".join(f"{name} {value:.0f}" for name, value in speed.items()) + f", {ratio} of the fastest: {values}"
