"""The releases that are tried, and the reading of what xtune's commands print in them. Needs neither root nor a network."""

import dataclasses
import json
import re


@dataclasses.dataclass(frozen=True)
class Suite:
    """A release of Debian, with the packages that it has of HIP, clang, CUDA and Kokkos."""

    codename: str
    what: str
    hip: tuple
    cuda: tuple
    kokkos: tuple
    extra: str = ""  # a suite whose packages replace those of codename where it has them
    extra_packages: tuple = ()  # those of the packages above that come from it


SUITES = {
    "bookworm": Suite(
        "bookworm",
        "Debian 12",
        ("libamdhip64-dev", "rocm-device-libs", "clang-19", "lld-19"),
        ("libnvrtc11.2", "libcu++-dev"),
        ("libtrilinos-kokkos-dev",),
    ),
    "trixie": Suite(
        "trixie",
        "Debian 13",
        ("libamdhip64-dev", "rocm-device-libs-17", "clang-19", "lld-19"),
        ("libnvrtc12", "libcu++-dev"),
        ("libtrilinos-kokkos-dev",),
    ),
    "sid": Suite(
        "sid",
        "Debian unstable",
        ("libamdhip64-dev", "rocm-device-libs-21", "clang-21", "lld-21"),
        ("libnvrtc12", "libcu++-dev"),
        ("libkokkos-dev",),
    ),
    "experimental": Suite(
        "sid",
        "Debian experimental",
        ("libamdhip64-dev", "rocm-device-libs-22", "clang-22", "lld-22"),
        ("libnvrtc12", "libcu++-dev"),
        ("libtrilinos-kokkos-dev",),
        "experimental",
        ("libamdhip64-dev", "rocm-device-libs-22", "libnvrtc12", "libtrilinos-kokkos-dev"),
    ),
}

# To run the tests: kernels.py, the host backend and the Kokkos backend.
TOOLS = ("python3", "g++", "cmake", "make", "ninja-build", "libgomp1")
# NVRTC needs some headers of this package, which is unpacked in part: whole, it has 2.5 GB.
CUDA_HEADERS = "nvidia-cuda-dev"

# Those whose versions are reported.
SHOWN_PACKAGES = re.compile(
    r"libc6|(g\+\+|clang)-\d+|libamdhip64-\d+|libhiprtc\d+|libamd-comgr\d+|rocm-device-libs(-\d+)?|libnvrtc[\d.]+|"
    r"libkokkos[\d.]+|libtrilinos-kokkos-[\d.]+"
)

# One architecture of each family, for which all kernels are compiled.
KERNEL_ARCHS = {
    "hiprtc": ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"],
    "clang": ["gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201"],
    "": ["sm_80", "sm_90a"],
}


def packages(suite):
    return [*TOOLS, *suite.hip, *suite.cuda, *suite.kokkos]


def shown_versions(listed):
    """{package: version} of lines of dpkg-query."""
    words = (line.split(" ") for line in listed.splitlines())
    return {each[0]: each[1] for each in words if len(each) == 2 and each[1] and SHOWN_PACKAGES.fullmatch(each[0])}


def sources(suite, mirror):
    """The lines of apt's sources.list."""
    components = "main contrib non-free"
    lines = [f"deb {mirror} {suite.codename} {components}"]
    if suite.extra:
        lines.append(f"deb {mirror} {suite.extra} {components}")
    return "".join(line + "\n" for line in lines)


def imported_archives(text):
    """The static libraries that a CMake file of an installed package names, relative to where it is installed."""
    return re.findall(r'"\$\{_IMPORT_PREFIX\}/([^"]+\.a)"', text)


def mirror_of(text):
    """The first mirror in a file of apt's, in either of its formats; None if it names none."""
    found = re.search(r"^(?:URIs:\s*|deb\s+(?:\[[^\]]*\]\s+)?)(\S+)", text, re.MULTILINE)
    return found.group(1).rstrip("/") if found else None


def known_archs(definitions):
    """The architectures of known_devices.def by vendor: {"nvidia": [...], "amd": [...]}."""
    archs = {"nvidia": [], "amd": []}
    for arch, vendor in re.findall(r'^DEVICE\("(\w+)", "[^"]*", "(\w+)"', definitions, re.MULTILINE):
        if vendor in archs:
            archs[vendor].append(arch)
    return archs


def compiled_archs(report):
    """What `xtune compile --format json` reports: (architectures that compiled, those that the compiler does not know,
    {architecture: the error of another kind})."""
    compiled, unknown, failed = [], [], {}
    for entry in report:
        arch = entry["arch"]
        error = entry.get("error")
        if error and error["kind"] == "unsupported":
            unknown.append(arch)
        elif error:
            failed[arch] = error["message"]
        elif "outcome" in entry and entry["outcome"] != "ok":
            failed[arch] = f"{entry['outcome']}: {entry.get('message', '')}".rstrip(": ")
        elif "compiled" in entry and arch not in failed:
            if entry["compiled"] > 0 and entry["compiled"] == entry["configurations"]:
                compiled.append(arch)
            else:
                failed[arch] = f"{entry['compiled']} of {entry['configurations']} compiled"
    return compiled, unknown, failed


def toolchains(report):
    """What `xtune devices --format json` reports: {"cuda": "nvrtc 12.4 ...", "hip hiprtc": ..., ...}; a reason in
    parentheses where a compiler cannot be used."""
    found = {}
    for backend in report["backends"]:
        for compiler in backend.get("compilers") or [backend | {"name": ""}]:
            name = f"{backend['name']} {compiler['name']}".strip()
            reason = compiler.get("reason") or compiler.get("toolchain_reason") or "no reason given"
            found[name] = compiler.get("toolchain") or f"({reason})"
    return found


def kokkos_spaces(toolchain):
    """The spaces of the CPU among those of "Kokkos 5.0.2 OpenMP Serial, g++ ..."."""
    return [
        space
        for space in ("OpenMP", "Serial")
        if re.search(rf"\b{space}\b", toolchain.split(", g++")[0].split(", clang")[0])
    ]


def plain(text):
    """Without the escape sequences of colours."""
    return re.sub(r"\x1b\[[\d;]*m", "", text)


@dataclasses.dataclass(frozen=True)
class DoctestResult:
    """A test program's summary. targets: those of the conformance suite; skipped: the reasons that it prints."""

    passed: int
    failed: int
    targets: str
    skipped: list


def doctest_result(output):
    """None for an output without a summary."""
    text = plain(output)
    summary = re.search(r"test cases:\s*\d+\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed", text)
    if not summary:
        return None
    targets = re.search(r"targets: (.*)", text)
    skipped = sorted(set(re.findall(r"skipped: (.*)", text)))
    return DoctestResult(int(summary.group(1)), int(summary.group(2)), targets.group(1) if targets else "", skipped)


def failed_cases(output):
    """The titles of the failed cases of a test program."""
    return sorted(
        set(re.findall(r"^TEST CASE:\s+(.*)$(?=(?:(?!^TEST CASE:)[\s\S])*?ERROR:)", plain(output), re.MULTILINE))
    )


def kernel_summary(output):
    """What kernels.py reports, in a line: the number of tables that compile for each architecture, and what failed."""
    counts, failures = {}, []
    for line in output.splitlines():
        if (found := re.fullmatch(r"(\w+): (.*\S)", line)) and "compiles for" in line or "no compiler for" in line:
            for part in found.group(2).split(", "):
                counts[part] = counts.get(part, 0) + 1
        elif re.fullmatch(r"\w+, compile:", line):
            failures.append(line.split(",")[0])
    text = ", ".join(f"{number} {'kernel' if number == 1 else 'kernels'}: {part}" for part, number in counts.items())
    return text + (f"; failed: {', '.join(failures)}" if failures else "")


def run_result(output):
    """What `xtune run --format json` found, in a line."""
    best = json.loads(output).get("best")
    return f"best {best['time_ms']:.3g} ms, validated" if best else "no configuration is right"


def ctest_result(output):
    """The summary of ctest and the names of the failed tests, in a line."""
    summary = re.search(r"\d+% tests passed, .*", output)
    failed = re.findall(r"^\s*\d+ - (\S+) \((?:Failed|Timeout|\w+)\)", output, re.MULTILINE)
    return (summary.group(0) if summary else "no summary") + (": " + ", ".join(failed) if failed else "")


def first_errors(output, count=5):
    """The first errors of a build's output."""
    lines = [line for line in output.splitlines() if re.search(r"\berror\b|undefined reference", line)]
    return "\n".join(lines[:count] or output.splitlines()[-count:])
