#!/usr/bin/env python3
"""The kernels of kernels/ compute what their specs promise, and validation refuses single mistakes in them.

kernels.py --xtune PROGRAM [--part right|mutants|compile] TABLE...

A table, NAME.toml beside this file, describes the test of one spec; README.md lists its keys. Each test

- validates chosen configurations on the host backend, on small and odd problems;
- builds the kernel's mutants, each with one mistake, and expects that validation refuses each of them. All mutants of a
  kernel are in one source, with a parameter MUTANT that selects one, so that one run tries them all;
- compiles a few configurations of the spec itself for sm_90a and gfx90a, if the compilers are there.
"""
import argparse
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
KEYS = {"spec", "problems", "mutant_problems", "configs", "mutants", "compile_problems", "compile_archs"}
MUTANT_KEYS = {"what", "file", "text", "with", "configs"}
UNAVAILABLE = 4
# One launch before and one after the measurement are judged; more would only take time.
MEASURE = {"warmup": 0, "rep": 1, "min_rep": 1, "flush": "none", "race": False, "finals": 0, "wait_s": 0}


class Failure(Exception):
    """What a user of the table has to know."""


def toml_value(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml_value(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(toml_value(each) for each in value) + "]"
    return json.dumps(value)


def toml_text(spec):
    """A spec as TOML: one table for each section, everything below it inline."""
    lines = []
    for section, content in spec.items():
        tables = content if isinstance(content, list) else [content]
        for table in tables:
            lines.append(f"[[{section}]]" if isinstance(content, list) else f"[{section}]")
            lines += [f"{json.dumps(key)} = {toml_value(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


def read_table(name):
    path = HERE / f"{name}.toml"
    with open(path, "rb") as file:
        table = tomllib.load(file)
    for mutant in table.get("mutants", []):
        if unknown := set(mutant) - MUTANT_KEYS:
            raise Failure(f"{path.name}: unknown keys {sorted(unknown)} in [[mutants]]")
    if unknown := set(table) - KEYS:
        raise Failure(f"{path.name}: unknown keys {sorted(unknown)}")
    return table


def mutated_source(source, mutants, where):
    """The source with all (number, mutant) of it, between #if MUTANT == number and #endif."""
    spans = {}
    for number, mutant in mutants:
        text = mutant["text"]
        if source.count(text) != 1:
            raise Failure(f"{where}: the text of the mutant '{mutant['what']}' occurs {source.count(text)} times, not once:\n{text}")
        begin = source.index(text)
        spans.setdefault((begin, begin + len(text)), []).append((number, mutant))
    pieces, end = [], 0
    for (begin, until), choices in sorted(spans.items()):
        if begin < end:
            raise Failure(f"{where}: the text of the mutant '{choices[0][1]['what']}' overlaps another mutant's text; make them equal")
        pieces.append(source[end:begin])
        for place, (number, mutant) in enumerate(choices):
            pieces.append(f"\n#{'elif' if place else 'if'} MUTANT == {number}\n{mutant['with']}")
        pieces.append(f"\n#else\n{source[begin:until]}\n#endif\n")
        end = until
    return "".join(pieces) + source[end:]


class Trial:
    """A copy of a spec and of kernels/ in a temporary directory, with problems and configurations of the table."""

    def __init__(self, xtune, table, folder):
        self.xtune, self.table, self.folder = xtune, table, pathlib.Path(folder)
        with open(ROOT / "configs" / table["spec"], "rb") as file:
            self.spec = tomllib.load(file)
        shutil.copytree(ROOT / "kernels", self.folder / "kernels")
        (self.folder / "configs").mkdir()

    def write_spec(self, problems, configs):
        """configs: parameter values, all with the same names. Returns the spec's path."""
        spec = {key: value for key, value in self.spec.items() if key not in ("on", "cases", "candidates", "search", "space", "measure")}
        default = spec.get("problem", {})
        spec["problem"] = default | problems[0]
        spec["cases"] = problems
        declared = self.spec["space"]["params"]
        names = list(configs[0])
        params = {}
        for name in names:
            values = sorted({config[name] for config in configs})
            compiled = declared[name].get("compile_time", True) if isinstance(declared.get(name), dict) else True
            params[name] = {"values": values, "compile_time": compiled}
        spec["space"] = {"configs": "configs.csv"}
        spec["space.params"] = params
        spec["measure"] = MEASURE | {key: value for key, value in self.spec.get("measure", {}).items() if key == "timeout_s"}
        spec["search"] = {"strategy": "exhaustive"}
        with open(self.folder / "configs" / "configs.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(names)
            for config in configs:
                row = [config[name] for name in names]
                writer.writerow([str(value).lower() if isinstance(value, bool) else value for value in row])
        path = self.folder / "configs" / self.table["spec"]
        path.write_text(toml_text(spec))
        return path

    def records(self, problems, configs):
        """The last record of each configuration and problem."""
        store = self.folder / "store"
        shutil.rmtree(store, ignore_errors=True)
        command = [self.xtune, "run", str(self.write_spec(problems, configs)), "--backend", "host", "--store", str(store),
                   "--format", "json", "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True)
        found = {}
        for file in store.glob("records/*/*/*.jsonl"):
            for line in file.read_text().splitlines():
                record = json.loads(line)
                if "outcome" in record:
                    found[json.dumps([record["problem"], record["config"]], sort_keys=True)] = record
        if len(found) != len(problems) * len(configs):
            raise Failure(f"{len(found)} of {len(problems)} x {len(configs)} configurations have a record:\n{done.stdout}\n{done.stderr}")
        return list(found.values())


def described(record):
    values = " ".join(f"{name}={value}" for name, value in (record["problem"] | record["config"]).items())
    return f"{record['outcome']}: {values}: {(record.get('message') or '').strip()}"


def test_right(trial):
    """All problems in all configurations are computed correctly."""
    records = trial.records(trial.table["problems"], trial.table["configs"])
    wrong = [described(record) for record in records if record["outcome"] != "ok"]
    if wrong:
        raise Failure("\n".join(wrong))
    return f"{len(records)} results are right"


def test_mutants(trial):
    """Each mutant is refused in at least one of its configurations."""
    mutants = list(enumerate(trial.table.get("mutants", []), 1))
    if not mutants:
        raise Failure("the table has no [[mutants]]")
    standard = "kernels/" + trial.spec["kernel"]["source"].split("kernels/")[1]
    for name in sorted({mutant.get("file", standard) for _, mutant in mutants}):
        path = trial.folder / name
        chosen = [(number, mutant) for number, mutant in mutants if mutant.get("file", standard) == name]
        path.write_text(mutated_source(path.read_text(), chosen, name))
    configs = trial.table["configs"]
    runs = [(number, index) for number, mutant in mutants for index in mutant.get("configs", [0])]
    runs += [(0, index) for index in sorted({index for _, index in runs})]
    records = trial.records(trial.table.get("mutant_problems", trial.table["problems"][:1]),
                            [{"MUTANT": number} | configs[index] for number, index in runs])
    problems = []
    for number, mutant in [(0, {"what": "the kernel itself"})] + mutants:
        own = [record for record in records if record["config"]["MUTANT"] == number]
        bad = [record for record in own if record["outcome"] != "ok"]
        if number == 0:
            problems += [f"the kernel without a mistake: {described(record)}" for record in bad]
        elif any(record["outcome"] == "compile_failed" for record in bad):
            problems.append(f"the mutant '{mutant['what']}' does not compile: {described(bad[0])}")
        elif not bad:
            problems.append(f"validation does not notice the mutant '{mutant['what']}'")
    if problems:
        raise Failure("\n".join(problems))
    return f"{len(mutants)} mutants are refused"


def test_compile(trial):
    """The spec itself compiles for NVIDIA's and AMD's GPUs, or those of the table, where their compilers are."""
    compiled = []
    problems = trial.table.get("compile_problems", [{}])
    limit = 2 if len(problems) == 1 else 1
    for arch in trial.table.get("compile_archs", ["sm_90a", "gfx90a"]):
        for problem in problems:
            pins = [word for name, value in problem.items() for word in ("-D", f"{name}={value}")]
            done = subprocess.run([trial.xtune, "compile", str(ROOT / "configs" / trial.table["spec"]), "--arch", arch, "--limit", str(limit),
                                   "--quiet", "--store", str(trial.folder / "store"), *pins], capture_output=True, text=True)
            if done.returncode == UNAVAILABLE:
                compiled.append(f"no compiler for {arch}")
                break
            if done.returncode != 0 or f"{arch}: {limit} of {limit} compiled" not in done.stdout:
                raise Failure(f"{' '.join(pins)} for {arch}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
        else:
            compiled.append(f"compiles for {arch}")
    return ", ".join(compiled)


PARTS = {"right": test_right, "mutants": test_mutants, "compile": test_compile}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xtune", required=True, type=os.path.abspath)
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("tables", nargs="+", metavar="TABLE")
    options = parser.parse_args()
    failed = False
    for name in options.tables:
        for part in options.part or PARTS:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    print(f"{name}: {PARTS[part](Trial(options.xtune, read_table(name), folder))}", flush=True)
                except Failure as failure:
                    failed = True
                    print(f"{name}, {part}:\n{failure}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
