#!/usr/bin/env python3
"""Tunes the kernels of kernels/ and shows them beside PyTorch and the vendor's libraries, on an NVIDIA GPU.

  benchmarks/kernels.py --xtune build/dev/src/cli/xtune [--only softmax] [--seconds 10] [--json results.json]

Each line has the time of the best configuration and of the others in microseconds, the ratio to the fastest of the
others (above 1: xtune's kernel is faster), and two floors: the bytes that must move at the speed of a copy, and the
operations at the data sheet's peak. Needs PyTorch with CUDA; the products also need bench_gemm_cublas, which is built
where the CUDA toolkit is installed."""
import argparse
import dataclasses
import importlib
import json
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "kernels"))
import common

GROUPS = ["gemm", "attention", "sparse_attention", "delta", "rows", "stencils"]


def name_of(group, case):
    if group in ("gemm", "attention"):
        return f"{group}_hopper"
    if group == "sparse_attention":
        return group
    return case.kernel if group == "stencils" else case[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xtune", default=str(common.ROOT / "build/dev/src/cli/xtune"))
    parser.add_argument("--gemm", default=str(common.ROOT / "build/dev/benchmarks/bench_gemm_cublas"), help="the program beside cuBLASLt")
    parser.add_argument("--seconds", type=float, default=10, help="of tuning for each case")
    parser.add_argument("--only", action="append", help="a kernel, or a group: " + ", ".join(GROUPS))
    parser.add_argument("--store", help="as in xtune run")
    parser.add_argument("--json", help="write all results to this file")
    options = parser.parse_args()
    import torch
    speed = common.copy_GB_per_s(torch)
    print(f"{torch.cuda.get_device_name()}; a copy reads and writes {speed:.0f} GB/s\n{common.header()}", flush=True)
    results = []
    for group in GROUPS:
        module = importlib.import_module(group)
        for case in module.CASES:
            if options.only and group not in options.only and name_of(group, case) not in options.only:
                continue
            results.append(module.measure(torch, options, case))
            print(common.row(results[-1], speed), flush=True)
            torch.cuda.empty_cache()
            if options.json:
                pathlib.Path(options.json).write_text(json.dumps([dataclasses.asdict(result) for result in results]))
    for kernel in dict.fromkeys(result.kernel for result in results):
        ratios = [result.ratio() for result in results if result.kernel == kernel and result.ratio()]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(f"{kernel}: geometric mean {mean:.3f}, least {min(ratios):.3f} of {len(ratios)}")


if __name__ == "__main__":
    sys.exit(main())
