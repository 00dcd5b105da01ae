#!/usr/bin/env python3
"""Kernels that memory limits, against PyTorch: softmax, norms, reductions over an axis, transpose, matrix times vector.

  benchmarks/kernels/rows.py --xtune build/dev/src/cli/xtune [--seconds 10] [--only softmax] [--json results.json]

tune() runs `xtune run` on a spec of configs/; time_torch() times the same work in PyTorch, each launch after the L2 cache
was overwritten, as `xtune run` does it; row() shows GB/s of the bytes that must move, and of a copy of as many bytes,
which was timed in the same way. Needs an NVIDIA GPU and PyTorch with CUDA."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BYTES = {"f32": 4, "f16": 2, "bf16": 2, "u8": 1}
# Spec in configs/, and what is set in its problem: large and awkward sizes, all well beyond the L2 cache.
CASES = [
    ("softmax", {"M": 8192, "N": 8192, "TYPE": "f32"}),
    ("softmax", {"M": 16384, "N": 8192, "TYPE": "bf16"}),
    ("softmax", {"M": 65537, "N": 1001, "TYPE": "f32"}),
    ("softmax", {"M": 65537, "N": 2001, "TYPE": "f16"}),
    ("softmax", {"M": 1048576, "N": 64, "TYPE": "f32"}),
    ("softmax", {"M": 1024, "N": 65536, "TYPE": "f32"}),
    ("softmax", {"M": 32, "N": 2000000, "TYPE": "f32"}),
    ("layernorm", {"M": 8192, "N": 8192, "TYPE": "f32"}),
    ("layernorm", {"M": 16384, "N": 8192, "TYPE": "bf16"}),
    ("layernorm", {"M": 65537, "N": 1001, "TYPE": "f32"}),
    ("layernorm", {"M": 262144, "N": 512, "TYPE": "f16"}),
    ("layernorm", {"M": 32, "N": 2000000, "TYPE": "f32"}),
    ("rmsnorm", {"M": 8192, "N": 8192, "TYPE": "f32"}),
    ("rmsnorm", {"M": 65537, "N": 2001, "TYPE": "f16"}),
    ("reduce_axis", {"OUTER": 16384, "N": 8192, "INNER": 1, "TYPE": "f32", "OP": "sum"}),
    ("reduce_axis", {"OUTER": 65537, "N": 2001, "INNER": 1, "TYPE": "f16", "OP": "max"}),
    ("reduce_axis", {"OUTER": 16, "N": 8000000, "INNER": 1, "TYPE": "f32", "OP": "sum"}),
    ("reduce_axis", {"OUTER": 1, "N": 65536, "INNER": 2048, "TYPE": "f32", "OP": "sum"}),
    ("reduce_axis", {"OUTER": 4096, "N": 1000, "INNER": 33, "TYPE": "f32", "OP": "mean"}),
    ("transpose", {"M": 8192, "N": 8192, "TYPE": "f32"}),
    ("transpose", {"M": 8191, "N": 8193, "TYPE": "f32"}),
    ("transpose", {"M": 16384, "N": 16384, "TYPE": "f16"}),
    ("transpose", {"M": 16384, "N": 32768, "TYPE": "u8"}),
    ("transpose", {"M": 16383, "N": 32769, "TYPE": "u8"}),
    ("gemv", {"M": 16384, "N": 8192, "TYPE": "f32", "LEFT": "false"}),
    ("gemv", {"M": 16383, "N": 16385, "TYPE": "bf16", "LEFT": "false"}),
    ("gemv", {"M": 16384, "N": 16384, "TYPE": "f16", "LEFT": "true"}),
]


def described(problem):
    return " ".join(f"{name}={value}" for name, value in problem.items())


def bytes_moved(kernel, problem):
    """(read, written) at least, without what is small."""
    size = BYTES[problem["TYPE"]]
    if kernel == "reduce_axis":
        rest = problem["OUTER"] * problem["INNER"]
        return size * rest * problem["N"], size * rest
    elements = problem["M"] * problem["N"]
    return size * elements, 0 if kernel == "gemv" else size * elements


def torch_call(torch, kernel, problem):
    """A function without arguments that does the kernel's work in PyTorch."""
    dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "u8": torch.uint8}[problem["TYPE"]]

    def random(*shape):
        if dtype == torch.uint8:
            return torch.randint(0, 255, shape, device="cuda", dtype=dtype)
        return torch.rand(shape, device="cuda", dtype=dtype)

    functional = torch.nn.functional
    if kernel == "reduce_axis":
        x = random(problem["OUTER"], problem["N"], problem["INNER"])
        reduce = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax}[problem["OP"]]
        return lambda: reduce(x, dim=1)
    x = random(problem["M"], problem["N"])
    if kernel == "gemv":
        matrix = x.t() if problem["LEFT"] == "true" else x
        vector = random(matrix.shape[1])
        return lambda: torch.mv(matrix, vector)
    if kernel == "transpose":
        return lambda: x.t().contiguous()
    if kernel == "softmax":
        return lambda: torch.softmax(x, -1)
    gamma, beta = random(problem["N"]), random(problem["N"])
    if kernel == "layernorm":
        return lambda: functional.layer_norm(x, (problem["N"],), gamma, beta, 1e-5)
    return lambda: functional.rms_norm(x, (problem["N"],), gamma, 1e-5)


def time_torch(torch, call, launches=15):
    """Median time of a launch in milliseconds, with an overwritten L2 cache."""
    flush = torch.empty(3 * torch.cuda.get_device_properties(0).L2_cache_size, dtype=torch.uint8, device="cuda")
    times = []
    for _ in range(launches + 2):
        flush.zero_()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times[2:])


def time_copy(torch, total):
    """Median time of a copy that reads and writes `total` bytes together."""
    x = torch.empty(max(total // 2, 16), dtype=torch.uint8, device="cuda").fill_(7)
    y = torch.empty_like(x)
    return time_torch(torch, lambda: y.copy_(x))


def tune(xtune, kernel, problem, seconds, store):
    """What `xtune run --format json` prints."""
    pins = [word for name, value in problem.items() for word in ("-D", f"{name}={value}")]
    command = [xtune, "run", str(ROOT / "configs" / f"{kernel}.toml"), *pins, "--seconds", str(seconds), "--format", "json", "--quiet"]
    done = subprocess.run(command + (["--store", store] if store else []), capture_output=True, text=True)
    if not done.stdout.strip():
        raise SystemExit(f"error: {' '.join(command)}:\n{done.stderr}")
    return json.loads(done.stdout)


def measure(torch, xtune, kernel, problem, seconds, store=None):
    answer = tune(xtune, kernel, problem, seconds, store)
    total = sum(bytes_moved(kernel, problem))
    best = answer.get("best") or {}
    speed = {"xtune": best.get("time_ms"), "torch": time_torch(torch, torch_call(torch, kernel, problem)), "copy": time_copy(torch, total)}
    return {"kernel": kernel, "problem": problem, "config": best.get("config"), "counts": answer["counts"], "space": answer["space"],
            "failures": answer.get("failures"), "trace": answer.get("trace"),
            "GB_per_s": {name: total / time / 1e6 if time else 0.0 for name, time in speed.items()}}


def header():
    return f"{'kernel':<12}{'problem':<48}{'xtune':>6}{'torch':>6}{'copy':>6}  of copy  configuration"


def row(result):
    """A line of the table, in GB/s."""
    speed = result["GB_per_s"]
    values = " ".join(f"{name}={value}" for name, value in (result["config"] or {}).items())
    return (f"{result['kernel']:<12}{described(result['problem']):<48}{speed['xtune']:>6.0f}{speed['torch']:>6.0f}{speed['copy']:>6.0f}"
            f"{speed['xtune'] / speed['copy']:>8.1%}  {values} {result['counts']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xtune", default=str(ROOT / "build/dev/src/cli/xtune"))
    parser.add_argument("--seconds", type=float, default=10, help="for each case")
    parser.add_argument("--only", action="append", help="a kernel, or a number of CASES")
    parser.add_argument("--store", help="as in xtune run")
    parser.add_argument("--json", help="write all results to this file")
    options = parser.parse_args()
    import torch
    results = []
    print(header(), flush=True)
    for number, (kernel, problem) in enumerate(CASES):
        if options.only and kernel not in options.only and str(number) not in options.only:
            continue
        results.append(measure(torch, options.xtune, kernel, problem, options.seconds, options.store))
        print(row(results[-1]), flush=True)
        torch.cuda.empty_cache()
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(results))


if __name__ == "__main__":
    sys.exit(main())
