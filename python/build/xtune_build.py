# SPDX-License-Identifier: Apache-2.0
"""The PEP 517 backend of the package xtune: CMake builds, and this module packs. It imports only the standard library.

Settings of pip (--config-settings name=value):
    build-dir   a directory that CMake has configured or will; kept. Default: a temporary one
    jobs        parallel jobs; default: CMAKE_BUILD_PARALLEL_LEVEL, else all cores
    define      options of CMake, separated by spaces: "XTUNE_HIP=OFF"
    portable    what cmake/portable-libraries made, for a wheel that other machines can use
"""
import base64
import contextlib
import gzip
import hashlib
import io
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r'#define XTUNE_VERSION "([\d.]+)"', (ROOT / "include/xtune/version.hpp").read_text()).group(1)
NAME = f"xtune-{VERSION}"
IN_SDIST = ("CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml",
            "cmake", "configs", "docs", "emulator", "examples", "fortran", "include", "kernels", "lab", "packaging",
            "python", "runtime", "src", "tools")


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def get_requires_for_build_editable(config_settings=None):
    return []


def _field(name):
    """A text of [project]; Python 3.9 has no tomllib."""
    return re.search(rf'^{name} = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.M).group(1)


def _strings(name):
    """A list of [project]."""
    text = re.search(rf"^{name} = \[(.*?)\]", (ROOT / "pyproject.toml").read_text(), re.M | re.S).group(1)
    return re.findall(r'"(.*?)"', text)


def _table(name):
    """A table of [project]: name -> list of texts."""
    found = re.search(rf"^\[project\.{name}\]\n((?:.+\n)*)", (ROOT / "pyproject.toml").read_text(), re.M)
    lines = re.findall(r"^([\w-]+) = (.*)$", found.group(1), re.M) if found else []
    return {key: re.findall(r'"(.*?)"', value) for key, value in lines}


def _readme():
    """For an index, which has none of the files that relative links name: they lead to the URL Source, or are removed."""
    source = _table("urls").get("Source")

    def link(match):
        picture, text, place = match.groups()
        if source:
            return f"{picture}[{text}]({source[0]}/{'raw' if picture else 'blob'}/v{VERSION}/{place})"
        return "" if picture else text

    return re.sub(r"(!?)\[([^]]*)\]\((?!https?:|#)([^)]*)\)", link, (ROOT / _field("readme")).read_text())


def _metadata(licences=("LICENSE",)):
    lines = ["Metadata-Version: 2.4", "Name: xtune", f"Version: {VERSION}", f"Summary: {_field('description')}",
             f"License-Expression: {_field('license')}", f"Requires-Python: {_field('requires-python')}",
             f"Keywords: {','.join(_strings('keywords'))}"]
    lines += [f"License-File: {each}" for each in licences]
    lines += [f"Project-URL: {name}, {url}" for name, (url,) in _table("urls").items()]
    lines += [f"Classifier: {each}" for each in _strings("classifiers")]
    lines += [f"Requires-Dist: {each}" for each in _strings("dependencies")]
    for extra, needs in _table("optional-dependencies").items():
        lines += [f"Provides-Extra: {extra}"] + [f'Requires-Dist: {each}; extra == "{extra}"' for each in needs]
    lines += ["Description-Content-Type: text/markdown", "", _readme()]
    return "\n".join(lines)


def _tag(portable=None):
    """portable: its compiler's target is the oldest system that the wheel serves."""
    if not portable:
        return f"cp39-abi3-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    machine, glibc = re.fullmatch(r"(\w+)-linux-gnu\.(.*)", (portable / "target").read_text().strip()).groups()
    older = f"manylinux2014_{machine}." if glibc == "2.17" else ""  # for pip before 20.3
    return f"cp39-abi3-{older}manylinux_{glibc.replace('.', '_')}_{machine}"


def _digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _portable(settings):
    return pathlib.Path(settings["portable"]).resolve() if settings and settings.get("portable") else None


def _dist_info(tag, portable=None):
    """Name -> contents."""
    licences = {"LICENSE": ROOT / "LICENSE"}
    if portable:
        licences.update({f"third-party/{path.name}": path for path in sorted((portable / "licences").iterdir())})
    wheel = f"Wheel-Version: 1.0\nGenerator: xtune_build ({VERSION})\nRoot-Is-Purelib: false\n"
    interface, platforms = tag.rsplit("-", 1)
    wheel += "".join(f"Tag: {interface}-{each}\n" for each in platforms.split("."))
    files = {"METADATA": _metadata(licences).encode(), "WHEEL": wheel.encode()}
    return {**files, **{f"licenses/{name}": path.read_bytes() for name, path in licences.items()}}


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Without it, pip builds the whole wheel to read its metadata, and then once more."""
    directory = pathlib.Path(metadata_directory) / f"{NAME}.dist-info"
    portable = _portable(config_settings)
    for name, data in _dist_info(_tag(portable), portable).items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(data)
    return directory.name


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def _write_wheel(directory, files, portable=None):
    """files: name in the archive -> (contents, mode)."""
    tag = _tag(portable)
    files = {**files, **{f"{NAME}.dist-info/{name}": (data, 0o644) for name, data in _dist_info(tag, portable).items()}}
    record = [f"{name},{_digest(data)},{len(data)}" for name, (data, _) in files.items()]
    record_name = f"{NAME}.dist-info/RECORD"
    files[record_name] = ("\n".join(record + [f"{record_name},,", ""]).encode(), 0o644)
    wheel = pathlib.Path(directory) / f"{NAME}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (data, mode) in files.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.external_attr = (stat.S_IFREG | mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return wheel.name


@contextlib.contextmanager
def _build_directory(settings):
    chosen = settings.get("build-dir")
    if chosen:
        yield pathlib.Path(chosen).resolve()
        return
    with tempfile.TemporaryDirectory(prefix="xtune-build-") as directory:
        yield pathlib.Path(directory)


def _run(*command):
    # pip shows standard output only with -v; errors are always shown.
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    print(done.stdout, flush=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout[-4000:]}\n"
                         "xtune is built with the packages that `make deps` and "
                         "`apt-get install python3-dev` install")


def _configure(build, settings):
    if not shutil.which("cmake"):
        raise SystemExit("xtune is built with CMake: apt-get install cmake, or run `make deps`")
    if (build / "CMakeCache.txt").exists():
        _run("cmake", build)
        return
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    defines = ["CMAKE_BUILD_TYPE=Release", "XTUNE_STATIC=ON", "XTUNE_BUILD_TESTS=OFF", "XTUNE_PYTHON=ON",
               f"XTUNE_PYTHON_EXECUTABLE={sys.executable}", *settings.get("define", "").split()]
    if portable := _portable(settings):
        defines += [f"CMAKE_TOOLCHAIN_FILE={ROOT / 'cmake/portable.cmake'}", f"XTUNE_PORTABLE={portable}", "XTUNE_PACKAGED=ON"]
    _run("cmake", "-S", ROOT, "-B", build, *generator, *(f"-D{define}" for define in defines))


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    settings = config_settings or {}
    with _build_directory(settings) as build, tempfile.TemporaryDirectory() as prefix:
        _configure(build, settings)
        jobs = settings.get("jobs") or os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(os.cpu_count())
        _run("cmake", "--build", build, "--target", "xtune_python", "--parallel", jobs)
        _run("cmake", "--install", build, "--component", "python", "--prefix", prefix, "--strip")
        files = {path.relative_to(prefix).as_posix(): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
                 for path in sorted(pathlib.Path(prefix).rglob("*")) if path.is_file() and not path.is_symlink()}
        files = {**_without_links(files, pathlib.Path(prefix)), **_command()}
        return _write_wheel(wheel_directory, files, _portable(settings))


def _command():
    """The program is beside its data; these start it from PATH. A script of ours would fail where the environment's path
    is long or has a space; pip's own, for an entry point, does not."""
    return {"_xtune_program.py": ((ROOT / "python/xtune/__main__.py").read_bytes(), 0o644),
            f"{NAME}.dist-info/entry_points.txt": (b"[console_scripts]\nxtune = _xtune_program:main\n", 0o644)}


def _without_links(files, prefix):
    """A wheel has no symbolic links: a library is packed under the name that others load it by."""
    links = {path: path.resolve() for path in prefix.rglob("*") if path.is_symlink()}
    for link, target in links.items():
        name = target.relative_to(prefix.resolve()).as_posix()
        if name in files:
            files[link.relative_to(prefix).as_posix()] = files.pop(name)
    return files


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Puts the directory python/ of a build into the path; pip install -e . --config-settings build-dir=build/dev"""
    settings = config_settings or {}
    if not settings.get("build-dir"):
        raise SystemExit("an editable installation needs a build that stays: pip install -e . --config-settings build-dir=build/dev")
    with _build_directory(settings) as build:
        _configure(build, settings)
        _run("cmake", "--build", build, "--target", "xtune_python")
        return _write_wheel(wheel_directory, {"xtune.pth": (f"{build / 'python'}\n".encode(), 0o644)})


def build_sdist(sdist_directory, config_settings=None):
    archive = pathlib.Path(sdist_directory) / f"{NAME}.tar.gz"
    with gzip.GzipFile(archive, "wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        info = tarfile.TarInfo(f"{NAME}/PKG-INFO")
        data = _metadata().encode()
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
        for name in IN_SDIST:
            if (ROOT / name).exists():
                tar.add(ROOT / name, f"{NAME}/{name}", filter=_plain)
    return archive.name


def _plain(info):
    """Without owners, times and what Python leaves behind."""
    if "__pycache__" in info.name or info.name.endswith(".pyc"):
        return None
    info.uid = info.gid = info.mtime = 0
    info.uname = info.gname = ""
    return info
