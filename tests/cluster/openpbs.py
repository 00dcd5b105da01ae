#!/usr/bin/env python3
"""Batch jobs of xtune under a real OpenPBS: chain.py's scenario.

  tests/cluster/openpbs.py --xtune build/dev/src/cli/xtune

Exit code 0 when all hold, 77 where no server answers, else 1. Debian has no package of OpenPBS, and its daemons refuse
loopback addresses: build its sources, and start it by hand on two hosts with 2 ncpus and 2 ngpus each, for example in
network namespaces. Users of xtune must be able to submit, and both hosts to see this directory and /tmp.
"""

import os
import pathlib
import subprocess
import sys

from chain import BatchSystem, continued, quoted, told_to_stop
from slurm import Slurm
from trial import run_tests


class OpenPBS(BatchSystem):
    programs = ("pbsnodes",)
    skipped = "skipped: {} is not installed [https://github.com/openpbs/openpbs]"
    sbin, ask, wait_for = Slurm.sbin, staticmethod(Slurm.ask), staticmethod(Slurm.wait_for)
    scheduler, asked, devices, log_pattern = "pbs", "qstat", "CUDA_VISIBLE_DEVICES", "*.OU"
    layout = ["--nodes", "2", "--gpus-per-node", "2", "--cpus-per-task", "1"]
    short, long = ["--time", "90"], ["--time", "600"]

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cancel_all()

    def setup(self):
        return quoted(os.environ)

    def cancel(self, job):
        self.ask("qdel", job)

    def cancel_all(self):
        for job in self.jobs():
            self.cancel(job)

    def jobs(self):
        return self.ask("qselect").split()

    @property
    def remembers_jobs(self):
        return "job_history_enable = True" in self.ask("qmgr", "-c", "list server")


if __name__ == "__main__":
    try:
        subprocess.run(["qstat", "-B"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        print("skipped: no server of PBS answers")
        sys.exit(77)
    sys.exit(run_tests([continued, told_to_stop], __doc__, OpenPBS))
