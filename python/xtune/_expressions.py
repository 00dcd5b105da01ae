# SPDX-License-Identifier: Apache-2.0
"""Functions that compute an extent, as Triton's grids, as expressions of a spec: they are called once, with symbols."""
import inspect
import math
from typing import Any, Callable, List, Union

import numpy

from xtune.errors import InvalidArgumentError

Extent = Union[int, float, str]


class Symbol:
    """A parameter or a problem size, or an expression over them. Operators make larger expressions."""

    __array_ufunc__ = None  # NumPy's scalars leave operators to it
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, text: str, where: str):
        self._text, self._where = text, where

    def __getitem__(self, name: str) -> "Symbol":
        """META["BLOCK"], for functions of one dict."""
        if not isinstance(name, str):
            raise InvalidArgumentError(f"{self._where}: {name!r} is not the name of a parameter or a problem size")
        return Symbol(name, self._where)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise InvalidArgumentError(f"{self._where}: '{self._text}.{name}' is not an expression of numbers")

    def _with(self, operator: str, other: Any, swapped: bool = False) -> "Symbol":
        left, right = (other, self) if swapped else (self, other)
        return Symbol(f"({text_of(left, self._where)} {operator} {text_of(right, self._where)})", self._where)

    def __neg__(self) -> "Symbol":
        return Symbol(f"(-{self._text})", self._where)

    def __pos__(self) -> "Symbol":
        return self

    def __truediv__(self, other: Any) -> "Symbol":
        return _Quotient(self, other, self._where)

    def __rtruediv__(self, other: Any) -> "Symbol":
        return _Quotient(other, self, self._where)

    def _refuse(self, *_: Any) -> Any:
        raise InvalidArgumentError(
            f"{self._where}: the function is called once, for all configurations, so it cannot decide by a value: write "
            'an expression, such as "max(1, n // BLOCK)" or "a if BLOCK > 64 else b"'
        )

    __bool__ = __int__ = __index__ = __float__ = __iter__ = __len__ = __round__ = _refuse


def _add_operators() -> None:
    for name, operator in {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%"}.items():
        setattr(Symbol, f"__{name}__", lambda self, other, op=operator: self._with(op, other))
        setattr(Symbol, f"__r{name}__", lambda self, other, op=operator: self._with(op, other, swapped=True))
    for name, operator in {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}.items():
        setattr(Symbol, f"__{name}__", lambda self, other, op=operator: self._with(op, other))


_add_operators()


class _Quotient(Symbol):
    """a / b, which math.ceil and math.floor make whole."""

    def __init__(self, left: Any, right: Any, where: str):
        super().__init__(f"({text_of(left, where)} / {text_of(right, where)})", where)
        self._parts = (
            f"{text_of(left, where)}, {text_of(right, where)}",
            f"{text_of(left, where)} // {text_of(right, where)}",
        )

    def __ceil__(self) -> Symbol:
        return Symbol(f"ceildiv({self._parts[0]})", self._where)

    def __floor__(self) -> Symbol:
        return Symbol(f"({self._parts[1]})", self._where)

    __trunc__ = __floor__


def text_of(value: Any, where: str) -> str:
    """An expression for a number or a symbol."""
    if isinstance(value, Symbol):
        return value._text
    if isinstance(value, numpy.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InvalidArgumentError(f"{where}: expected numbers, parameters and problem sizes, not {value!r}")
    return repr(value)


def traced(function: Callable, where: str = "a function of an extent") -> List[Extent]:
    """What a function returns, one extent or several, as expressions. Its parameters are names of parameters and problem
    sizes, or it takes one dict of all. Raises InvalidArgumentError if it branches on a value."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise InvalidArgumentError(f"{where}: {function!r} has no signature: write a lambda") from None
    given = {each.name: Symbol(each.name, where) for each in parameters if each.default is each.empty}
    if any(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD, each.POSITIONAL_ONLY) for each in parameters):
        raise InvalidArgumentError(f"{where}: the function's parameters are not names: write lambda n, BLOCK: ...")
    found = function(**given)
    several = found if isinstance(found, (list, tuple)) else [found]
    if not 1 <= len(several) <= 3:
        raise InvalidArgumentError(f"{where}: the function returned {len(several)} extents; 1 to 3 are expected")
    return [text_of(each, where) for each in several]
