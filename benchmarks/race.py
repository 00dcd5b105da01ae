#!/usr/bin/env python3
"""Measures what the race saves and whether it costs the answer: the same configurations measured in full, then raced
again and again, everything compiled already.

  benchmarks/race.py build/run/src/cli/xtune --backend cuda --evals 300 --runs 20

Prints one table; exits with 1 when one target is missed, unless --no-check is given. Targets: device busy at least 4x
less with the race; every raced run ends with the best of the full run, or with one that either run calls a tie of it.
Needs the xtune program, a spec with its kernels, and Python 3; no packages.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def unraced(spec, folder):
    """A copy of the spec without race and finals; what it names stays where it is."""
    text = spec.read_text()
    text = re.sub(r'"\.\./', f'"{spec.parent.parent.as_posix()}/', text)
    settings = "race = false\nfinals = 0\n"
    text = (
        text.replace("[measure]\n", "[measure]\n" + settings)
        if "[measure]\n" in text
        else text + "\n[measure]\n" + settings
    )
    path = pathlib.Path(folder) / spec.name
    path.write_text(text)
    return path


def run(arguments, spec, store, seed, *more):
    command = [
        arguments.xtune,
        "run",
        str(spec),
        "--backend",
        arguments.backend,
        "--store",
        store,
        "--evals",
        str(arguments.evals),
        "--strategy",
        "random",
        "--format",
        "json",
        "--quiet",
        "--fresh",
        *more,
    ]
    for define in arguments.define:
        command += ["-D", define]
    if seed is not None:
        command += ["--seed", str(seed)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with exit code {done.returncode}:\n{done.stderr}")
    result = json.loads(done.stdout)
    return result[0] if isinstance(result, list) else result


def configs_of(result):
    """The best and its ties, as comparable texts."""
    best = result["best"]
    return [
        json.dumps(config, sort_keys=True) for config in [best["config"], *(t.get("config", t) for t in best["ties"])]
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("xtune", help="the program")
    parser.add_argument("--spec", default=str(ROOT / "configs" / "gemm.toml"))
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--evals", type=int, default=300, help="configurations, the same of each run")
    parser.add_argument("--runs", type=int, default=20, help="raced runs")
    parser.add_argument("-D", dest="define", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--no-check", action="store_true", help="exit with 0 whatever the figures are")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        store = str(pathlib.Path(folder) / "store")
        spec = pathlib.Path(arguments.spec).resolve()
        full_spec = unraced(spec, folder)
        run(arguments, full_spec, store, None)  # compiles
        full = run(arguments, full_spec, store, None)
        busy, same, answers = [], 0, {}
        for _ in range(arguments.runs):
            # One seed, so that all measure the same configurations; the noise and the winner may differ.
            raced = run(arguments, spec, store, None)
            busy.append(raced["seconds"]["device_busy"])
            same += configs_of(raced)[0] in configs_of(full) or configs_of(full)[0] in configs_of(raced)
            answers[configs_of(raced)[0]] = answers.get(configs_of(raced)[0], 0) + 1
    ratio = full["seconds"]["device_busy"] / statistics.median(busy)
    print(f"{full['device']['name']}: {sum(full['counts'].values())} configurations; counts raced {raced['counts']}")
    print(f"in full: {full['seconds']['device_busy']:.2f} s, {full['best']['time_ms']:.4f} ms {configs_of(full)[0]}")
    print(f"raced: {min(busy):.2f} .. {statistics.median(busy):.2f} .. {max(busy):.2f} s")
    for config, count in sorted(answers.items(), key=lambda item: -item[1]):
        print(f"  {count} x {config}")
    print(f"device busy, in full / raced   {ratio:.2f}x   >= 4x   {'yes' if ratio >= 4 else 'NO'}")
    print(f"same best, or a tie   {same} of {arguments.runs}   all   {'yes' if same == arguments.runs else 'NO'}")
    return 0 if arguments.no_check or (ratio >= 4 and same == arguments.runs) else 1


if __name__ == "__main__":
    sys.exit(main())
