#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares xtune with other tuners: how long each one tunes, and how fast the kernel is that it chose.

  peers.py --sources DIR [--only WORD...] [--save FILE.json]

Each tuner runs in its own process, with empty caches and a time limit. Timing starts when all imports are done and the
inputs are on the GPU. Afterwards one process for each problem calls all answers in turns, the L2 cache flushed
before each launch, compares their results with PyTorch's, and times the host's part of a call.

Needs an NVIDIA GPU, PyTorch, CuPy, xtune's package and the packages of the others: kernel_tuner, triton, helion, tilelang.
A missing one costs its rows only. --sources has these files of the others' repositories, which are not part of xtune:

  kernel_tuner/examples/cuda/convolution.cu          (KernelTuner/kernel_tuner)
  helion/examples/matmul.py                          (pytorch/helion)
  tilelang/examples/gemm/example_gemm_autotune.py    (tile-ai/tilelang)
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

import contenders
from contenders import CONTENDERS, PROBLEMS

import common

ROUNDS, LAUNCHES, CALLS = 9, 5, 100


def last_lines(text, count):
    return "\n".join(text.splitlines()[-count:])


def child(options, place, limit, *words):
    place.mkdir()
    return common.child(__file__, ["--sources", str(options.sources), *words], place, limit)


def prepared(problem):
    """PyTorch and the inputs, with the GPU awake."""
    import torch

    inputs = PROBLEMS[problem][0](torch)
    torch.cuda.synchronize()
    return torch, inputs


def tune(options):
    contender = CONTENDERS[options.tune]
    options.seconds = contender.seconds
    _, inputs = prepared(contender.problem)
    answer = contender.tune(options, inputs)
    print("\nANSWER " + json.dumps({**answer, "version": contenders.version(contender.package)}))


def measure(options):
    """Times of the answers by number; a call that fails is left out, with its reason."""
    answers = {int(number): answer for number, answer in json.loads(options.measure.read_text()).items()}
    problem = CONTENDERS[min(answers)].problem
    torch, inputs = prepared(problem)
    expected, tolerance = PROBLEMS[problem][1](torch, inputs), PROBLEMS[problem][2]
    found, calls = {}, {}
    for number, answer in answers.items():
        print(f"\nTRYING {number}", flush=True)  # a fault of the GPU ends the process here
        try:
            call = CONTENDERS[number].call(options, inputs, answer)
            apart = common.difference(call(), expected)
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(CALLS):
                call()
            call_us = (time.perf_counter() - begin) / CALLS * 1e6
            torch.cuda.synchronize()
        except Exception as error:
            found[number] = {"error": f"{type(error).__name__}: {last_lines(str(error), 1)}"}
            continue
        calls[number] = call
        found[number] = {"call_us": call_us, "right": apart <= tolerance, "apart": apart}
    times = {number: [] for number in calls}
    for _ in range(ROUNDS):
        for number, call in calls.items():
            print(f"\nTRYING {number}", flush=True)
            times[number].append(1e3 * common.time_torch(torch, call, launches=LAUNCHES))
    for number, own in times.items():
        found[number].update(time_us=statistics.median(own), spread_us=[min(own), max(own)])
    print("\nTIMES " + json.dumps(found))


def measured(options, place, answers):
    """Of all answers of a problem; one that ends the process is left out in another try."""
    found = {}
    while answers:
        file = place / f"{len(found)}.json"
        file.write_text(json.dumps(answers))
        printed, why = child(options, place / f"measure-{len(found)}", options.limit, "--measure", str(file))
        if why is None:
            found.update(common.marked(printed, "TIMES ") or {})
            break
        guilty = str(common.marked(printed, "TRYING "))
        found[guilty if guilty in answers else next(iter(answers))] = {"error": f"measuring: {why}"}
        answers = {number: answer for number, answer in answers.items() if number not in found}
    return found


def compared(options, problem, numbers):
    """Rows of a problem: what each contender answered, and the time of its answer."""
    with tempfile.TemporaryDirectory(prefix="peers-") as directory:
        place, rows = pathlib.Path(directory), {}
        for number in numbers:
            contender = CONTENDERS[number]
            if contender.tune is None:
                rows[str(number)] = {"version": contenders.version(contender.package)}
                continue
            printed, why = child(options, place / str(number), contender.limit, "--tune", str(number))
            answer = None if why else common.marked(printed, "ANSWER ")
            rows[str(number)] = answer or {"error": why or "it ended without an answer"}
            print(f"{problem}: {contender.name}: {json.dumps(rows[str(number)])}", flush=True)
        found = measured(options, place, {number: row for number, row in rows.items() if "error" not in row})
    return [
        {"problem": problem, "tuner": CONTENDERS[int(number)].name, **row, **found.get(number, {})}
        for number, row in rows.items()
    ]


def line(row, fastest):
    numbers = (("wall_s", "{:.1f}"), ("evaluations", "{}"), ("time_us", "{:.1f}"), ("call_us", "{:.1f}"))
    cells = [pattern.format(row[name]) if name in row else "-" for name, pattern in numbers]
    cells.insert(3, f"{row['time_us'] / fastest:.2f}" if "time_us" in row else "-")
    words = " ".join(f"{name}={value}" for name, value in (row.get("config") or {}).items())
    result = row.get("error") or ("right" if row.get("right") else f"WRONG by {row.get('apart')}")
    name = f"{row['tuner']} {row.get('version', '')}".strip()
    return f"{name:<42}" + "".join(f"{cell:>10}" for cell in cells) + f"  {result[:100]}  {words[:160]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=pathlib.Path, required=True, metavar="DIR")
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="WORD", help="only problems and tuners with such a word"
    )
    parser.add_argument("--limit", type=float, default=90, help="seconds to measure the answers of a problem (90)")
    parser.add_argument("--save", type=pathlib.Path, metavar="FILE.json")
    parser.add_argument("--tune", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--measure", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.tune is not None:
        return tune(options)
    if options.measure:
        return measure(options)
    import torch

    if not torch.cuda.is_available():
        sys.exit("error: PyTorch finds no NVIDIA GPU")
    device, rows = torch.cuda.get_device_name(), []
    for problem in PROBLEMS:
        numbers = [
            number
            for number, each in enumerate(CONTENDERS)
            if each.problem == problem and any(word in f"{problem}: {each.name}" for word in options.only)
        ]
        rows += compared(options, problem, numbers)
        if options.save:
            options.save.write_text(json.dumps({"device": device, "cores": os.cpu_count(), "rows": rows}, indent=1))
    print(f"\n{device}, {os.cpu_count()} cores, PyTorch {torch.__version__}")
    heads = ("tuning, s", "evals", "time, us", "ratio", "call, us")
    for problem in dict.fromkeys(row["problem"] for row in rows):
        own = [row for row in rows if row["problem"] == problem]
        fastest = min((row["time_us"] for row in own if row.get("right")), default=float("nan"))
        print(f"\n{problem:<42}" + "".join(f"{head:>10}" for head in heads) + "  result  configuration")
        for row in own:
            print(line(row, fastest))


if __name__ == "__main__":
    main()
