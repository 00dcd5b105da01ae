#!/usr/bin/env python3
"""Fault campaign: does xtune survive kernels that crash everything, while it is itself killed again and again?

Tunes configurations of which a random 30 % crash the compiler, trap, hang, write out of bounds, change an input, return
wrong values, damage their worker's heap or kill it (the last two on the host backend alone: faults.cu); ends the driver
with SIGKILL at random moments and starts it again; lets it finish; and tunes the same configurations with the faults
off. Checks that

- every record that was in the store before a kill is there after it, and no configuration is measured twice;
- every configuration has the outcome and the stage of its fault;
- no process of a killed run lives on, and nothing is left in the temporary folder;
- the best is the best of the run without faults.

  tests/faults/campaign.py --xtune build/dev/src/cli/xtune [--backend host|cuda|hip] [--configs 1000] [--kills 10]

Kills come where the store holds a random number of records, half of them some compilations later: moments are drawn
from --seed, and no clock decides. Prints one line a kill and what was counted. Exit code 0 when all checks hold, else
1. Needs Linux (/proc) and Python 3.8."""
import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from campaign_plan import FAULTS, HERE, Plan

MARK = "XTUNE_FAULT_CAMPAIGN"  # in the environment of every process of a run
POLL_S = 0.002
DEATH_DEADLINE_S = 10
NEXT_BATCH = 20  # records after which a kill no longer waits for a compilation


class Failures:
    def __init__(self):
        self.found = []

    def check(self, holds, text):
        if not holds:
            self.found.append(text)
            print("FAILED: " + text, flush=True)
        return holds


def complete_lines(store):
    """File -> its complete lines, the header first."""
    files = {}
    for file in sorted(store.glob("records/*/*/*.jsonl")):
        files[file] = file.read_bytes().split(b"\n")[:-1]
    return files


def count_records(store):
    return sum(max(0, len(lines) - 1) for lines in complete_lines(store).values())


def count_compiled(store):
    return sum(1 for _ in store.glob("artifacts/*/*.json"))


def records_of(store):
    """All records but those of races' drift and of finals, which repeat others, and those that a later one replaces:
    what other programs disturbed is measured again, and so is what was measured when the device's speed changed, which
    the incumbent's drift shows."""
    lines = [line for file in complete_lines(store).values() for line in file[1:]]
    kept = {}  # number of a configuration -> its records
    drifted = set()  # numbers of those that have a later drift
    for record in sorted(map(json.loads, lines), key=lambda record: record["unix_time_ms"]):
        number = record["config"]["ID"]
        if record.get("drift"):
            drifted.update(kept)
        elif not record.get("finals"):
            seen = kept.setdefault(number, [])
            if seen and (seen[-1].get("tainted") or seen[-1]["outcome"] == "ok" and number in drifted):
                seen.pop()
            seen.append(record)
            drifted.discard(number)
    return [record for seen in kept.values() for record in seen]


def processes_of(mark):
    """Living processes whose environment bears the mark."""
    wanted = f"{MARK}={mark}".encode()
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
        except OSError:
            continue
    return found


class Campaign:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.random = random.Random(options.seed)
        self.plan = Plan(self.random, options.configs, options.backend)
        self.failures = Failures()
        self.process = None  # the driver that was started last

    def start(self, spec, store, name):
        """Starts xtune; its output goes to NAME.json and NAME.txt."""
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        environment = dict(os.environ, TMPDIR=str(temporary), XTUNE_CACHE_DIR=str(self.folder / "cache"))
        environment[MARK] = str(self.folder)
        for other in ("XTUNE_TMP_DIR", "XTUNE_DISABLE_CACHE", "XTUNE_LOG"):
            environment.pop(other, None)
        command = [
            str(self.options.xtune),
            "run",
            str(spec),
            "--backend",
            self.options.backend,
            "--store",
            str(store),
            "--format",
            "json",
            "--quiet",
        ]
        with open(self.folder / f"{name}.json", "wb") as out, open(self.folder / f"{name}.txt", "wb") as err:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment)
        return self.process

    def result(self, process, name):
        """The answer of a run that is let finish."""
        code = process.wait()
        if code != 0:
            sys.exit(f"error: xtune ended with {code}:\n" + (self.folder / f"{name}.txt").read_text()[-4000:])
        return json.loads((self.folder / f"{name}.json").read_text())

    def wait_for_moment(self, process, store, records):
        """Until so many records are stored, or a few compilations later; False when the run ended before."""
        compilations = self.random.choice((0, self.random.randint(1, 4)))
        while count_records(store) < records:
            if process.poll() is not None:
                return False
            time.sleep(POLL_S)
        compiled = count_compiled(store)
        while count_compiled(store) < compiled + compilations and count_records(store) < records + NEXT_BATCH:
            if process.poll() is not None:
                return False
            time.sleep(POLL_S)
        return True

    def kill(self, process, store):
        """Kills the driver; returns what was stored just before, and how many processes its run had besides it. None if
        it has ended meanwhile."""
        before = processes_of(self.folder)
        if process.pid not in before:
            if process.poll() is not None:
                return None
            sys.exit("error: the processes of a run cannot be told from others on this system")
        lines = complete_lines(store)
        process.send_signal(signal.SIGKILL)
        process.wait()
        deadline = time.monotonic() + DEATH_DEADLINE_S
        while (left := processes_of(self.folder)) and time.monotonic() < deadline:
            time.sleep(POLL_S)
        self.failures.check(not left, f"processes outlive their driver: {left}")
        return lines, len(before) - 1

    def check_kept(self, known, store, when):
        now = complete_lines(store)
        for file, lines in known.items():
            self.failures.check(now.get(file, [])[: len(lines)] == lines, f"{when}: records of {file.name} are lost")

    def run_with_kills(self):
        spec = self.plan.write_spec(self.folder / "faulty", True, self.options.timeout_s)
        store = self.folder / "store"
        moments = sorted(self.random.sample(range(int(0.9 * self.options.configs)), self.options.kills))
        known, workers_seen = {}, 0
        for turn, moment in enumerate(moments, 1):
            process = self.start(spec, store, f"killed-{turn}")
            killed = None
            if self.wait_for_moment(process, store, max(moment, count_records(store) + 1)):
                self.check_kept(known, store, f"before kill {turn}")
                killed = self.kill(process, store)
            if killed is None:
                # Near the end of a small campaign the remaining work may be done before it is observed.
                self.result(process, f"killed-{turn}")
                self.failures.check(turn > 1, "the first run was done before it was killed")
                print(f"kill {turn} comes too late: the run is done", flush=True)
                break
            known, workers = killed
            workers_seen += workers
            self.check_kept(known, store, f"after kill {turn}")
            print(
                f"kill {turn} with {count_records(store)} records, {count_compiled(store)} artifacts and "
                f"{workers} other processes",
                flush=True,
            )
        self.failures.check(workers_seen > 0, "no kill came while there were workers: nothing was tested")
        torn = sum(not file.read_bytes().endswith(b"\n") for file in store.glob("records/*/*/*.jsonl"))
        abandoned = len(list((self.folder / "tmp").iterdir()))
        answered = {record["config"]["ID"] for record in records_of(store)}
        result = self.result(self.start(spec, store, "last"), "last")
        self.check_kept(known, store, "the last run")
        served = result["from_store"]
        self.failures.check(served == len(answered), f"{len(answered)} configurations were stored, {served} answered")
        print(f"killed runs left {abandoned} temporary folders and {torn} torn lines", flush=True)
        return store, result

    def check_outcomes(self, store, result):
        by_id = {}
        for record in records_of(store):
            by_id.setdefault(record["config"]["ID"], []).append(record)
        counts = Counter()
        said = (self.folder / "last.txt").read_text()
        for number in range(self.options.configs):
            fault = self.plan.faults.get(number, "none")
            seen = [(record["outcome"], record.get("stage", "")) for record in by_id.get(number, [])]
            if fault == "none":  # one that lost its race may be measured in full when the search is over
                ok, pruned = ("ok", "measure"), ("pruned", "measure")
                right = seen in ([ok], [pruned], [pruned, ok])
            else:
                unstored = f"ID={number}: timed_out, not stored because" in said  # a hang, or a machine without time
                right = len(seen) == 1 and seen[0] in FAULTS[fault] if FAULTS[fault] and not unstored else not seen
            if self.failures.check(right, f"ID={number} ({fault}): {seen}"):
                counts[fault] += 1
        self.failures.check(sum(result["counts"].values()) == self.options.configs, f"counts: {result['counts']}")
        print(
            f"right outcomes: {sum(counts.values())} of {self.options.configs} ("
            + ", ".join(f"{count} {fault}" for fault, count in sorted(counts.items()))
            + ")",
            flush=True,
        )

    def check_nothing_left(self, store):
        self.failures.check(not processes_of(self.folder), f"processes are left: {processes_of(self.folder)}")
        temporary = sorted(str(path) for path in (self.folder / "tmp").iterdir())
        self.failures.check(not temporary, f"left in the temporary folder: {temporary}")
        unfinished = sorted(str(path.relative_to(store)) for path in store.rglob("*.tmp"))
        self.failures.check(not unfinished, f"left in the store: {unfinished}")

    def go(self):
        try:
            return self.run_and_check()
        finally:
            if self.process and self.process.poll() is None:
                self.process.kill()
                self.process.wait()

    def run_and_check(self):
        start = time.monotonic()
        store, result = self.run_with_kills()
        self.check_outcomes(store, result)
        self.check_nothing_left(store)
        middle = time.monotonic()
        clean_store = self.folder / "clean-store"
        spec = self.plan.write_spec(self.folder / "clean", False, self.options.timeout_s)
        clean = self.result(self.start(spec, clean_store, "clean"), "clean")
        self.failures.check(set(clean["counts"]) <= {"ok", "pruned"}, f"without faults: {clean['counts']}")
        best, clean_best = result["best"]["config"]["ID"], clean["best"]["config"]["ID"]
        self.failures.check(
            best == clean_best == self.plan.best,
            f"the best is ID={best}, without faults ID={clean_best}, made to be ID={self.plan.best}",
        )
        print(
            f"best: ID={best} in {result['best']['time_ms']:.4g} ms, without faults ID={clean_best} in "
            f"{clean['best']['time_ms']:.4g} ms"
        )
        print(
            f"{middle - start:.1f} s with faults and {self.options.kills} kills, {time.monotonic() - middle:.1f} s "
            "without"
        )
        return 1 if self.failures.found else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xtune", type=Path, default=HERE.parent.parent / "build/dev/src/cli/xtune")
    parser.add_argument("--backend", choices=("host", "cuda", "hip"), default="host")
    parser.add_argument("--configs", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout-s", type=float, default=2, help="what a hang costs")
    parser.add_argument("--keep", type=Path, help="work in this new folder and keep it")
    options = parser.parse_args()
    options.xtune = options.xtune.resolve()
    if not 0 <= options.kills <= options.configs * 0.5:
        parser.error("--kills: at most half of --configs")
    if options.keep:
        options.keep.mkdir(parents=True)
        return Campaign(options, options.keep.resolve()).go()
    with tempfile.TemporaryDirectory(prefix="fault-campaign-") as folder:
        return Campaign(options, Path(folder)).go()


if __name__ == "__main__":
    sys.exit(main())
