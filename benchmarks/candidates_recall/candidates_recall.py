#!/usr/bin/env python3
"""Judges `xtune candidates` by measurements that exist: how close the best of its first k comes to the optimum of an
exhaustive recording, for the model, for carver's formula, and for k configurations drawn at random.

Needs the xtune program, a spec that maps the recorded kernel's parameters (the .toml files beside this script), and
Kernel Tuner cache files (.json or .json.gz), which are not part of the project. Python 3; no packages.

  benchmarks/candidates_recall/candidates_recall.py build/run/src/cli/xtune benchmarks/candidates_recall/gemm.toml \\
      --product "RTX 2080 Ti" gemm-RTX_2080_Ti.json.gz

Prints optimum time / best listed time after 1, 5, 10, 20 and 50; 1 is the optimum itself. random is the expected value.
A listed configuration that the recording lacks or where it failed counts as listed. --require 20:0.87 exits with 1 when
the model's value after 20 is below.
"""

import argparse
import gzip
import json
import pathlib
import subprocess
import sys

COUNTS = [1, 5, 10, 20, 50]


def read_recording(path):
    """{(parameter, value), ...}: time in ms, of the configurations that ran."""
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path)
    with opened as file:
        recording = json.load(file)
    times = {}
    for entry in recording["cache"].values():
        time = entry.get("time")
        if isinstance(time, (int, float)) and 0 < time < 1e9:
            times[frozenset((name, entry[name]) for name in recording["tune_params_keys"])] = time
    return recording, times


def listed(arguments, rank, count, names):
    """The `count` configurations that xtune lists, as sets of (parameter, value)."""
    command = [arguments.xtune, "candidates", arguments.spec, "--top", str(count), "--rank", rank, "--format", "json"]
    command += ["--product", arguments.product] if arguments.product else ["--arch", arguments.arch]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with exit code {done.returncode}:\n{done.stderr}")
    answer = json.loads(done.stdout)
    return [
        frozenset((name, value) for name, value in entry["config"].items() if name in names)
        for entry in answer["candidates"]
    ], answer["space"]


def expected_random(times, failed, count):
    """The expected optimum / best of `count` distinct configurations, of which `failed` of the space did not run."""
    total = len(times) + failed
    count = min(count, total)
    best = times[0]
    value, none_better = 0.0, 1.0  # none_better: that none of the faster ones is drawn
    for place, time in enumerate(times):
        left = total - place
        hit = count / left if left > 0 else 0
        chance = none_better * min(1.0, hit)
        value += chance * best / time
        none_better -= chance
        if none_better <= 1e-12:
            break
    return value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("xtune")
    parser.add_argument("spec")
    parser.add_argument("recording", nargs="+", type=pathlib.Path)
    parser.add_argument("--product", default="")
    parser.add_argument("--arch", default="")
    parser.add_argument("--require", default="", metavar="COUNT:VALUE")
    arguments = parser.parse_args()
    met = True
    print(f"{'recording':28} {'rank':7}" + "".join(f"{count:>8}" for count in COUNTS) + "  not recorded")
    for path in arguments.recording:
        recording, times = read_recording(path)
        order = sorted(times.values())
        rows = {}
        for rank in ("model", "carver"):
            # Parameters that are missing from the spec have one value in the recording.
            fixed = {(name, values[0]) for name, values in recording["tune_params"].items() if len(values) == 1}
            rows[rank] = []
            for count in COUNTS:  # each its own list: a longer one is spread wider, not only longer
                configs, space = listed(arguments, rank, count, set(recording["tune_params_keys"]))
                found = [times.get(config | fixed, times.get(config)) for config in configs]
                best = min((time for time in found if time is not None), default=float("inf"))
                rows[rank].append(order[0] / best)
            missing = sum(time is None for time in found)
            print(
                f"{path.name.split('.')[0]:28} {rank:7}"
                + "".join(f"{value:8.3f}" for value in rows[rank])
                + f"  {missing} of {len(found)}"
            )
        failed = len(recording["cache"]) - len(times)
        random = [expected_random(order, failed, count) for count in COUNTS]
        print(
            f"{'':28} {'random':7}"
            + "".join(f"{value:8.3f}" for value in random)
            + f"  ({len(times)} recorded, {failed} failed, {space['valid']} valid in the spec)"
        )
        if arguments.require:
            count, least = arguments.require.split(":")
            if rows["model"][COUNTS.index(int(count))] < float(least):
                met = False
                print(f"{path.name}: the best of {count} is below {least}", file=sys.stderr)
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
