#!/usr/bin/env python3
"""Stands in for commands of batch systems that are not here: takes jobs, runs each on this machine after the one that it
depends on, and answers as Flux 0.88 and OpenPBS 23.06 do, and as the manuals of LSF show. Called by a command's name (qsub,
bjobs, flux ...); STAND_IN is its folder.
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
    while (dependency and state_of(dependency) != states[2]) or job_file(number, "hold").exists():
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
    codes = [each.wait() for each in running]
    return max(code if code >= 0 else 128 - code for code in codes)


def pbs_remembers():
    """job_history_enable, which is off by default."""
    return (FOLDER / "history").exists()


def qsub(words):
    dependency = number_in(r"depend=afterany:(\d+)", words)
    variables = lambda number: {"PBS_JOBID": f"{number}.server", "PBS_NODEFILE": str(hosts_file(number))}
    if dependency and state_of(dependency) == "F" and not pbs_remembers():
        print("99.server")  # and then "Dependency request for job rejected": the job is gone
        return
    print(f"{take(pathlib.Path(words[-1]).read_text(), dependency, variables, 'HRF')}.server")


def qstat(words):
    if words[0] == "-f":
        job = words[-1].split(".")[0]
        print(f"Job Id: {job}.server\n    Job_Name = xtune-measure-copy\n    job_state = R\n    queue = workq")
        print("    Resource_List.select = 2:ncpus=2:mpiprocs=2:ngpus=2\n    Resource_List.walltime = 01:00:00")
        print(f"    stime = {job_file(job, 'start').read_text()}")
        print("    Variable_List = PBS_O_HOME=/root,PBS_O_LANG=C.UTF-8,\n\tPBS_O_PATH=/opt/pbs/bin:/usr/bin:/bin\n")
        return
    every = words[0] == "-x"
    lines = []
    for job in words[every:]:
        state = state_of(job) if job_file(job, "state").exists() else ""
        if every and not pbs_remembers():
            print(f"qstat: PBS is not configured to maintain job history {job}.server", file=sys.stderr)
        elif state == "F" and pbs_remembers() and not every:
            print(f"qstat: {job}.server Job has finished, use -x or -H to obtain", file=sys.stderr)
        elif not state or (state == "F" and not every):
            print(f"qstat: Unknown Job Id {job}.server", file=sys.stderr)
        else:
            used = "0" if state == "H" else "00:00:00"
            lines.append(f"{job + '.server':<17} xtune-measure-c* {'root':<16} {used:>8} {state} {'workq':<15} ")
    if lines:
        print("Job id            Name             User              Time Use S Queue")
        print("----------------  ---------------- ----------------  -------- - -----")
        print("\n".join(lines))


def bsub(words):
    dependency = number_in(r"ended\((\d+)\)", words)
    script = sys.stdin.read()
    if "\n#BSUB -J " not in script:
        sys.exit("no script on the standard input")
    variables = lambda number: {"LSB_JOBID": str(number), "LSB_MCPU_HOSTS": "n1 2 n2 2"}
    job = take(script, dependency, variables, ["PEND", "RUN", "DONE"])
    print(f"Job <{job}> is submitted to default queue <normal>.")


def bjobs(words):
    if words[0] == "-WL":
        print("JOBID USER  STAT QUEUE  FROM_HOST EXEC_HOST JOB_NAME   SUBMIT_TIME  TIME_LEFT")
        print(f"{words[1]} user1 RUN  normal n0        n1        xtune-meas Nov 28 13:00 1:00 L")
        return
    for job in words[words.index("jobid stat") + 1 :]:
        print(job, state_of(job))


def pbs_tmrsh(words):
    """Passes on only variables of PBS. A login shell reads the profile in the stand-ins' folder."""
    host, *command = words
    assert host in ("n1", "n2"), host
    passed = {name: value for name, value in os.environ.items() if name.startswith("PBS_")}
    own = {"HOME": str(FOLDER), "PATH": "/bin:/usr/bin"}
    os.execve(f"/bin/{command[0]}", command, {**passed, **own})


def blaunch(words):
    _, host, *command = words
    assert host in ("n1", "n2"), host
    os.execvp(command[0], command)


def flux_libraries():
    """Flux puts its directory before those that are there, also where it is among them."""
    return {"LD_LIBRARY_PATH": ":".join(["/usr/lib/flux", *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])}


def flux_run(words):
    """Tasks in blocks on the nodes; without gpu-affinity=per-task each sees all GPUs of its node."""
    nodes, count = number_in(r"--nodes=(\d+)", words), number_in(r"--ntasks=(\d+)", words)
    start = next(i for i, word in enumerate(words[1:], 1) if not word.startswith("-") and words[i - 1] != "-o")
    on_node = -(-count // nodes)
    all_gpus = ",".join(str(gpu) for gpu in range(on_node * number_in(r"--gpus-per-task=(\d+)", words))) or "-1"

    def variables(rank):
        local = str(rank % on_node)
        one = all_gpus != "-1" and "gpu-affinity=per-task" in words
        return {
            **flux_libraries(),
            "CUDA_VISIBLE_DEVICES": local if one else all_gpus,
            "FLUX_JOB_ID": "\u0192xVc7od",  # counts from the start of the job's instance: equal in all jobs
            "FLUX_JOB_NNODES": str(nodes),
            "FLUX_JOB_SIZE": str(count),
            "FLUX_TASK_LOCAL_ID": local,
            "FLUX_TASK_RANK": str(rank),
            "PMI_FD": "18",
            "PMI_RANK": str(rank),
            "PMI_SIZE": str(count),
        }

    sys.exit(run_all(words[start:], count, variables))


def flux_job(job):
    """The number of a job of the submitting instance, by its id."""
    number = job[1:]
    return number if job[0] in "f\u0192" and job_file(number, "state").exists() else ""


def flux(words):
    inside, parent = "FLUX_ENCLOSING_ID" in os.environ, words[0] == "--parent"
    words = words[1:] if parent else words
    if words[0] == "batch":
        if inside and not parent:
            sys.exit("that would be a job of the job's own instance")
        if inside:
            os.kill(
                os.getppid(), signal.SIGALRM
            )  # the time limit ends meanwhile, which all processes of the job are told
        dependency = number_in(r"afterany:[f\u0192](\d+)", words)
        variables = lambda number: {**flux_libraries(), "FLUX_ENCLOSING_ID": f"\u0192{number}"}
        job = take(pathlib.Path(words[-1]).read_text(), dependency, variables, ["DEPEND", "RUN", "COMPLETED"])
        if inside and (FOLDER / "kill").exists():  # the end of the 5 s after the limit
            (FOLDER / "kill").unlink()
            os.kill(os.getppid(), signal.SIGKILL)
        print(("f" if "FLUX_F58_FORCE_ASCII" in os.environ else "\u0192") + str(job))
    elif words[0] == "run":
        flux_run(words)
    elif words[0] == "jobs":
        for job in words[4:]:
            number = "" if inside and not parent else flux_job(job)
            if number:
                id_forms = {
                    "{id.f58}": f"\u0192{number}",
                    "{id.f58plain}": f"f{number}",
                    "{status:h}": state_of(number),
                }
                print(re.sub(r"\{[^}]*\}", lambda found: id_forms[found[0]], words[3]))
            else:
                print(f"JobID {job} unknown", file=sys.stderr)
    elif words[:2] == ["job", "timeleft"]:
        print(LIMIT_S)
    else:
        sys.exit(f"flux {words}")


COMMANDS = {
    "qsub": qsub,
    "qstat": qstat,
    "pbsnodes": lambda words: None,
    "pbs_tmrsh": pbs_tmrsh,
    "bsub": bsub,
    "bjobs": bjobs,
    "blaunch": blaunch,
    "flux": flux,
}

if __name__ == "__main__":
    COMMANDS[pathlib.Path(sys.argv[0]).name](sys.argv[1:])
