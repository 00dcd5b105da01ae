#!/usr/bin/env python3
"""Stands in for commands of batch systems that are not here: takes jobs, runs each on this machine after the one that it
depends on, and answers as the manuals show. Called by a command's name (qsub, bjobs, flux ...); STAND_IN is its folder.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

FOLDER = pathlib.Path(os.environ["STAND_IN"])
LIMIT_S = 3600


def job_file(job, name):
    return FOLDER / f"{job}.{name}"


def state_of(job):
    return job_file(job, "state").read_text()


def take(script, dependency, variables, states):
    """Starts a job in the background; returns its number."""
    number = 1
    while job_file(number, "state").exists():
        number += 1
    job_file(number, "sh").write_text(script)
    job_file(number, "state").write_text(states[0])
    if os.fork() > 0:
        return number
    os.setsid()
    devnull = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(devnull, descriptor)
    while dependency and state_of(dependency) != states[2]:
        time.sleep(0.05)
    job_file(number, "state").write_text(states[1])
    job_file(number, "start").write_text(time.ctime())
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XTUNE_STUDY")}
    with open(job_file(number, "log"), "w") as log:
        subprocess.run(
            ["bash", str(job_file(number, "sh"))],
            env={**kept, **variables(number)},
            stdout=log,
            stderr=log,
            check=False,
        )
    job_file(number, "state").write_text(states[2])
    os._exit(0)


def hosts_file(number):
    """Two hosts with two processes each."""
    path = job_file(number, "hosts")
    path.write_text("n1\nn1\nn2\nn2\n")
    return path


def number_in(pattern, words):
    found = re.search(pattern, " ".join(words))
    return int(found[1]) if found else 0


def run_all(command, count, variables):
    """Processes side by side, as flux run; its exit code is the largest."""
    running = [subprocess.Popen(command, env={**os.environ, **variables(rank)}) for rank in range(count)]
    signal.signal(signal.SIGTERM, lambda *_: [each.terminate() for each in running])
    return max(each.wait() for each in running)


def qsub(words):
    dependency = number_in(r"depend=afterany:(\d+)", words)
    variables = lambda number: {"PBS_JOBID": f"{number}.server", "PBS_NODEFILE": str(hosts_file(number))}
    print(f"{take(pathlib.Path(words[-1]).read_text(), dependency, variables, 'QRF')}.server")


def qstat(words):
    job = words[-1].split(".")[0]
    if words[0] == "-f":
        print(f"Job Id: {job}.server\n    job_state = R\n    Resource_List.walltime = 01:00:00")
        print(f"    stime = {job_file(job, 'start').read_text()}")
        return
    print("Job id            Name             User              Time Use S Queue")
    print("----------------  ---------------- ----------------  -------- - -----")
    for job in words[1:]:
        print(f"{job}.server{'':9}xtune-measure-c* user1             00:00:00 {state_of(job)} workq")


def bsub(words):
    dependency = number_in(r"ended\((\d+)\)", words)
    script = sys.stdin.read()
    if "\n#BSUB -J " not in script:
        sys.exit("no script on the standard input")
    variables = lambda number: {"LSB_JOBID": str(number), "LSB_HOSTS": "n1 n1 n2 n2"}
    job = take(script, dependency, variables, ["PEND", "RUN", "DONE"])
    print(f"Job <{job}> is submitted to default queue <normal>.")


def bjobs(words):
    if words[0] == "-WL":
        print("JOBID USER  STAT QUEUE  FROM_HOST EXEC_HOST JOB_NAME   SUBMIT_TIME  TIME_LEFT")
        print(f"{words[1]} user1 RUN  normal n0        n1        xtune-meas Nov 28 13:00 1:00 L")
        return
    for job in words[words.index("jobid stat") + 1 :]:
        print(job, state_of(job))


def on_host(words):
    """pbs_tmrsh and blaunch; the former has no standard output."""
    host, *command = [word for word in words if word != "-no-shell"]
    assert host in ("n1", "n2"), host
    os.execvp(command[0], command)


def flux(words):
    inside, parent = "FLUX_ENCLOSING_ID" in os.environ, words[0] == "--parent"
    words = words[1:] if parent else words
    if words[0] == "batch":
        if inside and not parent:
            sys.exit("that would be a job of the job's own instance")
        dependency = number_in(r"afterany:\u0192(\d+)", words)
        variables = lambda number: {"FLUX_ENCLOSING_ID": f"\u0192{number}"}
        job = take(pathlib.Path(words[-1]).read_text(), dependency, variables, ["SCHED", "RUN", "COMPLETED"])
        print(f"\u0192{job}")
    elif words[0] == "run":
        count = number_in(r"--ntasks=(\d+)", words)
        command = words[next(i for i, word in enumerate(words[1:], 1) if not word.startswith("-")) :]
        variables = lambda rank: {
            "FLUX_TASK_RANK": str(rank),
            "FLUX_JOB_SIZE": str(count),
            "FLUX_JOB_ID": "\u0192run",
            "PMI_RANK": str(rank),
            "PMI_SIZE": str(count),
        }
        sys.exit(run_all(command, count, variables))
    elif words[0] == "jobs":
        for job in words[4:]:
            print(f" {job} {state_of(job[1:])}")
    elif words[:2] == ["job", "timeleft"]:
        print(LIMIT_S)
    else:
        sys.exit(f"flux {words}")


COMMANDS = {
    "qsub": qsub,
    "qstat": qstat,
    "pbsnodes": lambda words: None,
    "pbs_tmrsh": on_host,
    "bsub": bsub,
    "bjobs": bjobs,
    "blaunch": on_host,
    "flux": flux,
}

if __name__ == "__main__":
    COMMANDS[pathlib.Path(sys.argv[0]).name](sys.argv[1:])
