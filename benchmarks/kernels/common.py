"""What all comparisons with a library need: tuning, timing, fresh processes, and a line of the table."""
import contextlib
import ctypes
import dataclasses
import json
import math
import os
import pathlib
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import warnings

CACHES = ("XTUNE_CACHE_DIR", "TRITON_CACHE_DIR", "TILELANG_CACHE_DIR", "HELION_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")
CACHES += ("CUPY_CACHE_DIR", "CUDA_CACHE_PATH")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "f8e4m3": 1, "u8": 1}
# TFLOP/s by the H200's data sheet, dense; the H100's are the same.
PEAK_TFLOPS = {"f32": 67, "f16": 989, "bf16": 989, "f8e4m3": 1979}


class Positive:
    """In place of a type: numbers above 0, within what any time or speed can be."""


def checked(value, what, kind):
    """The value, if it is of this kind, a type or Positive; otherwise ValueError."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is Positive and not (number and 1e-12 < value < 1e12):
        raise ValueError(f"{what} is {str(value)[:40]!r}, and a positive number is needed")
    names = {dict: "an object", list: "an array", str: "a text", float: "a number"}
    if kind in names and not (number and math.isfinite(value) if kind is float else isinstance(value, kind)):
        raise ValueError(f"{what} is {str(value)[:40]!r}, and {names[kind]} is needed")
    return value


def member(values, what, name, kind):
    """A member of an object, checked."""
    if name not in values:
        raise ValueError(f"{what} has no {name}")
    return checked(values[name], f"{what}.{name}" if what != "the file" else name, kind)


@dataclasses.dataclass
class Result:
    kernel: str
    problem: dict
    ours_ms: float | None  # of the best configuration; None: none was valid
    others_ms: dict  # by the name of the library
    bytes: float = 0  # minimum to be read and written
    flops: float = 0
    rate: str = ""  # the key in PEAK_TFLOPS for the compute floor; empty: no floor is shown
    config: dict = dataclasses.field(default_factory=dict)
    label: str = ""  # the problem in a few words, for pictures; empty: its sizes and types

    @classmethod
    def of(cls, values, what):
        """From what dataclasses.asdict has made of it, as `what` names it; ValueError says what is wrong."""
        kinds = {
            "kernel": str,
            "problem": dict,
            "others_ms": dict,
            "bytes": float,
            "flops": float,
            "rate": str,
            "config": dict,
            "label": str,
        }
        checked(values, what, dict)
        for name in ("kernel", "problem", "ours_ms", "others_ms"):
            member(values, what, name, object)
        for name, value in values.items():
            if name != "ours_ms" and name not in kinds:
                raise ValueError(f"{what} has an unknown member {name!r}")
            if name != "ours_ms" or value is not None:
                member(values, what, name, kinds.get(name, Positive))
        for name, value in values["others_ms"].items():
            if value is not None:
                member(values["others_ms"], f"{what}.others_ms", name, Positive)
        return cls(**values)

    def ratio(self):
        """Time of the fastest other one / time of this one."""
        times = [time for time in self.others_ms.values() if time]
        return min(times) / self.ours_ms if self.ours_ms and times else None

    def floors(self, copy_speed):
        """Milliseconds for the bytes at the speed of a copy in GB/s, and for the operations at the peak (0: not known)."""
        peak = PEAK_TFLOPS.get(self.rate)
        return self.bytes / copy_speed / 1e6, self.flops / peak / 1e9 if peak else 0


def pins(problem):
    """The -D options of a problem."""
    return [
        word
        for name, value in problem.items()
        for word in ("-D", f"{name}={str(value).lower() if isinstance(value, bool) else value}")
    ]


def first_ratios(answer):
    """Time of the best measured configuration / time of the first one, and / of the best of the first eight, which are
    what a model of the hardware proposes, if the spec has one. None: the first eight did not run."""
    times = [tried.get("time_ms") if tried["outcome"] in ("ok", "pruned") else None for tried in answer["trace"]]
    first, eight = times[0] if times else None, min(filter(None, times[:8]), default=None)
    return (min(filter(None, times)) / first if first else 0, min(filter(None, times)) / eight) if eight else None


def tune(options, spec, problem):
    """What `xtune run --format json` prints for a spec: its name in configs/, or its path."""
    path = spec if isinstance(spec, pathlib.Path) else ROOT / "configs" / f"{spec}.toml"
    command = [
        options.xtune,
        "run",
        str(path),
        *pins(problem),
        "--seconds",
        str(options.seconds),
        "--format",
        "json",
        "--quiet",
    ]
    try:
        done = subprocess.run(
            command + (["--store", options.store] if options.store else []), capture_output=True, text=True
        )
    except OSError as error:
        raise SystemExit(
            f"error: {options.xtune}: {error.strerror}. Build it, or name the program with --xtune"
        ) from None
    if not done.stdout.strip():
        raise SystemExit(f"error: {' '.join(command)}:\n{done.stderr}")
    answer = json.loads(done.stdout)
    if options.first is not None and (ratios := first_ratios(answer)):
        options.first.append(ratios)
    return answer


def tuned(options, spec, problem):
    """(milliseconds of the best configuration, the configuration); (None, {}) without one."""
    best = tune(options, spec, problem).get("best") or {}
    return best.get("time_ms"), best.get("config") or {}


@contextlib.contextmanager
def spec_with_integers(name, text, values):
    """The path of a copy of a spec in which the .npy file of these integers takes the place of an input's fill, or file."""
    source = (ROOT / "configs" / f"{name}.toml").read_text()
    if source.count(text) != 1:
        raise SystemExit(f"error: configs/{name}.toml does not contain {text} once")
    with tempfile.TemporaryDirectory() as folder:
        file, copy = pathlib.Path(folder, "values.npy"), pathlib.Path(folder, f"{name}.toml")
        header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({len(values)},), }}".ljust(117) + "\n"
        packed = struct.pack(f"<H{len(header)}s{len(values)}i", len(header), header.encode(), *values)
        file.write_bytes(b"\x93NUMPY\x01\x00" + packed)
        copy.write_text(source.replace(text, f'file = "{file}"').replace('"../kernels/', f'"{ROOT}/kernels/'))
        yield copy


@contextlib.contextmanager
def exported(options, spec, problem):
    """The best configuration for a tuned problem as a call in this process: a function of the library that `xtune export`
    writes (docs/export.md), with the stream first, an array's address or a size after another, and a status."""
    source = spec if isinstance(spec, pathlib.Path) else ROOT / "configs" / f"{spec}.toml"
    name = source.stem
    with tempfile.TemporaryDirectory() as folder:
        export = [options.xtune, "export", str(source), *pins(problem), "--arch", "sm_90a", "--out", f"{folder}/files"]
        export += ["--store", options.store] if options.store else []
        files = [f"{folder}/files/{name}.cpp", f"{folder}/files/{name}_images.cpp"]
        build = [
            "c++",
            "-std=c++17",
            "-O1",
            "-shared",
            "-fPIC",
            *files,
            "-ldl",
            "-pthread",
            "-o",
            f"{folder}/{name}.so",
        ]
        for command in (export, build):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                raise SystemExit(f"error: {' '.join(command)}:\n{done.stderr}")
            if "nothing was measured" in done.stderr:
                note(done.stderr.strip())
        yield getattr(ctypes.CDLL(f"{folder}/{name}.so"), name)


def times_in_turns(torch, calls, launches=20, fills=3):
    """Median times of a launch in milliseconds by name, launch by launch in turns, each after the L2 cache was overwritten,
    as in `xtune run`. fills: how often that happens with three times its size, long enough for the host to queue the launch
    meanwhile."""
    other = torch.empty(3 * torch.cuda.get_device_properties(0).L2_cache_size, dtype=torch.uint8, device="cuda")
    times = {name: [] for name in calls}
    for launch in range(launches + 2):
        for name, call in calls.items():
            for _ in range(fills):
                other.fill_(launch)
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            call()
            end.record()
            end.synchronize()
            times[name].append(begin.elapsed_time(end))
    return {name: statistics.median(each[2:]) for name, each in times.items()}


def time_torch(torch, call, launches=20, fills=3):
    """Median time of a launch in milliseconds (times_in_turns)."""
    return times_in_turns(torch, {"": call}, launches, fills)[""]


def note(text):
    print(f"note: {text}", file=sys.stderr, flush=True)


def difference(result, right):
    """Norm of what a result differs from the right one, relative to its norm; infinite where it has no number."""
    apart = float((result.double() - right.double()).norm() / right.double().norm())
    return math.inf if math.isnan(apart) else apart


def valid_calls(where, libraries, tolerance=1e-3):
    """The names and calls of those that run and compute the right result, one after the other. libraries: functions that
    return the call and, unless it is a library's own routine, a function that says how far its result is from the right one.
    Each may fail: not every version of PyTorch has all of them, or takes each problem."""
    for name, prepare in libraries.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # PyTorch says in many why it does not run
                launch, apart_of = prepare()
                result = launch()
            apart = apart_of(result) if apart_of else 0.0
        except Exception as error:
            lines = str(error).strip().splitlines()
            note(f"{where}: {name} does not run: {lines[0] if lines else type(error).__name__}")
            continue
        del result
        if not apart <= tolerance:
            note(f"{where}: {name} is not counted: its result differs by {apart:.2g} of its norm")
            continue
        yield name, launch


def library_times(torch, where, libraries, tolerance=1e-3, fills=3):
    """Times in milliseconds by name (valid_calls)."""
    return {name: time_torch(torch, launch, fills=fills) for name, launch in valid_calls(where, libraries, tolerance)}


def copy_GB_per_s(torch, total=1 << 30):
    """Speed of a copy: bytes read and written, per nanosecond."""
    x = torch.empty(total // 2, dtype=torch.uint8, device="cuda").fill_(7)
    y = torch.empty_like(x)
    return total / time_torch(torch, lambda: y.copy_(x)) / 1e6


def header():
    return f"{'kernel':<27}{'problem':<52}{'xtune':>9}{'memory':>9}{'compute':>9}  library (ratio): configuration"


def row(result, copy_speed):
    """A line of the table, in microseconds."""
    problem = " ".join(f"{name}={value}" for name, value in result.problem.items())
    ours = f"{1e3 * result.ours_ms:>9.1f}" if result.ours_ms else f"{'none':>9}"
    floors = "".join(f"{1e3 * floor:>9.1f}" if floor else f"{'-':>9}" for floor in result.floors(copy_speed))
    others = ", ".join(f"{name} {1e3 * time:.1f}" for name, time in result.others_ms.items() if time)
    ratio = f"{result.ratio():.2f}" if result.ratio() else "-"
    values = " ".join(f"{name}={value}" for name, value in result.config.items())
    return f"{result.kernel:<27}{problem:<52}{ours}{floors}  {others} ({ratio}): {values}"


def child(script, words, place, limit=None):
    """The standard output of a script that runs with these words in a fresh process, and why it failed. place: a directory
    for its caches, which is empty. limit: seconds until it is ended, with all processes that it started."""
    environment = {**os.environ, **{name: f"{place}/{name.lower()}" for name in CACHES}}
    environment.pop("TRITON_CACHE_AUTOTUNING", None)
    with open(f"{place}/out", "w+") as out, open(f"{place}/err", "w+") as err:
        command = [sys.executable, os.path.abspath(script), *words]
        process = subprocess.Popen(command, stdout=out, stderr=err, env=environment, start_new_session=True)
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = f"no answer in {limit:g} s"
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        printed, errors = ((file.seek(0), file.read())[1] for file in (out, err))
    if code == 0:
        return printed, None
    lines = [line for line in errors.splitlines() if line.strip()] or ["no message"]
    why = code if isinstance(code, str) else f"exit code {code}: {lines[-1].strip()}"
    print(f"--- {' '.join(words)}: {why}", *lines[-25:], "---", sep="\n", file=sys.stderr, flush=True)
    return printed, why


def marked(printed, mark):
    """The JSON of the last line that begins with the mark; None without one."""
    found = [line[len(mark) :] for line in printed.splitlines() if line.startswith(mark)]
    return json.loads(found[-1]) if found else None
