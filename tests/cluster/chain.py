"""What every batch system must do with xtune: four processes, one of them killed, jobs whose time ends, cancelled jobs, the
continuations of both: one store, one answer.
"""

import json
import os
import pathlib
import shlex
import signal

from trial import check, finished, start


class BatchSystem:
    """How a system is asked. Its class starts and ends it."""

    scheduler = ""  # as --scheduler has it
    asked = ""  # the command that knows the time left
    layout = []  # options of `xtune submit` for four processes
    short, long = [], []  # options for a time that ends before the search, and for one that does not
    devices = ""  # the variable with a process's GPUs; empty: GPUs are not asked for
    gpus = ["0", "0", "1", "1"]  # what it is for four processes, on two nodes
    log_pattern = "*.log"
    remembers_jobs, accounts_late = True, False  # jobs that have ended: whether it knows them, and after some time

    def cancel(self, job):
        raise NotImplementedError

    def jobs(self):
        """Those that have not ended."""
        raise NotImplementedError

    def hold(self, job):
        """Keeps a job from starting."""
        raise NotImplementedError

    def release(self, job):
        raise NotImplementedError

    def setup(self):
        """Lines for the scripts."""
        return []

    def logs(self, folder):
        return "".join(path.read_text() for path in sorted(folder.glob(self.log_pattern)))


def submit(trial, system, *options):
    command = [trial.xtune, "submit", str(trial.folder / "copy.toml"), "--backend", "host", "--store", str(trial.store)]
    command += ["--scheduler", system.scheduler, "--format", "json", *system.layout]
    for line in system.setup():
        command += ["--setup", line]
    return pathlib.Path(json.loads(finished(start([*command, *options]), "submit"))["folder"])


def status(trial):
    return json.loads(
        finished(start([trial.xtune, "status", "--store", str(trial.store), "--format", "json"]), "status")
    )


def merged(trial, system, folder):
    """Waits for the last merge; returns the status and the steps."""
    system.wait_for(lambda: (folder / "status.json").exists() and not system.jobs(), "the merge", 400)
    told = status(trial)
    steps = [each["step"] for each in told["jobs"]]
    phase = "ended" if system.remembers_jobs else None
    system.wait_for(lambda: all(each["phase"] == phase for each in status(trial)["jobs"]), "the jobs' states")
    check(
        len(steps) % 2 == 0 and steps[:3] == ["measure", "merge", "measure.r1"],
        f"steps: {steps}\n{system.logs(folder)}",
    )
    by_merge = json.loads((folder / "status.json").read_text())["jobs"]
    check(by_merge[0]["phase"] == phase or system.accounts_late, f"the merge says: {by_merge}")
    return told, steps


def devices_of(pids, variable):
    """What a variable is for these processes, by their nodes' names and ranks."""
    found = []
    for pid in pids:
        words = pathlib.Path(f"/proc/{pid}/environ").read_text(errors="replace").split("\0")
        found += [word.split("=", 1)[1] for word in words if word.startswith(variable + "=")]
    return sorted(found)


def continued(trial, system):
    """Four processes, one of them killed; jobs that know their limit follow each other: one answer."""
    trial.slow_down()
    folder = submit(trial, system, *system.short)
    system.wait_for(lambda: len(trial.ranks()) == 4, "four processes", 200)
    pids = trial.ranks()
    first = status(trial)["jobs"]
    check([each["phase"] for each in first] == ["running", "queued"], f"jobs: {first}")
    if system.devices:
        devices = devices_of(pids, system.devices)
        check(devices == system.gpus, f"the processes see the GPUs {devices}")
    # On a slow machine they may be of a later job.
    system.wait_for(lambda: len(trial.measured()) >= 4 and len(trial.ranks()) == 4, "four measurements", 200)
    os.kill(trial.ranks()[-1], signal.SIGKILL)
    told, steps = merged(trial, system, folder)
    logs = system.logs(folder)
    check(f"left in the job ({system.asked})" in logs, f"the logs say: {logs}")
    check("stopped before the end of the job's time" in logs, f"the logs say: {logs}")
    last = len(steps) // 2 - 1
    check(len(told["processes"]) == 4 * (last + 1), f"processes: {told['processes']}")
    answer = json.loads((folder / f"answers-0.r{last}.json").read_text())  # of one process
    check(trial.is_best((answer[0] if isinstance(answer, list) else answer)["best"]["config"]), f"answer: {answer}")
    trial.check_complete(most_twice=2)
    summary(trial, steps, told)


def told_to_stop(trial, system):
    """A cancelled job has a continuation, as where preemption cancels; the file ends the chain."""
    trial.slow_down()
    folder = submit(trial, system, *system.long)
    system.wait_for(lambda: len(trial.measured()) >= 4, "four measurements", 200)
    system.cancel(status(trial)["jobs"][0]["job"])
    system.wait_for(lambda: len(status(trial)["processes"]) == 8, "the processes of the continuation", 200)
    (folder / "stop").touch()
    system.cancel(status(trial)["jobs"][2]["job"])
    told, steps = merged(trial, system, folder)
    check(len(steps) == 4, f"steps: {steps}")
    logs = system.logs(folder)
    check("stop ends the chain" in logs, f"the logs say: {logs}")
    measured = trial.measured()
    check(len(measured) - len(set(measured)) <= 8, f"more was measured twice than was in flight: {measured}")
    summary(trial, steps, told)


def late_merge(trial, system):
    """A merge that was queued for longer than the continuation ran: the next merge waits for no job that is gone."""
    folder = submit(trial, system, *system.long)
    measure, merge = [each["job"] for each in status(trial)["jobs"]]
    system.hold(merge)
    system.wait_for(lambda: trial.measured() and len(trial.ranks()) == 4, "four processes at work", 200)
    system.cancel(measure)
    system.wait_for(lambda: (folder / "measure.r1.sh").exists(), "the continuation", 120)
    system.wait_for(lambda: len(system.jobs()) == 1, "the end of all but the merge", 300)
    system.release(merge)
    told, steps = merged(trial, system, folder)
    check(len(steps) == 4, f"steps: {steps}")
    trial.check_complete(most_twice=8)
    summary(trial, steps, told)


def summary(trial, steps, told):
    measured = trial.measured()
    print(
        f"        {len(steps)} jobs ({' '.join(steps)}), {len(told['processes'])} processes, {len(measured)} evaluations "
        f"of {len(set(measured))} configurations",
        flush=True,
    )


def quoted(environment):
    """Lines that give a script the variables that the system does not pass on."""
    return [f"export {name}={shlex.quote(value)}" for name, value in environment.items() if name.startswith("XTUNE_")]
