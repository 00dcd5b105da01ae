"""Matrix products on Hopper (configs/gemm_hopper.toml), beside cuBLASLt in one process (bench_gemm_cublas)."""
import json
import os
import subprocess

from common import BYTES, ROOT, Result, tune

# M, N, K: squares, few rows, a short sum, rows of odd lengths.
SIZES = [(8192, 8192, 8192), (4096, 4096, 4096), (2048, 2048, 2048), (1024, 1024, 1024), (8192, 8192, 128), (128, 8192, 8192),
         (16, 8192, 8192), (1, 8192, 8192), (4096, 11008, 4096), (4097, 4095, 4093), (16384, 1024, 4096)]
CASES = [{"M": m, "N": n, "K": k, "TYPE": "bf16", "OUT": "bf16"} for m, n, k in SIZES]


def measure(torch, options, problem):
    """Tunes the product, then measures it and cuBLASLt's in turns."""
    answer = tune(options, "gemm_hopper", problem)
    m, n, k = (problem[name] for name in "MNK")
    size, result_size = BYTES[problem["TYPE"]], BYTES[problem["OUT"]]
    result = Result("gemm_hopper", problem, None, {}, size * (m * k + k * n) + result_size * m * n, 2 * m * n * k, problem["TYPE"], (answer.get("best") or {}).get("config") or {})
    if not result.config:
        return result
    command = [options.gemm, "--spec", str(ROOT / "configs" / "gemm_hopper.toml"), "--type", problem["TYPE"], "--size", f"{m}x{n}x{k}"]
    environment = os.environ | ({"XTUNE_CACHE_DIR": options.store} if options.store else {})
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"error: {' '.join(command)}:\n{done.stderr}")
    times = json.loads(done.stdout)
    result.ours_ms = times["xtune_us"] / 1e3
    result.others_ms = {name: times[key] / 1e3 for name, key in (("cuBLASLt", "cublaslt_first_us"), ("best of 8", "cublaslt_best_us")) if key in times}
    return result
