"""A root directory of another release of Debian, in which commands run. Needs root, debootstrap and a network."""

import fcntl
import os
import pathlib
import shutil
import subprocess
import tempfile

import suites

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Mounts in namespaces of their own: nothing remains mounted or running when the command ends, however it ends.
ENTER = """
mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" || exit 125
folder=$1; shift
exec chroot "$0" sh -c 'cd "$0" && exec "$@"' "$folder" "$@"
"""


class Failure(Exception):
    """A step that did not work, in words for the user."""


def mirror():
    """The mirror of this machine's apt."""
    folder = pathlib.Path("/etc/apt")
    for path in [
        folder / "sources.list",
        *sorted(folder.glob("sources.list.d/debian*")),
        *sorted(folder.glob("sources.list.d/*")),
    ]:
        if path.is_file() and "debian" in path.read_text() and (found := suites.mirror_of(path.read_text())):
            return found
    raise Failure("no mirror of Debian is named in /etc/apt: give one with --mirror")


class Root:
    """The root directory of a suite; made once, and kept until it is removed."""

    def __init__(self, folder, name, mirror_address):
        self.suite, self.name, self.mirror = suites.SUITES[name], name, mirror_address
        self.path = folder / name
        self.log = folder / f"{name}.log"

    def lock(self):
        """Keeps other runs out of this root until the process ends."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.held = open(self.path.parent / f"{self.name}.lock", "w")
        try:
            fcntl.flock(self.held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failure(
                f"another run uses {self.path}: wait for its end, or give another directory with --roots"
            ) from None

    def run(self, command, folder="/", variables=None, check=True):
        """Runs the command inside, and appends its output to the log."""
        environment = {
            "HOME": "/root",
            "PATH": PATH,
            "TERM": "dumb",
            "LC_ALL": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive",
        }
        done = subprocess.run(
            [
                "unshare",
                "--mount",
                "--pid",
                "--fork",
                "--kill-child=KILL",
                "sh",
                "-c",
                ENTER,
                str(self.path),
                folder,
                *command,
            ],
            env=environment | (variables or {}),
            capture_output=True,
            text=True,
            errors="replace",
        )
        self.note(" ".join(command), done.stdout + done.stderr)
        if check and done.returncode != 0:
            raise Failure(
                f"'{' '.join(command)}' ended with code {done.returncode} in {self.path}: see {self.log}\n"
                f"{(done.stdout + done.stderr)[-2000:]}"
            )
        return done

    def note(self, command, output):
        with open(self.log, "a") as log:
            log.write(f"$ {command}\n{output}\n")

    def outside(self, command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.note(" ".join(command), done.stdout)
        if done.returncode != 0:
            raise Failure(
                f"'{' '.join(command)}' ended with code {done.returncode}: see {self.log}\n{done.stdout[-2000:]}"
            )

    def make(self):
        """Makes the base system and installs the packages of the suite, where that is still to be done."""
        if not (self.path / "etc/xtune-base").exists():
            shutil.rmtree(self.path, ignore_errors=True)
            self.outside(
                [
                    "debootstrap",
                    "--variant=minbase",
                    "--include=ca-certificates",
                    self.suite.codename,
                    str(self.path),
                    self.mirror,
                ]
            )
            (self.path / "etc/xtune-base").touch()
        for name in ("resolv.conf", "hosts"):
            if pathlib.Path("/etc", name).exists():
                shutil.copy(f"/etc/{name}", self.path / "etc" / name)
        wanted = " ".join(suites.packages(self.suite))
        stamp = self.path / "etc/xtune-packages"
        if stamp.exists() and stamp.read_text() == wanted:
            return
        apt = self.path / "etc/apt"
        (apt / "sources.list").write_text(suites.sources(self.suite, self.mirror))
        # A mirror's copy of unstable may be older than the week for which it is signed.
        (apt / "apt.conf.d/xtune").write_text('Acquire::Check-Valid-Until "false";\nAPT::Install-Recommends "false";\n')
        self.run(["apt-get", "update"])
        # Without it, a package manager waits for the disk after each file.
        (self.path / "etc/dpkg/dpkg.cfg.d").mkdir(exist_ok=True)
        (self.path / "etc/dpkg/dpkg.cfg.d/xtune").write_text("force-unsafe-io\n")
        self.run(
            [
                "apt-get",
                "install",
                "-y",
                *(name for name in suites.packages(self.suite) if name not in self.suite.extra_packages),
            ]
        )
        if self.suite.extra:
            self.run(["apt-get", "install", "-y", "-t", self.suite.extra, *self.suite.extra_packages])
        self.add_cuda_headers()
        self.add_kokkos_archives()
        self.run(["apt-get", "clean"])
        stamp.write_text(wanted)

    def add_cuda_headers(self):
        """Unpacks /usr/include of the package that has CUDA's headers."""
        with tempfile.TemporaryDirectory(dir=self.path / "var/tmp") as folder:
            inside = "/" + str(pathlib.Path(folder).relative_to(self.path))
            name = suites.CUDA_HEADERS + (f"/{self.suite.extra}" if self.suite.extra else "")
            # apt's own user cannot write there.
            self.run(["apt-get", "-o", "APT::Sandbox::User=root", "download", name], inside)
            self.run(
                [
                    "sh",
                    "-c",
                    "for file in *.deb; do dpkg-deb --fsys-tarfile $file | tar -C / -x --wildcards './usr/include/*'; done",
                ],
                inside,
            )

    def add_kokkos_archives(self):
        """Adds the archives that Kokkos' CMake files name and its package lacks. Built from source, they are empty, too."""
        for file in (self.path / "usr/lib").glob("*/cmake/Kokkos/*.cmake"):
            for name in suites.imported_archives(file.read_text()):
                archive = self.path / "usr" / name
                if not archive.exists():
                    archive.write_text("!<arch>\n")
                    self.note("add_kokkos_archives", str(archive))

    def versions(self):
        """{package: version} of the installed packages that are worth reporting."""
        done = self.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\\n"])
        return suites.shown_versions(done.stdout)

    def copy_program(self, program, name):
        """Copies a program; returns its path inside."""
        place = self.path / "opt/xtune"
        place.mkdir(exist_ok=True)
        shutil.copy(program, place / name)
        return f"/opt/xtune/{name}"

    def copy_source(self, source):
        """Copies the files of the checkout to the same path inside, since programs of tests contain it. A file whose
        contents are the same keeps its time, and so what was built from it."""
        place = self.path / source.relative_to("/")
        listed = subprocess.run(
            ["git", "-C", str(source), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True,
            check=True,
            text=True,
        )
        names = {name for name in listed.stdout.split("\0") if name and os.path.lexists(source / name)}
        for file in [path for path in place.rglob("*") if path.is_symlink() or path.is_file()]:
            if str(file.relative_to(place)) not in names:
                file.unlink()
        for name in names:
            if not same_file(source / name, place / name):
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                (place / name).unlink(missing_ok=True)
                shutil.copy(source / name, place / name, follow_symlinks=False)
        return str(source)


def same_file(one, other):
    """Whether both are links to the same name, or files with the same contents and rights."""
    if one.is_symlink() or other.is_symlink():
        return one.is_symlink() and other.is_symlink() and os.readlink(one) == os.readlink(other)
    return other.is_file() and one.stat().st_mode == other.stat().st_mode and one.read_bytes() == other.read_bytes()
