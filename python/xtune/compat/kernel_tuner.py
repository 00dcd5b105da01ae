# SPDX-License-Identifier: Apache-2.0
"""Kernel Tuner's tune_kernel, run_kernel and store_results over xtune: change the import, and a script runs.

    from xtune.compat.kernel_tuner import tune_kernel

docs/from-kernel-tuner.md lists the arguments: each works, warns that it has no meaning here, or is refused.
"""
import errno
import functools
import hashlib
import inspect
import json
import logging
import math
import os
import pathlib
import re
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy

from xtune import _checks
from xtune._arrays import dtype_name, is_array
from xtune._callbacks import call_with_values
from xtune._labels import label_of, value_label
from xtune._tuning import require_known, tune, warn
from xtune.compat._table import Space, as_expression, condition_over, evaluated, replaced
from xtune.errors import InvalidArgumentError, NothingValidError, StorageError, UnsupportedError
from xtune.results import Measurement, Result
from xtune.tunable import Constant, In, InOut, Path, Scalar, Tunable, _Buffer, _text_of

__all__ = ["Environment", "run_kernel", "store_results", "tune_kernel"]

_STRATEGIES = {
    None: "exhaustive",
    "brute_force": "exhaustive",
    "random_sample": "random",
    "bayes_opt": "bayesian",
    "genetic_algorithm": "genetic",
    "diff_evo": "differential_evolution",
    "pso": "particle_swarm",
    "simulated_annealing": "annealing",
    "dual_annealing": "annealing",
    "greedy_ils": "local",
    "greedy_mls": "local",
    "ordered_greedy_mls": "local",
    "mls": "local",
    "basinhopping": "auto",
    "firefly_algorithm": "auto",
    "minimize": "auto",
    "skopt": "auto",
    "pyatf_strategies": "auto",
}
_EXACT = (None, "brute_force", "random_sample")
_BACKENDS = {"CUDA": "cuda", "CUPY": "cuda", "NVCUDA": "cuda", "HIP": "hip"}
_HIGHER_IS_BETTER = {"time": False, "GFLOP/s": True, "TFLOP/s": True, "GB/s": True, "TB/s": True}
Sizes = Union[float, str, Callable, Sequence[Union[float, str]]]
Divisors = Union[None, float, str, Callable, Sequence[Union[float, str, Callable]]]
Metric = Union[str, Callable]
_AXES = "xyz"
_OWN = ("kernel", "definition", "on_measurement")  # of tune(), which are not for `settings`
# Words of xtune's expressions, which are not names of arguments.
_WORDS = {"and", "or", "not", "in", "if", "else", "true", "false", "True", "False", "device", "time_s", "time_ms"}


class Environment(dict):
    """What Kernel Tuner's environment is: names of device and compiler, best_config. result: the xtune.Result."""

    result: Optional[Result] = None


def _warn(text: str) -> None:
    warn(f"kernel_tuner: {text}")


# The source.


def _looks_like_a_path(source: str) -> bool:
    return len(source) <= 250 and not re.search(r"[();{}\n]", source)


def _code_of(source: Any) -> Tuple[str, List[str]]:
    """The text of a source, and the directories of its files."""
    if isinstance(source, (list, tuple)) and source:
        texts, directories = zip(*(_code_of(each) for each in source))
        return texts[0], [each for some in directories for each in some]
    if isinstance(source, os.PathLike) or (isinstance(source, str) and _looks_like_a_path(source)):
        path = pathlib.Path(source)
        return _text_of(path), [str(path.resolve().parent)]
    if not isinstance(source, str):
        raise InvalidArgumentError(
            f"kernel_source is {_checks.shown(source)}: pass a text, a file, a list of files or a " "function"
        )
    return source, []


def _generated(generate: Callable, space: Space) -> str:
    """A function that returns the source of each configuration: all its texts, between #if and #elif."""
    texts: List[str] = []

    def number(params):
        text, _ = _code_of(generate(params))
        if text not in texts:
            texts.append(text)
        return texts.index(text)

    space.compute("kernel_source_number", number)
    if len(texts) == 1:
        return texts[0]
    if len(texts) > 1000:
        raise InvalidArgumentError(f"kernel_source: the function returns {len(texts)} different sources (at most 1000)")
    parts = [f"#{'el' if i else ''}if kernel_source_number == {i}\n#line 1\n{text}\n" for i, text in enumerate(texts)]
    return "".join(parts) + "#endif\n"


def _without_unroll_zero(code: str, params: Mapping[str, Sequence[Any]]) -> str:
    """A loop_unroll_factor of 0 leaves the decision to the compiler."""
    for name, values in params.items():
        if "loop_unroll_factor" in name and 0 in values:
            code = re.sub(
                rf"^([ \t]*#pragma\s+unroll\s+{name}\b.*)$", rf"#if {name} != 0\n\1\n#endif", code, flags=re.M
            )
    return code


def _check_language(lang: Optional[str], code: str) -> str:
    """The backend."""
    name = lang.upper() if isinstance(lang, str) else "CUDA" if "__global__" in code else None
    if name is None:
        name = "OPENCL" if "__kernel" in code else "C"
    if name not in _BACKENDS:
        hint = (
            ": a program in any language is tuned by its commands (docs/process.md)" if name in ("C", "FORTRAN") else ""
        )
        raise UnsupportedError(f"kernel_tuner: the language {name} is not one of xtune's, which are CUDA and HIP{hint}")
    return _BACKENDS[name] if lang else "auto"


# The launch.


def _product(divisors: Any, params: Mapping, what: str) -> Any:
    """What the problem size is divided by, for a configuration."""
    if callable(divisors):
        return divisors(params)
    if isinstance(divisors, str):
        return int(evaluated(divisors, params, what))
    if isinstance(divisors, (int, float, numpy.number)):
        return divisors
    return math.prod(_product(each, params, what) for each in divisors)


def _sizes_of(problem_size: Any) -> Sequence[Any]:
    return problem_size if isinstance(problem_size, (list, tuple)) else (problem_size,)


def _positive(size: Any, what: str) -> Any:
    if _checks.require(what, size, float) <= 0:
        raise InvalidArgumentError(_checks.refusal(what, size, "a number above 0"))
    return size


def _size(problem_size: Any, axis: int, params: Mapping) -> int:
    sizes = _sizes_of(problem_size(params) if callable(problem_size) else problem_size)
    size = sizes[axis] if axis < len(sizes) else 1
    size = evaluated(size, params, "problem_size") if isinstance(size, str) else size
    return int(_positive(size, f"problem_size, {_AXES[axis]}"))


def _divisor_expression(divisors: Any, names: Sequence[str]) -> Optional[str]:
    if isinstance(divisors, bool) or callable(divisors) or isinstance(divisors, float):
        return None
    if isinstance(divisors, (int, numpy.integer)):
        return str(divisors)
    if isinstance(divisors, str):
        expression = as_expression(divisors, names)
        return f"({expression})" if expression else None
    parts = [_divisor_expression(each, names) for each in divisors]
    return None if None in parts else " * ".join(parts) or "1"


class _Launch:
    """Grid, block and shared memory as expressions over the space."""

    def __init__(
        self,
        space: Space,
        problem_size: Any,
        grid_div: Sequence[Any],
        block_names: Sequence[str],
        smem_args: Optional[Mapping[str, Any]],
    ):
        names = list(space.params)
        self.problem: Dict[str, int] = {}
        self.block = [name if name in names else str(default) for name, default in zip(block_names, (256, 1, 1))]
        divisors = [[name] if name in names else [] for name in block_names]
        divisors = [own if own is not None else default for own, default in zip(grid_div, divisors)]
        sizes = _sizes_of(problem_size)
        if not callable(problem_size) and not 1 <= len(sizes) <= 3:
            raise InvalidArgumentError(f"problem_size has {len(sizes)} dimensions; 1 to 3 are expected")
        self.grid = []
        for axis, letter in enumerate(_AXES):
            size = None if callable(problem_size) else sizes[axis] if axis < len(sizes) else 1
            self.grid.append(self._extent(space, problem_size, size, divisors[axis], axis, f"grid_size_{letter}"))
        self.shared = self._shared(space, smem_args)

    def _extent(self, space: Space, problem_size: Any, size: Any, divisors: Any, axis: int, name: str) -> str:
        names = list(space.params)
        what = f"grid_div_{_AXES[axis]}"
        for each in divisors if isinstance(divisors, (list, tuple)) else [divisors]:
            if not isinstance(each, str) and not callable(each):
                _positive(each, what)
        divisor = _divisor_expression(divisors, names)
        if divisor is not None and isinstance(size, (int, numpy.integer)):
            self.problem[f"problem_size_{_AXES[axis]}"] = int(_positive(size, f"problem_size, {_AXES[axis]}"))
            return f"ceildiv(problem_size_{_AXES[axis]}, {divisor})"
        if divisor is not None and isinstance(size, str) and (expression := as_expression(size, names)):
            return f"ceildiv({expression}, {divisor})"
        return space.compute(
            name,
            lambda params: int(
                math.ceil(
                    float(_size(problem_size, axis, params)) / float(_positive(_product(divisors, params, what), what))
                )
            ),
        )

    @staticmethod
    def _shared(space: Space, smem_args: Optional[Mapping[str, Any]]) -> Optional[str]:
        if not smem_args:
            return None
        for key in smem_args:
            if key != "size":
                raise UnsupportedError(f"smem_args: '{key}' is unknown; only 'size', in bytes, has a meaning")
        size = smem_args["size"]
        if callable(size):
            return space.compute(
                "shared_memory_bytes", lambda params: int(_checks.require("smem_args: size", size(params), float))
            )
        if isinstance(size, str):
            return as_expression(size, list(space.params)) or space.compute(
                "shared_memory_bytes", lambda params: int(evaluated(size, params, "smem_args: size"))
            )
        return str(_checks.whole_number("smem_args: size", size))


def _names(code: str, name: str) -> bool:
    """Whether the code may use it. A macro that it does not use would only cause compilations."""
    return name in code or re.search(r'#\s*include\s*"', code) is not None


def _add_defines(tunable: Tunable, space: Space, launch: _Launch, block_names: Sequence[str], code: str) -> None:
    """What Kernel Tuner defines by itself, in addition to the parameters."""
    known = {*space.params, *space.computed}
    for letter, grid, name, block in zip(_AXES, launch.grid, block_names, launch.block):
        if f"grid_size_{letter}" not in known and _names(code, f"grid_size_{letter}"):
            tunable.define(f"grid_size_{letter}", "{" + grid + "}")
        if name not in known:
            tunable.define(name, block)
    tunable.define("kernel_tuner", "1")


def _compute_defines(space: Space, defines: Mapping[str, Any]) -> Dict[str, str]:
    """Those that are templates; the others become parameters of the space, which are macros."""
    templates = {}
    for name, value in defines.items():
        if name in space.params:
            if value == name:
                continue  # the parameter itself
            raise InvalidArgumentError(f"defines: '{name}' is a parameter; only '{name}' can be its value")
        if callable(value):
            text = space.compute(name, lambda params, value=value: str(value(params)))
        else:
            text = space.compute(name, lambda params, value=str(value): replaced(value, params))
        if name not in space.computed:
            text = text.replace("{", "{'{'}")
        if text != name:
            templates[name] = text
    return templates


# Arguments and answers.


def _parameters_of(kernel: str, code: str) -> List[str]:
    """The parameters in the kernel's signature; empty: it was not found."""
    code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", code, flags=re.S)
    found = re.search(rf"\b{re.escape(kernel)}\s*\(((?:[^()]|\([^()]*\))*)\)\s*{{", code)
    return [each.strip() for each in found.group(1).split(",")] if found and found.group(1).strip() else []


def _arguments(
    kernel: str, code: str, values: Sequence[Any], space: Space, outputs: Sequence[bool], all_written: bool
) -> Dict[str, Any]:
    """The kernel's arguments by name. Arrays are inputs if the kernel takes a pointer to const and no answer is given."""
    declared = _parameters_of(kernel, code)
    if len(declared) != len(values):
        declared = [""] * len(values)
    arguments: Dict[str, Any] = {}
    for i, (value, text, output) in enumerate(zip(values, declared, outputs)):
        name = (re.findall(r"\w+", text.split("[")[0]) or [f"argument_{i}"])[-1]
        if (
            name in arguments
            or name in space.params
            or name in space.computed
            or name in _WORDS
            or name.startswith("problem_size_")
        ):
            name = f"argument_{i}"
        if is_array(value):
            reads_only = re.search(r"\bconst\b[^*]*\*[^*]*$", text) is not None and not output and not all_written
            arguments[name] = In(value) if reads_only else InOut(value)
        elif isinstance(value, numpy.generic):
            number = _checks.require(f"arguments[{i}]", value.item(), float)
            arguments[name] = Scalar(dtype_name(value.dtype), str(number).lower() if value.dtype == bool else number)
        else:
            raise InvalidArgumentError(
                f"arguments[{i}] is {type(value).__name__}: pass arrays, and NumPy scalars such as " "numpy.int32(n)"
            )
    return arguments


def _judge(
    tunable: Tunable,
    arguments: Mapping[str, Any],
    answer: Optional[Sequence[Any]],
    atol: float,
    verify: Optional[Callable],
) -> None:
    if answer is None and verify is None:
        tunable.skip_validation()
        return
    expected = list(answer) if answer is not None else [None] * len(arguments)
    tunable.tolerance(1e-5, atol)
    if verify is None:
        wanted = {name: each for name, each in zip(arguments, expected) if each is not None}
        tunable.reference(lambda: wanted)
        return
    takes_atol = "atol" in getattr(getattr(verify, "__code__", None), "co_varnames", ("atol",))
    _checks.takes("verify", verify, 2, **({"atol": atol} if takes_atol else {}))

    def check(inputs, outputs):
        seen = {**inputs, **outputs}
        computed = [seen.get(name) for name in arguments]
        verdict = verify(expected, computed, atol=atol) if takes_atol else verify(expected, computed)
        return bool(numpy.all(verdict))

    tunable.check(check, f"{label_of(verify)} {value_label(expected)} {atol!r}")


# The whole.


def _add_restrictions(space: Space, restrictions: Any) -> None:
    names = list(space.params)
    if restrictions is None:
        return
    for each in [restrictions] if isinstance(restrictions, str) or callable(restrictions) else restrictions:
        if isinstance(each, str) and (expression := as_expression(each, names)) is not None:
            space.constraints.append(expression)
        elif isinstance(each, str):
            used = [name for name in names if name in re.findall(r"\w+", each)]
            space.constraints.append(
                condition_over(used or names[:1], functools.partial(evaluated, each, what="restrictions"))
            )
        elif callable(each):
            space.constraints.append(
                condition_over(names, functools.partial(call_with_values, each, what="restrictions: a function"))
            )
        else:
            raise UnsupportedError(f"restrictions: {each!r} is neither a text nor a function of a configuration")


def _tunable(
    kernel_name: str,
    kernel_source: Any,
    problem_size: Any,
    arguments: Sequence[Any],
    tune_params: Mapping[str, Sequence[Any]],
    grid_div: Sequence[Any],
    *,
    restrictions: Any = None,
    answer: Optional[Sequence[Any]] = None,
    smem_args: Any = None,
    cmem_args: Any = None,
    texmem_args: Any = None,
    compiler_options: Any = None,
    defines: Optional[Mapping[str, Any]] = None,
    block_size_names: Optional[Sequence[str]] = None,
    all_written: bool = False,
) -> Tuple[Tunable, Any, str]:
    """The Tunable, its arguments by name, and the source."""
    if texmem_args:
        raise UnsupportedError(
            "texmem_args: xtune has no textures as arguments; read the array itself, for example with " "__ldg"
        )
    if answer is not None and len(answer) != len(arguments):
        raise InvalidArgumentError(
            f"answer has {len(answer)} elements, and arguments has {len(arguments)}: give None for "
            "each argument that is not an output"
        )
    for where, given in (
        ("problem_size", problem_size),
        ("kernel_source", kernel_source),
        ("restrictions", restrictions),
        *((f"grid_div_{axis}", each) for axis, each in zip(_AXES, grid_div)),
        ("smem_args: size", (smem_args or {}).get("size")),
        *((f"defines: '{name}'", each) for name, each in (defines or {}).items()),
    ):
        for each in given if isinstance(given, (list, tuple)) else [given]:
            if callable(each):
                _checks.takes(where, each, 1)
    for name in tune_params:
        if name.startswith("nvml_"):
            raise UnsupportedError(f"tune_params: '{name}' sets clocks or power limits, which xtune does not change")
    space = Space(tune_params)
    _add_restrictions(space, restrictions)
    names = list(block_size_names or ())
    names += [f"block_size_{letter}" for letter in _AXES][len(names) :]
    launch = _Launch(space, problem_size, grid_div, names, smem_args)
    code, directories = (_generated(kernel_source, space), []) if callable(kernel_source) else _code_of(kernel_source)
    templates = _compute_defines(space, defines) if defines is not None else {}
    base = re.match(r"\w+", kernel_name)
    if base is None:
        raise InvalidArgumentError(f"kernel_name: {kernel_name!r} is not the name of a function")
    outputs = [each is not None for each in answer] if answer is not None else [False] * len(arguments)
    named = _arguments(base.group(), code, arguments, space, outputs, all_written)
    tunable = Tunable(
        base.group(),
        _without_unroll_zero(code, space.params),
        problem=launch.problem,
        entry="".join("{" + part + "}" if part in space.params else part for part in re.split(r"(\w+)", kernel_name)),
        grid=launch.grid,
        block=launch.block,
        shared=launch.shared,
        options=list(compiler_options or ()),
        include_dirs=directories,
        args=named,
    )
    for name, values in space.params.items():
        tunable.param(name, values, launch_only=defines is not None and name not in defines)
    for name, values in space.computed.items():
        tunable.param(name, values, launch_only=not _names(code, name))
    for constraint in space.constraints:
        tunable.constraint(constraint)
    if defines is None:
        _add_defines(tunable, space, launch, names, code)
    for name, text in templates.items():
        tunable.define(name, text)
    for name, value in (cmem_args or {}).items():
        tunable.arg(name, Constant(numpy.atleast_1d(value)))
    return tunable, named, code


def _with_metrics(row: Dict[str, Any], metrics: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    for name, metric in (metrics or {}).items():
        what = f"metrics: '{name}'"
        row[name] = (
            call_with_values(_checks.takes(what, metric, 1), row, what)
            if callable(metric)
            else evaluated(metric, row, what)
        )
    return row


def _set_goal(
    tunable: Tunable,
    params: Sequence[str],
    metrics: Optional[Mapping[str, Any]],
    objective: Any,
    higher: Optional[bool],
) -> Tuple[str, bool]:
    if objective is None:
        objective = "time"
    if not isinstance(objective, str):
        raise UnsupportedError("objective: pass the name of one metric; for two goals use xtune.tune(minimize=...)")
    if objective != "time" and objective not in (metrics or {}):
        raise UnsupportedError(
            f"objective: '{objective}' is neither 'time' nor one of the metrics "
            f"({', '.join(metrics or {}) or 'none'})"
        )
    if higher is None:
        if objective not in _HIGHER_IS_BETTER:
            raise InvalidArgumentError(f"objective_higher_is_better: say whether more of '{objective}' is better")
        higher = _HIGHER_IS_BETTER[objective]
    if objective != "time":

        def goal(values):
            row = {name: values[name] for name in params}
            return _with_metrics({**row, "time": values["time_ms"]}, metrics)[objective]

        used = "".join(
            f"{name} {metric if isinstance(metric, str) else label_of(metric)}" for name, metric in metrics.items()
        )
        tunable.metric("objective", goal, hashlib.sha256(used.encode()).hexdigest()[:16])
        (tunable.maximize if higher else tunable.minimize)("objective")
    elif higher:
        tunable.maximize("time_ms")
    return objective, higher


def _settings(
    strategy: Any, options: Optional[Mapping[str, Any]], device: int, backend: str, more: Optional[Mapping[str, Any]]
) -> Dict[str, Any]:
    if strategy is not None and not isinstance(strategy, str):
        raise UnsupportedError("strategy: xtune cannot use a strategy object; pass a name")
    if strategy not in _STRATEGIES:
        raise InvalidArgumentError(
            f"strategy: '{strategy}' is unknown; use one of " f"{', '.join(name for name in _STRATEGIES if name)}"
        )
    if strategy not in _EXACT:
        _warn(f"strategy '{strategy}' is answered by xtune's nearest one, '{_STRATEGIES[strategy]}'")
    settings: Dict[str, Any] = {"backend": backend, "strategy": _STRATEGIES[strategy]}
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
        more or {}, [name for name in inspect.signature(tune).parameters if name not in _OWN], "tune_kernel: settings"
    )
    settings.update(more or {})
    return settings


def _row(measurement: Measurement, params: Sequence[str], metrics: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    row = {name: measurement.config[name] for name in params}
    # Samples are as they were taken, times are on the scale of the best configuration's: here both are on that scale.
    time, samples = measurement.timing.mean_ms, measurement.samples_ms
    row["time"], row["times"] = time, [sample * time * len(samples) / sum(samples) for sample in samples]
    row["compile_time"] = measurement.compile_s * 1e3
    return _with_metrics(row, metrics)


def _read_json(path: pathlib.Path, what: str) -> Dict[str, Any]:
    """The contents of a cache file; empty if the file does not exist."""
    try:
        found = json.loads(path.read_text()) if path.exists() else {}
    except OSError as error:
        raise StorageError(f"{what}: cannot read '{path}': {error.strerror}") from None
    except ValueError as error:
        raise InvalidArgumentError(f"{what}: '{path}' is not a complete file of JSON ({error}): move it away") from None
    return _checks.mapping(f"{what}: the contents of '{path}'", found)


def _write_json(path: pathlib.Path, data: Optional[Mapping[str, Any]], what: str) -> None:
    """Replaces the file at once. data: None: only looks whether that is possible."""
    temporary = path.with_name(path.name + ".new")
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        temporary.write_text(json.dumps(data, indent=1, default=_json_value))
        if data is None:
            temporary.unlink()
        else:
            temporary.replace(path)
    except OSError as error:
        raise StorageError(f"{what}: cannot write '{path}': {error.strerror}") from None


def _cache_path(cache: Path, kernel_name: str, keys: Sequence[str]) -> pathlib.Path:
    """The file of a cache. Raises InvalidArgumentError if it is about something else, StorageError if it cannot be
    written: before anything is tuned."""
    if pathlib.Path(cache).is_dir():
        raise InvalidArgumentError(f"cache: '{os.fspath(cache)}' is a directory; pass the path of a file")
    path = pathlib.Path(f"{cache}" if str(cache).endswith(".json") else f"{cache}.json")
    before = _read_json(path, "cache")
    if before and [before.get("kernel_name"), before.get("tune_params_keys")] != [kernel_name, list(keys)]:
        raise InvalidArgumentError(f"cache: '{path}' is about another kernel or other parameters: name another file")
    _write_json(path, None, "cache")
    return path


def _write_cache(
    path: pathlib.Path,
    kernel_name: str,
    problem_size: Any,
    tune_params: Mapping[str, Sequence[Any]],
    objective: str,
    rows: Sequence[Mapping[str, Any]],
    device: str,
) -> None:
    """A cache file as Kernel Tuner's programs read it; configurations that it has already stay."""
    keys = list(tune_params)
    cache = {
        "device_name": device,
        "kernel_name": kernel_name,
        "problem_size": "callable" if callable(problem_size) else problem_size,
        "tune_params_keys": keys,
        "tune_params": {name: [_json_value(each) for each in values] for name, values in tune_params.items()},
        "objective": objective,
        "cache": dict(_read_json(path, "cache").get("cache", {})),
    }
    for row in rows:
        cache["cache"][",".join(str(row[name]) for name in keys)] = dict(row)
    _write_json(path, cache, "cache")


def _json_value(value: Any) -> Any:
    return value.item() if isinstance(value, numpy.generic) else str(value)


def _check_unused(compiler: Any, platform: Any, observers: Any, simulation_mode: bool) -> None:
    if compiler is not None:
        _warn("compiler has no meaning: Kernel Tuner uses it for lang='C' only")
    if platform:
        _warn("platform has no meaning: it chooses among OpenCL's")
    if observers:
        raise UnsupportedError(
            "observers: xtune calls none; metrics and energy are in its own results (docs/measuring.md)"
        )
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
    simulation_mode: bool = False,
    observers: Optional[Sequence[Any]] = None,
    objective: Any = None,
    objective_higher_is_better: Optional[bool] = None,
    *,
    settings: Optional[Mapping[str, Any]] = None,
) -> Tuple[List[Dict[str, Any]], Environment]:
    """Tunes a kernel that is described by Kernel Tuner's arguments, and returns its results and environment.

    Results: a dict for each configuration that ran and is right: parameters, time (ms, the mean), times, compile_time,
    metrics. The environment has best_config, the winner after xtune's finals, device_name, failed (a dict for each
    configuration that failed, with its reason), and as the attribute `result` the xtune.Result.

    settings: of xtune.tune in addition, such as {"backend": "host", "store": "tuned"}. Without lang, a kernel with
    __global__ runs on the first device that xtune finds, which is the CPU without a GPU. Times are taken as xtune takes
    them, with flushed caches. Raises UnsupportedError for what xtune does not have, InvalidArgumentError, StorageError.
    """
    _start_log(log, kernel_name)
    _check_unused(compiler, platform, observers, simulation_mode)
    tune_params = dict(tune_params)
    tunable, named, code = _tunable(
        kernel_name,
        kernel_source,
        problem_size,
        arguments,
        tune_params,
        (grid_div_x, grid_div_y, grid_div_z),
        restrictions=restrictions,
        answer=answer,
        smem_args=smem_args,
        cmem_args=cmem_args,
        texmem_args=texmem_args,
        compiler_options=compiler_options,
        defines=defines,
        block_size_names=block_size_names,
        all_written=verify is not None and answer is None,
    )
    _judge(tunable, named, answer, atol, verify)
    iterations = _checks.whole_number("iterations", iterations, 1)
    path = None if cache is None else _cache_path(cache, kernel_name, list(tune_params))
    for key, value in {"rep": iterations, "min_rep": iterations, "statistic": "mean", "race": False}.items():
        tunable.measure(key, value)
    params = list(tune_params)
    objective, higher = _set_goal(tunable, params, metrics, objective, objective_higher_is_better)

    def report(measurement):
        if verbose and measurement.outcome != "ok":
            print(f"skipped {_text(measurement.config, params)}: {measurement.outcome}: {measurement.message}")

    found = tune(
        tunable,
        on_measurement=report,
        **_settings(strategy, strategy_options, device, _check_language(lang, code), settings),
    )
    rows = [_row(each, params, metrics) for each in found.measurements if each.outcome == "ok"]
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
        environment["best_config"] = _row(found.winner, params, metrics)
        if not quiet:
            print("best performing configuration:")
            print(_text(environment["best_config"], [*params, "time", *(metrics or {})]))
    elif not quiet:
        print(f"no results to report: {found}")
    if path is not None:
        _write_cache(path, kernel_name, problem_size, tune_params, objective, rows, found.device.name)
    return rows, environment


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
    _check_unused(compiler, platform, None, False)
    values = {name: [value] for name, value in (params or {"block_size_x": 256}).items()}
    tunable, named, code = _tunable(
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
        tunable.check(keep, "run_kernel")
    for key, value in {"rep": 1, "min_rep": 1, "warmup": 0, "race": False, "finals": 0}.items():
        tunable.measure(key, value)
    found = tune(tunable, keep=False, **_settings(None, None, device, _check_language(lang, code), settings))
    if found.winner is None:
        failed = found.measurements[0]
        raise NothingValidError(f"{kernel_name}: {failed.outcome}: {failed.message}")
    return [after[name] if name in after else value for name, value in zip(named, arguments)]


def store_results(
    results_filename: Any,
    *args: Any,
    kernel_name: Optional[str] = None,
    kernel_string: Optional[str] = None,
    **named: Any,
) -> None:
    """Writes the best `top` percent of results to a JSON file, by device and problem size; other entries of the file stay.

    store_results(results_filename, [kernel_name, kernel_string,] tune_params, problem_size, results, env, top=3,
    objective="time", objective_higher_is_better=None): kernel_name and kernel_string came with later versions of Kernel
    Tuner, and are not in the file. objective: a name, or as in its earlier versions a pair of a name and min or max.
    """
    _store_results(results_filename, *(args[2:] if args and isinstance(args[0], str) else args), **named)


@_checks.checked
def _store_results(
    results_filename: Path,
    tune_params: Mapping[str, Sequence[Any]],
    problem_size: Any,
    results: Sequence[Mapping[str, Any]],
    env: Mapping[str, Any],
    top: float = 3,
    objective: Any = None,
    objective_higher_is_better: Optional[bool] = None,
) -> None:
    objective = objective or "time"
    if isinstance(objective, (list, tuple)):
        if len(objective) != 2:
            raise InvalidArgumentError(
                _checks.refusal("objective", objective, "a name, or a pair of a name and min or max")
            )
        objective, choose = objective
        objective_higher_is_better = choose is max
    higher = (
        _HIGHER_IS_BETTER.get(objective, False) if objective_higher_is_better is None else objective_higher_is_better
    )
    valued = [each for each in results if isinstance(each.get(objective), (int, float))]
    if not valued:
        raise InvalidArgumentError(f"store_results: no result has a value of '{objective}'")
    best = (max if higher else min)(each[objective] for each in valued)
    limit = best * (1 - top / 100) if higher else best * (1 + top / 100)
    kept = [
        {name: each[name] for name in [*tune_params, objective]}
        for each in valued
        if (each[objective] >= limit if higher else each[objective] <= limit)
    ]
    path = pathlib.Path(results_filename)
    data = dict(_read_json(path, "results_filename"))
    if "device_name" not in env:
        raise InvalidArgumentError("env: it has no 'device_name': pass the environment that tune_kernel returned")
    device = str(env["device_name"]).strip().replace(" ", "-")
    data.setdefault(device, {})["x".join(str(each) for each in _sizes_of(problem_size))] = kept
    _write_json(path, data, "results_filename")
