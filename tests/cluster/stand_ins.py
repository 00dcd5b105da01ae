#!/usr/bin/env python3
"""Batch jobs of xtune with stand-ins for the commands of Flux, PBS and LSF (stand_in.py), which are not in Debian.

  tests/cluster/stand_ins.py --xtune build/dev/src/cli/xtune

Exit code 0 when all hold, else 1.
"""

import json
import os
import pathlib
import shutil
import signal
import sys

from chain import quoted
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

    def install(self, folder, names, files):
        """Commands of these names, and no other ones of batch systems."""
        commands = self.folder / folder
        commands.mkdir(parents=True)
        for name in files:
            (commands / name).touch()
        for name in names:
            shutil.copy(pathlib.Path(__file__).with_name("stand_in.py"), commands / name)
            (commands / name).chmod(0o755)
        os.environ.update(PATH=f"{commands}:/usr/bin:/bin", STAND_IN=str(commands))
        (commands / ".bash_profile").write_text(f"export PATH={commands}:/usr/bin:/bin STAND_IN={commands}\n")
        return commands


def chain(trial, system, scheduler, names, asked, files=(), ends="ended", kills=False, last=1):
    """submit, four processes, a time that ends, a continuation, the merge, status: one store, one answer. files: what the
    stand-ins find beside them. last: the number of the continuation."""
    commands = system.install(trial.folder.name, names, files)
    short = trial.folder / "short"
    # The first job's script decides, and the processes that it starts on hosts read it.
    first = f"if [ -e {short} ]; then rm -f {short}.now; else touch {short} {short}.now; fi"
    limit = f"if [ -e {short}.now ]; then export XTUNE_WALLTIME=4; else unset XTUNE_WALLTIME; fi"
    setup = f"""[ "${{1-}}" = rank ] || {{ {first}; }}; {limit}"""
    command = [trial.xtune, "submit", str(trial.folder / "copy.toml"), "--backend", "host", "--store", str(trial.store)]
    command += ["--scheduler", scheduler, "--nodes", "4", "--time", "3600", "--setup", setup, "--format", "json"]
    for line in quoted(os.environ):
        command += ["--setup", line]
    folder = pathlib.Path(json.loads(finished(start(command), "submit"))["folder"])
    if kills:
        notes = lambda: list(trial.store.glob("studies/*/progress/*.json"))  # a process has one soon after it joins
        system.wait_for(lambda: len(trial.ranks()) == 4 and len(notes()) == 4, "four processes at work")
        os.kill(trial.ranks()[-1], signal.SIGKILL)
    state_of = lambda job: path.read_text() if (path := commands / f"{job}.state").exists() else ""
    has_ended = lambda job: state_of(job).startswith(("F", "C"))  # it may be empty while it is written
    for held, until, what in ("2.hold", 3, "the continuation"), ("3.hold", 2, "the merge"):
        if held in files:
            system.wait_for(lambda: has_ended(until), what, 200)
            (commands / held).unlink()
    logs = lambda: "".join(path.read_text() for path in sorted(commands.glob("*.log")))
    try:
        system.wait_for(lambda: (folder / "status.json").exists(), "the merge", 200)
    except RuntimeError as error:
        raise RuntimeError(f"{error}: {logs()}")
    watch = [trial.xtune, "status", "--store", str(trial.store), "--format", "json"]
    told = json.loads(finished(start([*watch, "--watch"]), "status").splitlines()[-1])
    check(
        [(each["step"], each["phase"]) for each in told["jobs"]]
        == [(step, ends) for step in ["measure", "merge", f"measure.r{last}", f"merge.r{last}"]],
        f"jobs: {told['jobs']}\n{logs()}",
    )
    check(len(told["processes"]) == 8, f"processes: {told['processes']}\n{logs()}")
    check("continues the search" in logs() and f"left in the job ({asked})" in logs(), f"the logs say: {logs()}")
    answer = json.loads((folder / f"answers-0.r{last}.json").read_text())  # of one process
    check(trial.is_best((answer[0] if isinstance(answer, list) else answer)["best"]["config"]), f"answer: {answer}")
    trial.check_complete(most_twice=2 if kills else 0)


PBS = ["qsub", "qstat", "pbsnodes", "pbs_tmrsh"]


def pbs(trial, system):
    """PBS: processes by pbs_tmrsh, the time left by qstat -f."""
    chain(trial, system, "pbs", PBS, "qstat", files=["history"])


def pbs_late_merge(trial, system):
    """PBS without a history: a merge that starts when the continuation has ended has a merge that waits for no job."""
    chain(trial, system, "pbs", PBS, "qstat", files=["2.hold"], ends=None)


def lsf(trial, system):
    """LSF: the script on bsub's input, processes by blaunch, the time left by bjobs -WL."""
    chain(trial, system, "lsf", ["bsub", "bjobs", "blaunch"], "bjobs")


def flux(trial, system):
    """Flux: processes by flux run, one of them killed, the continuation by flux --parent."""
    chain(trial, system, "flux", ["flux"], "flux", kills=True)


def flux_killed_before(trial, system):
    """Flux kills a job before its continuation is noted, and the merge comes first: it submits another continuation."""
    chain(trial, system, "flux", ["flux"], "flux", files=["kill", "3.hold"], last=2)
    log = system.folder / trial.folder.name / "3.log"
    system.wait_for(lambda: log.exists() and "another job goes on" in log.read_text(), "the job that is given up")


def flux_killed_after(trial, system):
    """The same, and the continuation comes first: it notes itself, and the merge finds it."""
    chain(trial, system, "flux", ["flux"], "flux", files=["kill", "2.hold"])


def flux_of_a_site(trial, system):
    """A site's copy of Flux's file: in its jobs, it is the file that holds."""
    copy = trial.folder / "site.toml"
    shutil.copy(pathlib.Path(__file__).parents[2] / "src/cluster/systems/flux.toml", copy)
    chain(trial, system, str(copy), ["flux"], "flux")


def flux_ascii(trial, system):
    """Flux that prints ids in ASCII."""
    os.environ["FLUX_F58_FORCE_ASCII"] = "1"
    try:
        chain(trial, system, "flux", ["flux"], "flux")
    finally:
        del os.environ["FLUX_F58_FORCE_ASCII"]


if __name__ == "__main__":
    sys.exit(
        run_tests(
            [pbs, pbs_late_merge, lsf, flux, flux_killed_before, flux_killed_after, flux_of_a_site, flux_ascii],
            __doc__,
            StandIns,
        )
    )
