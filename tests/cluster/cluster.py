#!/usr/bin/env python3
"""xtune under a real Slurm of two emulated nodes: processes that share a search, and what becomes of it when they die.

  tests/cluster/cluster.py --xtune build/dev/src/cli/xtune

Every check compares with a run of one process. Exit code 0 when all hold, 77 where Slurm is not installed, else 1. Needs
Debian's slurm-wlm and Python 3.8; waits by looking, not by the clock.
"""

import json
import os
import signal
import sys

from trial import CONFIGS, SRUN, check, finished, run_tests, start


def shared(trial, _):
    """Four processes on two nodes measure everything once; one of them prints."""
    out = finished(start(SRUN + trial.command()), "srun")
    result = json.loads(out)
    result = result[0] if isinstance(result, list) else result
    check(trial.is_best(result["best"]["config"]), f"printed {result['best']}")
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
    script.write_text(
        "#!/bin/sh\nsrun -n2 --overcommit "
        + " ".join(trial.command("--quiet"))
        + f"\nrc=$?\necho $rc >> {trial.folder}/codes\n"
        "[ $rc = 130 ] && scontrol requeue $SLURM_JOB_ID && sleep 60\nexit $rc\n"
    )
    slurm.ask("sbatch", "-n2", "--requeue", "--overcommit", "-o", str(trial.folder / "log"), str(script))
    slurm.wait_for(lambda: len(trial.measured()) >= 4, "four measurements")
    slurm.ask("scancel", "--me", "--signal=USR1")
    codes = trial.folder / "codes"
    slurm.wait_for(lambda: codes.exists() and len(codes.read_text().split()) == 2, "both attempts of the job", 120)
    check(codes.read_text().split() == ["130", "0"], f"exit codes {codes.read_text().split()}")
    trial.check_complete()


if __name__ == "__main__":
    sys.exit(run_tests([shared, killed_rank, cancelled, requeued], __doc__))
