#!/usr/bin/env python3
"""Batch jobs of xtune with stand-ins for the commands of Flux, PBS and LSF (stand_in.py), which are not in Debian.

  tests/cluster/stand_ins.py --xtune build/dev/src/cli/xtune

Exit code 0 when all hold, else 1.
"""

import json
import os
import pathlib
import shutil
import sys

from slurm import Slurm
from trial import check, finished, run_tests, start


class StandIns:
    programs, sbin = (), ""
    ask, wait_for = staticmethod(Slurm.ask), staticmethod(Slurm.wait_for)

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def cancel_all(self):
        pass

    def install(self, names):
        """Commands of these names, and no other ones of batch systems."""
        commands = self.folder / "-".join(names)
        commands.mkdir(parents=True)
        for name in names:
            shutil.copy(pathlib.Path(__file__).with_name("stand_in.py"), commands / name)
            (commands / name).chmod(0o755)
        os.environ.update(PATH=f"{commands}:/usr/bin:/bin", STAND_IN=str(commands))
        return commands


def chain(trial, system, scheduler, names, asked):
    """submit, four processes, a time that ends, a continuation, the merge, status: one store, one answer."""
    commands = system.install(names)
    short = trial.folder / "short"
    # Only of the script, not of the processes that it starts on hosts.
    first = f"if [ -e {short} ]; then unset XTUNE_WALLTIME; else touch {short}; export XTUNE_WALLTIME=4; fi"
    setup = f"""[ "${{1-}}" = rank ] || {{ {first}; }}"""
    command = [trial.xtune, "submit", str(trial.folder / "copy.toml"), "--backend", "host", "--store", str(trial.store)]
    command += ["--scheduler", scheduler, "--nodes", "4", "--time", "3600", "--setup", setup, "--format", "json"]
    folder = pathlib.Path(json.loads(finished(start(command), "submit"))["folder"])
    logs = lambda: "".join(path.read_text() for path in sorted(commands.glob("*.log")))
    try:
        system.wait_for(lambda: (folder / "status.json").exists(), "the merge", 200)
    except RuntimeError as error:
        raise RuntimeError(f"{error}: {logs()}")
    watch = [trial.xtune, "status", "--store", str(trial.store), "--format", "json"]
    told = json.loads(finished(start([*watch, "--watch"]), "status").splitlines()[-1])
    check(
        [(each["step"], each["phase"]) for each in told["jobs"]]
        == [(step, "ended") for step in ["measure", "merge", "measure.r1", "merge.r1"]],
        f"jobs: {told['jobs']}\n{logs()}",
    )
    check(len(told["processes"]) == 8, f"processes: {told['processes']}\n{logs()}")
    check("continues the search" in logs() and f"left in the job ({asked})" in logs(), f"the logs say: {logs()}")
    answer = json.loads((folder / "answers-0.r1.json").read_text())  # of one process
    check(trial.is_best((answer[0] if isinstance(answer, list) else answer)["best"]["config"]), f"answer: {answer}")
    trial.check_complete()


def pbs(trial, system):
    """PBS: processes by pbs_tmrsh, the time left by qstat -f."""
    chain(trial, system, "pbs", ["qsub", "qstat", "pbsnodes", "pbs_tmrsh"], "qstat")


def lsf(trial, system):
    """LSF: the script on bsub's input, processes by blaunch, the time left by bjobs -WL."""
    chain(trial, system, "lsf", ["bsub", "bjobs", "blaunch"], "bjobs")


def flux(trial, system):
    """Flux: processes by flux run, the continuation by flux --parent."""
    chain(trial, system, "flux", ["flux"], "flux")


if __name__ == "__main__":
    sys.exit(run_tests([pbs, lsf, flux], __doc__, StandIns))
