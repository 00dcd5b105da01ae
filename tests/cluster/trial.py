"""What the tests on the emulated cluster share: a kernel, a store with runs on it, and how tests are run."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
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


class Skip(Exception):
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

    def slow_down(self):
        """Some seconds for the slowest configurations, so that there is time for something to happen."""
        spec = self.folder / "copy.toml"
        spec.write_text(spec.read_text().replace("60000", "300000"))

    def command(self, *more):
        return [
            self.xtune,
            "run",
            str(self.folder / "copy.toml"),
            "--backend",
            "host",
            "--store",
            str(self.store),
            "--format",
            "json",
            *more,
        ]

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
            if len(words) == 5 and words[3] != "ended":
                pids.append(int(words[2]))
        return pids

    def best(self):
        done = subprocess.run(
            [
                self.xtune,
                "best",
                str(self.folder / "copy.toml"),
                "--backend",
                "host",
                "--store",
                str(self.store),
                "--format",
                "json",
            ],
            stdout=subprocess.PIPE,
            check=True,
        )
        result = json.loads(done.stdout)
        return (result[0] if isinstance(result, list) else result)["best"]["config"]

    def is_best(self, config, counts=lambda record: True):
        """Whether it is BEST; where a machine that was taken away for a while tainted that one's measurement, of those
        that nothing disturbed the one that does the least. counts: which records are about the same question."""
        clean = {
            record["config"]["X"] for record in self.records() if not record.get("tainted") and counts(record)
        } or {BEST["X"]}
        least = min(abs(x - BEST["X"]) for x in clean)
        return config["X"] in clean and abs(config["X"] - BEST["X"]) == least

    def check_complete(self, most_twice=0):
        measured = self.measured()
        check(set(measured) == set(range(1, CONFIGS + 1)), f"not all were measured: {measured}")
        twice = len(measured) - len(set(measured))
        check(twice <= most_twice, f"{twice} were measured twice, {most_twice} were in flight: {measured}")
        check(self.is_best(self.best()), f"the best is {self.best()}")


def finished(process, what):
    out, err = process.communicate(timeout=120)
    check(process.returncode == 0, f"{what} ended with {process.returncode}:\n{out}\n{err}")
    return out


def start(command):
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


SRUN = ["srun", "-n4", "-N2", "--overcommit"]


def run_tests(tests, doc, cluster=Slurm):
    """0: all passed, 77: no such cluster here, 1."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xtune", required=True)
    parser.add_argument("--only", default="", help="the checks whose name contains this")
    options = parser.parse_args()
    options.xtune = str(pathlib.Path(options.xtune).resolve())
    missing = [program for program in cluster.programs if not shutil.which(program, path=cluster.sbin)]
    if missing:
        print(cluster.skipped.format(missing[0]))
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.environ["XTUNE_CACHE_DIR"] = str(folder / "cache")
        os.environ["XTUNE_JOBS"] = "1"
        os.environ["XTUNE_TMP_DIR"] = str(folder / "tmp")
        system = cluster(folder / "system").__enter__()
        try:
            for test in tests:
                if options.only not in test.__name__:
                    continue
                try:
                    test(Trial(options, folder / test.__name__), system)
                    print(f"ok      {test.__name__}: {test.__doc__}", flush=True)
                except Skip as why:
                    print(f"skipped: {test.__name__}: {why}", flush=True)
                except (Failure, RuntimeError, subprocess.TimeoutExpired) as error:
                    failed += 1
                    print(f"FAILED  {test.__name__}: {error}", flush=True)
                    # Jobs that are told to stop would continue themselves.
                    for submission in folder.glob("*/*/submissions/*"):
                        (submission / "stop").touch()
                    system.cancel_all()
        finally:
            system.__exit__()
    return 1 if failed else 0
