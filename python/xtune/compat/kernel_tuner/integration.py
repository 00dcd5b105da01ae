# SPDX-License-Identifier: Apache-2.0
"""Kernel Tuner's store_results and TuneResults: the best configurations of devices and problems in a file."""
import pathlib
import re
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from xtune import _checks
from xtune.compat.kernel_tuner.absent import refuse_others
from xtune.compat.kernel_tuner.definition import code_of, sizes_of
from xtune.compat.kernel_tuner.file_utils import read_json, write_json
from xtune.compat.kernel_tuner.util import HIGHER_IS_BETTER
from xtune.errors import InvalidArgumentError
from xtune.tunable import Path

__getattr__ = refuse_others("kernel_tuner.integration")
_VERSION = "1.0"  # of the format


def _device_name(name: Any) -> str:
    return re.sub("[^0-9a-zA-Z]+", "_", str(name).strip())


def _size_name(problem_size: Any) -> str:
    return "x".join(str(each) for each in sizes_of(problem_size))


class TuneResults:
    """A file that store_results wrote for a kernel with its name."""

    @_checks.checked
    def __init__(self, results_filename: Path):
        self.meta = dict(read_json(pathlib.Path(results_filename), "results_filename"))
        if not isinstance(self.meta.get("data"), list) or not self.meta["data"]:
            raise InvalidArgumentError(f"results_filename: '{results_filename}' has no results of store_results")
        self.data: List[Dict[str, Any]] = self.meta["data"]

    def get_best_config(self, gpu_name: str = "default", problem_size: Any = None) -> Dict[str, Any]:
        """The parameters for a device and a problem; for others those that are among the best most often."""
        own = [each for each in self.data if each["device_name"] == _device_name(gpu_name)]
        exact = [each for each in own if problem_size is not None and each["problem_size"] == _size_name(problem_size)]
        objective, sign = self.meta["objective"], -1 if self.meta.get("objective_higher_is_better") else 1
        if exact:
            return dict(min(exact, key=lambda each: sign * each[objective])["tunable_parameters"])
        groups: Dict[Tuple, List[Dict[str, Any]]] = {}
        for each in own or self.data:
            groups.setdefault(tuple(each["tunable_parameters"].items()), []).append(each)
        common = min(groups.values(), key=lambda rows: (-len(rows), sum(sign * each[objective] for each in rows)))
        return dict(common[0]["tunable_parameters"])


@_checks.checked
def store_results(results_filename: Path, *args: Any, **named: Any) -> None:
    """Writes the best `top` percent of results to a JSON file, by device and problem size; other entries of the file stay.

    store_results(results_filename, kernel_name, kernel_string, tune_params, problem_size, results, env, top=3,
    objective="time", objective_higher_is_better=None), for TuneResults; or without kernel_name and kernel_string, as in
    earlier versions of Kernel Tuner, whose format the file then has. objective: a name, or as in those versions a pair of
    a name and min or max.
    """
    path = pathlib.Path(results_filename)
    found = dict(read_json(path, "results_filename"))
    has_name = "kernel_name" in named or (args and isinstance(args[0], str))
    write_json(path, (_with_named if has_name else _with)(path, found, *args, **named), "results_filename")


@_checks.checked
def _with_named(
    path: Path,
    found: Dict[str, Any],
    kernel_name: str,
    kernel_string: Any,
    tune_params: Mapping[str, Sequence[Any]],
    problem_size: Any,
    results: Sequence[Mapping[str, Any]],
    env: Mapping[str, Any],
    top: float = 3,
    objective: Any = None,
    objective_higher_is_better: Optional[bool] = None,
) -> Dict[str, Any]:
    """The file's new contents."""
    best, objective, higher = _best(results, tune_params, top, objective, objective_higher_is_better)
    about = {"kernel_name": kernel_name, "objective": objective, "tunable_parameters": list(tune_params)}
    for name, value in about.items() if found else ():
        if found.get(name) != value:
            raise InvalidArgumentError(
                f"results_filename: '{path}' has another {name} ({_checks.shown(found.get(name))}): name another file"
            )
    text = {} if callable(kernel_string) or kernel_string is None else {"kernel_string": code_of(kernel_string)[0]}
    place = {"device_name": _device_name(_device_of(env)), "problem_size": _size_name(problem_size)}
    data = [each for each in found.get("data", ()) if any(each.get(name) != value for name, value in place.items())]
    data += [
        {**place, "tunable_parameters": {name: row[name] for name in tune_params}, objective: row[objective]}
        for row in best
    ]
    head = {"version_number": _VERSION, **text, "objective_higher_is_better": higher, **about}
    return {**head, **found, "data": data}


@_checks.checked
def _with(
    _path: Path,
    found: Dict[str, Any],
    tune_params: Mapping[str, Sequence[Any]],
    problem_size: Any,
    results: Sequence[Mapping[str, Any]],
    env: Mapping[str, Any],
    top: float = 3,
    objective: Any = None,
    objective_higher_is_better: Optional[bool] = None,
) -> Dict[str, Any]:
    best, _, _ = _best(results, tune_params, top, objective, objective_higher_is_better)
    device = str(_device_of(env)).strip().replace(" ", "-")
    found.setdefault(device, {})[_size_name(problem_size)] = best
    return found


def _device_of(env: Mapping[str, Any]) -> Any:
    if "device_name" not in env:
        raise InvalidArgumentError("env: it has no 'device_name': pass the environment that tune_kernel returned")
    return env["device_name"]


def _best(
    results: Sequence[Mapping[str, Any]],
    tune_params: Mapping[str, Sequence[Any]],
    top: float,
    objective: Any,
    higher: Optional[bool],
) -> Tuple[List[Dict[str, Any]], str, bool]:
    """Parameters and value of those within `top` percent of the best, the objective's name, and whether more is better."""
    objective = objective or "time"
    if isinstance(objective, (list, tuple)):
        if len(objective) != 2:
            raise InvalidArgumentError(
                _checks.refusal("objective", objective, "a name, or a pair of a name and min or max")
            )
        objective, choose = objective
        higher = choose is max
    higher = HIGHER_IS_BETTER.get(objective, False) if higher is None else higher
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
    return kept, objective, higher
