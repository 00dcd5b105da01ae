# SPDX-License-Identifier: Apache-2.0
"""tune, load, and the questions without a run."""
import contextlib
import difflib
import inspect
import logging
import os
import sys
import tempfile
import warnings
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from xtune import _allocators, _checks, _ending, _native
from xtune._kernel import Kernel
from xtune._progress import progress_listener
from xtune.errors import InvalidArgumentError, StorageError
from xtune.results import Backend, Candidate, Choice, CompiledConfig, Config, Device, Measurement, Result, Value
from xtune.tunable import DEFINITION, Definition, Path, Tunable, with_definition

if TYPE_CHECKING:
    from typing_extensions import Unpack
else:
    Unpack = {Definition: Any}  # checked by Tunable

Source = Union[Tunable, str, os.PathLike[str]]

_log = logging.getLogger("xtune")
_SOURCE_FILES = (".cu", ".cuh", ".hip", ".cpp", ".cxx", ".cc", ".c", ".hpp", ".h")


class TuneWarning(UserWarning):
    """A problem with measurements or the store that the user should know about."""


def _report(line: str) -> None:
    """Notes go to the logger "xtune", warnings to Python's warnings."""
    text = line[len("warning: ") :] if line.startswith("warning: ") else ""
    if text:
        warn(text)
    else:
        _log.info(line)


def warn(text: str) -> None:
    """A TuneWarning at the innermost line that is not xtune's own."""
    frame, level = sys._getframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "xtune":
        frame, level = frame.f_back, level + 1
    warnings.warn(text, TuneWarning, stacklevel=level)


def _is_source_file(kernel: Any) -> bool:
    """Whether this names a source file, judged by its ending. Text with braces is source code."""
    is_path = isinstance(kernel, os.PathLike) or (isinstance(kernel, str) and "{" not in kernel)
    return is_path and os.fspath(kernel).endswith(_SOURCE_FILES)


def _is_source(kernel: Any) -> bool:
    """Whether this is a kernel's source, in a file or as text, and not a Tunable or the path or name of a spec."""
    return _is_source_file(kernel) or (isinstance(kernel, str) and "{" in kernel)


def require_known(given: Iterable[str], known: Sequence[str], where: str) -> None:
    """Raises InvalidArgumentError for a keyword that is not known."""
    for name in given:
        if name not in known:
            # Settings of the function are mistyped as often as the definition.
            others = [each for each in (*known, *inspect.signature(tune).parameters) if each != name]
            close = difflib.get_close_matches(name, others, 1)
            hint = f" (did you mean '{close[0]}'?)" if close else ""
            raise InvalidArgumentError(f"{where} got an unexpected keyword argument '{name}'{hint}")


def _require_whole(definition: Mapping[str, Any], function: str) -> None:
    """A source with its definition is complete: nothing can be added as to a Tunable."""
    example = {"args": '{"x": x, "n": numpy.int32(n)}', "grid": '"ceildiv(n, BLOCK)"', "block": '"BLOCK"'}
    args = definition.get("args")
    if isinstance(args, (list, tuple)) and args:
        return  # the source shows the rest
    if args is not None and not isinstance(args, Mapping):
        raise InvalidArgumentError(
            f"{function}(): args: expected a dict of the kernel's arguments by their names, or a list of them, in its "
            f"order, not {_checks.shown(args)}: write args={example['args']}"
        )
    for name, text in example.items():
        if not definition.get(name):
            raise InvalidArgumentError(f"{function}(): {name} is missing: pass it, such as {name}={text}")


def tunable_of(kernel: Source, definition: Mapping[str, Any], function: str) -> Tunable:
    """A Tunable from one, from a spec's file, or from a source, as text or in a file, and its definition."""
    require_known(definition, DEFINITION, f"{function}()")
    if not _is_source(kernel):
        if definition:
            name = next(iter(definition))
            advice = "change the Tunable" if isinstance(kernel, Tunable) else "edit the spec"
            if name == "search":
                advice += ", or pass evals=, seconds=, seed= or strategy="
            raise InvalidArgumentError(f"{function}() got '{name}', which only a source in code takes: {advice}")
        try:
            return _known_tunable(kernel, function)
        except StorageError as error:
            if not isinstance(kernel, str) or kernel.endswith(".toml"):
                raise
            raise InvalidArgumentError(
                f"{function}(): {kernel[:80]!r} is neither a path that ends in .toml or .cu, .hip, .cpp, ..., "
                f"nor the source of a kernel: {error}"
            ) from None
    _require_whole(definition, function)
    return Tunable(**{"source_file" if _is_source_file(kernel) else "source": kernel}, **definition)


def _known_tunable(kernel: Source, function: str, defines: Optional[Mapping[str, Value]] = None) -> Tunable:
    """The Tunable, or that of a spec's file. A source alone lacks the parameters, so it has no stored results."""
    if isinstance(kernel, Tunable):
        return kernel
    if _is_source(kernel):
        raise InvalidArgumentError(
            f"{function}() takes a Tunable or the path of a spec, not a source: make a Tunable as "
            "for tune(), such as Tunable(source_file='k.cu', params=..., args=...)"
        )
    return Tunable.from_file(kernel, defines)


def _device_list(devices: Union[None, int, Sequence[int]]) -> List[int]:
    given = [] if devices is None else list(devices) if isinstance(devices, Iterable) else [devices]
    return [_checks.whole_number("devices", each, 0, 2**31 - 1) for each in given]


def _given(**settings: Any) -> Dict[str, Any]:
    """For _native, where what is None has its default."""
    return {
        name: dict(value) if isinstance(value, Mapping) else value
        for name, value in settings.items()
        if value is not None
    }


def _settings(tunable: Tunable, **given: Any) -> Dict[str, Any]:
    """The settings of tune() for _native."""
    settings = _given(**given)
    settings.pop("progress", None)
    isolation, configs = settings.pop("isolation"), settings.pop("configs", None)
    if isolation not in ("process", "in_process"):
        raise InvalidArgumentError(f"isolation: '{isolation}' is unknown; use process or in_process")
    if settings["backend"] == "host" and tunable._device_arrays:
        name = next(iter(tunable._device_arrays))
        raise InvalidArgumentError(f"'{name}' is an array on a GPU, and the backend is host: pass a copy on the host")
    settings.update(in_process=isolation == "in_process", on_log=_report, jobs=_checks.job_count(settings["jobs"]))
    settings["devices"] = _device_list(settings.get("devices"))
    for name, least in (("evals", 1), ("seed", 0), ("max_copy_bytes", 0)):
        if name in settings:
            settings[name] = _checks.whole_number(name, settings[name], least)
    if callable(configs):
        _checks.takes("configs", configs, 1)
        settings["configs_of"] = lambda problem: _checks.configurations(configs(problem))
    elif configs is not None:
        settings["configs"] = _checks.configurations(configs)
    if "on_measurement" in settings:
        settings["on_measurement"] = _without_log(settings["on_measurement"])
    _require_stop(settings.get("stop"))
    return settings


def tune_settings_of(given: Mapping[str, Any], owner: str, where: str, but: Sequence[str] = ()) -> Mapping[str, Any]:
    """The settings of tune() with their defaults. Raises InvalidArgumentError if what is given has
    others, or one of another type."""
    known = {
        name: each.default
        for name, each in inspect.signature(inspect.unwrap(tune)).parameters.items()
        if name not in ("kernel", "definition", "executor", "workers")
    }
    for name in given:
        if name not in known or name in but:
            close = difflib.get_close_matches(str(name), [each for each in known if each not in but], 1)
            raise InvalidArgumentError(
                f"{owner} has no setting '{name}'" + (f" (did you mean '{close[0]}'?)" if close else "")
            )
    _checks.arguments(tune, given, where)
    return known


def _require_stop(stop: Any) -> None:
    if stop is not None and (isinstance(stop, type) or not callable(getattr(stop, "is_set", None))):
        raise InvalidArgumentError(f"stop: expected a threading.Event or an object with is_set(), not {stop!r}")


def _without_log(function: Callable) -> Callable:
    """Passes the compiler's log only to a function with two parameters."""
    try:
        inspect.signature(function).bind(None, None)
        return function
    except TypeError:
        one = _checks.takes("on_measurement", function, 1)
        return lambda measurement, log: one(measurement)
    except ValueError:  # it has no signature
        return function


@with_definition
@_checks.checked
def tune(
    kernel: Source,
    *,
    backend: str = "auto",
    compiler: str = "auto",
    devices: Union[None, int, Sequence[int]] = None,
    problem: Optional[Mapping[str, Value]] = None,
    store: Optional[Path] = None,
    keep: bool = True,
    jobs: Union[int, float] = 0,
    evals: Optional[int] = None,
    seconds: Optional[float] = None,
    seed: Optional[int] = None,
    strategy: str = "",
    effort: str = "",
    fresh: bool = False,
    retry_failed: bool = False,
    transfer: bool = True,
    isolation: str = "process",
    configs: Union[None, Sequence[Mapping[str, Value]], Callable[[Config], Sequence[Mapping[str, Value]]]] = None,
    progress: Union[None, bool, Callable] = False,
    on_measurement: Optional[Callable[[Measurement], None]] = None,
    stop: Any = None,
    max_copy_bytes: int = 4 << 30,
    executor: Any = None,
    workers: int = 0,
    **definition: "Unpack[Definition]",
) -> Result:
    """Finds the fastest configuration of a kernel that gives right results.

    kernel: a Tunable, the path of a spec (.toml), the name of a kernel that comes with xtune, or a
    kernel's source, as text or as the path of its file (.cu, .hip, .cpp), whose params, args, grid,
    block, reference and so on are then keywords, as of Tunable; `problem` has the problem sizes in
    any case. With args=[x, InOut(y), 2.0, n], the source shows what is not given.

    backend: "cuda", "hip", "host", "auto", the first with a device and a compiler, or "gpu", the
    first with a GPU (else UnavailableError). compiler: "hiprtc" or "clang" for hip. devices:
    indices; None: the first and all like it. store: directory of all measurements; None:
    XTUNE_CACHE_DIR, else ~/.cache/xtune. keep=False: neither read nor write a store. jobs:
    compilers at a time, or as a float a fraction of the cores; 0: automatic.
    evals, seconds: budget. seed, strategy: of the search. effort: "none" predicts a configuration
    (Result.prediction) and measures nothing, "quick" tries at most 10, "full" as the budget allows.
    fresh: measure again what the store has.
    retry_failed: try again what crashed or timed out. transfer: use results of other devices and
    problems. isolation: "process" (workers) or "in_process". configs: measure exactly these, or
    what a function of the problem returns. max_copy_bytes: limit for GPU arrays that are copied for
    the worker.

    executor: a concurrent.futures.Executor (of Dask, mpi4py, Parsl, ...) whose workers measure on
    their devices; the search and the store stay here (docs/executors.md). kernel: a spec or a
    source, not a Tunable. workers: how many the executor has; 0: as it says, else 8. Each kind of
    device has its own search; the result is that of the kind that answered first, and the store
    has the others.

    progress: True shows a bar (tqdm if installed) on standard error; a callable receives Progress.
    on_measurement: called with each Measurement, and with the compiler's log if it takes two
    arguments. stop: a threading.Event or anything with is_set(), which ends the run soon; the
    result is then `interrupted`. Ctrl-C raises KeyboardInterrupt soon. In both cases the store
    keeps what was measured. An exception of a callback ends the run and leaves tune().

    The GIL is released. A process tunes one kernel at a time: other threads wait. Raises
    InvalidSpecError and InvalidArgumentError for mistakes, UnavailableError without a device or a
    compiler, NothingValidError for an empty space. A configuration that fails is part of the
    Result; without a winner, Result.best raises.
    """
    settings = dict(locals())
    return _tune(settings.pop("kernel"), settings.pop("definition"), settings, _native.tune, "tune")


@with_definition
@_checks.checked
def tune_cases(
    kernel: Source,
    *,
    backend: str = "auto",
    compiler: str = "auto",
    devices: Union[None, int, Sequence[int]] = None,
    problem: Optional[Mapping[str, Value]] = None,
    store: Optional[Path] = None,
    keep: bool = True,
    jobs: Union[int, float] = 0,
    evals: Optional[int] = None,
    seconds: Optional[float] = None,
    seed: Optional[int] = None,
    strategy: str = "",
    effort: str = "",
    fresh: bool = False,
    retry_failed: bool = False,
    transfer: bool = True,
    isolation: str = "process",
    configs: Union[None, Sequence[Mapping[str, Value]], Callable[[Config], Sequence[Mapping[str, Value]]]] = None,
    progress: Union[None, bool, Callable] = False,
    on_measurement: Optional[Callable[[Measurement], None]] = None,
    stop: Any = None,
    max_copy_bytes: int = 4 << 30,
    executor: Any = None,
    workers: int = 0,
    **definition: "Unpack[Definition]",
) -> List[Result]:
    """Tunes every case (Tunable.add_case), in order: a Result each, fewer if `stop` ends the run.
    As tune.

    With Tunable.across, Result.across has the one configuration for all cases. executor: if its
    workers have several kinds of devices, the results of one kind follow those of another;
    Result.device shows which.
    """
    settings = dict(locals())
    return _tune(settings.pop("kernel"), settings.pop("definition"), settings, _native.tune_cases, "tune_cases")


def _tune(kernel, definition, settings, run, function):
    if _is_source(kernel) and settings["problem"]:
        definition = {**definition, "problem": settings["problem"]}
        settings["problem"] = None
    tunable = tunable_of(kernel, definition, function)
    executor, workers = settings.pop("executor"), settings.pop("workers")
    with progress_listener(settings["progress"], tunable.name) as listener:

        def search(connect, is_first):
            native = _settings(tunable, **settings)
            connect(native)
            if listener is not None and is_first:
                native["on_progress"] = listener
            return _ending.run(run, tunable._native, settings=native)

        if executor is None:
            found = search(lambda native: None, True)
        else:
            found = _of_workers(executor, workers, kernel, definition, tunable, settings, search)
    tunable = tunable.copy()
    for result in found if isinstance(found, list) else [found]:
        object.__setattr__(
            result,
            "_compile",
            _Compiler(
                tunable,
                settings["store"] if settings["keep"] else False,
                {"backend": result.device.backend, "compiler": settings["compiler"], "problem": result.problem},
            ),
        )
    return found


def _of_workers(executor, workers, kernel, definition, tunable, settings, search):
    """The result of a call, or the results, from the workers of an executor."""
    from xtune import _remote

    if settings["isolation"] != "process":
        raise InvalidArgumentError("executor: its workers measure in separate processes: isolation is 'process'")
    workers = _remote.worker_count(executor, _checks.whole_number("workers", workers))
    parcel = _remote.parcel_of(kernel, definition, tunable)
    found = _remote.searches(executor, workers, parcel, settings, search)
    if isinstance(found[0], list):
        return [each for of_kind in found for each in of_kind]
    for other in found[1:]:
        warn(f"the executor also has {other.device.name} ({other.device.arch}): its own result is in the store")
    return found[0]


class _Compiler:
    """Makes kernels of any configuration of a result. store: False: none is kept. Nothing changes it, so copies of a
    result share it; other processes do not get it, since the definition may have functions."""

    def __init__(self, tunable, store, settings):
        self._tunable, self._store, self._settings = tunable, store, settings

    def __call__(self, config, checked):
        keeps = self._store is not False
        with contextlib.nullcontext(self._store) if keeps else tempfile.TemporaryDirectory(prefix="xtune-") as place:
            (compiled,) = compile_all(self._tunable, [config], store=place, **self._settings)
            return compiled.kernel(checked)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return type(None), ()


@_checks.checked
def load(
    kernel: Source,
    *,
    backend: str = "auto",
    compiler: str = "auto",
    store: Optional[Path] = None,
    bundle: Optional[Path] = None,
    frozen: bool = False,
    policy: str = "lookup",
    checked: bool = True,
    compile: bool = True,
    other_architectures: bool = False,
    arch: str = "",
    default_config: Optional[Mapping[str, Value]] = None,
    defines: Optional[Mapping[str, Value]] = None,
    tuning: Optional[Mapping[str, Any]] = None,
    coverage: Optional[Path] = None,
    allocator: Union[None, str, Sequence[Callable]] = None,
    on_message: Optional[Callable[[str], None]] = None,
) -> Kernel:
    """A kernel that runs the best stored configuration for the problem of each call.

    kernel: a Tunable, the path of a spec (.toml), or the name of a kernel that comes with xtune, as
    `xtune kernels` lists it: load("gemm"). policy: what the first call on a problem without
    measurements does: "lookup" runs the nearest problem's configuration, "tune_once" tunes within
    the call, "tune_in_background" tunes in a thread. tuning: the settings of tune() for that, such
    as {"seconds": 60}. checked: compare sizes of arrays with the problem at each call.
    compile=False: run only compiled kernels. bundle: a file of `xtune store bundle`. frozen: only
    the bundle answers, no store is read or written, and Kernel.digest proves that processes make
    the same choices. default_config: if nothing is stored. defines: for a spec in a file, like -D
    NAME=value. coverage: a file or a directory for a log of the problems of calls, for `xtune
    coverage`. allocator: "torch" or "cupy", whose caching allocator then has the scratch of GPU
    kernels, on the stream of each call; or two functions, allocate(bytes, stream), which returns an
    address, and release(address, bytes, stream), which any thread may call. on_message: receives
    warnings, on any thread; default: Python's warnings.

    Raises UnavailableError without a driver, UnsupportedError for programs and Kokkos units.
    """
    if defines and isinstance(kernel, Tunable):
        raise InvalidArgumentError("load: defines are for specs in files; call Tunable.define")
    tunable = _known_tunable(kernel, "load", defines)
    settings = {name: value for name, value in locals().items() if name != "kernel"}
    return _native.load(tunable._native, _load_settings(**settings))


@_checks.checked
def load_bundle(
    bundle: Path,
    name: str = "",
    *,
    backend: str = "auto",
    compiler: str = "auto",
    store: Optional[Path] = None,
    frozen: bool = False,
    policy: str = "lookup",
    checked: bool = True,
    compile: bool = True,
    other_architectures: bool = False,
    arch: str = "",
    default_config: Optional[Mapping[str, Value]] = None,
    tuning: Optional[Mapping[str, Any]] = None,
    coverage: Optional[Path] = None,
    allocator: Union[None, str, Sequence[Callable]] = None,
    on_message: Optional[Callable[[str], None]] = None,
) -> Kernel:
    """A kernel of a bundle that carries its spec (`xtune store bundle --spec`), by name; as load."""
    settings = {key: value for key, value in locals().items() if key not in ("bundle", "name")}
    return _native.load_bundle(bundle, name, _load_settings(**settings, tunable=None))


def _load_settings(*, policy, tuning, allocator, on_message, tunable, **given):
    if policy not in ("lookup", "tune_once", "tune_in_background"):
        raise InvalidArgumentError(f"policy: '{policy}' is unknown; use lookup, tune_once or tune_in_background")
    if tuning:
        defaults = tune_settings_of(tuning, "load: tuning", "tuning: ", ("stop", "progress"))
        tuning = _settings(tunable or Tunable("none"), **{**defaults, **tuning})
    return _given(
        **given,
        policy=policy,
        tuning=tuning or {},
        allocator=None if allocator is None else _allocators.pair_of(allocator),
        on_message=_checks.takes("on_message", on_message, 1) if on_message else warn,
    )


@_checks.checked
def best(
    kernel: Source,
    problem: Optional[Mapping[str, Value]] = None,
    *,
    arch: str = "",
    backend: str = "auto",
    store: Optional[Path] = None,
    bundle: Optional[Path] = None,
    frozen: bool = False,
    other_architectures: bool = False,
) -> Choice:
    """The best stored configuration for a problem. If there is none, Choice.kind is "default", and
    Choice.config is empty. Nothing is measured.

    arch: "sm_90", "gfx90a", which needs no device; default: this machine's device. frozen: only the
    bundle answers.
    """
    tunable = _known_tunable(kernel, "best")
    settings = _given(
        arch=arch,
        backend=backend,
        store=store,
        bundle=bundle,
        frozen=frozen,
        other_architectures=other_architectures,
        on_message=warn,
    )
    return _native.best(tunable._native, dict(problem or {}), settings)


@_checks.checked
def candidates(
    kernel: Source,
    problem: Optional[Mapping[str, Value]] = None,
    *,
    arch: str = "",
    backend: str = "auto",
    count: int = 0,
) -> List[Candidate]:
    """The configurations that the cost model (Tunable.candidates) rates best, best first. count=0: its top_k."""
    tunable = _known_tunable(kernel, "candidates")
    count = _checks.whole_number("count", count)
    return _native.candidates(tunable._native, _given(arch=arch, backend=backend, problem=problem, count=count))


def _compile_settings(*, jobs=0, stop, **given):
    _require_stop(stop)
    return _given(**given, jobs=_checks.job_count(jobs), stop=stop)


@_checks.checked
def compile_all(
    kernel: Source,
    configs: Sequence[Mapping[str, Value]],
    *,
    backend: str = "auto",
    compiler: str = "auto",
    arch: str = "",
    problem: Optional[Mapping[str, Value]] = None,
    store: Optional[Path] = None,
    jobs: Union[int, float] = 0,
    stop: Any = None,
) -> List[CompiledConfig]:
    """Compiles these configurations, for sweeps of your own: a CompiledConfig each. No device is
    needed.

    arch: "sm_90a", "gfx90a"; default: the device's. A configuration that the space does not allow
    is `rejected`.
    """
    tunable = _known_tunable(kernel, "compile_all")
    settings = _compile_settings(
        backend=backend, compiler=compiler, arch=arch, problem=problem, store=store, jobs=jobs, stop=stop
    )
    return _ending.run(_native.compile_all, tunable._native, _checks.configurations(configs), settings=settings)


@_checks.checked
def all_configs(
    kernel: Source,
    *,
    backend: str = "auto",
    compiler: str = "auto",
    arch: str = "",
    problem: Optional[Mapping[str, Value]] = None,
    most: int = 1_000_000,
    stop: Any = None,
) -> List[Config]:
    """The valid configurations, in the order of the space. Raises InvalidArgumentError for more than `most`."""
    tunable = _known_tunable(kernel, "all_configs")
    settings = _compile_settings(backend=backend, compiler=compiler, arch=arch, problem=problem, stop=stop)
    return _native.all_configs(tunable._native, settings, _checks.whole_number("most", most))


@_checks.checked
def devices(backend: str = "auto") -> List[Device]:
    """The devices of this machine, of all backends, of one, or of "gpu"."""
    return _native.devices(backend)


def backends() -> List[Backend]:
    """The backends of this build, with devices and compilers, or why they are missing."""
    return _native.backends()


def strategies() -> List[str]:
    """The names for `strategy`, the default first."""
    return _native.strategies()
