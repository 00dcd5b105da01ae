#!/usr/bin/env python3
"""How long spaces of published kernels take to construct, beside Kernel Tuner's constraint solver.

    benchmarks/space_construction.py --xtune build/release/src/cli/xtune FOLDER [--spec-dir DIR]

FOLDER holds spaces as JSON: {"name", "params": {name: [values]}, "constraints": [texts], "expected_valid": count}. Each is
converted to a space-only spec (kept in --spec-dir, if given) and constructed RUNS times by `xtune space`; printed are the
fastest construction, the program's peak memory and the ratios to Kernel Tuner. Exit code 1: a count is not as expected.
"""
import argparse
import json
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

RUNS = 7
# Kernel Tuner on a machine with 2 cores: construction in ms, peak memory in MB where it was taken.
KERNEL_TUNER = {
    "hotspot": (1160, 252),
    "gemm": (214, 133),
    "dedispersion": (16, None),
    "atf_prl_4x4": (26, None),
    "hub_convolution_milo": (7, None),
}


def to_spec(space):
    lines = ["[kernel]", f"name = {json.dumps(space['name'])}", "[space]"]
    lines += [f"constraints = {json.dumps(space['constraints'])}", "[space.params]"]
    lines += [f"{name} = {json.dumps(values)}" for name, values in space["params"].items()]
    return "\n".join(lines) + "\n"


def construct(xtune, spec):
    """Fastest construction in ms, number of valid configurations, peak memory of the process in MB (None without GNU time)."""
    best, valid, peak_mb = math.inf, None, None
    command = [xtune, "space", str(spec), "--backend", "host", "--format", "json"]
    for _ in range(RUNS):
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        best, valid = min(best, answer["construct_ms"]), answer["valid"]
    if gnu_time := shutil.which("time"):  # a child of Python counts Python's own pages
        run = subprocess.run([gnu_time, "-f", "%M", *command], check=True, capture_output=True, text=True)
        peak_mb = int(run.stderr.split()[-1]) / 1024
    return best, valid, peak_mb


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--xtune", required=True)
    parser.add_argument("--spec-dir", type=pathlib.Path)
    arguments = parser.parse_args()
    wrong, speedups = 0, []
    print(
        f"{'space':24} {'valid':>8} {'xtune ms':>10} {'Kernel Tuner ms':>16} {'ratio':>8} {'peak MB':>8} {'of theirs':>10}"
    )
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.spec_dir or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(arguments.folder.glob("*.json"), key=lambda p: p.stat().st_size):
            space = json.loads(path.read_text())
            spec = folder / f"{space['name']}.toml"
            spec.write_text(to_spec(space))
            ms, valid, peak_mb = construct(arguments.xtune, spec)
            theirs_ms, theirs_mb = KERNEL_TUNER.get(space["name"], (None, None))
            ratio = f"{theirs_ms / ms:.0f}x" if theirs_ms else "-"
            share = f"{peak_mb / theirs_mb:.1%}" if theirs_mb and peak_mb else "-"
            peak = f"{peak_mb:.1f}" if peak_mb else "-"
            if theirs_ms:
                speedups.append(theirs_ms / ms)
            expected = space.get("expected_valid", valid)
            wrong += valid != expected
            note = "" if valid == expected else f"   WRONG: {expected} expected"
            print(
                f"{space['name']:24} {valid:8} {ms:10.3f} {theirs_ms or '-':>16} {ratio:>8} {peak:>8} {share:>10}{note}"
            )
    if speedups:
        mean = math.exp(sum(map(math.log, speedups)) / len(speedups))
        print(f"geometric mean of the ratios: {mean:.0f}x")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
