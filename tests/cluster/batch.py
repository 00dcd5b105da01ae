#!/usr/bin/env python3
"""Batch jobs of xtune under a real Slurm of two emulated nodes: submit, status, time limits, lost nodes, full disks.

  tests/cluster/batch.py --xtune build/dev/src/cli/xtune

Exit code 0 when all hold, 77 where Slurm is not installed, else 1. Needs what cluster.py needs; the full disk needs root.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys

from trial import CONFIGS, SRUN, Skip, check, finished, start, run_tests


def status(trial, *what):
    done = subprocess.run(
        [trial.xtune, "status", *what, "--store", str(trial.store), "--format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    check(done.returncode == 0, f"status ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def submit(trial, slurm, *options):
    answer, folder = submit_only(trial, *options)
    slurm.wait_for(lambda: (folder / "status.json").exists() and not slurm.ask("squeue", "-h"), "the merge", 240)
    return answer, folder


def submit_only(trial, *options):
    done = subprocess.run(
        [
            trial.xtune,
            "submit",
            str(trial.folder / "copy.toml"),
            "--backend",
            "host",
            "--store",
            str(trial.store),
            "--format",
            "json",
            *options,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    check(done.returncode == 0, f"submit ended with {done.returncode}: {done.stderr}")
    answer = json.loads(done.stdout)
    return answer, pathlib.Path(answer["folder"])


def submitted(trial, slurm):
    """A suite through submit: two nodes measure, the merge tells what came of it; paths have spaces and quotes."""
    trial.store = trial.folder / 'the user\'s "store" $HOME'
    (trial.folder / "suite.toml").write_text('[[suite]]\nspec = "copy.toml"\ncases = [{ N = 64 }, { N = 32 }]\n')
    os.rename(trial.folder / "copy.toml", trial.folder / "it's.toml")
    (trial.folder / "copy.toml").write_text('[[suite]]\nspec = "it\'s.toml"\ncases = [{ N = 64 }, { N = 32 }]\n')
    answer, folder = submit(trial, slurm, "--nodes", "2", "--", "--time=5")
    results = json.loads((folder / "answers-0.r0.json").read_text())
    check([each["problem"]["N"] for each in results] == [64, 32], f"answers: {results}")
    for each in results:
        check(
            trial.is_best(each["best"]["config"], lambda record: record["problem"] == each["problem"]), "another best"
        )
    told = json.loads((folder / "status.json").read_text())
    check(
        sorted((each["problem"]["N"], each["done"], each["state"]) for each in told["work"])
        == [(32, CONFIGS, "done"), (64, CONFIGS, "done")],
        f"status: {told['work']}",
    )
    check(sorted(each["rank"] for each in told["processes"]) == [0, 1], f"processes: {told['processes']}")
    check(not any(each["alive"] for each in told["processes"]), "a process lives on")
    check([each["step"] for each in answer["steps"]] == ["measure", "merge"], f"steps: {answer}")
    again = status(trial, answer["steps"][0]["job"])
    check(again["name"] == answer["name"] and again["jobs"][0]["state"] == "COMPLETED", f"status: {again['jobs']}")


def components(trial, slurm):
    """A heterogeneous job: each process gets a device of its own by the scheduler's variables, in one store."""
    _, folder = submit(
        trial,
        slurm,
        "--arch-component",
        "nodes=1,gpus-per-node=2,gres=gpu:h100:2",
        "--arch-component",
        "nodes=1,gpus-per-node=2,gres=gpu:mi300a:2",
    )
    told = json.loads((folder / "status.json").read_text())
    check(len(told["processes"]) == 4, f"processes: {told['processes']}")
    check((folder / "answers-1.r0.json").exists(), "the second component has no answers")
    trial.check_complete()


def mixed(trial, _):
    """Four processes on nodes of two architectures make two searches, each as one process would have."""
    one = trial.folder / "one"
    alone = [trial.xtune, "run", str(trial.folder / "copy.toml"), "--backend", "host", "--store", str(one), "--quiet"]
    finished(start(alone), "one process")
    recording = trial.folder / "recording.jsonl"
    for path in one.glob("records/*/copy/*.jsonl"):
        # Without what would no longer be right: checksums, and the parts of the keys.
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        text = "".join(
            json.dumps({name: value for name, value in line.items() if name not in ("checksum", "key_parts")}) + "\n"
            for line in lines
        )
        recording.write_text(text.replace(f'"arch": "{path.parent.parent.name}"', '"arch": "gfx942"'))
    replay = ["--backend", "replay", "--recording", str(recording)]
    script = trial.folder / "either.sh"
    script.write_text('#!/bin/sh\n[ "$SLURM_NODEID" = 0 ] && exec "$@"\nexec "$@" ' + " ".join(replay) + "\n")
    script.chmod(0o755)
    plain = [word for word in trial.command("--quiet")]
    at = plain.index("--backend")
    del plain[at : at + 2]
    out = finished(start(SRUN + [str(script)] + plain), "srun")
    decoder, answers = json.JSONDecoder(), []
    while out.strip():
        answer, end = decoder.raw_decode(out.lstrip())
        answers.append(answer)
        out = out.lstrip()[end:]
    check(len(answers) == 2, f"{len(answers)} answers")
    check(len({answer["device"]["arch"] for answer in answers}) == 2, "one architecture")
    for answer in answers:
        arch = answer["device"]["arch"]
        check(
            trial.is_best(answer["best"]["config"], lambda record: record["device"]["arch"] == arch),
            f"the best is {answer['best']}",
        )
        check(sum(answer["counts"].values()) == CONFIGS, f"{answer['counts']}")
    check(len(trial.measured()) == 2 * CONFIGS, f"{len(trial.measured())} records of two architectures")


def one_question(trial, slurm):
    """Of four processes one asks the controller how much time is left, and all stop before it is over."""
    trial.slow_down()
    asked, folder = trial.folder / "asked", trial.folder / "bin"
    folder.mkdir()
    (folder / "squeue").write_text(f'#!/bin/sh\necho "$*" >> {asked}\necho 0:15\n')
    (folder / "squeue").chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    job = subprocess.Popen(
        SRUN + ["--export=ALL", *trial.command("--quiet")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    out, err = job.communicate(timeout=120)
    check(job.returncode == 130, f"srun ended with {job.returncode}: {err}")
    check(
        err.count("15.0 s left in the job (squeue)") == 1 and err.count("stopped before the end") == 4,
        f"they said: {err}",
    )
    check(len(asked.read_text().splitlines()) == 1, f"asked: {asked.read_text()}")
    kept = len(trial.measured())
    check(0 < kept < CONFIGS, f"{kept} were measured")
    told = status(trial)
    check([each["state"] for each in told["processes"]] == ["interrupted"] * 4, f"processes: {told['processes']}")


def bare_environment(trial, slurm):
    """Sites that ask for --export=NONE: the processes know their submission all the same."""
    answer, folder = submit(trial, slurm, "--nodes", "2", "--", "--export=NONE")
    told = json.loads((folder / "status.json").read_text())
    check(len(told["processes"]) == 2 and told["name"] == answer["name"], f"processes: {told['processes']}")
    trial.check_complete()


def wait_for_second_attempt(slurm, job):
    # Of this job: others, of earlier checks, were restarted too.
    slurm.wait_for(lambda: "Restarts=1" in slurm.ask("scontrol", "show", "job", job), "a second attempt", 120)


def walltime(trial, slurm):
    """A run stops by itself before its job's time is over, asks for another attempt, and that one finishes."""
    trial.slow_down()
    codes, script = trial.folder / "codes", trial.folder / "job.sh"
    script.write_text(
        '#!/bin/sh\n[ -n "$SLURM_RESTART_COUNT" ] || export XTUNE_WALLTIME=15\n'
        "srun -n2 --overcommit "
        + " ".join(trial.command("--quiet", "--requeue"))
        + f"\nrc=$?\necho $rc >> {codes}\n[ $rc = 130 ] && sleep 60\nexit $rc\n"
    )
    job = slurm.ask(
        "sbatch",
        "--parsable",
        "-n2",
        "--requeue",
        "--overcommit",
        "--open-mode=append",
        "-o",
        str(trial.folder / "log"),
        str(script),
    ).strip()
    wait_for_second_attempt(slurm, job)
    kept = len(trial.measured())
    check(0 < kept < CONFIGS, f"{kept} were measured in the first attempt")
    slurm.wait_for(lambda: not slurm.ask("squeue", "-h"), "the end of the job", 180)
    log = (trial.folder / "log").read_text()
    check("stopped before the end of the job's time" in log, f"the log says: {log}")
    check(codes.read_text().split()[-1] == "0", f"exit codes {codes.read_text().split()}")
    # Running measurements were finished: nothing is measured twice.
    trial.check_complete(most_twice=0)


def logs(folder):
    return "".join(path.read_text() for path in sorted(folder.glob("*.log")))


def continued(trial, slurm):
    """A submitted job whose time ends submits the next one; its merge waits for that one: one store, one answer."""
    short = trial.folder / "short"
    setup = f"if [ -e {short} ]; then unset XTUNE_WALLTIME; else touch {short}; export XTUNE_WALLTIME=6; fi"
    answer, folder = submit(trial, slurm, "--nodes", "2", "--setup", setup, "--time", "300")
    check("continues the search" in logs(folder), f"the logs say: {logs(folder)}")
    told = json.loads((folder / "status.json").read_text())
    jobs = [(each["step"], each["state"]) for each in told["jobs"]]
    check(
        jobs[:3] == [("measure", "COMPLETED"), ("merge", "COMPLETED"), ("measure.r1", "COMPLETED")]
        and [step for step, _ in jobs[3:]] == ["merge.r1"],
        f"jobs: {jobs}",
    )
    check(len(told["processes"]) == 4, f"processes: {told['processes']}")
    again = json.loads((folder / "answers-0.r1.json").read_text())
    check(trial.is_best((again[0] if isinstance(again, list) else again)["best"]["config"]), f"answers: {again}")
    trial.check_complete(most_twice=0)


def told_to_stop(trial, slurm):
    """A submitted job that is ended early has a continuation, as where preemption cancels; a file ends the chain."""
    trial.slow_down()
    answer, folder = submit_only(trial, "--nodes", "2", "--time", "300")
    slurm.wait_for(lambda: len(trial.measured()) >= 4, "four measurements")
    slurm.ask("scancel", answer["steps"][0]["job"])
    slurm.wait_for(lambda: (folder / "measure.r1.sh").exists(), "the continuation", 60)
    slurm.wait_for(lambda: len(status(trial)["processes"]) == 4, "its processes", 120)
    (folder / "stop").touch()
    slurm.ask("scancel", status(trial)["jobs"][2]["job"])
    slurm.wait_for(lambda: (folder / "status.json").exists() and not slurm.ask("squeue", "-h"), "the merge", 120)
    told = status(trial)
    check(
        [each["step"] for each in told["jobs"]] == ["measure", "merge", "measure.r1", "merge.r1"],
        f"jobs: {told['jobs']}",
    )
    check("stop ends the chain" in logs(folder), f"the logs say: {logs(folder)}")
    measured = trial.measured()
    check(len(measured) - len(set(measured)) <= 4, f"more was measured twice than was in flight: {measured}")


def lost_node(trial, slurm):
    """A node is lost, the job starts again elsewhere, and the processes left behind finish late: all is merged."""
    trial.slow_down()
    script = trial.folder / "job.sh"
    script.write_text("#!/bin/sh\nsrun -N$SLURM_NNODES -n2 --overcommit " + " ".join(trial.command("--quiet")) + "\n")
    job = slurm.ask(
        "sbatch",
        "--parsable",
        "-N2",
        "-n2",
        "--requeue",
        "--overcommit",
        "--open-mode=append",
        "-o",
        str(trial.folder / "log"),
        str(script),
    ).strip()
    slurm.wait_for(lambda: len(trial.measured()) >= 4 and len(trial.ranks()) == 2, "two processes at work")
    told = status(trial)
    orphan = next(each["pid"] for each in told["processes"] if each["rank"] == 1)
    os.kill(orphan, signal.SIGSTOP)
    slurm.kill_node("n2")
    try:
        wait_for_second_attempt(slurm, job)
        slurm.ask("scontrol", "update", f"jobid={job}", "numnodes=1")
        slurm.wait_for(lambda: not slurm.ask("squeue", "-h"), "its end", 180)
        check(set(trial.measured()) == set(range(1, CONFIGS + 1)), f"measured {trial.measured()}")
    finally:
        os.kill(orphan, signal.SIGCONT)
    slurm.wait_for(lambda: not pathlib.Path(f"/proc/{orphan}").exists(), "the end of the process left behind", 240)
    # Up to the configurations that it had claimed, and those that it took over from the other process of the first
    # attempt.
    trial.check_complete(most_twice=CONFIGS)
    merged = trial.folder / "merged"
    for _ in range(2):
        finished(start([trial.xtune, "store", "merge", str(trial.store), "--store", str(merged)]), "merge")
    lines = lambda store: sorted(
        line
        for path in store.glob("records/*/copy/*.jsonl")
        for line in path.read_text().splitlines()
        if '"outcome"' in line
    )
    check(len(lines(merged)) == len(set(lines(merged))) == len(lines(trial.store)), "merging twice is not merging once")
    slurm.start_node("n2")
    slurm.ask("scontrol", "update", "nodename=n2", "state=resume")
    slurm.wait_for_nodes()


def full_disk(trial, slurm):
    """A full disk is told, what was measured before is kept, and the next run goes on from there."""
    if os.geteuid() != 0:
        raise Skip("only root mounts a small disk")
    trial.slow_down()
    trial.store.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m,mode=0755", "tmpfs", str(trial.store)],
        stderr=subprocess.PIPE,
        text=True,
    )
    if mount.returncode != 0:
        raise Skip(f"no small disk here: {mount.stderr.strip()}")
    try:
        job = start(SRUN + trial.command("--quiet"))
        slurm.wait_for(lambda: len(trial.measured()) >= 4, "four measurements")
        with open(trial.store / "filler", "wb", buffering=0) as filler:
            try:
                while filler.write(b"x" * 4096):
                    pass
            except OSError:
                pass
        out, err = job.communicate(timeout=600)
        check("No space left on device" in err, f"the run did not say it: {err}")
        kept = trial.measured()
        check(4 <= len(kept) < CONFIGS, f"{len(kept)} records are kept")
        result = json.loads(out)
        check(sum(result["counts"].values()) >= 4 and result["best"], f"printed {result}, {job.returncode}, {err}")
        os.unlink(trial.store / "filler")
        finished(start(SRUN + trial.command("--quiet")), "the second srun")
        trial.check_complete()
    finally:
        slurm.ask("scancel", "--me")
        slurm.wait_for(
            lambda: subprocess.run(["umount", str(trial.store)], stderr=subprocess.DEVNULL).returncode == 0,
            "the small disk to be idle",
        )


if __name__ == "__main__":
    sys.exit(
        run_tests(
            [
                submitted,
                bare_environment,
                components,
                mixed,
                one_question,
                walltime,
                continued,
                told_to_stop,
                lost_node,
                full_disk,
            ],
            __doc__,
        )
    )
