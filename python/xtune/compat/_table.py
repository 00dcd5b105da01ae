# SPDX-License-Identifier: Apache-2.0
"""Expressions and functions of Python over tuning parameters, in a form that a spec can hold."""
import ast
import inspect
import itertools
import math
import re
from collections.abc import Mapping
from typing import Any, Callable, Dict, List, Optional, Sequence

import numpy

from xtune._callbacks import MissingName, missing_name, truth
from xtune.errors import InvalidArgumentError

#: A function is called for each combination of the parameters that it reads.
MOST_COMBINATIONS = 1_000_000
_SAME_IN_A_SPEC = (
    ast.Expression,
    ast.BinOp,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.FloorDiv,
    ast.Mod,
    ast.BitAnd,
    ast.BitOr,
    ast.BitXor,
    ast.LShift,
    ast.RShift,
    ast.UnaryOp,
    ast.USub,
    ast.Invert,
    ast.Not,
    ast.BoolOp,
    ast.And,
    ast.Or,
    ast.Compare,
    ast.Eq,
    ast.NotEq,
    ast.Lt,
    ast.LtE,
    ast.Gt,
    ast.GtE,
    ast.Name,
    ast.Load,
    ast.Constant,
)


def replaced(text: str, params: Mapping) -> str:
    """The text with the values of parameters instead of their names."""
    return "".join(str(params[part]) if part in params else part for part in re.split(r"(\w+)", text))


def evaluated(text: str, params: Mapping, what: str = "expression") -> Any:
    """The value of an expression of Python over parameters. Raises InvalidArgumentError for whatever it raises. what:
    "grid_div_x"."""
    used = {name: params[name] for name in set(re.findall(r"\w+", text)) if name in params}
    try:
        return eval(text, {"math": math, "numpy": numpy, "np": numpy}, used)
    except Exception as error:
        known = f" (there are {', '.join(params)})" if isinstance(error, NameError) else ""
        raise InvalidArgumentError(f"{what}: {text!r} has no value: {error}{known}") from error


def as_expression(text: str, names: Sequence[str]) -> Optional[str]:
    """The same expression for a spec, if it means the same there; None: it may not."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if not isinstance(node, _SAME_IN_A_SPEC):
            return None
        if isinstance(node, ast.Name) and node.id not in names:
            return None
        if isinstance(node, ast.Constant) and not (isinstance(node.value, (int, float, str))):
            return None
    return " ".join(text.split())


class _Recorder(Mapping):
    """A configuration that notes which parameters are read."""

    def __init__(self, params: Dict[str, Any], read: Dict[str, None]):
        self._params, self._read = params, read

    def __getitem__(self, name: str) -> Any:
        if name not in self._params:
            raise MissingName(name)
        value = self._params[name]
        self._read[name] = None
        return value

    def __iter__(self):
        self._read.update(dict.fromkeys(self._params))
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)


def condition_over(names: Sequence[str], holds: Callable[[Dict[str, Any]], Any]) -> Callable[..., bool]:
    """A predicate with these parameters, for a constraint."""

    def predicate(*values):
        return truth(holds(dict(zip(names, values))), "restrictions: a function")

    predicate.__signature__ = inspect.Signature(
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    )
    return predicate


class Space:
    """Parameters, constraints, and values that Python computes from parameters: those become further parameters, each
    with a constraint that leaves one value for a configuration."""

    def __init__(self, params: Mapping[str, Sequence[Any]]):
        self.params: Dict[str, List[Any]] = {name: _plain(name, values) for name, values in params.items()}
        self.computed: Dict[str, List[Any]] = {}
        self.constraints: List[Any] = []

    def compute(self, name: str, function: Callable[[Mapping], Any]) -> str:
        """An expression for what the function returns for a configuration: the name of a further parameter, or a
        constant. Exceptions of the function leave the run, if they come for a valid configuration."""
        read: Dict[str, None] = {}
        while True:
            names, table = list(read), {}
            count = math.prod(len(self.params[each]) for each in names)
            if count > MOST_COMBINATIONS:
                raise InvalidArgumentError(
                    f"{name}: the function reads {', '.join(names)}, which have {count} combinations "
                    f"(at most {MOST_COMBINATIONS})"
                )
            for values in itertools.product(*(self.params[each] for each in names)):
                config = {each: values_of[0] for each, values_of in self.params.items()}
                config.update(zip(names, values))
                try:
                    table[values] = function(_Recorder(config, read))
                except MissingName as error:
                    table[values] = missing_name(error, self.params, f"{name}: the function")
                except Exception as error:  # perhaps for a configuration that the restrictions exclude
                    table[values] = error
                if len(read) != len(names):
                    break
            else:
                break
        return self._add(name, names, table)

    def _add(self, name: str, names: List[str], table: Dict[tuple, Any]) -> str:
        found = list(dict.fromkeys(each for each in table.values() if not isinstance(each, Exception)))
        if not found:
            raise next(iter(table.values()))
        if len(found) == 1 and not any(isinstance(each, Exception) for each in table.values()):
            return str(found[0])
        if name in self.params:
            raise InvalidArgumentError(
                f"'{name}' is a parameter, and a name that is needed for a value that Python "
                "computes: rename the parameter"
            )
        self.computed[name] = found

        def agrees(config):
            value = table[tuple(config[each] for each in names)]
            if isinstance(value, Exception):
                raise value
            return config[name] == value

        self.constraints.append(condition_over([*names, name], agrees))
        return name


def _plain(name: str, values: Sequence[Any]) -> List[Any]:
    """Values of Python's own types."""
    plain = [each.item() if isinstance(each, numpy.generic) else each for each in values]
    for each in plain:
        if not isinstance(each, (bool, int, float, str)):
            raise InvalidArgumentError(
                f"tune_params: a value of '{name}' is {each!r}: values are numbers, bool or text"
            )
    return plain
