#!/usr/bin/env python3
"""Mutation check of validation: does xtune notice a kernel with one mistake in it?

Applies each mutant of gemm_mutants.py to a copy of kernels/gemm, runs it with `xtune run`, and prints what caught it.
What a plain run lets through is run again with --sanitize (host only). A text that no longer occurs exactly once in the
kernel, a mutant that does not compile and an unchanged kernel that fails are errors.

  benchmarks/mutants/mutants.py --xtune build/dev/src/cli/xtune [--backend host] [--only TEXT]

Prints one line a mutant, those that nothing caught, and the ratio of the caught. Exit code 0 when all were caught, else
1."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gemm_mutants import F16_FILES, MUTANTS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def mutated(file, text, replacement):
    source = (ROOT / "kernels" / "gemm" / file).read_text()
    if source.count(text) != 1:
        sys.exit(f"error: this text occurs {source.count(text)} times in kernels/gemm/{file}, not once; the mutant that "
                 f"replaces it must be written anew:\n{text}")
    return source.replace(text, replacement)


def copy_of_kernel(folder, name, file=None, source=None):
    """The path of the spec `name` in a copy of what it needs."""
    shutil.copytree(ROOT / "kernels", folder / "kernels")
    spec = folder / "benchmarks" / "mutants"
    spec.mkdir(parents=True)
    for suffix in (".toml", ".csv"):
        shutil.copy(HERE / (name + suffix), spec / (name + suffix))
    if file:
        (folder / "kernels" / "gemm" / file).write_text(source)
    return spec / (name + ".toml")


def outcomes(options, spec, sanitize):
    """How many configurations ended in which outcome, over all cases, and the first failure's message."""
    store = spec.parent / ("store-sanitized" if sanitize else "store")
    command = [options.xtune, "run", str(spec), "--backend", options.backend, "--store", str(store), "--format", "json"]
    environment = dict(os.environ, XTUNE_JOBS="1")
    done = subprocess.run(command + (["--sanitize"] if sanitize else []), capture_output=True, text=True, env=environment)
    counts, message = {}, ""
    for file in store.glob("records/*/*/*.jsonl"):
        for line in file.read_text().splitlines():
            record = json.loads(line)
            if "outcome" not in record:
                continue
            counts[record["outcome"]] = counts.get(record["outcome"], 0) + 1
            if record["outcome"] != "ok" and not message:
                message = record.get("message", "").splitlines()[0] if record.get("message") else ""
    if not counts:
        sys.exit(f"error: xtune measured nothing:\n{done.stdout}\n{done.stderr}")
    return counts, message


def verdict(options, mutant):
    """(what caught it or None, how)."""
    file, _, text, replacement = mutant
    source = mutated(file, text, replacement)
    name = "gemm_f16" if file in F16_FILES else "gemm"
    for sanitize in (False, True) if options.backend == "host" else (False,):
        with tempfile.TemporaryDirectory() as folder:
            counts, message = outcomes(options, copy_of_kernel(Path(folder), name, file, source), sanitize)
        if counts.get("compile_failed"):
            return "error", "does not compile: " + message
        if set(counts) != {"ok"}:
            failed = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()) if outcome != "ok")
            return ("--sanitize" if sanitize else "plain run"), f"{failed} of {sum(counts.values())}: {message[:110]}"
    return None, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xtune", default=str(ROOT / "build/dev/src/cli/xtune"))
    parser.add_argument("--backend", default="host")
    parser.add_argument("--only", default="", help="mutants whose description contains this")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    for file, _, text, replacement in MUTANTS:
        mutated(file, text, replacement)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("gemm", "gemm_f16"):
            for sanitize in (False, True) if options.backend == "host" else (False,):
                spec = copy_of_kernel(Path(folder) / f"{name}-{sanitize}", name)
                counts, message = outcomes(options, spec, sanitize)
                if set(counts) != {"ok"}:
                    sys.exit(f"error: the kernel itself fails with {name}.toml: {counts} {message}")
    chosen = [mutant for mutant in MUTANTS if options.only in mutant[1]]
    missed, broken = [], 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for mutant, (caught, how) in zip(chosen, pool.map(lambda m: verdict(options, m), chosen)):
            print(f"{caught or 'NOT CAUGHT':<11} {mutant[0]}: {mutant[1]}" + (f" ({how})" if how else ""), flush=True)
            broken += caught == "error"
            if caught is None:
                missed.append(mutant[1])
    print(f"\ncaught on {options.backend}: {len(chosen) - len(missed) - broken} of {len(chosen)} mutants")
    if missed:
        print("not caught:\n  " + "\n  ".join(missed))
    return 1 if missed or broken else 0


if __name__ == "__main__":
    sys.exit(main())
