# SPDX-License-Identifier: Apache-2.0
"""Those functions of Kernel Tuner's util that scripts use."""
import json
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence

import numpy

from xtune import _checks
from xtune.compat.kernel_tuner.absent import refuse_others
from xtune.errors import InvalidArgumentError, StorageError
from xtune.tunable import Path, _text_of

__getattr__ = refuse_others("kernel_tuner.util")
HIGHER_IS_BETTER = {
    "time": False,
    "energy": False,
    "nvml_energy": False,
    "cost": False,
    "loss": False,
    "fitness": True,
    **{prefix + unit: True for prefix in "GT" for unit in ("FLOP/s", "B/s", "FLOPS/W", "FLOP/J")},
}


class ErrorConfig(str):
    """In the place of a time: why there is none."""

    def __str__(self) -> str:
        return type(self).__name__

    __repr__ = __str__


class InvalidConfig(ErrorConfig):
    """The configuration is not valid."""


class CompilationFailedConfig(ErrorConfig):
    """The configuration does not compile."""


class RuntimeFailedConfig(ErrorConfig):
    """The configuration cannot be launched, or gives wrong results."""


class NpEncoder(json.JSONEncoder):
    """Writes NumPy's numbers and arrays as JSON."""

    def default(self, o: Any) -> Any:
        if isinstance(o, numpy.generic):
            return o.item()
        return o.tolist() if isinstance(o, numpy.ndarray) else super().default(o)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, numpy.number)) and not isinstance(value, bool)


def get_best_config(
    results: Iterable[Mapping[str, Any]], objective: str = "time", objective_higher_is_better: bool = False
) -> Mapping[str, Any]:
    """The result with the best value. Raises InvalidArgumentError if no result has one."""
    valued = [each for each in results if "__error__" not in each and _is_number(each.get(objective))]
    if not valued:
        raise InvalidArgumentError(f"get_best_config: no result has a value of '{objective}'")
    return (max if objective_higher_is_better else min)(valued, key=lambda each: each[objective])


def get_pareto_results(
    results: Iterable[Mapping[str, Any]], objectives: Sequence[str], objective_higher_is_better: Sequence[bool]
) -> List[Mapping[str, Any]]:
    """The results that no other result surpasses in every objective."""
    valued = [each for each in results if "__error__" not in each and all(_is_number(each.get(o)) for o in objectives)]
    costs = [
        [-each[name] if higher else each[name] for name, higher in zip(objectives, objective_higher_is_better)]
        for each in valued
    ]

    def surpassed(mine: List[float]) -> bool:
        return any(other != mine and all(a <= b for a, b in zip(other, mine)) for other in costs)

    return [each for each, mine in zip(valued, costs) if not surpassed(mine)]


def get_config_string(
    params: Mapping[str, Any], keys: Optional[Iterable[str]] = None, units: Optional[Mapping[str, str]] = None
) -> str:
    """ "a=1, time=0.125ms": numbers with a fraction have three digits."""
    wanted = list(params) if keys is None else list(keys)
    return ", ".join(
        f"{name}={value:.3f}" + (units or {}).get(name, "")
        if isinstance(value, (float, numpy.floating))
        else f"{name}={value}" + (units or {}).get(name, "")
        for name, value in params.items()
        if name in wanted
    )


def get_instance_string(params: Mapping[str, Any]) -> str:
    """The values of a configuration, as a part of a name."""
    return "_".join(str(each) for each in params.values())


def read_file(filename: Path) -> str:
    return _text_of(filename)


def write_file(filename: Path, string: str) -> None:
    try:
        with open(filename, "w", encoding="utf-8") as file:
            file.write(string)
    except OSError as error:
        raise StorageError(f"write_file: cannot write '{filename}': {error.strerror}") from None


def read_cache(cache: Path, open_cache: bool = True) -> Dict[str, Any]:
    """The contents of a cache file that is complete. open_cache has no meaning: nothing is appended to it."""
    try:
        return dict(_checks.mapping("read_cache", json.loads(_text_of(cache))))
    except ValueError as error:
        raise InvalidArgumentError(f"read_cache: '{cache}' is not a complete file of JSON: {error}") from None
