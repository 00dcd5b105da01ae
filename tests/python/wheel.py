#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel and the sdist with pip and without a network, installs the wheel into a virtual environment, and tunes
there. Not part of `make test`, because a build with the library linked statically takes minutes.

  tests/python/wheel.py [--build DIR] [--sdist] [--portable DIR [--suite NAME]... [--roots DIR]]

--build     a directory for the build, which is kept: DIR is configured unless it has a CMakeCache.txt
--sdist     give pip the sdist, from which it builds the wheel; a DIR of an earlier build of the source tree is refused
--portable  what cmake/portable-libraries made: the wheel is for other machines. auditwheel and twine check it, where
            they are installed
--suite     a release of Debian, such as bullseye or sid: the wheel is installed there, in a root with Python only, and
            tunes. Needs root, debootstrap, and a network for the index. Prints what each step took
--roots     where these roots are made and kept; default: /var/tmp/xtune-wheel
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENVIRONMENT = "an environment"  # in a root: a path with a space
USE = """
import os, pathlib, xtune, xtune._native, xtune.compat.kernel_tuner, numpy as np
assert "site-packages" in xtune.__file__, xtune.__file__
x = np.arange(64, dtype=np.float32)
result = xtune.tune('extern "C" __global__ void twice(float* x, int n) { int i = blockIdx.x * B + threadIdx.x; if (i < n) x[i] *= 2; }',
                    params={"B": [32]}, args={"x": xtune.InOut(x), "n": np.int32(64)}, grid="ceildiv(n, B)", block="B",
                    reference=lambda x: 2 * x, backend="host", measure={"rep": 3})
assert result.counts == {"ok": 1}, result
result.kernel()(x, 64)
assert x[63] == 126
sums = xtune.load("reduction", backend="host")
print("tuned with", xtune.__version__, "from", xtune.__file__)
"""


def run(*command, **options):
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True, **options)


def check_contents(sdist, wanted):
    """The sdist has the files of these directories that git has, and nothing that a build leaves behind."""
    with tarfile.open(sdist) as archive:
        packed = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    listed = subprocess.run(["git", "ls-files", *wanted], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    missing = [name for name in listed.splitlines() if name not in packed and (ROOT / name).exists()]
    if missing:
        sys.exit(f"the sdist lacks {', '.join(missing[:10])}")
    left = [name for name in packed if "__pycache__" in name or name.startswith("build/")]
    if left:
        sys.exit(f"the sdist has {', '.join(left[:10])}")


def check_portable(wheel):
    tools = ([sys.executable, "-m", "twine", "check", "--strict"], [sys.executable, "-m", "auditwheel", "show"])
    for tool in tools:
        if subprocess.run([*tool[:3], "--version"], capture_output=True, check=False).returncode != 0:
            print(f"skipped: {tool[2]} is not installed")
            continue
        run(*tool, wheel)


class Root:
    """A release of Debian with Python, and without a compiler."""

    def __init__(self, path, suite):
        sys.path.insert(0, str(ROOT / "tests/releases"))
        import root

        self.path, self.enter, self.suite = path / suite, root.ENTER, suite
        if not (self.path / "usr/bin/pip3").exists():
            packages = "ca-certificates,python3,python3-pip,python3-venv"
            run("debootstrap", "--variant=minbase", f"--include={packages}", suite, self.path, root.mirror())
        for name in ("etc/resolv.conf", "etc/hosts", "etc/ssl/certs/ca-certificates.crt"):
            shutil.copy(pathlib.Path("/") / name, self.path / name)
        for name in (ENVIRONMENT, "root/.cache"):
            shutil.rmtree(self.path / name, ignore_errors=True)
        self.variables = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        self.variables.update(HOME="/root", LC_ALL="C.UTF-8", PATH=f"/{ENVIRONMENT}/bin:/usr/sbin:/usr/bin:/sbin:/bin")

    def run(self, *command, code=0):
        began = time.monotonic()
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", self.enter, self.path, "/root", *command],
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
        )
        print(f"{self.suite}: {time.monotonic() - began:5.1f} s  {' '.join(command)[:90]}", flush=True)
        if done.returncode != code:
            sys.exit(f"{self.suite}: ended with code {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def try_wheel(self, wheel):
        shutil.copy(wheel, self.path / "root" / wheel.name)
        self.run("python3", "-m", "venv", f"/{ENVIRONMENT}")
        self.run(f"/{ENVIRONMENT}/bin/pip", "install", "-q", f"/root/{wheel.name}")
        self.run("xtune", "--version")
        self.run(f"/{ENVIRONMENT}/bin/python", "-m", "xtune", "--version")
        lacking = self.run("xtune", "run", "saxpy", code=4).stderr.strip()
        if "xtune[host]" not in lacking.splitlines()[-1]:
            sys.exit(f"{self.suite}: without a compiler xtune says: {lacking}")
        self.run(f"/{ENVIRONMENT}/bin/pip", "install", "-q", f"/root/{wheel.name}[host]")
        self.run("xtune", "run", "saxpy")
        devices = self.run("xtune", "devices", "-v").stdout
        if "failed" in devices:
            sys.exit(f"{self.suite}: {devices}")
        self.run(f"/{ENVIRONMENT}/bin/python", "-c", USE)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--sdist", action="store_true")
    parser.add_argument("--portable", type=pathlib.Path)
    parser.add_argument("--suite", action="append", default=[])
    parser.add_argument("--roots", type=pathlib.Path, default=pathlib.Path("/var/tmp/xtune-wheel"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        # NumPy comes from the system, pip is the environment's.
        venv.create(work / "python-env", system_site_packages=True, with_pip=True)
        python = work / "python-env/bin/python"
        sys.path.insert(0, str(ROOT / "python/build"))
        import xtune_build

        sdist = work / xtune_build.build_sdist(work)
        check_contents(sdist, xtune_build.IN_SDIST)
        source = sdist if options.sdist else ROOT
        settings = ["--config-settings", f"build-dir={options.build.resolve()}"] if options.build else []
        if options.portable:
            settings += ["--config-settings", f"portable={options.portable.resolve()}"]
        run(python, "-m", "pip", "wheel", "--no-index", "--no-deps", "-w", work, *settings, source)
        (wheel,) = work.glob("*.whl")
        names = zipfile.ZipFile(wheel).namelist()
        print(f"{wheel.name}: {wheel.stat().st_size / 2**20:.1f} MiB", *names, sep="\n  ")
        for wanted in (
            "xtune/xtune",
            "xtune/__init__.py",
            "xtune/_native.pyi",
            "xtune/py.typed",
            "xtune/compat/kernel_tuner/__init__.py",
            "xtune/configs/gemm.toml",
            "xtune/kernels/gemm/gemm.cu",
            "xtune/compat/kernel_tuner/observers/nvml.py",
            "xtune/include/xtune/xtune.h",
            "xtune/zig-c++",
            "_xtune_program.py",
        ):
            if wanted not in names:
                sys.exit(f"the wheel lacks {wanted}")
        run(python, "-m", "pip", "install", "--no-index", "--no-deps", wheel)
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("XTUNE_", "PYTHON"))}
        environment.update(XTUNE_CACHE_DIR=str(work / "store"), PATH="/usr/bin:/bin")
        run(python, "-c", USE, cwd=work, env=environment)
        run(work / "python-env/bin/xtune", "kernels", "saxpy", cwd=work, env=environment)
        if options.portable:
            check_portable(wheel)
        for suite in options.suite:
            Root(options.roots, suite).try_wheel(wheel)


if __name__ == "__main__":
    main()
