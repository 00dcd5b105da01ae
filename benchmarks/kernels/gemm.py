"""Matrix products: configs/gemm_hopper.toml beside cuBLASLt in one process (bench_gemm_cublas), the others beside PyTorch."""
import json
import math
import os
import random
import subprocess
import sys

from common import BYTES, ROOT, Result, time_torch, tune, tuned

# M, N, K: squares, few rows, a short sum, rows of odd lengths.
SIZES = [
    (8192, 8192, 8192),
    (4096, 4096, 4096),
    (2048, 2048, 2048),
    (1024, 1024, 1024),
    (8192, 8192, 128),
    (128, 8192, 8192),
    (16, 8192, 8192),
    (1, 8192, 8192),
    (4096, 11008, 4096),
    (4097, 4095, 4093),
    (17, 8191, 8189),
    (16384, 1024, 4096),
]
PORTABLE = [
    ("gemm", {"M": 4096, "N": 4096, "K": 4096}),
    ("gemm", {"M": 1024, "N": 1024, "K": 1024}),
    ("gemm", {"M": 4097, "N": 4095, "K": 4093}),
    ("gemm_f16", {"M": 4096, "N": 4096, "K": 4096, "TYPE": "f16"}),
]
# 8-bit floats are contiguous along K.
FLOAT8 = [
    ("gemm_hopper", {"M": size, "N": size, "K": size, "TYPE": "f8e4m3", "OUT": "bf16", "TRANSPOSED_B": True})
    for size in (4096, 8192)
]
CASES = (
    [("gemm_hopper", {"M": m, "N": n, "K": k, "TYPE": "bf16", "OUT": "bf16"}) for m, n, k in SIZES] + FLOAT8 + PORTABLE
)

# Rows and columns of the matrices that language models multiply by: Llama 3 of 8 and 70 billion parameters, Qwen 2.5 of 7
# and 32 billion.
WEIGHTS = [(4096, 6144), (4096, 4096), (4096, 28672), (14336, 4096), (8192, 10240), (8192, 8192), (8192, 57344)]
WEIGHTS += [(28672, 8192), (3584, 4608), (3584, 37888), (18944, 3584), (5120, 7168), (27648, 5120)]


def drawn(seed):
    """40 random products in bf16: 14 of nearly square matrices, 13 of few rows and a model's weights, 13 of a
    short or a long sum. The rows of every second one's matrices are a multiple of 16 bytes; N and K of the others are
    odd. The order is random, so that a part of them is representative, too."""
    random_ = random.Random(seed)

    def size(least, most):
        return round(math.exp(random_.uniform(math.log(least), math.log(most))))

    def square_like():
        edge = size(512, 8192)
        return tuple(min(max(round(edge * 2 ** random_.uniform(-1, 1)), 512), 8192) for _ in range(3))

    def few_rows():
        k, n = random_.choice(WEIGHTS)
        return size(1, 512), n, k

    def short_or_long():
        if random_.random() < 0.5:
            return size(1024, 8192), size(1024, 8192), size(32, 512)
        return size(128, 1024), size(128, 1024), size(4096, 32768)

    cases = []
    for family, count in ((square_like, 14), (few_rows, 13), (short_or_long, 13)):
        for _ in range(count):
            m, n, k = family()
            n, k = (side - side % 8 if len(cases) % 2 == 0 else side - 1 + side % 2 for side in (n, k))
            cases.append(("gemm_hopper", {"M": m, "N": n, "K": k, "TYPE": "bf16", "OUT": "bf16"}))
    random_.shuffle(cases)
    return cases


def aligned(problem):
    """Whether rows of both matrices begin at multiples of 16 bytes, as tensor maps need it."""
    return all(problem[name] * BYTES[problem["TYPE"]] % 16 == 0 for name in "NK")


def kernel_of(case):
    return case[0]


def measure(torch, options, case):
    kernel, problem = case
    return (
        measure_hopper(options, problem)
        if kernel == "gemm_hopper"
        else measure_portable(torch, options, kernel, problem)
    )


def measure_portable(torch, options, kernel, problem):
    """Beside cuBLAS, as PyTorch calls it. Results are f32 here, and of the inputs' type there."""
    torch.backends.cuda.matmul.allow_tf32 = False
    m, n, k = (problem[name] for name in "MNK")
    type_name = problem.get("TYPE", "f32")
    dtype = {"f32": torch.float32, "f16": torch.float16}[type_name]
    a, b = torch.rand(m, k, device="cuda", dtype=dtype), torch.rand(k, n, device="cuda", dtype=dtype)
    time, config = tuned(options, kernel, problem)
    return Result(
        kernel,
        problem,
        time,
        {"cuBLAS": time_torch(torch, lambda: torch.matmul(a, b))},
        BYTES[type_name] * (m * k + k * n) + 4 * m * n,
        2 * m * n * k,
        type_name,
        config,
    )


def measure_hopper(options, problem):
    """Tunes the product, then measures it and cuBLASLt's in turns."""
    answer = tune(options, "gemm_hopper", problem)
    m, n, k = (problem[name] for name in "MNK")
    size, result_size = BYTES[problem["TYPE"]], BYTES[problem["OUT"]]
    result = Result(
        "gemm_hopper",
        problem,
        None,
        {},
        size * (m * k + k * n) + result_size * m * n,
        2 * m * n * k,
        problem["TYPE"],
        (answer.get("best") or {}).get("config") or {},
    )
    if not result.config:
        return result
    command = [
        options.gemm,
        "--spec",
        str(ROOT / "configs" / "gemm_hopper.toml"),
        "--type",
        problem["TYPE"],
        "--size",
        f"{m}x{n}x{k}",
        "--layout",
        "nt" if problem.get("TRANSPOSED_B") else "nn",
    ]
    environment = os.environ | ({"XTUNE_CACHE_DIR": options.store} if options.store else {})
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"error: {' '.join(command)}:\n{done.stderr}")
    times = json.loads(done.stdout)
    # `xtune run` has validated the configuration; cuBLASLt drops products of the last k in some problems.
    if not times.get("difference", 0) < 0.02:
        print(f"note: the next result differs from cuBLASLt's by {times['difference']} of its norm", file=sys.stderr)
    result.ours_ms = times["xtune_us"] / 1e3
    result.others_ms = {
        name: times[key] / 1e3
        for name, key in (("cuBLASLt", "cublaslt_first_us"), ("cuBLASLt's best of 8", "cublaslt_best_us"))
        if key in times
    }
    return result
