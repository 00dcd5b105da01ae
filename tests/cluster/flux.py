#!/usr/bin/env python3
"""Batch jobs of xtune under a real Flux of two brokers on this machine: chain.py's scenario.

  tests/cluster/flux.py --xtune build/dev/src/cli/xtune

Exit code 0 when all hold, 77 where flux is not on PATH, else 1. Debian has no package of it: build flux-core's sources.
The nodes have artificial cores and GPUs; the variables that Flux sets for them are real.
"""

import os
import pathlib
import subprocess
import sys

from chain import BatchSystem, continued, late_merge, told_to_stop
from slurm import Slurm
from trial import run_tests


class Flux(BatchSystem):
    programs = ("flux",)
    skipped = "skipped: {} is not installed [https://github.com/flux-framework/flux-core]"
    sbin, ask, wait_for = Slurm.sbin, staticmethod(Slurm.ask), staticmethod(Slurm.wait_for)
    scheduler, asked, devices = "flux", "flux", "CUDA_VISIBLE_DEVICES"
    layout = ["--nodes", "2", "--gpus-per-node", "2", "--cpus-per-task", "1"]
    short, long = ["--", "--time-limit=40s"], ["--time", "600"]

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def __enter__(self):
        self.folder.mkdir(parents=True)
        host = os.uname().nodename
        resources = self.ask("flux", "R", "encode", "-r", "0-1", "-H", f"{host},{host}", "-c", "0-7", "-g", "0-1")
        (self.folder / "R").write_text(resources)
        (self.folder / "flux.toml").write_text(f'[resource]\npath = "{self.folder}/R"\nnoverify = true\n')
        address = self.folder / "address"
        wait = f"flux getattr local-uri > {address}.new && mv {address}.new {address} && exec cat"
        self.instance = subprocess.Popen(
            ["flux", "start", "--test-size=2", f"--config-path={self.folder}/flux.toml", "sh", "-c", wait],
            stdin=subprocess.PIPE,  # whose end is the instance's
            stderr=subprocess.DEVNULL,  # how brokers and the jobs on them end
        )
        try:
            self.wait_for(address.exists, "the instance")
        except BaseException:
            self.__exit__()
            raise
        os.environ["FLUX_URI"] = address.read_text().strip()
        return self

    def __exit__(self, *_):
        self.instance.stdin.close()
        self.instance.wait(60)

    def cancel(self, job):
        self.ask("flux", "cancel", job)

    def cancel_all(self):
        self.ask("flux", "cancel", "--all")

    def jobs(self):
        return self.ask("flux", "jobs", "-n", "-o", "{id}").split()

    def hold(self, job):
        self.ask("flux", "job", "urgency", job, "hold")

    def release(self, job):
        self.ask("flux", "job", "urgency", job, "default")


if __name__ == "__main__":
    sys.exit(run_tests([continued, told_to_stop, late_merge], __doc__, Flux))
