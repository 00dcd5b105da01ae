# SPDX-License-Identifier: Apache-2.0
"""What runs and questions return: plain dataclasses. Times are in milliseconds, memory in bytes."""
import dataclasses
import functools
import html
import os
import pathlib
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Type, Union

from xtune import _checks, _native
from xtune.errors import Error, NothingValidError, UnavailableError

Value = Union[bool, int, float, str]
Config = Dict[str, Value]


@dataclasses.dataclass(frozen=True)
class Timing:
    """Times of one configuration's launches in milliseconds; all zero unless its outcome is ok or pruned."""

    samples: int  #: number of samples
    min_ms: float
    q1_ms: float  #: first quartile
    median_ms: float
    q3_ms: float  #: third quartile
    mean_ms: float
    max_ms: float
    noise: float  #: (q3 - q1) / median
    low_ms: float  #: lower end of the median's 95 % confidence interval
    high_ms: float  #: upper end of the median's 95 % confidence interval


@dataclasses.dataclass(frozen=True)
class Resources:
    """Resources that a configuration uses, as its compiler reports them; None: not reported."""

    registers: Optional[int]  #: per thread
    spilled_bytes: Optional[int]  #: per thread
    shared_bytes: Optional[int]  #: per block, static and dynamic
    max_threads_per_block: Optional[int]  #: that the binary can be launched with


@dataclasses.dataclass(frozen=True)
class Measurement:
    """One configuration and how it ended."""

    config: Config
    outcome: str  #: ok, rejected, compile_failed, launch_failed, wrong_result, timed_out, crashed or pruned
    stage: str  #: last stage: space, compile, load, run, validate or measure
    message: str  #: the reason, if it failed
    time_ms: float  #: by the spec's statistic; a lower bound for a pruned configuration
    timing: Timing
    samples_ms: List[float] = dataclasses.field(repr=False)  #: in the order in which they were taken
    metrics: Dict[str, float]  #: the spec's metrics; NaN: no value
    resources: Resources
    reference_ms: Optional[float]  #: time of the spec's reference kernel in the same run; None: not timed
    tainted: List[str]  #: reasons to doubt the times
    from_store: bool  #: measured by an earlier run
    compile_s: float  #: wall-clock seconds of its compiler; 0: nothing was compiled
    key: str  #: of the measurement in the store
    artifact_key: str  #: of the binary in the store

    @property
    def speedup(self) -> Optional[float]:
        """reference_ms / time_ms: above 1, the configuration is faster than the reference. None: not known."""
        if self.outcome != "ok" or self.reference_ms is None or self.time_ms <= 0:
            return None
        return self.reference_ms / self.time_ms


@dataclasses.dataclass(frozen=True)
class MeasuredDevice:
    """The device that was measured."""

    backend: str  #: cuda, hip or host
    name: str  #: "NVIDIA H200"
    arch: str  #: "sm_90"
    index: int


@dataclasses.dataclass(frozen=True)
class ExpectedTime:
    """The time that a configuration is expected to take for a problem without a measurement, milliseconds."""

    time_ms: float
    low_ms: float  #: lower end of an interval that holds the time with a probability of 80 %, as far as is known
    high_ms: float  #: its upper end


@dataclasses.dataclass(frozen=True)
class Prediction:
    """The answer of a run with effort "none", which measures nothing."""

    config: Config
    time_ms: Optional[float]  #: milliseconds; None: not known
    expected: Optional[ExpectedTime]  #: None: not known, or time_ms was measured earlier
    source: str  #: what the configuration is from, for people


@dataclasses.dataclass(frozen=True)
class Across:
    """The one configuration for all cases of tune_cases, as measured in one case."""

    rule: str  #: geomean or worst
    score: float  #: over the ratios of all cases
    ratio: float  #: its time in this case, divided by that of the case's best; at least 1
    measurement: Measurement


@dataclasses.dataclass(frozen=True)
class Progress:
    """The progress of a run, for on_progress."""

    done: int  #: configurations that have ended
    total: int  #: maximum number of configurations that will be tried
    from_store: int  #: of `done`: their result came from the store
    compiling: int
    waiting: int  #: compiled, and waiting for the device
    elapsed_s: float
    best_ms: Optional[float]  #: minimum time so far


class _Saved:
    """The library's object of a Result in another process: the files that Result.save writes, read when needed."""

    def __init__(self, files: Mapping[str, bytes]):
        self._files = files

    def __getstate__(self):
        return {"_files": self._files}

    @functools.cached_property
    def _loaded(self):
        with tempfile.TemporaryDirectory(prefix="xtune-") as directory:
            for name, contents in self._files.items():
                (pathlib.Path(directory) / name).write_bytes(contents)
            return _native.load_result(directory)._native

    def save(self, directory: str) -> None:
        self._loaded.save(directory)

    def source(self) -> str:
        return self._loaded.source()

    def kernel(self, checked: bool) -> Any:
        return self._loaded.kernel(checked)


class _Lacking:
    """In the place of the library's object where there is none: whatever needs it raises an error."""

    def __init__(self, error: Type[Error], message: str):
        self._error, self._message = error, message

    def best(self) -> Any:
        raise self._error(self._message)

    def save(self, directory: str) -> None:
        self.best()

    def source(self) -> str:
        return ""

    def kernel(self, checked: bool) -> Any:
        self.best()


def _reduce_result(native: Any) -> Any:
    """For pickle: the files that save writes, or the reason for which there is nothing to save."""
    with tempfile.TemporaryDirectory(prefix="xtune-") as directory:
        try:
            native.save(directory)
        except NothingValidError as error:
            return _Lacking, (NothingValidError, str(error))
        return _Saved, ({each.name: each.read_bytes() for each in pathlib.Path(directory).iterdir()},)


def _reduce_compiled(native: Any) -> Any:
    """For pickle: another process gets the facts only."""
    return _Lacking, (
        UnavailableError,
        "this CompiledConfig comes from another process, which has its binary: call " "xtune.compile_all here",
    )


# Nothing changes these objects, so copies share them.
_native.Result.__reduce__ = _reduce_result
_native.CompiledConfig.__reduce__ = _reduce_compiled
for _class in (_native.Result, _native.CompiledConfig):
    _class.__copy__ = lambda self: self
    _class.__deepcopy__ = lambda self, memo: self
del _class


_SHOWN_ROWS = 10


def _html_table(titles: List[str], rows: List[List[Value]]) -> str:
    def row(cells: List[Value], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{row(titles, 'th')}{''.join(row(each, 'td') for each in rows)}</table>"  # type: ignore[arg-type]


@dataclasses.dataclass(frozen=True, repr=False)
class Result:
    """The result of tuning one problem.

    It can be copied and pickled: in another process, kernel(), source and save() work, and
    kernel(config) does not.
    """

    kernel_name: str
    problem: Config  #: the problem that was tuned
    device: MeasuredDevice
    toolchain: str  #: the compiler
    winner: Optional[Measurement]  #: None: no configuration compiled, ran and gave the right result
    ties: List[Measurement]  #: configurations whose difference from the winner is within the noise
    prediction: Optional[Prediction]  #: None: the effort was not "none"
    across: Optional[Across]  #: the one configuration for all cases, if tune_cases was asked for it
    measurements: List[Measurement]  #: every configuration of this run, in the order in which they ended
    counts: Dict[str, int]  #: number of measurements by outcome
    from_store: int  #: number of measurements that came from the store
    space_size: int  #: number of valid configurations in the space
    total_s: float  #: wall-clock seconds
    compile_cpu_s: float  #: CPU seconds of compilers
    device_busy_s: float  #: wall-clock seconds in which the device was used
    interrupted: bool  #: `stop` ended it
    out_of_time: bool  #: the budget of seconds ended it
    warnings: List[str]  #: problems with the measurements

    # Not fields, so that dataclasses.asdict and repr show only plain data; dataclasses.replace hands them on.
    _native: dataclasses.InitVar[Any] = _Lacking(
        UnavailableError, "this Result was not made by xtune.tune or Result.load: it has no binary"
    )
    _compile: dataclasses.InitVar[Any] = None  # (config, checked) -> Kernel; None: from files or another process

    def __post_init__(self, _native: Any, _compile: Any) -> None:
        self.__dict__.update(_native=_native, _compile=_compile)

    @property
    def found(self) -> bool:
        """Whether there is a best configuration."""
        return self.winner is not None

    @property
    def best(self) -> Measurement:
        """The winner. Raises NothingValidError with a summary of the failures if there is none."""
        return self.winner if self.winner is not None else self._native.best()

    @_checks.checked
    def kernel(self, config: Optional[Mapping[str, Value]] = None, *, checked: bool = True):
        """The winner as a callable Kernel, only for this problem; it needs neither a store nor a
        compiler.

        config: another configuration of the space instead, such as that of a measurement. Its
        binary comes from the store; if that has none, it is compiled. checked: compare the sizes of
        arrays with the problem at each call. xtune.load makes a kernel for any problem. Raises
        NothingValidError without a winner, or if the configuration does not compile or is not in
        the space, UnavailableError if the winner's binary is missing.
        """
        if config is None:
            return self._native.kernel(checked)
        if self._compile is None:
            raise UnavailableError(
                "this Result was read from a directory or comes from another process, and has only "
                "the winner: call xtune.compile_all for other configurations"
            )
        return self._compile(config, checked)

    @property
    def source(self) -> str:
        """The winner's source as it was compiled, with its flags as a comment; empty: the store no longer has it."""
        return self._native.source()

    @_checks.checked
    def save(self, directory: Union[str, "os.PathLike[str]"]) -> None:
        """Writes best_config.json, latency.json, the source and the binary. Raises NothingValidError, StorageError."""
        self._native.save(directory)

    @staticmethod
    @_checks.checked
    def load(directory: Union[str, "os.PathLike[str]"]) -> "Result":
        """Reads what save wrote. Raises StorageError if a file changed since, or if other users can change one."""
        return _native.load_result(directory)

    def to_pandas(self):
        """The measurements as a pandas.DataFrame: a column for each parameter, then outcome,
        time_ms, interval, noise, metrics and resources; in the order of `measurements`. Raises
        ImportError without pandas."""
        return to_pandas(self.measurements)

    def __repr__(self) -> str:
        return f"<xtune.Result {self}>"

    def _repr_html_(self) -> str:
        """For Jupyter: the summary, and a table of the best configurations."""
        ranked = sorted((each for each in self.measurements if each.outcome == "ok"), key=lambda each: each.time_ms)
        if self.winner is not None:  # the finals decide, not the first time
            ranked = [self.winner, *(each for each in ranked if each.config != self.winner.config)]
        shown = ranked[:_SHOWN_ROWS]
        metrics = list(dict.fromkeys(name for each in shown for name in each.metrics))
        rows = [
            [*each.config.values(), f"{each.time_ms:.4g}", f"{each.timing.low_ms:.4g} .. {each.timing.high_ms:.4g}"]
            + [f"{each.metrics[name]:.4g}" if name in each.metrics else "" for name in metrics]
            for each in shown
        ]
        counts = ", ".join(f"{count} {outcome}" for outcome, count in self.counts.items())
        more = f"; {len(ranked) - len(shown)} slower ones are not shown" if len(ranked) > len(shown) else ""
        text = f"<p>{html.escape(str(self))}<br>{html.escape(counts + more)}</p>"
        if not shown:
            return text
        titles = [*shown[0].config, "ms", "95 % interval", *metrics]
        return text + _html_table(titles, rows)

    def __str__(self) -> str:
        if self.winner is None:
            first = next(
                (f"; the first: {each.outcome}: {each.message}" for each in self.measurements if each.outcome != "ok"),
                "",
            )
            if self.counts.get("ok"):
                first += "; what ran gave the goal no finite value"
            return f"{self.kernel_name}: no configuration passed, of {len(self.measurements)} tried{first}"
        values = " ".join(f"{name}={value}" for name, value in self.winner.config.items())
        return (
            f"{self.kernel_name} on {self.device.name}: {values}, {self.winner.time_ms:.4g} ms "
            f"({len(self.measurements)} of {self.space_size} configurations tried)"
        )


@dataclasses.dataclass(frozen=True)
class CompiledConfig:
    """One configuration that compile_all compiled, or could not compile. A pickle has the fields
    only: in another process it cannot be called."""

    config: Config
    outcome: str  #: ok, rejected, compile_failed, timed_out or crashed
    message: str  #: the reason, if it was not compiled
    log: str  #: the compiler's output
    key: str  #: of the binary in the store
    resources: Resources
    seconds: float  #: wall-clock seconds; 0: it was compiled before

    _native: dataclasses.InitVar[Any] = _Lacking(
        UnavailableError, "this CompiledConfig was not made by xtune.compile_all: it has no binary"
    )

    def __post_init__(self, _native: Any) -> None:
        self.__dict__.update(_native=_native)

    @_checks.checked
    def kernel(self, checked: bool = True):
        """The configuration as a callable Kernel for the problem that it was compiled for. Raises
        NothingValidError if it was not compiled."""
        return self._native.kernel(checked)

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != "_kernel"}

    @functools.cached_property
    def _kernel(self):
        return self.kernel()

    def __call__(self, *args: Any, stream: Any = None, **named: Any) -> None:
        """Launches it, as a Kernel."""
        self._kernel(*args, stream=stream, **named)

    def benchmark(self, *args: Any, **settings: Any) -> Timing:
        """Times it, as Kernel.benchmark."""
        return self._kernel.benchmark(*args, **settings)


@dataclasses.dataclass(frozen=True)
class Choice:
    """Which configuration is used for a problem, and why."""

    kind: str  #: exact, bucket, nearest or default, best first
    config: Config
    measured_for: Config  #: the problem of the measurement; empty: no measurement
    time_ms: float  #: the measured time of that problem
    expected: Optional[ExpectedTime]  #: for the problem in question; None: it was measured, or its time is not known
    distance: float  #: between the two problems: the sum over sizes of |log2(a / b)|
    stale: str  #: not empty: the driver has changed since the measurement
    scratch: Dict[str, int]  #: bytes of each scratch buffer with this configuration
    reasons: List[str]  #: the records that were considered


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A configuration that the cost model suggests."""

    config: Config
    estimated_ms: float  #: useful for ranking rather than as a forecast
    reason: str


@dataclasses.dataclass(frozen=True)
class Device:
    """A device of this machine."""

    backend: str
    index: int  #: the number for `devices`
    name: str
    vendor: str  #: nvidia, amd or cpu
    arch: str
    driver: str
    compute_units: int
    memory_bytes: int  #: 0: not known
    shared_bytes: int  #: maximum shared memory of a block


@dataclasses.dataclass(frozen=True)
class Backend:
    """A backend of this build, with its devices and its compiler on this machine."""

    name: str
    devices: List[Device]
    device_reason: str  #: why there are no devices
    compiler: str
    compiler_reason: str  #: why there is no compiler


@dataclasses.dataclass(frozen=True)
class KernelArgument:
    """An argument of a Kernel's call."""

    name: str
    dtype: str  #: "f32"
    is_buffer: bool  #: an array; otherwise a number
    is_written: bool  #: an array that the kernel writes
    shape: List[str]  #: of an array: expressions over the problem
    size: str  #: of a number: the problem size that it sets; empty: none


def to_pandas(measurements: List[Measurement]):
    """Measurements as a pandas.DataFrame, one row each."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas needs pandas: pip install pandas, or apt-get install python3-pandas") from error
    return pandas.DataFrame([_row(each) for each in measurements])


def _row(measurement: Measurement) -> Mapping[str, Any]:
    row: Dict[str, Any] = dict(measurement.config)
    row["outcome"] = measurement.outcome
    row["time_ms"] = measurement.time_ms if measurement.outcome in ("ok", "pruned") else None
    for name in ("low_ms", "high_ms", "min_ms", "mean_ms", "noise", "samples"):
        row[name] = getattr(measurement.timing, name)
    row.update(measurement.metrics)
    row.update(dataclasses.asdict(measurement.resources))
    row["from_store"] = measurement.from_store
    row["message"] = measurement.message
    return row
