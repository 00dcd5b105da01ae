# SPDX-License-Identifier: Apache-2.0
"""Arguments of the wrong type are refused by name, before C++ sees them: by the annotations of the functions that users
call, so that each of these states once what it takes."""
import collections.abc
import functools
import inspect
import os
import typing
from collections.abc import Mapping
from typing import Any, Callable, Dict, List, Optional, TypeVar

import numpy

from xtune.errors import InvalidArgumentError

_Function = TypeVar("_Function", bound=Callable)
_LONGEST = 60
_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "a bool", tuple: "a tuple", type(None): "None"}


def shown(value: Any) -> str:
    """A value in a message: its repr, or its type if that is long or says nothing."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if inspect.isroutine(value):
        return "a function"
    try:
        text = repr(value)
    except Exception:  # an integer of thousands of digits has none
        text = ""
    if isinstance(value, int) and len(text) == 0:
        return f"an integer of {value.bit_length()} bits"
    if text and len(text) <= _LONGEST and "\n" not in text and not text.startswith("<"):
        return text
    if isinstance(value, (list, tuple, dict)):
        return f"a {type(value).__name__} of {len(value)}"
    return f"an object of {type(value).__name__}"


def refusal(where: str, value: Any, expected: str) -> str:
    return f"{where}: expected {expected}, not {shown(value)}"


def _alternatives(words: List[str]) -> str:
    """ "a number, a text or None", without what another word says too."""
    wider = {"a whole number": "a number", "whole numbers": "numbers", "a text": "a path", "texts": "paths"}
    words = [each for each in dict.fromkeys(words) if wider.get(each) not in words]
    words.sort(key=lambda each: each == "None")
    if len(words) == 1:
        return words[0]
    return ", ".join(words[:-1]) + (", or " if any(" or " in each for each in words) else " or ") + words[-1]


def _is_typed_dict(hint: Any) -> bool:
    """A dict whose keys are checked by who reads them."""
    return isinstance(hint, type) and issubclass(hint, dict) and hasattr(hint, "__total__")


def _words(hint: Any) -> str:
    """What an annotation expects."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Union:
        return _alternatives([_words(each) for each in parts])
    if origin is collections.abc.Sequence:
        each_of = typing.get_args(parts[0]) if typing.get_origin(parts[0]) is typing.Union else parts
        return f"a list of {_alternatives(['values' if each is Any else _words(each)[2:] + 's' for each in each_of])}"
    if origin is collections.abc.Mapping or _is_typed_dict(hint):
        return "a dict"
    if origin is collections.abc.Callable:
        return "a function"
    if origin is os.PathLike:
        return "a path"
    return _WORDS[hint] if hint in _WORDS else f"an xtune.{hint.__name__}"


def _is_number(value: Any, method: str) -> bool:
    """Also NumPy's scalars, but not its arrays of one element, and not complex numbers, which have __float__ in 3.9."""
    return hasattr(type(value), method) and not hasattr(value, "__len__") and not isinstance(value, complex)


def _unicode_problem(where: str, text: str) -> Optional[str]:
    """A str may have lone surrogates, as os.fsdecode makes them of bytes."""
    try:
        text.encode()
        return None
    except UnicodeEncodeError as error:
        return f"{where}: {shown(text)} is not valid Unicode text ({text[error.start]!r} at {error.start})"


def _plain_problem(where: str, value: Any, hint: Any) -> Optional[str]:
    if hint is bool:
        fits = isinstance(value, (bool, numpy.bool_)) or (type(value) is int and value in (0, 1))
    elif hint in (int, float) and _is_number(value, "__index__"):
        whole = int(value)
        if 2**63 <= whole < 2**64:
            return f"{where}: {shown(value)} is too large: integers up to {2**63 - 1} can be tuned"
        if not -(2**63) <= whole < 2**63:
            return f"{where}: {shown(value)} does not fit into 64 bits"
        fits = True
    elif hint is float:
        fits = _is_number(value, "__float__")
    else:
        fits = isinstance(value, hint)
        if fits and hint is str:
            return _unicode_problem(where, value)
    return None if fits else refusal(where, value, _words(hint))


def _problem(where: str, value: Any, hint: Any) -> Optional[str]:
    """What is wrong with a value; None: it fits the annotation."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return None
    if _is_typed_dict(hint):
        return _problem(where, value, typing.Mapping[str, typing.Union[bool, int, float, str]])
    if origin is typing.Union:
        if isinstance(value, str) and any(typing.get_origin(each) is os.PathLike for each in parts):
            return None  # the path of a file may be any bytes
        found = [_problem(where, value, each) for each in parts]
        # What is wrong inside of a list says more than that it is not a number.
        inner = [each for each in found if each is not None and not each.startswith(f"{where}: expected")]
        return None if None in found else inner[0] if inner else refusal(where, value, _words(hint))
    if origin is collections.abc.Callable:
        return None if callable(value) else refusal(where, value, _words(hint))
    if origin is collections.abc.Mapping:
        if not isinstance(value, Mapping):
            return refusal(where, value, _words(hint))
        inside = [
            pair
            for key, each in value.items()
            for pair in ((f"{where}: a name", key, parts[0]), (f"{where}[{key!r}]", each, parts[1]))
        ]
    elif origin is collections.abc.Sequence:
        if isinstance(value, collections.abc.Iterator):
            return None  # to look at its elements would use them up
        try:
            inside = [(f"{where}[{i}]", each, parts[0]) for i, each in enumerate(value)]
        except TypeError:
            inside = None
        if inside is None or isinstance(value, (str, bytes, Mapping)):
            return refusal(where, value, _words(hint))
    else:
        return _plain_problem(where, value, hint if origin is None else origin)
    return next((found for each in inside if (found := _problem(*each)) is not None), None)


def require(where: str, value: Any, hint: Any) -> Any:
    """The value, if it fits the annotation. Raises InvalidArgumentError, which says what was expected."""
    found = _problem(where, value, hint)
    if found is not None:
        raise InvalidArgumentError(found)
    return value


@functools.lru_cache(maxsize=None)
def _hints_of(function: Callable) -> Dict[str, Any]:
    hints = typing.get_type_hints(function)
    hints.pop("return", None)
    return hints


def arguments(function: Callable, given: Mapping[str, Any], where: str = "") -> None:
    """Requires that values by the name of the parameter fit the function's annotations. Those of *args and **kwargs are
    each of them."""
    function = inspect.unwrap(function)
    hints, parameters = _hints_of(function), inspect.signature(function).parameters
    for name, value in given.items():
        if name not in hints:
            continue
        if parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            require(f"{where}{name}", value, typing.Sequence[hints[name]])
        elif parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            for key, each in value.items():
                require(f"{where}a name", key, str)
                require(f"{where}{key}", each, hints[name])
        else:
            require(f"{where}{name}", value, hints[name])


def _place(function: Callable, given: Mapping[str, Any]) -> str:
    """Where an argument of a method is: "param 'BLOCK': "; empty for functions and constructors."""
    if "self" not in given or function.__name__ == "__init__":
        return ""
    name = given.get("name")
    return f"{function.__name__} {name!r}: " if isinstance(name, str) else f"{function.__name__}: "


def checked(function: _Function) -> _Function:
    """Decorates a function that users call: its arguments must fit their annotations. An iterator becomes a list."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        try:
            bound = signature.bind(*args, **named)
        except TypeError:
            bound = None
        if bound is None:
            return function(*args, **named)  # Python says what is missing
        for name, value in bound.arguments.items():
            if isinstance(value, collections.abc.Iterator):
                bound.arguments[name] = list(value)
        arguments(function, bound.arguments, _place(function, bound.arguments))
        return function(*bound.args, **bound.kwargs)

    return call  # type: ignore[return-value]


def checked_methods(type_: type) -> type:
    """Decorates a class: its constructor and its public methods are checked()."""
    for name, member in list(vars(type_).items()):
        if name.startswith("_") and name != "__init__":
            continue
        if inspect.isfunction(member):
            setattr(type_, name, checked(member))
        elif isinstance(member, (classmethod, staticmethod)):
            setattr(type_, name, type(member)(checked(member.__func__)))
    return type_


def takes(where: str, function: _Function, count: int, **named: Any) -> _Function:
    """The function, if it can be called with `count` arguments by position and these by name. A function of C without a
    signature is accepted."""
    try:
        inspect.signature(function).bind(*[None] * count, **named)
    except TypeError as error:
        words = "one argument" if count == 1 else f"{count} arguments"
        raise InvalidArgumentError(f"{where}: expected a function of {words}, not {function!r}: {error}") from None
    except ValueError:  # it has no signature
        pass
    return function


def whole_number(name: str, value: Any, least: int = 0, most: int = 2**63 - 1) -> int:
    is_whole = not isinstance(value, bool) and _is_number(value, "__index__")
    if not is_whole or not least <= value <= most:
        limits = f" of at least {least}" if is_whole and value < least and least >= 0 else f" from {least} to {most}"
        raise InvalidArgumentError(refusal(name, value, "a whole number" + (limits if is_whole else "")))
    return int(value)


def job_count(jobs: Any) -> int:
    """0 and -1: automatic. A float is a fraction of the cores."""
    if _is_number(jobs, "__index__"):
        return 0 if jobs == -1 else whole_number("jobs", jobs)
    jobs = float(require("jobs", jobs, float))
    if not 0 < jobs <= 1:
        raise InvalidArgumentError(refusal("jobs", jobs, "a count (16) or a fraction of the cores up to 1.0"))
    return max(1, round(jobs * len(os.sched_getaffinity(0))))


def mapping(name: str, value: Any) -> Mapping:
    return require(name, value, typing.Mapping[Any, Any])


def configurations(value: Any) -> List[dict]:
    """Of `configs`: at least one."""
    hint = typing.Sequence[typing.Mapping[str, typing.Union[bool, int, float, str]]]
    value = list(value) if isinstance(value, collections.abc.Iterator) else value
    found = [dict(each) for each in require("configs", value, hint)]
    if not found:
        raise InvalidArgumentError("configs: the list is empty; without `configs` all configurations are tried")
    return found
