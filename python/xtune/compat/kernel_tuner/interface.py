# SPDX-License-Identifier: Apache-2.0
"""Kernel Tuner's tune_kernel and run_kernel."""
import hashlib
import inspect
import itertools
import logging
import math
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy

import xtune
from xtune import _checks
from xtune._callbacks import call_with_values
from xtune._labels import label_of
from xtune._tuning import require_known, tune, warn
from xtune.compat._table import evaluated
from xtune.compat.kernel_tuner import accuracy, observers as observing, strategies
from xtune.compat.kernel_tuner.definition import Divisors, Sizes, judge, tunable_of
from xtune.compat.kernel_tuner.file_utils import cache_path, write_cache
from xtune.compat.kernel_tuner.observers import nvml
from xtune.compat.kernel_tuner.util import HIGHER_IS_BETTER
from xtune.errors import InvalidArgumentError, NothingValidError, StorageError, UnsupportedError
from xtune.results import Measurement, Result
from xtune.tunable import Path, Tunable, _Buffer

_BACKENDS = {"CUDA": "cuda", "CUPY": "cuda", "NVCUDA": "cuda", "HIP": "hip"}
Metric = Union[str, Callable]
_OWN = ("kernel", "definition", "on_measurement")  # of tune(), which are not for `settings`


class Environment(dict):
    """What Kernel Tuner's environment is: names of device and compiler, best_config. result: the xtune.Result."""

    result: Optional[Result] = None


def _warn(text: str) -> None:
    warn(f"kernel_tuner: {text}")


def _with_metrics(row: Dict[str, Any], metrics: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    for name, metric in (metrics or {}).items():
        what = f"metrics: '{name}'"
        row[name] = (
            call_with_values(_checks.takes(what, metric, 1), row, what)
            if callable(metric)
            else evaluated(metric, row, what)
        )
    return row


class _Observers:
    """What observers see of the outputs, and what NVMLObserver asks for, by configuration."""

    def __init__(self, observers: Optional[Sequence[Any]], params: Sequence[str], tunable: Tunable):
        self._params = list(params)
        self._outputs: List[observing.OutputObserver] = []
        self._measured: List[str] = []
        self._seen: Dict[tuple, Dict[str, Any]] = {}
        for each in observers or ():
            made = each() if callable(each) and not isinstance(each, observing.BenchmarkObserver) else each
            if isinstance(made, nvml.NVMLObserver):
                self._measure(made, tunable)
            elif isinstance(made, observing.OutputObserver):
                self._outputs.append(made)
            else:
                raise UnsupportedError(
                    f"observers: {type(made).__name__} is told of each launch, which xtune does in other processes; "
                    "AccuracyObserver, other OutputObservers and NVMLObserver work"
                )
        self.observe = self._observe if self._outputs else None

    def __bool__(self) -> bool:
        return bool(self._outputs or self._measured)

    def __str__(self) -> str:
        return " ".join([*(type(each).__name__ for each in self._outputs), *self._measured])

    def _measure(self, observer: nvml.NVMLObserver, tunable: Tunable) -> None:
        tunable.measure("energy_ms", observer.duration_ms)
        for name in observer.observables:
            tunable.metric(name, nvml.MEASURED[name])
            self._measured.append(name)

    def _key(self, config: Mapping[str, Any]) -> tuple:
        return tuple(config[name] for name in self._params)

    def _observe(self, config: Mapping[str, Any], expected: Sequence[Any], computed: Sequence[Any]) -> None:
        seen = self._seen.setdefault(self._key(config), {})
        for each in self._outputs:
            each.process_output(expected, computed)
            seen.update(each.get_results())

    def values(self, config: Mapping[str, Any], measured: Mapping[str, Any]) -> Dict[str, Any]:
        """What is known of a configuration. measured: has the values that xtune measures."""
        return {**self._seen.get(self._key(config), {}), **{name: measured[name] for name in self._measured}}


def _one_objective(objective: Any, higher: Any, objectives: Any) -> Tuple[str, Optional[bool]]:
    if objectives is not None:
        given = _checks.mapping("objectives", objectives)
        objective, higher = list(given), list(given.values())
    if isinstance(objective, (list, tuple)) and len(objective) == 1:
        (objective,) = objective
    if isinstance(higher, (list, tuple)) and len(higher) == 1:
        (higher,) = higher
    if objective is not None and not isinstance(objective, str):
        raise UnsupportedError("objective: pass the name of one metric; for two goals use xtune.tune(minimize=...)")
    return objective or "time", higher


def _set_goal(
    tunable: Tunable,
    params: Sequence[str],
    metrics: Optional[Mapping[str, Any]],
    objective: str,
    higher: Optional[bool],
    observers: _Observers,
) -> bool:
    if objective != "time" and objective not in (metrics or {}) and not observers:
        raise UnsupportedError(
            f"objective: '{objective}' is neither 'time' nor one of the metrics "
            f"({', '.join(metrics or {}) or 'none'})"
        )
    if higher is None:
        if objective not in HIGHER_IS_BETTER:
            raise InvalidArgumentError(f"objective_higher_is_better: say whether more of '{objective}' is better")
        higher = HIGHER_IS_BETTER[objective]
    if objective != "time":

        def goal(values):
            row = {name: values[name] for name in params}
            row = _with_metrics({**row, "time": values["time_ms"], **observers.values(values, values)}, metrics)
            if objective not in row:
                raise InvalidArgumentError(f"objective: '{objective}' is not among the results ({', '.join(row)})")
            return row[objective]

        used = f"{objective} {observers} " + "".join(
            f"{name} {metric if isinstance(metric, str) else label_of(metric)}"
            for name, metric in (metrics or {}).items()
        )
        tunable.metric("objective", goal, hashlib.sha256(used.encode()).hexdigest()[:16])
        (tunable.maximize if higher else tunable.minimize)("objective")
    elif higher:
        tunable.maximize("time_ms")
    return higher


def _backend_of(lang: Optional[str], code: str, chosen: Optional[str]) -> str:
    """The backend for a language. A kernel that is written for GPUs runs on the CPU as well, where there is none.
    chosen: by the user. Raises UnsupportedError for other languages."""
    name = lang.upper() if isinstance(lang, str) else "CUDA" if "__global__" in code else None
    if name is None:
        name = "OPENCL" if "__kernel" in code else "C"
    if name not in _BACKENDS:
        hint = (
            ": a program in any language is tuned by its commands (docs/process.md)" if name in ("C", "FORTRAN") else ""
        )
        raise UnsupportedError(f"kernel_tuner: the language {name} is not one of xtune's, which are CUDA and HIP{hint}")
    if chosen or not lang:
        return chosen or "auto"
    if any(each.name == _BACKENDS[name] and each.devices for each in xtune.backends()):
        return _BACKENDS[name]
    _warn(f"lang '{lang}': no device for it was found, so the first that xtune finds runs the kernel")
    return "auto"


def _settings(
    strategy: Any,
    options: Optional[Mapping[str, Any]],
    device: int,
    lang: Tuple[Optional[str], str],
    more: Optional[Mapping[str, Any]],
) -> Dict[str, Any]:
    """Of tune. lang: the language, and the source."""
    if strategy is not None and not isinstance(strategy, str):
        raise UnsupportedError("strategy: xtune cannot use a strategy object; pass a name")
    if strategy not in strategies.NEAREST:
        raise InvalidArgumentError(
            f"strategy: '{strategy}' is unknown; use one of "
            f"{', '.join(name for name in strategies.NEAREST if name)}"
        )
    if strategy not in strategies.EXACT:
        _warn(f"strategy '{strategy}' is answered by xtune's nearest one, '{strategies.NEAREST[strategy]}'")
    backend = _backend_of(*lang, (more or {}).get("backend"))
    settings: Dict[str, Any] = {"backend": backend, "strategy": strategies.NEAREST[strategy]}
    if device:
        settings["devices"] = device
    for name, value in (options or {}).items():
        if name == "max_fevals":
            settings["evals"] = _checks.whole_number("strategy_options: max_fevals", value, 1)
        elif name == "time_limit":
            settings["seconds"] = float(_checks.require("strategy_options: time_limit", value, float))
        else:
            _warn(f"strategy_options: '{name}' has no meaning for xtune's strategies, and is ignored")
    require_known(
        more or {},
        [name for name in inspect.signature(inspect.unwrap(tune)).parameters if name not in _OWN],
        "tune_kernel: settings",
    )
    settings.update(more or {})
    return settings


def _row(
    measurement: Measurement, params: Sequence[str], metrics: Optional[Mapping[str, Any]], observers: _Observers
) -> Dict[str, Any]:
    row = {name: measurement.config[name] for name in params}
    # Samples are as they were taken, times are on the scale of the best configuration's: here both are on that scale.
    time, samples = measurement.timing.mean_ms, measurement.samples_ms
    row["time"], row["times"] = time, [sample * time * len(samples) / sum(samples) for sample in samples]
    row["compile_time"] = measurement.compile_s * 1e3
    row.update(observers.values(measurement.config, measurement.metrics))
    return _with_metrics(row, metrics)


def _check_unused(compiler: Any, platform: Any, simulation_mode: Any) -> None:
    if compiler is not None:
        _warn("compiler has no meaning: Kernel Tuner uses it for lang='C' only")
    if platform:
        _warn("platform has no meaning: it chooses among OpenCL's")
    if simulation_mode:
        raise UnsupportedError(
            "simulation_mode: run `xtune import kernel-tuner FILE` and `xtune run` on what it writes"
        )


def _start_log(log: Any, kernel_name: str) -> None:
    if not log:
        return
    try:
        logging.Logger("").setLevel(log)  # before there is a file
        logging.basicConfig(filename=f"{kernel_name}{time.strftime('%Y%m%d-%H:%M:%S')}.log", level=log)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"log: {error}: pass a level such as logging.INFO") from None
    except OSError as error:
        raise StorageError(f"log: cannot write '{error.filename}': {error.strerror}") from None


@_checks.checked
def tune_kernel(
    kernel_name: str,
    kernel_source: Any,
    problem_size: Sizes,
    arguments: Sequence[Any],
    tune_params: Mapping[str, Sequence[Any]],
    grid_div_x: Divisors = None,
    grid_div_y: Divisors = None,
    grid_div_z: Divisors = None,
    restrictions: Union[None, str, Callable, Sequence[Any]] = None,
    answer: Optional[Sequence[Any]] = None,
    atol: float = 1e-6,
    verify: Optional[Callable] = None,
    verbose: bool = False,
    lang: Optional[str] = None,
    device: int = 0,
    platform: int = 0,
    smem_args: Optional[Mapping[str, Any]] = None,
    cmem_args: Optional[Mapping[str, Any]] = None,
    texmem_args: Optional[Mapping[str, Any]] = None,
    compiler: Optional[str] = None,
    compiler_options: Optional[Sequence[str]] = None,
    defines: Optional[Mapping[str, Any]] = None,
    log: Any = None,
    iterations: int = 7,
    block_size_names: Optional[Sequence[str]] = None,
    quiet: bool = False,
    strategy: Any = None,
    strategy_options: Optional[Mapping[str, Any]] = None,
    cache: Optional[Path] = None,
    metrics: Optional[Mapping[str, Metric]] = None,
    simulation_mode: Optional[bool] = None,
    parallel: Union[None, bool, int] = None,
    observers: Optional[Sequence[Any]] = None,
    objective: Any = None,
    objective_higher_is_better: Any = None,
    objectives: Any = None,
    seed: Optional[int] = None,
    *,
    settings: Optional[Mapping[str, Any]] = None,
) -> Tuple[List[Dict[str, Any]], Environment]:
    """Tunes a kernel that is described by Kernel Tuner's arguments, and returns its results and environment.

    Results: a dict for each configuration that ran and is right: parameters, time (ms, the mean), times, compile_time,
    metrics, and what observers report. The environment has best_config, the winner after xtune's finals, device_name,
    failed (a dict for each configuration that failed, with its reason), and as the attribute `result` the xtune.Result.

    settings: of xtune.tune in addition, such as {"backend": "host", "store": "tuned"}. The kernel runs on a device for
    lang, else on the first device that xtune finds, which is the CPU without a GPU. Times are taken as xtune takes them,
    with flushed caches. Raises UnsupportedError for what xtune does not have, InvalidArgumentError, StorageError.
    """
    call = dict(locals())
    _start_log(call.pop("log"), kernel_name)
    _check_unused(call.pop("compiler"), call.pop("platform"), call.pop("simulation_mode"))
    given = (call["objective"], call["objective_higher_is_better"], call.pop("objectives"))
    call["objective"], call["objective_higher_is_better"] = _one_objective(*given)
    tune_params = call["tune_params"] = dict(tune_params)
    iterations = call["iterations"] = _checks.whole_number("iterations", iterations, 1)
    path = None if call.pop("cache") is None else cache_path(cache, kernel_name, list(tune_params))
    del call["quiet"]
    rows, environment = _tune_choices(call) if any(map(_is_choice, arguments)) else _tune_once(**call)
    if "best_config" in environment and not quiet:
        print("best performing configuration:")
        print(_text(environment["best_config"], [*tune_params, "time", *(metrics or {})]))
    elif not quiet:
        print(f"no results to report: {environment.result}")
    if path is not None:
        write_cache(path, kernel_name, problem_size, tune_params, call["objective"], rows, environment["device_name"])
    return rows, environment


def _is_choice(argument: Any) -> bool:
    return isinstance(argument, accuracy.Tunable)


def _tune_choices(call: Mapping[str, Any]) -> Tuple[List[Dict[str, Any]], Environment]:
    """An argument of a run has one type, so each value of the parameters that choose arrays has a run of its own."""
    params, options = call["tune_params"], dict(call["strategy_options"] or {})
    names = list(dict.fromkeys(each.param_key for each in call["arguments"] if _is_choice(each)))
    for name in names:
        if name not in params:
            raise InvalidArgumentError(f"arguments: '{name}', which chooses an array, is not one of tune_params")
    choices = list(itertools.product(*(params[name] for name in names)))
    for key in ("max_fevals", "time_limit"):
        if key in options:
            options[key] = math.ceil(options[key] / len(choices))
    found = []
    for choice in choices:
        chosen = dict(zip(names, choice))
        changes = {
            "tune_params": {**params, **{name: [value] for name, value in chosen.items()}},
            "arguments": [each(chosen) if _is_choice(each) else each for each in call["arguments"]],
            "strategy_options": options or None,
        }
        try:
            found.append(_tune_once(**{**call, **changes}))
        except NothingValidError:  # the restrictions exclude the choice
            if choice == choices[-1] and not found:
                raise
    winners = [environment for _, environment in found if "best_config" in environment]
    sign = -1 if _is_higher_better(call) else 1
    environment = min(winners, key=lambda each: sign * each["best_config"][call["objective"]], default=found[0][1])
    environment["failed"] = [failed for _, each in found for failed in each["failed"]]
    return [row for rows, _ in found for row in rows], environment


def _is_higher_better(call: Mapping[str, Any]) -> bool:
    higher = call["objective_higher_is_better"]
    return HIGHER_IS_BETTER[call["objective"]] if higher is None else higher


def _tune_once(
    *,
    kernel_name,
    kernel_source,
    problem_size,
    arguments,
    tune_params,
    grid_div_x,
    grid_div_y,
    grid_div_z,
    answer,
    atol,
    verify,
    verbose,
    lang,
    device,
    iterations,
    strategy,
    strategy_options,
    metrics,
    parallel,
    observers,
    objective,
    objective_higher_is_better,
    seed,
    settings,
    **definition,
) -> Tuple[List[Dict[str, Any]], Environment]:
    """Tunes arguments that each have one type. definition: of tunable_of."""
    tunable, named, code = tunable_of(
        kernel_name,
        kernel_source,
        problem_size,
        arguments,
        tune_params,
        (grid_div_x, grid_div_y, grid_div_z),
        answer=answer,
        all_written=verify is not None and answer is None,
        **definition,
    )
    params = list(tune_params)
    observed = _Observers(observers, params, tunable)
    judge(tunable, named, answer, atol, verify, observed.observe)
    for key, value in {"rep": iterations, "min_rep": iterations, "statistic": "mean", "race": False}.items():
        tunable.measure(key, value)
    _set_goal(tunable, params, metrics, objective, objective_higher_is_better, observed)

    def report(measurement):
        if verbose and measurement.outcome != "ok":
            print(f"skipped {_text(measurement.config, params)}: {measurement.outcome}: {measurement.message}")

    own = {} if seed is None else {"seed": seed}
    if parallel and parallel is not True:
        own["jobs"] = parallel
    if observed.observe is not None:
        own["fresh"] = True  # what the store has is not run, so no one would see its outputs
    own.update(settings or {})
    found = tune(tunable, on_measurement=report, **_settings(strategy, strategy_options, device, (lang, code), own))
    environment = Environment(
        device_name=found.device.name,
        compiler=found.toolchain,
        iterations=iterations,
        failed=[
            {**{name: each.config[name] for name in params}, "error": each.outcome, "message": each.message}
            for each in found.measurements
            if each.outcome != "ok"
        ],
    )
    environment.result = found
    if found.winner is not None:
        environment["best_config"] = _row(found.winner, params, metrics, observed)
    return [_row(each, params, metrics, observed) for each in found.measurements if each.outcome == "ok"], environment


def _text(row: Mapping[str, Any], names: Sequence[str]) -> str:
    return ", ".join(
        f"{name}={row[name]:.3f}" if isinstance(row[name], float) else f"{name}={row[name]}" for name in names
    )


@_checks.checked
def run_kernel(
    kernel_name: str,
    kernel_source: Any,
    problem_size: Sizes,
    arguments: Sequence[Any],
    params: Mapping[str, Any],
    grid_div_x: Divisors = None,
    grid_div_y: Divisors = None,
    grid_div_z: Divisors = None,
    lang: Optional[str] = None,
    device: int = 0,
    platform: int = 0,
    smem_args: Optional[Mapping[str, Any]] = None,
    cmem_args: Optional[Mapping[str, Any]] = None,
    texmem_args: Optional[Mapping[str, Any]] = None,
    compiler: Optional[str] = None,
    compiler_options: Optional[Sequence[str]] = None,
    defines: Optional[Mapping[str, Any]] = None,
    block_size_names: Optional[Sequence[str]] = None,
    quiet: bool = False,
    log: Any = None,
    *,
    settings: Optional[Mapping[str, Any]] = None,
) -> List[Any]:
    """Runs one configuration once, and returns the arguments as they are after that: NumPy arrays and the numbers.

    Raises NothingValidError with the reason if it does not compile or run. quiet has no effect: nothing is printed.
    """
    _start_log(log, kernel_name)
    _check_unused(compiler, platform, None)
    values = {name: [value] for name, value in (params or {"block_size_x": 256}).items()}
    tunable, named, code = tunable_of(
        kernel_name,
        kernel_source,
        problem_size,
        arguments,
        values,
        (grid_div_x, grid_div_y, grid_div_z),
        smem_args=smem_args,
        cmem_args=cmem_args,
        texmem_args=texmem_args,
        compiler_options=compiler_options,
        defines=defines,
        block_size_names=block_size_names,
        all_written=True,
    )
    after: Dict[str, numpy.ndarray] = {}

    def keep(outputs):
        for name, contents in outputs.items():
            after.setdefault(name, numpy.array(contents))

    if any(isinstance(each, _Buffer) for each in named.values()):
        tunable.validator(keep, "run_kernel")
    for key, value in {"rep": 1, "min_rep": 1, "warmup": 0, "race": False, "finals": 0}.items():
        tunable.measure(key, value)
    own = {"keep": False, **(settings or {})}
    found = tune(tunable, **_settings(None, None, device, (lang, code), own))
    if found.winner is None:
        failed = found.measurements[0]
        raise NothingValidError(f"{kernel_name}: {failed.outcome}: {failed.message}")
    return [after[name] if name in after else value for name, value in zip(named, arguments)]
