# SPDX-License-Identifier: Apache-2.0
"""Kernel Tuner's store_results."""
import pathlib
from typing import Any, Mapping, Optional, Sequence

from xtune import _checks
from xtune.compat.kernel_tuner.absent import refuse_others
from xtune.compat.kernel_tuner.definition import sizes_of
from xtune.compat.kernel_tuner.file_utils import read_json, write_json
from xtune.compat.kernel_tuner.util import HIGHER_IS_BETTER
from xtune.errors import InvalidArgumentError
from xtune.tunable import Path

__getattr__ = refuse_others("kernel_tuner.integration")


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
        HIGHER_IS_BETTER.get(objective, False) if objective_higher_is_better is None else objective_higher_is_better
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
    data = dict(read_json(path, "results_filename"))
    if "device_name" not in env:
        raise InvalidArgumentError("env: it has no 'device_name': pass the environment that tune_kernel returned")
    device = str(env["device_name"]).strip().replace(" ", "-")
    data.setdefault(device, {})["x".join(str(each) for each in sizes_of(problem_size))] = kept
    write_json(path, data, "results_filename")
