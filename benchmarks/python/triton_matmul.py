#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wall time of tuning a Triton matmul: xtune.autotune and triton.autotune, with the same configurations.

  triton_matmul.py [--size M N K] [--repeats N] [--few]

Each tuning is a fresh process with empty caches of both (TRITON_CACHE_DIR, XTUNE_CACHE_DIR). Before the clock starts,
the process has imported everything, made its tensors, and launched another Triton kernel, so that the costs of the first
launch in a process and on a machine are in neither. The clock then runs from the first launch of the matmul to its end.
Tunings by the two take turns. At the end, one process times the winners side by side, in turns, by triton.testing.do_bench.

xtune's time is split into what its run reports: until the run begins (a separate process finds the device),
compiling, and measuring. --few: 6 configurations instead of 24.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "kernels"))
import common


def configurations(few):
    tiles = [(128, 256, 64), (128, 128, 64), (64, 128, 64), (64, 256, 32), (128, 64, 32), (128, 128, 32)]
    ways = [(8, 3)] if few else [(4, 3), (4, 4), (8, 3), (8, 4)]
    return [
        {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8, "num_warps": warps, "num_stages": stages}
        for m, n, k in tiles
        for warps, stages in ways
    ]


def triton_config(triton, config):
    options = {name: config[name] for name in ("num_warps", "num_stages")}
    return triton.Config({name: value for name, value in config.items() if name not in options}, **options)


def tensors(torch, M, N, K):
    torch.manual_seed(1)
    a = torch.randn(M, K, device="cuda", dtype=torch.float16)
    b = torch.randn(K, N, device="cuda", dtype=torch.float16)
    return a, b, torch.empty(M, N, device="cuda", dtype=torch.float16)


def grid_of(triton, M, N):
    return lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)


def first_launch(torch, triton, axpy):
    x = torch.ones(1024, device="cuda")
    axpy[(1,)](x, x, 2.0, 1024, BLOCK=1024)
    torch.cuda.synchronize()


def tune(which, size, few):
    """What tuning by one of the two took, and found."""
    import torch
    import triton
    import triton_kernels as kernels

    M, N, K = size
    a, b, c = tensors(torch, M, N, K)
    first_launch(torch, triton, kernels.axpy)
    configs = [triton_config(triton, config) for config in configurations(few)]
    if which == "triton":
        kernel = triton.autotune(configs=configs, key=["M", "N", "K"])(kernels.matmul)
    else:
        import xtune

        kernel = xtune.autotune(configs=configs, key=["M", "N", "K"])(kernels.matmul)
    grid = grid_of(triton, M, N)
    begin = time.perf_counter()
    kernel[grid](a, b, c, M, N, K)
    torch.cuda.synchronize()
    wall = time.perf_counter() - begin
    begin = time.perf_counter()
    for _ in range(100):
        kernel[grid](a, b, c, M, N, K)
    call_us = (time.perf_counter() - begin) / 100 * 1e6
    torch.cuda.synchronize()
    right = torch.allclose(c.float(), (a.float() @ b.float()), atol=0.5, rtol=2e-2)
    answer = {"wall_s": wall, "call_us": call_us, "right": bool(right), "device": torch.cuda.get_device_name()}
    if which == "triton":
        best = kernel.best_config
        answer["config"] = {**best.kwargs, "num_warps": best.num_warps, "num_stages": best.num_stages}
    else:
        result = kernel.results[-1]
        answer.update(
            config=result.best.config,
            counts=result.counts,
            run_s=result.total_s,
            device_s=result.device_busy_s,
            compile_s=sum(each.compile_s for each in result.measurements),
            samples=sum(len(each.samples_ms) for each in result.measurements),
            ties=[each.config for each in result.ties],
        )
    return answer


def compare(size, configs):
    """The times of these configurations in ms, measured in turns."""
    import torch
    import triton
    import triton_kernels as kernels

    M, N, K = size
    a, b, c = tensors(torch, M, N, K)
    times = [[] for _ in configs]
    for _ in range(5):
        for config, own in zip(configs, times):
            own.append(
                triton.testing.do_bench(
                    lambda: kernels.matmul[grid_of(triton, M, N)](a, b, c, M, N, K, **config), return_mode="median"
                )
            )
    print("ANSWER " + json.dumps([statistics.median(own) for own in times]))


def child(*words):
    with tempfile.TemporaryDirectory() as place:
        printed, why = common.child(__file__, words, place)
    answer = common.marked(printed, "ANSWER ")
    if why or answer is None:
        raise RuntimeError(f"{' '.join(words)}: {why or 'no answer'}:\n{printed[-2000:]}")
    return answer


def in_words(config):
    return " ".join(f"{name}={value}" for name, value in config.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, nargs=3, default=[4096, 4096, 4096], metavar=("M", "N", "K"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--tune", choices=("triton", "xtune"), help=argparse.SUPPRESS)
    parser.add_argument("--compare", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.tune:
        print("ANSWER " + json.dumps(tune(options.tune, options.size, options.few)))
        return
    if options.compare:
        return compare(options.size, json.loads(options.compare))
    words = ["--size", *map(str, options.size), *(["--few"] if options.few else [])]
    answers = {"triton": [], "xtune": []}
    for _ in range(options.repeats):
        for which, own in answers.items():
            try:
                own.append(child("--tune", which, *words))
                print(which, json.dumps(own[-1]), flush=True)
            except RuntimeError:
                traceback.print_exc()
    if not answers["triton"] or not answers["xtune"]:
        sys.exit("one of the two never succeeded")
    winners = {which: own[0]["config"] for which, own in answers.items()}
    try:
        times = dict(zip(winners, child("--compare", json.dumps(list(winners.values())), *words)))
    except RuntimeError:
        traceback.print_exc()
        times = {}
    walls = {which: statistics.median(each["wall_s"] for each in own) for which, own in answers.items()}
    size = " x ".join(map(str, options.size))
    print(
        f"\n{size}, f16, {len(configurations(options.few))} configurations, {answers['xtune'][0]['device']}, "
        f"{os.cpu_count()} cores"
    )
    for which, own in answers.items():
        print(
            f"{which:7} {walls[which]:7.2f} s ({min(e['wall_s'] for e in own):.2f} .. "
            f"{max(e['wall_s'] for e in own):.2f})  winner {times.get(which, float('nan')) * 1e3:8.1f} us  "
            f"call {own[0]['call_us']:5.1f} us  {'right' if all(e['right'] for e in own) else 'WRONG'}  "
            f"{in_words(winners[which])}"
        )
    first = answers["xtune"][0]
    print(f"xtune / triton: {walls['xtune'] / walls['triton']:.3f} of the wall time (goal: at most 0.5)")
    print(
        f"xtune: {first['wall_s'] - first['run_s']:.2f} s before and after the run, {first['device_s']:.2f} s measuring "
        f"({first['samples']} samples), {first['compile_s']:.2f} s of compiling in all threads together"
    )


if __name__ == "__main__":
    main()
