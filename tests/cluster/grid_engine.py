#!/usr/bin/env python3
"""Batch jobs of xtune under a real Grid Engine of one host: four processes, a kill, continuations.

  tests/cluster/grid_engine.py --xtune build/dev/src/cli/xtune

Exit code 0 when all hold, 77 where Grid Engine is not installed, else 1. Needs Debian's gridengine-master and
gridengine-exec, and root. One host has one execution daemon, so that there are no two nodes.
"""

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys

from chain import BatchSystem, continued, told_to_stop
from slurm import Slurm, free_ports
from trial import run_tests

BOOTSTRAP = """\
admin_user none
default_domain none
ignore_fqdn true
spooling_method berkeleydb
spooling_lib libspoolb
spooling_params {folder}/database
binary_path /usr/sbin
qmaster_spool_dir {folder}/qmaster
security_mode none
listener_threads 1
worker_threads 1
scheduler_threads 1
"""
HOST = """\
hostname localhost
load_scaling NONE
complex_values gpu=4
user_lists NONE
xuser_lists NONE
projects NONE
xprojects NONE
usage_scaling NONE
report_variables NONE
"""
ENVIRONMENT = """\
pe_name mpi
slots 99
user_lists NONE
xuser_lists NONE
start_proc_args NONE
stop_proc_args NONE
allocation_rule $fill_up
control_slaves TRUE
job_is_first_task FALSE
urgency_slots min
accounting_summary FALSE
qsort_args NONE
"""
QUEUE = """\
qname all.q
hostlist localhost
seq_no 0
load_thresholds NONE
suspend_thresholds NONE
nsuspend 1
suspend_interval 00:05:00
priority 0
min_cpu_interval 00:05:00
processors UNDEFINED
qtype BATCH INTERACTIVE
ckpt_list NONE
pe_list mpi
rerun FALSE
slots 8
tmpdir /tmp
shell /bin/bash
prolog NONE
epilog NONE
shell_start_mode posix_compliant
starter_method NONE
suspend_method NONE
resume_method NONE
terminate_method NONE
notify 00:00:10
owner_list NONE
user_lists NONE
xuser_lists NONE
subordinate_list NONE
complex_values NONE
projects NONE
xprojects NONE
calendar NONE
initial_state default
"""
LIMITS = ["s_rt", "h_rt"] + [f"{kind}_{what}" for what in "cpu fsize data stack core rss vmem".split() for kind in "sh"]


class GridEngine(BatchSystem):
    """A cell of its own on this host, for as long as a `with` block lasts."""

    programs = ("sge_qmaster", "sge_execd", "qsub")
    skipped = "skipped: {} is not installed [apt: gridengine-master gridengine-exec gridengine-client]"
    sbin, ask, wait_for = Slurm.sbin, staticmethod(Slurm.ask), staticmethod(Slurm.wait_for)
    scheduler, asked, devices = "sge", "qstat", "CUDA_VISIBLE_DEVICES"
    layout = ["--nodes", "4", "--gpus-per-node", "1"]  # slots of one host: the parallel environment places them
    gpus = ["0", "1", "2", "3"]
    short, long = ["--time", "40"], ["--time", "600"]
    accounts_late = True

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def __enter__(self):
        cell = self.folder / "root" / "default" / "common"
        for path in [cell, self.folder / "qmaster", self.folder / "execd", self.folder / "database"]:
            path.mkdir(parents=True)
        for name in ["bin", "lib", "util", "utilbin"]:
            (self.folder / "root" / name).symlink_to(f"/var/lib/gridengine/{name}")
        ports = free_ports(2)
        os.environ.update(
            SGE_ROOT=str(self.folder / "root"),
            SGE_CELL="default",
            SGE_QMASTER_PORT=str(ports[0]),
            SGE_EXECD_PORT=str(ports[1]),
        )
        (cell / "bootstrap").write_text(BOOTSTRAP.format(folder=self.folder))
        (cell / "act_qmaster").write_text("localhost\n")
        (cell / "host_aliases").write_text(f"localhost {socket.gethostname()}\n")
        text = pathlib.Path("/usr/share/gridengine/default-configuration").read_text()
        text = re.sub("(execd_spool_dir +).*", rf"\g<1>{self.folder}/execd", text)
        text = re.sub("(min_[ug]id +).*", r"\g<1>0", text).replace("00:00:40", "00:00:01")
        tools = pathlib.Path("/usr/lib/gridengine")
        self.tell([tools / "spoolinit", "berkeleydb", "libspoolb", self.folder / "database", "init"])
        self.tell([tools / "spooldefaults", "configuration", self.file("configuration", text)])
        for what, name in [("complexes", "centry"), ("usersets", "usersets")]:
            self.tell([tools / "spooldefaults", what, f"/usr/share/gridengine/util/resources/{name}"])
        self.tell([tools / "spooldefaults", "managers", "root"])
        try:
            self.tell(["/usr/sbin/sge_qmaster"])
            self.wait_for(lambda: "localhost" in self.ask("qconf", "-sh"), "the master")
            self.tell(["qconf", "-as", "localhost"])
            scheduler = re.sub(r"(schedule_interval +)\S+", r"\g<1>0:0:1", self.ask("qconf", "-ssconf"))
            scheduler = re.sub(r"(flush_\w+_sec +)\S+", r"\g<1>1", scheduler)
            self.tell(["qconf", "-Msconf", self.file("scheduler", scheduler)])
            complexes = self.ask("qconf", "-sc") + "\ngpu gpu INT <= YES YES 0 0\n"  # each slot counts
            self.tell(["qconf", "-Mc", self.file("complexes", complexes)])
            self.tell(["qconf", "-Ae", self.file("host", HOST)])
            self.tell(["/usr/sbin/sge_execd"])
            self.tell(["qconf", "-Ap", self.file("environment", ENVIRONMENT)])
            limits = "".join(f"{name} INFINITY\n" for name in LIMITS)
            self.tell(["qconf", "-Aq", self.file("queue", QUEUE + limits)])
            self.wait_for(lambda: re.search(r"all\.q.* lx-\w+ *\n", self.ask("qstat", "-f")), "the host")
        except BaseException:
            self.__exit__()
            raise
        return self

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    @staticmethod
    def tell(command):
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)

    def cancel(self, job):
        self.ask("qdel", job)

    def cancel_all(self):
        self.ask("qdel", "-f", "-u", "root")

    def jobs(self):
        return self.ask("qstat").splitlines()[2:]

    def __exit__(self, *_):
        self.cancel_all()
        for path in [self.folder / "execd/localhost/execd.pid", self.folder / "qmaster/qmaster.pid"]:
            try:
                os.kill(int(path.read_text()), signal.SIGKILL)
            except (OSError, ValueError):
                pass


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: only root starts daemons of Grid Engine")
        sys.exit(77)
    sys.exit(run_tests([continued, told_to_stop], __doc__, GridEngine))
