# SPDX-License-Identifier: Apache-2.0
"""Python's callables as predicates, references and validators: arguments by name, arrays as NumPy arrays."""
import functools
import inspect
import math
from typing import Any, Callable, Dict, Iterable, List, Sequence, Tuple

import numpy

from xtune._arrays import decode, encode
from xtune._checks import refusal, takes
from xtune.errors import CallbackMistake, InvalidArgumentError


_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _parameters(function: Callable) -> Any:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def _named(known: Iterable[str]) -> str:
    """Names for a message, without the facts of the device, which no parameter can name."""
    return ", ".join(sorted(each for each in known if each.isidentifier()))


def bound_by_name(function: Callable, known: Dict[str, Any], positional: List[Any], what: str) -> Callable:
    """A call with those of the known values that the parameters name; a function of C, without names, with the
    positional ones. Raises InvalidArgumentError for one that is not known and has no default."""
    parameters = _parameters(function)
    if parameters is None or any(each.kind == inspect.Parameter.VAR_POSITIONAL for each in parameters):
        return functools.partial(function, *positional)
    given, first = {}, []
    for each in parameters:
        if each.kind == inspect.Parameter.VAR_KEYWORD:
            given.update({name: value for name, value in known.items() if name not in given})
        elif each.name in known and each.kind == inspect.Parameter.POSITIONAL_ONLY:
            first.append(known[each.name])
        elif each.name in known:
            given[each.name] = known[each.name]
        elif each.default is inspect.Parameter.empty:
            raise InvalidArgumentError(f"{what} has a parameter '{each.name}', and there are {_named(known)}")
    return functools.partial(function, *first, **given)


def call_by_name(function: Callable, known: Dict[str, Any], positional: List[Any], what: str) -> Any:
    """As bound_by_name, called."""
    return bound_by_name(function, known, positional, what)()


class MissingName(KeyError):
    """A name that a function of several values reads, and that is not one of them."""


class _Values(Dict[str, Any]):
    """Values by name; a name that is missing can be told from other errors of the function that reads them."""

    def __missing__(self, name: str) -> Any:
        raise MissingName(name)


def call_with_values(function: Callable, values: Dict[str, Any], what: str) -> Any:
    """Calls function(values). Raises InvalidArgumentError if it reads a name that is missing."""
    try:
        return function(_Values(values))
    except MissingName as error:
        raise missing_name(error, values, what) from error


def missing_name(error: MissingName, known: Iterable[str], what: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"{what} reads {error}, and there are {_named(known)}")


def call_generator(function: Callable, problem: Dict[str, Any], request: Dict[str, Any], what: str) -> Any:
    """Calls a generator with the problem, or with those facts of its buffer that its parameters name."""
    parameters = _parameters(function) or []
    kinds = [each.kind for each in parameters]
    if any(each.name in request for each in parameters) or kinds == [inspect.Parameter.VAR_KEYWORD]:
        return call_by_name(function, {**request, "problem": problem}, [problem], what)
    return takes(what, function, 1)(problem)


def _decoded(arrays: List[Tuple]) -> Dict[str, Any]:
    return {name: decode(data, dtype, shape) for name, dtype, shape, data in arrays}


def reference(function: Callable, scalars: Dict[str, Any]) -> Callable:
    """For _native: (problem, config, inputs, outputs without contents) -> [(output, dtype, bytes)]."""

    def call(arguments):
        problem, _, inputs, outputs = arguments
        arrays = _decoded(inputs)
        known = {**scalars, **problem, **arrays, "problem": problem, "inputs": arrays}
        answer = call_by_name(function, known, list(arrays.values()), "the reference")
        expected = {name: (dtype, tuple(shape)) for name, dtype, shape, _ in outputs}
        if answer is None:
            raise InvalidArgumentError(
                "the reference returned None: return the expected output, or a dict of them by " "name"
            )
        if not isinstance(answer, dict):
            if len(expected) != 1:
                raise InvalidArgumentError(
                    f"the reference returned one array, and the outputs are {', '.join(expected) or 'none'}: return a "
                    "dict of them by name, or mark the outputs with Out or InOut"
                )
            answer = {next(iter(expected)): answer}
        encoded = []
        for name, value in answer.items():
            if name not in expected:
                raise InvalidArgumentError(
                    f"the reference returned '{name}', and the outputs are {', '.join(expected)}"
                )
            dtype, shape = expected[name]
            encoded.append((name, dtype, encode(value, dtype, shape, f"the reference of '{name}'")))
        return encoded

    return call


def truth(answer: Any, what: str) -> bool:
    """What a predicate or a validator answered. Raises InvalidArgumentError for an array."""
    size = (
        answer.numel() if callable(getattr(answer, "numel", None)) else getattr(answer, "size", 1)
    )  # PyTorch has numel
    if size != 1:
        raise InvalidArgumentError(
            f"{what} returned an array of {size} elements: return a bool, such as " "numpy.allclose(...) or (...).all()"
        )
    return bool(answer)


def predicate(function: Callable, names: Sequence[str]) -> Callable:
    """For _native: values by name -> bool."""
    what = f"constraint over {', '.join(names)}"
    takes(what, function, len(names))
    return lambda values: truth(function(*(values[name] for name in names)), what)


def predicate_by_name(function: Callable) -> Tuple[List[str], List[str], Callable]:
    """For _native: the names that a predicate needs, those that it takes if there are such values (its parameters with
    defaults), and the predicate. Raises InvalidArgumentError if it has other parameters."""
    parameters = _parameters(function)
    if parameters is None or any(each.kind not in _BY_NAME for each in parameters):
        raise InvalidArgumentError(
            "constraint: name the parameters that the callable takes, as in " "constraint(f, names=['BLOCK', 'UNROLL'])"
        )
    names = [each.name for each in parameters if each.default is inspect.Parameter.empty]
    optional = [each.name for each in parameters if each.default is not inspect.Parameter.empty]
    what = f"constraint over {', '.join(names + optional)}"

    def holds(values):
        first, named = [], {}
        for i, each in enumerate(parameters):
            if each.name not in values:
                continue  # it keeps its default
            if each.kind == inspect.Parameter.POSITIONAL_OR_KEYWORD and len(first) == i:
                first.append(values[each.name])
            else:
                named[each.name] = values[each.name]
        return truth(function(*first, **named), what)

    return names, optional, holds


def validator(function: Callable, scalars: Dict[str, Any], what: str) -> Callable:
    """For _native: (problem, config, inputs, outputs) -> bool. what: "saxpy: the validator"."""

    def call(arguments):
        problem, config, inputs, outputs = arguments
        before, after = _decoded(inputs), _decoded(outputs)
        known = {
            **scalars,
            **problem,
            **config,
            **before,
            **after,
            "problem": problem,
            "config": config,
            "inputs": before,
            "outputs": after,
        }
        try:
            judge = bound_by_name(function, known, list(after.values()), what)
        except InvalidArgumentError as error:
            raise CallbackMistake(str(error)) from None
        return judged(judge(), what)

    return call


def judged(answer: Any, what: str) -> bool:
    """What a validator answered; None is right. Raises CallbackMistake if it is not an answer."""
    if answer is None:
        return True
    try:
        right = truth(answer, what)
    except InvalidArgumentError as error:
        raise CallbackMistake(str(error)) from None
    # A word would be right, whatever it says. PyTorch and CuPy have bools of their own.
    if not isinstance(answer, (bool, numpy.bool_)) and str(getattr(answer, "dtype", "")) not in ("bool", "torch.bool"):
        raise CallbackMistake(refusal(f"{what}, returned", answer, "a bool or None"))
    return right


def timed(function: Callable, what: str) -> Callable:
    """For _native: (problem, config) -> milliseconds."""
    takes(what, function, 2)

    def call(problem, config):
        answer = function(problem, config)
        try:
            return float(answer)
        except (TypeError, ValueError):
            raise CallbackMistake(refusal(f"{what}, returned", answer, "its time in milliseconds, a number")) from None

    return call


def metric(function: Callable, name: str) -> Callable:
    """For _native: values by name -> float."""

    def call(values):
        what = f"the metric '{name}'"
        answer = call_with_values(
            lambda named: call_by_name(function, {**named, "values": named}, [named], what), values, what
        )
        try:
            return math.nan if answer is None else float(answer)
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(f"{refusal(what, answer, 'a number')} ({error})") from None

    return call
