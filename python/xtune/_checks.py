# SPDX-License-Identifier: Apache-2.0
"""Values of the wrong type are refused by the name of the argument, before C++ sees them."""
import os
from collections.abc import Mapping
from typing import Any, List, Union

import numpy

from xtune.errors import InvalidArgumentError


def whole_number(name: str, value: Any, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, numpy.integer)) or not least <= value < 2**63:
        raise InvalidArgumentError(f"{name}: expected a whole number of at least {least}, not {value!r}")
    return int(value)


def job_count(jobs: Any) -> int:
    """0 and -1: automatic. A float is a fraction of the cores."""
    if jobs == -1:
        return 0
    if not isinstance(jobs, float):
        return whole_number("jobs", jobs)
    if not 0 < jobs <= 1:
        raise InvalidArgumentError(f"jobs: expected a count (16) or a fraction of the cores up to 1.0, not {jobs!r}")
    return max(1, round(jobs * len(os.sched_getaffinity(0))))


def mapping(name: str, value: Any) -> Mapping:
    if not isinstance(value, Mapping):
        raise InvalidArgumentError(f"{name}: expected a dict, not {type(value).__name__}")
    return value


def configurations(value: Any) -> List[dict]:
    """Of `configs`: at least one."""
    if isinstance(value, (str, Mapping)) or not hasattr(value, "__iter__"):
        raise InvalidArgumentError(f"configs: expected a list of dicts, not {type(value).__name__}")
    found = [dict(mapping(f"configs[{i}]", each)) for i, each in enumerate(value)]
    if not found:
        raise InvalidArgumentError("configs: the list is empty; without `configs` all configurations are tried")
    return found


def value(name: str, given: Any) -> Union[bool, int, float, str]:
    """One value of a parameter, of Python's own type."""
    plain = given.item() if isinstance(given, numpy.generic) else given
    if not isinstance(plain, (bool, int, float, str)):
        raise InvalidArgumentError(f"{name}: {given!r} is neither a number nor a bool nor a text")
    if isinstance(plain, int) and not -(2**63) <= plain < 2**63:
        raise InvalidArgumentError(f"{name}: {plain} does not fit into 64 bits")
    return plain


def function(name: str, given: Any) -> Any:
    if not callable(given):
        raise InvalidArgumentError(f"{name}: expected a function, not {type(given).__name__}")
    return given
