#!/usr/bin/env python3
"""Measures the speed of the tuner itself: how compiling scales with processes, how well it overlaps with measuring, and
how fast a stored run answers.

Needs the xtune program, a spec with its kernels, and Python 3; no packages.

  benchmarks/tuning_throughput.py build/run/src/cli/xtune --backend cuda --evals 128

Prints one table of ratios; exits with 1 when one misses its target, unless --no-check is given. Targets: compile phase
at least 8x faster with 16 jobs than with 1 (--jobs 16 leaves that out); a run's wall clock at most 1.1 x max(compile CPU
seconds / jobs, device busy seconds); a fully stored rerun at most 100 ms as a whole process. The first needs 16 cores, and a GPU: on the host
backend compiling and measuring take turns on the same cores.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time


def run(arguments, store, jobs, *more):
    """One `xtune run`; returns its JSON and the wall clock of the whole process in seconds."""
    command = [
        arguments.xtune,
        "run",
        arguments.spec,
        "--backend",
        arguments.backend,
        "--store",
        store,
        "--evals",
        str(arguments.evals),
        "--strategy",
        arguments.strategy,
        "--format",
        "json",
        "--quiet",
        *more,
    ]
    for define in arguments.define:
        command += ["-D", define]
    environment = dict(os.environ, XTUNE_JOBS=str(jobs), XTUNE_DISABLE_CACHE="")
    start = time.monotonic()
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wall = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with exit code {done.returncode}:\n{done.stderr}")
    result = json.loads(done.stdout)
    return (result[0] if isinstance(result, list) else result), wall


def row(what, value, target, met):
    return [what, value, target, "yes" if met else "NO"]


def print_table(rows):
    header = ["what", "measured", "target", "met"]
    widths = [max(len(line[i]) for line in [header, *rows]) for i in range(len(header))]
    for line in [header, ["-" * width for width in widths], *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("xtune", help="the program")
    parser.add_argument("--spec", default=str(root / "configs" / "gemm.toml"))
    parser.add_argument("--backend", default="auto")
    parser.add_argument(
        "--strategy",
        default="random",
        help="random lets compilers run ahead of the device; a search that learns makes them wait",
    )
    parser.add_argument("--evals", type=int, default=128, help="configurations of each run")
    parser.add_argument(
        "--jobs", type=int, nargs="+", default=[1, 16], help="counts of compile jobs, the last one the largest"
    )
    parser.add_argument("--reruns", type=int, default=7, help="stored runs to take the median of")
    parser.add_argument("-D", dest="define", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--no-check", action="store_true", help="exit with 0 whatever the ratios are")
    arguments = parser.parse_args()

    rows, compile_wall = [], {}
    with tempfile.TemporaryDirectory() as folder:
        # The inventory of the machine is cached here, so that no run pays for the first probe.
        os.environ["XTUNE_CACHE_DIR"] = str(pathlib.Path(folder) / "cache")
        subprocess.run(
            [arguments.xtune, "devices", "--backend", arguments.backend],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for jobs in arguments.jobs:
            # An empty store each: nothing is compiled before.
            store = str(pathlib.Path(folder) / f"store-{jobs}")
            result, wall = run(arguments, store, jobs, "--fresh")
            seconds = result["seconds"]
            compile_wall[jobs] = seconds["compile_wall"]
            least = max(seconds["compile_cpu"] / jobs, seconds["device_busy"])
            print(
                f"{result['device']['name']}, {jobs} jobs: {sum(result['counts'].values())} configurations in "
                f"{wall:.2f} s, compiling {seconds['compile_wall']:.2f} s (CPU {seconds['compile_cpu']:.2f} s), "
                f"device busy {seconds['device_busy']:.2f} s"
            )
            rows.append(
                row(
                    f"wall clock / max(compile CPU / jobs, device busy), {jobs} jobs",
                    f"{wall / least:.2f} ({wall:.2f} s / {least:.2f} s)",
                    "<= 1.1",
                    wall <= 1.1 * least,
                )
            )
        few, many = arguments.jobs[0], arguments.jobs[-1]
        if few != many:
            speedup = compile_wall[few] / max(compile_wall[many], 1e-9)
            rows.insert(0, row(f"compile phase, {few} / {many} jobs", f"{speedup:.2f}x", ">= 8x", speedup >= 8))
        reruns = []
        for _ in range(arguments.reruns):
            result, wall = run(arguments, store, many)
            total = sum(result["counts"].values())
            if result["from_store"] != total:
                sys.exit(f"the stored rerun took {result['from_store']} of {total} configurations from the store")
            reruns.append(wall)
        median_ms = statistics.median(reruns) * 1e3
        rows.append(row("stored rerun, whole process", f"{median_ms:.0f} ms", "<= 100 ms", median_ms <= 100))
    print()
    print_table(rows)
    return 0 if arguments.no_check or all(line[-1] == "yes" for line in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
