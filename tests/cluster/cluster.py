#!/usr/bin/env python3
"""xtune under a real Slurm of two emulated nodes: processes that share a search, and what becomes of it when they die.

  tests/cluster/cluster.py --xtune build/dev/src/cli/xtune

Every check compares with a run of one process. Exit code 0 when all hold, 77 where Slurm does not start, else 1. Needs
Debian's slurm-wlm and Python 3.8; waits by looking, not by the clock.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from slurm import Slurm

SOURCE = """\
extern "C" __global__ void copy(const float* x, float* y, int n, int work) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < work; ++k) sum += x[(i + k) % n] * 1e-30f;
  if (i < n) y[i] = x[i] + sum * 1e-30f;
}
"""
# 27 configurations of one artifact; the best does the least by far, and is the same however busy the machine is.
SPEC = """\
[kernel]
name = "copy"
source = "copy.cu"
[problem]
N = 64
[space.params]
X = { min = 1, max = 27, compile_time = false }
[launch]
grid = [1]
block = [64]
[[args]]
name = "x"
dtype = "f32"
shape = ["N"]
[[args]]
name = "y"
dtype = "f32"
shape = ["N"]
role = "out"
[[args]]
name = "n"
kind = "scalar"
dtype = "i32"
value = "N"
[[args]]
name = "work"
kind = "scalar"
dtype = "i32"
value = "1 + 60000 * max(X - 7, 7 - X)"
[validate]
reference = { command = ["sh", "-c", "cp $XTUNE_INPUTS/x.npy $XTUNE_OUTPUTS/y.npy"] }
[measure]
race = false
finals = 0
warmup = 1
rep = 3
min_rep = 3
min_time_ms = 0
[search]
strategy = "exhaustive"
"""
CONFIGS = 27
BEST = {"X": 7}


class Failure(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failure(text)


class Trial:
    """One store, and runs on it."""

    def __init__(self, options, folder):
        self.xtune, self.folder = options.xtune, folder
        self.store = folder / "store"
        folder.mkdir()
        (folder / "copy.cu").write_text(SOURCE)
        (folder / "copy.toml").write_text(SPEC)

    def command(self, *more):
        return [self.xtune, "run", str(self.folder / "copy.toml"), "--backend", "host", "--store", str(self.store),
                "--format", "json", *more]

    def records(self):
        found = []
        for path in self.store.glob("records/*/copy/*.jsonl"):
            for line in path.read_text().split("\n")[:-1]:
                record = json.loads(line)
                if "outcome" in record and not record.get("drift"):
                    found.append(record)
        return found

    def measured(self):
        return sorted(record["config"]["X"] for record in self.records())

    def ranks(self):
        """Processes that share a search, by their heartbeats."""
        pids = []
        for path in self.store.glob("studies/*/*/copy/*/ranks/*"):
            words = path.read_text().split()
            if len(words) == 4 and words[3] != "ended":
                pids.append(int(words[2]))
        return pids

    def best(self):
        done = subprocess.run([self.xtune, "best", str(self.folder / "copy.toml"), "--backend", "host", "--store",
                               str(self.store), "--format", "json"], stdout=subprocess.PIPE, check=True)
        result = json.loads(done.stdout)
        return (result[0] if isinstance(result, list) else result)["best"]["config"]

    def check_complete(self, most_twice=0):
        measured = self.measured()
        check(set(measured) == set(range(1, CONFIGS + 1)), f"not all were measured: {measured}")
        twice = len(measured) - len(set(measured))
        check(twice <= most_twice, f"{twice} were measured twice, {most_twice} were in flight: {measured}")
        check(self.best() == BEST, f"the best is {self.best()}")


def finished(process, what):
    out, err = process.communicate(timeout=120)
    check(process.returncode == 0, f"{what} ended with {process.returncode}:\n{out}\n{err}")
    return out


def start(command):
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


SRUN = ["srun", "-n4", "-N2", "--overcommit"]


def shared(trial, _):
    """Four processes on two nodes measure everything once; one of them prints."""
    out = finished(start(SRUN + trial.command()), "srun")
    result = json.loads(out)
    result = result[0] if isinstance(result, list) else result
    check(result["best"]["config"] == BEST, f"printed {result['best']}")
    check(sum(result["counts"].values()) == CONFIGS, f"printed {result['counts']}")
    check(len(set(record["attempt"] for record in trial.records())) > 1, "one process measured all")
    trial.check_complete()


def killed_rank(trial, slurm):
    """The others take over what a killed process had in hand."""
    job = start(SRUN + ["--no-kill", "--kill-on-bad-exit=0"] + trial.command("--quiet"))
    slurm.wait_for(lambda: len(trial.measured()) >= 4 and len(trial.ranks()) == 4, "four processes at work")
    os.kill(trial.ranks()[-1], signal.SIGKILL)
    job.communicate(timeout=120)
    check(job.returncode != 0, "srun did not notice that a task was killed")
    trial.check_complete(most_twice=4)


def cancelled(trial, slurm):
    """What was measured before scancel is kept, and the next run goes on from there."""
    job = start(SRUN + trial.command("--quiet"))
    slurm.wait_for(lambda: len(trial.measured()) >= 4, "four measurements")
    slurm.ask("scancel", "--me")
    job.communicate(timeout=120)
    kept = trial.measured()
    check(4 <= len(kept) <= CONFIGS, f"{len(kept)} records are kept")
    slurm.wait_for(lambda: not slurm.ask("squeue", "-h"), "an empty queue")
    finished(start(SRUN + trial.command("--quiet")), "the second srun")
    trial.check_complete()


def requeued(trial, slurm):
    """At USR1 the processes commit and end; the requeued job finishes the work."""
    script = trial.folder / "job.sh"
    script.write_text("#!/bin/sh\nsrun -n2 --overcommit " + " ".join(trial.command("--quiet")) +
                      f"\nrc=$?\necho $rc >> {trial.folder}/codes\n"
                      "[ $rc = 130 ] && scontrol requeue $SLURM_JOB_ID && sleep 60\nexit $rc\n")
    slurm.ask("sbatch", "-n2", "--requeue", "--overcommit", "-o", str(trial.folder / "log"), str(script))
    slurm.wait_for(lambda: len(trial.measured()) >= 4, "four measurements")
    slurm.ask("scancel", "--me", "--signal=USR1")
    codes = trial.folder / "codes"
    slurm.wait_for(lambda: codes.exists() and len(codes.read_text().split()) == 2, "both attempts of the job", 120)
    check(codes.read_text().split() == ["130", "0"], f"exit codes {codes.read_text().split()}")
    trial.check_complete()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xtune", required=True)
    parser.add_argument("--only", default="", help="the checks whose name contains this")
    options = parser.parse_args()
    options.xtune = str(pathlib.Path(options.xtune).resolve())
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.environ["XTUNE_CACHE_DIR"] = str(folder / "cache")
        os.environ["XTUNE_JOBS"] = "1"
        try:
            slurm = Slurm(folder / "slurm").__enter__()
        except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
            print(f"skipped: Slurm does not start: {error}")
            return 77
        try:
            for test in [shared, killed_rank, cancelled, requeued]:
                if options.only not in test.__name__:
                    continue
                try:
                    test(Trial(options, folder / test.__name__), slurm)
                    print(f"ok      {test.__name__}: {test.__doc__}", flush=True)
                except (Failure, RuntimeError, subprocess.TimeoutExpired) as error:
                    failed += 1
                    print(f"FAILED  {test.__name__}: {error}", flush=True)
                    slurm.ask("scancel", "--me")
        finally:
            slurm.__exit__()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
