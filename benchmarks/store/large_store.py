#!/usr/bin/env python3
"""Times the commands that read a store on one of a million records, in two shapes: one problem with a million
configurations, and a thousand problems with a thousand configurations each.

Needs the xtune program, bench_records (benchmarks/store/million_records.cpp), g++ for the host backend, 4 GB of disk,
and Python 3; no packages.

  benchmarks/store/large_store.py build/bench/src/cli/xtune build/bench/benchmarks/bench_records

Prints a table: wall clock, user and system CPU time of the whole process, peak memory as the kernel counts it (pages
of files that are mapped count, cached ones do not). --commands takes some of the commands; --side 100 makes 10,000
records, for a quick look.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

KERNEL = """extern "C" __global__ void copy(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
"""
SPEC = """[kernel]
name = "copy"
source = "copy.cu"
entry = "copy"
{problems}
[space.params]
{parameters}
[launch]
grid = ["ceildiv(N, 64)"]
block = [64]
[[args]]
name = "x"
dtype = "f32"
shape = [1, "N"]
[[args]]
name = "y"
dtype = "f32"
shape = ["N", 1]
role = "out"
[[args]]
name = "n"
kind = "scalar"
dtype = "i32"
value = "N"
[validate]
reference = {{ builtin = "transpose", x = "x" }}
[measure]
rep = 7
min_rep = 5
race = false
finals = 0
"""
COMMANDS = ["best", "why", "cover", "gc", "ls", "export", "verify", "run"]


def parameter(name, values):
    return f"{name} = {{ values = [{', '.join(map(str, range(values)))}], compile_time = false }}"


def shapes(side):
    """Name -> text of the spec."""
    one = SPEC.format(problems="[problem]\nN = 4096", parameters=parameter("A", side) + "\n" + parameter("B", side))
    cases = "".join(f"[[cases]]\nN = {64 * (i + 1)}\n" for i in range(side))
    many = SPEC.format(problems="[problem]\nN = 64\n" + cases, parameters=parameter("A", side))
    return {f"1 problem x {side * side} configurations": one, f"{side} problems x {side} configurations": many}


def timed(command, environment):
    """Exit code, seconds of wall clock, user and system time, peak MB."""
    start = time.monotonic()
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        process = subprocess.Popen(command, env=environment, stdout=nowhere, stderr=nowhere)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, time.monotonic() - start, usage.ru_utime, usage.ru_stime, usage.ru_maxrss / 1024


def arguments_of(command, folder, side):
    spec, store = folder / "copy.toml", folder / "store"
    common = ["--store", store]
    if command in ("best", "why", "cover"):
        return [command, spec, "--backend", "host", *common]
    if command == "run":
        return [
            "run",
            spec,
            "--backend",
            "host",
            "--evals",
            side * side,
            "--strategy",
            "exhaustive",
            "--quiet",
            *common,
        ]
    return ["store", command, *common]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("xtune", type=pathlib.Path)
    parser.add_argument("bench_records", type=pathlib.Path)
    parser.add_argument("--side", type=int, default=1000)
    parser.add_argument("--commands", nargs="+", default=COMMANDS, choices=COMMANDS)
    options = parser.parse_args()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("XTUNE_")}
    for name, text in shapes(options.side).items():
        with tempfile.TemporaryDirectory() as path:
            folder = pathlib.Path(path)
            environment["XTUNE_CACHE_DIR"] = str(folder / "cache")
            (folder / "copy.cu").write_text(KERNEL, encoding="utf-8")
            (folder / "copy.toml").write_text(text, encoding="utf-8")
            template = SPEC.format(problems="[problem]\nN = 4096", parameters=parameter("A", 1))
            (folder / "template.toml").write_text(template, encoding="utf-8")
            first = [
                options.xtune,
                "run",
                folder / "template.toml",
                "--backend",
                "host",
                "--quiet",
                "--store",
                folder / "store",
            ]
            done = subprocess.run(first, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0:
                sys.exit(done.stdout)
            made = subprocess.run(
                [options.bench_records, folder / "copy.toml", folder / "store"],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
            print(f"{name}: {made.stdout.strip()}")
            for command in options.commands:
                call = [str(word) for word in [options.xtune, *arguments_of(command, folder, options.side)]]
                code, wall, user, system, peak = timed(call, environment)
                print(
                    f"  {command:8} {wall:7.2f} s wall {user:7.2f} s user {system:6.2f} s system {peak:7.0f} MB"
                    f"{'' if code == 0 else f'   exit code {code}'}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
