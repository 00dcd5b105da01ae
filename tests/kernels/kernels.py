#!/usr/bin/env python3
"""The kernels of kernels/ compute what their specs promise, and validation refuses single mistakes in them.

kernels.py --xtune PROGRAM [--part space|right|mutants|compile] [--all] [--backend host] [--arch gfx942[,...] [--share]] TABLE...

A table, NAME.toml beside this file, describes the test of one spec; README.md lists its keys. Each test

- finds configurations in the spec's space for small problems, and none for problems that the kernel does not compute;
- validates chosen configurations on the host backend, on small and odd problems;
- builds the kernel's mutants, each with one mistake, and expects that validation refuses each of them. A parameter
  MUTANT selects one, so that one run tries them all. Of a table with quick mutants, only these are tried without --all;
- compiles a configuration of the spec itself, for each of some problems, for sm_90a and gfx90a, if the compilers are there.
"""
import argparse
import csv
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
KEYS = {
    "spec",
    "problems",
    "mutant_problems",
    "configs",
    "mutants",
    "compile_problems",
    "compile_archs",
    "space_problems",
    "refused_problems",
    "amd_configs",
}
MUTANT_KEYS = {"what", "file", "text", "with", "configs", "quick", "sanitize", "amd"}
NOTHING_VALID, UNAVAILABLE = 3, 4
ARCHS = ["sm_90a", "gfx90a"]
# One launch before and one after the measurement are judged; more would only take time.
MEASURE = {"warmup": 0, "rep": 1, "min_rep": 1, "flush": "none", "race": False, "finals": 0, "wait_s": 0}


class Failure(Exception):
    """What a user of the table has to know."""


class Skipped(Exception):
    """What this machine lacks."""


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


def write_mutants(path, mutants):
    """Replaces the file by one that includes, for MUTANT == number, the copy with that mutant."""
    source = path.read_text()
    choices = []
    for number, mutant in mutants:
        text = mutant["text"]
        if source.count(text) != 1:
            raise Failure(
                f"{path.name}: the text of the mutant '{mutant['what']}' occurs {source.count(text)} times, not once. Write the "
                f"mutant for the current source:\n{text}"
            )
        copy = path.with_name(f"{path.stem}_mutant_{number}{path.suffix}")
        copy.write_text(source.replace(text, mutant["with"]))
        choices.append(f'#{"elif" if choices else "if"} MUTANT == {number}\n#include "{copy.name}"\n')
    path.write_text("".join(choices) + f"#else\n{source}\n#endif\n")


class Trial:
    """A copy of a spec and of kernels/ in a temporary directory, with problems and configurations of the table."""

    def __init__(self, options, table, folder, arch):
        self.options, self.table, self.folder, self.arch = options, table, pathlib.Path(folder), arch
        with open(ROOT / "configs" / table["spec"], "rb") as file:
            self.spec = tomllib.load(file)
        shutil.copytree(ROOT / "kernels", self.folder / "kernels")
        # Headers of xtune of which there are mutants stand before those that every backend finds.
        if any(mutant.get("file", "").startswith("runtime/") for mutant in table.get("mutants", [])):
            shutil.copytree(ROOT / "runtime/xtune", self.folder / "runtime/xtune")
            self.spec["kernel"]["include_dirs"] = [str(self.folder / "runtime")]
        (self.folder / "configs").mkdir()

    def write_spec(self, problems, configs):
        """configs: parameter values, all with the same names. Returns the spec's path."""
        spec = {
            key: value
            for key, value in self.spec.items()
            if key not in ("on", "cases", "candidates", "search", "space", "measure")
        }
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
        spec["measure"] = MEASURE | {
            key: value for key, value in self.spec.get("measure", {}).items() if key == "timeout_s"
        }
        if self.options.timeout_s:
            spec["measure"]["timeout_s"] = self.options.timeout_s
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

    def records(self, problems, configs, sanitize=False):
        """The last record of each configuration and problem."""
        store = self.folder / "store"
        shutil.rmtree(store, ignore_errors=True)
        if self.arch:
            return self.validated(store, problems, configs)
        command = [
            self.options.xtune,
            "run",
            str(self.write_spec(problems, configs)),
            "--backend",
            self.options.backend,
            "--store",
            str(store),
            "--format",
            "json",
            "--quiet",
            *(["--sanitize"] if sanitize else []),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        found = {}
        for file in store.glob("records/*/*/*.jsonl"):
            for line in file.read_text().splitlines():
                record = json.loads(line)
                if "outcome" in record:
                    found[json.dumps([record["problem"], record["config"]], sort_keys=True)] = record
        if len(found) != len(problems) * len(configs):
            raise Failure(
                f"{len(found)} of {len(problems)} x {len(configs)} configurations have a record:\n{done.stdout}\n{done.stderr}"
            )
        return list(found.values())

    def validated(self, store, problems, configs):
        """The result of each configuration and problem on an emulated GPU."""
        command = [
            self.options.xtune,
            "validate",
            str(self.write_spec(problems, configs)),
            "--all",
            "--arch",
            self.arch,
            "--store",
            str(store),
            "--format",
            "json",
            "--quiet",
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == UNAVAILABLE:
            raise Skipped(done.stderr.strip())
        if done.returncode not in (0, NOTHING_VALID):
            raise Failure(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
        cases = json.loads(done.stdout)
        records = [
            row | {"problem": case["problem"]}
            for case in (cases if isinstance(cases, list) else [cases])
            for row in case["configurations"]
        ]
        if len(records) != len(problems) * len(configs):
            raise Failure(
                f"{len(records)} of {len(problems)} x {len(configs)} configurations have a result:\n{done.stderr}"
            )
        return records


def described(record):
    values = " ".join(f"{name}={value}" for name, value in (record["problem"] | record["config"]).items())
    return f"{record['outcome']}: {values}: {(record.get('message') or '').strip()}"


def pins(problem):
    """The options -D of a problem."""
    return [
        word
        for name, value in problem.items()
        for word in ("-D", f"{name}={str(value).lower() if isinstance(value, bool) else value}")
    ]


def test_space(trial):
    """The spec itself has configurations for each of space_problems, and none for any of refused_problems."""
    expected = [(problem, 0) for problem in trial.table.get("space_problems", [{}])]
    expected += [(problem, NOTHING_VALID) for problem in trial.table.get("refused_problems", [])]
    targets = [["--backend", "host"], *(["--arch", arch] for arch in trial.table.get("compile_archs", ARCHS))]
    for problem, code in expected:
        for target in targets:
            done = subprocess.run(
                [trial.options.xtune, "check", str(ROOT / "configs" / trial.table["spec"]), *target, *pins(problem)],
                capture_output=True,
                text=True,
            )
            if done.returncode not in (code, UNAVAILABLE):
                raise Failure(
                    f"{' '.join(pins(problem))} for {target[1]}: exit code {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}"
                )
    return f"{len(expected)} problems have configurations, or none, as expected"


def test_right(trial):
    """All problems in all configurations are computed correctly."""
    configs = trial.table["configs"]
    if trial.arch.startswith("gfx"):
        configs = [configs[number] for number in amd_configs(trial.table, trial.arch)]
    problems = trial.table["problems"]
    if trial.options.share:
        problems, configs = problems[:1], configs[:1]
    records = trial.records(problems, configs)
    wrong = [described(record) for record in records if record["outcome"] != "ok"]
    if wrong:
        raise Failure("\n".join(wrong))
    return f"{len(records)} results are right"


def tried_mutants(trial):
    """(number, mutant) of the table: all, or those that are quick if there are any."""
    mutants = list(enumerate(trial.table.get("mutants", []), 1))
    if not mutants:
        raise Failure("the table has no [[mutants]]")
    if trial.arch.startswith("gfx"):
        mutants = [
            (number, mutant) for number, mutant in mutants if mutant.get("amd", True) and not mutant.get("sanitize")
        ]
    if trial.options.no_sanitize:
        mutants = [(number, mutant) for number, mutant in mutants if not mutant.get("sanitize")]
    quick = [(number, mutant) for number, mutant in mutants if mutant.get("quick")]
    chosen = mutants if trial.options.all or not quick else quick
    return chosen[trial.options.arch.index(trial.arch) :: len(trial.options.arch)] if trial.options.share else chosen


def mutant_problems(trial, mutants, sanitize):
    """What validation does not notice, and what else is wrong, in one run of these mutants."""
    configs = trial.table["configs"]
    runs = [(number, index) for number, mutant in mutants for index in mutant.get("configs", [0])]
    runs += [(0, index) for index in sorted({index for _, index in runs})]
    records = trial.records(
        trial.table.get("mutant_problems", trial.table["problems"][:1]),
        [{"MUTANT": number} | configs[index] for number, index in runs],
        sanitize,
    )
    problems = [
        f"the kernel without a mistake: {described(record)}"
        for record in records
        if record["config"]["MUTANT"] == 0 and record["outcome"] != "ok"
    ]
    for number, mutant in mutants:
        bad = [record for record in records if record["config"]["MUTANT"] == number and record["outcome"] != "ok"]
        if any(record["outcome"] == "compile_failed" for record in bad):
            problems.append(f"the mutant '{mutant['what']}' does not compile: {described(bad[0])}")
        elif not bad:
            problems.append(f"validation does not notice the mutant '{mutant['what']}'")
    return problems


def test_mutants(trial):
    """Each mutant is refused in at least one of its configurations. The compilers of CPUs and AMD GPUs do less than for
    the tests of what is right, and take less time."""
    for name, level in ("options_host", "-O0"), ("options_hip", "-O1"):
        trial.spec["kernel"][name] = [*trial.spec["kernel"].get(name, []), level]
    mutants = tried_mutants(trial)
    standard = "kernels/" + trial.spec["kernel"]["source"].split("kernels/")[1]
    for name in sorted({mutant.get("file", standard) for _, mutant in mutants}):
        write_mutants(
            trial.folder / name,
            [(number, mutant) for number, mutant in mutants if mutant.get("file", standard) == name],
        )
    problems = []
    for sanitize in (False, True):
        chosen = [(number, mutant) for number, mutant in mutants if mutant.get("sanitize", False) == sanitize]
        if chosen:
            problems += mutant_problems(trial, chosen, sanitize and trial.options.backend == "host" and not trial.arch)
    if problems:
        raise Failure("\n".join(problems))
    return f"{len(mutants)} of {len(trial.table['mutants'])} mutants are tried and refused"


def compile_archs(trial):
    """The table's architectures, or, of those that the command line names, the ones of the vendors that the table names."""
    table = trial.table.get("compile_archs", ARCHS)
    if not trial.options.compile_for:
        return table
    vendors = {vendor_of(arch) for arch in table}
    chosen = [arch for arch in trial.options.compile_for if vendor_of(arch) in vendors]
    # A table with one architecture of NVIDIA's uses its instructions.
    return [arch for arch in chosen if vendors != {"sm"} or arch in table]


def vendor_of(arch):
    return "sm" if arch.startswith("sm_") else "gfx"


def test_compile(trial):
    """The spec itself compiles for NVIDIA's and AMD's GPUs, or those of the table, where their compilers are."""
    compiled = []
    problems = trial.table.get("compile_problems", [{}])
    for number, arch in enumerate(compile_archs(trial)):
        # The other types of the elements are compiled for the first architecture, or where it is asked for.
        for problem in problems[:1] if number > 0 and not trial.options.compile_for else problems:
            done = subprocess.run(
                [
                    trial.options.xtune,
                    "compile",
                    str(ROOT / "configs" / trial.table["spec"]),
                    "--arch",
                    arch,
                    "--limit",
                    "1",
                    "--quiet",
                    "--compiler",
                    trial.options.compiler,
                    "--store",
                    str(trial.folder / "store"),
                    *pins(problem),
                ],
                capture_output=True,
                text=True,
            )
            if done.returncode == UNAVAILABLE:
                compiled.append(f"no compiler for {arch}")
                break
            if done.returncode == NOTHING_VALID and arch not in trial.table.get("compile_archs", ARCHS):
                compiled.append(f"nothing to compile for {arch}")
                break
            if done.returncode != 0 or f"{arch}: 1 of 1 compiled" not in done.stdout:
                raise Failure(
                    f"{' '.join(pins(problem))} for {arch}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
                )
        else:
            compiled.append(f"compiles for {arch}")
    return ", ".join(compiled) or "compiles for none of these architectures"


def runs_of(options):
    """(table, part, architecture) of all that is to run; "": no architecture, but --backend."""
    for part in options.part or PARTS:
        if not options.arch or part not in ("right", "mutants"):
            yield from ((name, part, "") for name in options.tables)
            continue
        runs = [
            [(name, part, arch) for arch in options.arch if amd_configs(read_table(name), arch)]
            for name in options.tables
        ]
        runs = [archs for archs in runs if archs]
        if options.share and part == "right":
            yield from (archs[number % len(archs)] for number, archs in enumerate(runs))
        else:
            yield from (run for archs in runs for run in archs)


def amd_configs(table, arch):
    """Numbers of the configurations that an AMD GPU can run."""
    if "gfx" not in map(vendor_of, table.get("compile_archs", ARCHS)):
        return []
    numbers = table.get("amd_configs", range(len(table["configs"])))
    return numbers.get(arch, []) if isinstance(numbers, dict) else numbers


PARTS = {"space": test_space, "right": test_right, "mutants": test_mutants, "compile": test_compile}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xtune", required=True, type=os.path.abspath)
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--all", action="store_true", help="try all mutants, not only the quick ones")
    parser.add_argument("--backend", default="host", help="run the parts right and mutants on this backend")
    parser.add_argument(
        "--arch",
        default=[],
        type=lambda names: names.split(","),
        help="run these parts on these AMD GPUs, emulated if they are not here, without measuring; tables that are not for AMD GPUs are skipped",
    )
    parser.add_argument(
        "--share",
        action="store_true",
        help="run a share on these GPUs: of the part right, one configuration and problem of each table on one of them, and each mutant on one of them; the environment variable XTUNE_EMULATED_ALL=1 changes this to everything on each, with --all",
    )
    parser.add_argument(
        "--compile-for",
        metavar="ARCH",
        action="append",
        help="compile for this architecture instead of the table's, where the kernel can; may be repeated",
    )
    parser.add_argument("--no-sanitize", action="store_true", help="leave out mutants that need --sanitize")
    parser.add_argument(
        "--timeout-s", type=float, metavar="SECONDS", help="a configuration's limit, instead of the spec's"
    )
    parser.add_argument(
        "--compiler", default="auto", help="compile for AMD GPUs with this compiler: auto, hiprtc or clang"
    )
    parser.add_argument("tables", nargs="+", metavar="TABLE")
    options = parser.parse_args()
    if options.backend == "host" and not options.arch:
        # With as many CPUs as tiles, a persistent block has a single tile, and some mutants are right.
        cpus = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, random.sample(cpus, min(2, len(cpus))))
    if options.share and "XTUNE_EMULATED_ALL" in os.environ:
        options.share, options.all = False, True
    return 0 if all([run_part(options, *one) for one in runs_of(options)]) else 1


def run_part(options, name, part, arch):
    where = f"{name} on {arch}" if arch else name
    with tempfile.TemporaryDirectory() as folder:
        try:
            print(f"{where}: {PARTS[part](Trial(options, read_table(name), folder, arch))}", flush=True)
        except Skipped as skipped:
            print(f"skipped: {where}, {part}: {skipped}", flush=True)
        except Failure as failure:
            print(f"{where}, {part}:\n{failure}", flush=True)
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())
