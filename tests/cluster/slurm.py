"""A Slurm of two emulated nodes on this machine, for as long as a `with` block lasts.

slurm.conf(5), gres.conf(5); several slurmd on one host by -N, as in Slurm's "multiple slurmd support".
"""

import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import time


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


CONFIGURATION = """\
ClusterName=emulated
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
AuthInfo=cred_expire=5
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/controller.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=1
SlurmdTimeout=5
GresTypes=gpu
KillWait=3
MpiDefault=none
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=8 RealMemory=1000 Gres=gpu:h100:2
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=8 RealMemory=1000 Gres=gpu:mi300a:2
PartitionName=all Nodes=ALL Default=YES State=UP
"""
# Artificial devices: the variables that Slurm sets for them in the environment are real.
GRES = """\
NodeName=n1 Name=gpu Type=h100 File={folder}/nvidia[0-1] Flags=nvidia_gpu_env
NodeName=n2 Name=gpu Type=mi300a File={folder}/card[0-1] Flags=amd_gpu_env
"""


class Slurm:
    programs = ("slurmctld", "slurmd", "srun")
    skipped = "skipped: {} is not installed [apt: slurm-wlm]"

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def __enter__(self):
        for name in ["state", "spool-n1", "spool-n2"]:
            (self.folder / name).mkdir(parents=True)
        (self.folder / "slurm.conf").write_text(
            CONFIGURATION.format(
                host=socket.gethostname().split(".")[0],
                user=pwd.getpwuid(os.getuid()).pw_name,
                folder=self.folder,
                ports=free_ports(3),
            )
        )
        (self.folder / "gres.conf").write_text(GRES.format(folder=self.folder))
        for name in ["nvidia0", "nvidia1", "card0", "card1"]:
            (self.folder / name).symlink_to("/dev/null")
        os.environ["SLURM_CONF"] = str(self.folder / "slurm.conf")
        sbin = self.sbin
        try:
            subprocess.run([shutil.which("slurmctld", path=sbin), "-c"], check=True)
            for node in ["n1", "n2"]:
                self.start_node(node)
            self.wait_for_nodes()
        except BaseException:
            self.__exit__()
            raise
        return self

    sbin = os.environ.get("PATH", "") + ":/usr/sbin"

    def start_node(self, node):
        subprocess.run([shutil.which("slurmd", path=self.sbin), "-N", node], check=True)

    def kill_node(self, node):
        """Its daemon alone: what runs there goes on, as on a node that has lost the network."""
        os.kill(int((self.folder / f"{node}.pid").read_text()), signal.SIGKILL)

    def wait_for_nodes(self):
        self.wait_for(lambda: self.ask("sinfo", "-hN", "-o", "%T").split() == ["idle", "idle"], "two idle nodes")

    def __exit__(self, *_):
        for name in ["n1", "n2", "controller"]:
            try:
                os.kill(int((self.folder / f"{name}.pid").read_text()), signal.SIGKILL)
            except (OSError, ValueError):
                pass
        self.end_steps()

    def end_steps(self):
        """Of a node that was lost they wait for a daemon that does not come back; they know their configuration."""
        mine = b"SLURM_CONF=" + str(self.folder / "slurm.conf").encode()
        for process in pathlib.Path("/proc").iterdir():
            try:
                if (process / "comm").read_text().strip() == "slurmstepd" and mine in (
                    process / "environ"
                ).read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGKILL)
            except (OSError, ValueError):
                pass

    def cancel_all(self):
        self.ask("scancel", "--me")

    @staticmethod
    def ask(*command):
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout

    @staticmethod
    def wait_for(condition, what, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f"waited {seconds} s in vain for {what}")
            time.sleep(0.05)
