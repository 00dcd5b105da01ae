# SPDX-License-Identifier: Apache-2.0
"""Files as Kernel Tuner writes them: caches, results in the T4 format, metadata."""
import errno
import json
import os
import pathlib
import platform
from typing import Any, Dict, List, Mapping, Optional, Sequence

import numpy

import xtune
from xtune import _checks
from xtune.compat.kernel_tuner.absent import refuse_others
from xtune.errors import InvalidArgumentError, StorageError
from xtune.tunable import Path

_SCHEMA = "1.0.0"
_COSTS = {
    "compilation_time": "compile_time",
    "framework": "framework_time",
    "search_algorithm": "strategy_time",
    "validation": "verification_time",
}
_TIMES = {"time": "ms"}
_NO_MEASUREMENTS = {*_COSTS.values(), "benchmark_time", "times", "timestamp", "__error__"}
_INVALIDITY = {"InvalidConfig": "constraints", "CompilationFailedConfig": "compile", "RuntimeFailedConfig": "runtime"}
__getattr__ = refuse_others("kernel_tuner.file_utils")


def get_t4_results(
    results: Sequence[Mapping[str, Any]], tune_params: Mapping[str, Any], objective: Any = "time"
) -> Dict:
    """The results of tune_kernel in the T4 format, with what the results have. Times are in milliseconds."""
    rows: List[Dict[str, Any]] = []
    for result in results:
        failed = "__error__" in result
        row = {
            "configuration": {name: result[name] for name in tune_params},
            "times": {name: result[cost] for name, cost in _COSTS.items() if cost in result},
            "invalidity": _INVALIDITY.get(str(result["__error__"]), "runtime") if failed else "correct",
            "correctness": 0 if failed else 1,
            "measurements": [
                {"name": name, "value": value, "unit": _TIMES.get(name, "")}
                for name, value in result.items()
                if name not in tune_params and name not in _NO_MEASUREMENTS
            ],
            "objectives": [objective] if isinstance(objective, str) else list(objective),
        }
        row["times"]["runtimes"] = list(result.get("times", []))
        if "timestamp" in result:
            row["timestamp"] = result["timestamp"]
        rows.append(row)
    return {"results": rows, "schema_version": _SCHEMA, "metadata": {"timeunit": "milliseconds"}}


def get_t4_metadata() -> Dict[str, Any]:
    """Operating system, processor and devices, and the version of xtune, in the form of T4 metadata."""
    devices = [
        {"backend": backend.name, "name": device.name, "arch": device.arch, "driver": device.driver}
        for backend in xtune.backends()
        for device in backend.devices
    ]
    return {
        "metadata": {
            "operating_system": platform.system(),
            "hardware": {"hardware_description": [{"machine": platform.machine(), "devices": devices}]},
            "environment": {
                "device_query": {},
                "requirements": [f"xtune=={xtune.__version__}", f"numpy=={numpy.__version__}"],
            },
        },
        "schema_version": _SCHEMA,
    }


@_checks.checked
def store_output_file(
    output_filename: Path, results: Sequence[Mapping[str, Any]], tune_params: Mapping[str, Any], objective: Any = "time"
) -> None:
    """Writes the results of tune_kernel in the T4 format; directories are created."""
    _write(output_filename, get_t4_results(results, tune_params, objective), "output_filename")


@_checks.checked
def store_metadata_file(metadata_filename: Path) -> None:
    """Writes what get_t4_metadata returns; directories are created."""
    _write(metadata_filename, get_t4_metadata(), "metadata_filename")


def _write(filename: Path, data: Mapping[str, Any], what: str) -> None:
    path = with_ending(filename)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{what}: cannot create '{path.parent}': {error.strerror}") from None
    write_json(path, data, what)


def with_ending(filename: Path) -> pathlib.Path:
    text = os.fspath(filename)
    return pathlib.Path(text if text.endswith(".json") else text + ".json")


def read_json(path: pathlib.Path, what: str) -> Dict[str, Any]:
    """The contents of a cache file; empty if the file does not exist."""
    try:
        found = json.loads(path.read_text()) if path.exists() else {}
    except OSError as error:
        raise StorageError(f"{what}: cannot read '{path}': {error.strerror}") from None
    except ValueError as error:
        raise InvalidArgumentError(f"{what}: '{path}' is not a complete file of JSON ({error}): move it away") from None
    return _checks.mapping(f"{what}: the contents of '{path}'", found)


def write_json(path: pathlib.Path, data: Optional[Mapping[str, Any]], what: str) -> None:
    """Replaces the file at once. data: None: only looks whether that is possible."""
    temporary = path.with_name(path.name + ".new")
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        temporary.write_text(json.dumps(data, indent=1, default=json_value))
        if data is None:
            temporary.unlink()
        else:
            temporary.replace(path)
    except OSError as error:
        raise StorageError(f"{what}: cannot write '{path}': {error.strerror}") from None


def cache_path(cache: Path, kernel_name: str, keys: Sequence[str]) -> pathlib.Path:
    """The file of a cache. Raises InvalidArgumentError if it is about something else, StorageError if it cannot be
    written: before anything is tuned."""
    if pathlib.Path(cache).is_dir():
        raise InvalidArgumentError(f"cache: '{os.fspath(cache)}' is a directory; pass the path of a file")
    path = with_ending(cache)
    before = read_json(path, "cache")
    if before and [before.get("kernel_name"), before.get("tune_params_keys")] != [kernel_name, list(keys)]:
        raise InvalidArgumentError(f"cache: '{path}' is about another kernel or other parameters: name another file")
    write_json(path, None, "cache")
    return path


def write_cache(
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
        "tune_params": {name: [json_value(each) for each in values] for name, values in tune_params.items()},
        "objective": objective,
        "cache": dict(read_json(path, "cache").get("cache", {})),
    }
    for row in rows:
        cache["cache"][",".join(str(row[name]) for name in keys)] = dict(row)
    write_json(path, cache, "cache")


def json_value(value: Any) -> Any:
    return value.item() if isinstance(value, numpy.generic) else str(value)
