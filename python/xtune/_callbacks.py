# SPDX-License-Identifier: Apache-2.0
"""Python's callables as predicates, references and checks: arguments by name, arrays as NumPy arrays."""
import hashlib
import inspect
import math
from typing import Any, Callable, Dict, List, Tuple

from xtune._arrays import decode, encode
from xtune.errors import InvalidArgumentError


class UnknownParameter(TypeError):
    """A callable has a parameter that names nothing."""


class CallbackMistake(BaseException):
    """A check that cannot be called, or that does not answer: it ends the run instead of making results wrong. Not an
    Exception, which would say that the outputs are wrong; tune() raises InvalidArgumentError in its place."""


_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _parameters(function: Callable) -> Any:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def parameter_names(function: Callable, what: str) -> List[str]:
    """The names of a predicate's parameters. Raises InvalidArgumentError if it has others."""
    parameters = _parameters(function)
    if parameters is None or any(each.kind not in _BY_NAME for each in parameters):
        raise InvalidArgumentError(f"{what}: name the parameters that the callable takes, as in "
                                   "constraint(f, names=['BLOCK', 'UNROLL'])")
    return [each.name for each in parameters]


def call_by_name(function: Callable, known: Dict[str, Any], positional: List[Any], what: str) -> Any:
    """Calls with those of the known values that the parameters name; a function of C, without names, with the
    positional ones. Raises TypeError for a parameter that is not known and has no default."""
    parameters = _parameters(function)
    if parameters is None or any(each.kind == inspect.Parameter.VAR_POSITIONAL for each in parameters):
        return function(*positional)
    given, first = {}, []
    for each in parameters:
        if each.kind == inspect.Parameter.VAR_KEYWORD:
            given.update({name: value for name, value in known.items() if name not in given})
        elif each.name in known and each.kind == inspect.Parameter.POSITIONAL_ONLY:
            first.append(known[each.name])
        elif each.name in known:
            given[each.name] = known[each.name]
        elif each.default is inspect.Parameter.empty:
            raise UnknownParameter(f"{what} has a parameter '{each.name}', and there are {', '.join(sorted(known))}")
    return function(*first, **given)


def call_generator(function: Callable, problem: Dict[str, Any], request: Dict[str, Any], what: str) -> Any:
    """Calls a generator with the problem, or with those facts of its buffer that its parameters name."""
    parameters = _parameters(function) or []
    if any(each.name in request for each in parameters):
        return call_by_name(function, {**request, "problem": problem}, [problem], what)
    return function(problem)


def _decoded(arrays: List[Tuple]) -> Dict[str, Any]:
    return {name: decode(data, dtype, shape) for name, dtype, shape, data in arrays}


def reference(function: Callable, scalars: Dict[str, Any]) -> Callable:
    """For _native: (problem, inputs, outputs without contents) -> [(output, dtype, bytes)]."""

    def call(problem, inputs, outputs):
        arrays = _decoded(inputs)
        known = {**scalars, **problem, **arrays, "problem": problem, "inputs": arrays}
        answer = call_by_name(function, known, list(arrays.values()), "the reference")
        expected = {name: (dtype, tuple(shape)) for name, dtype, shape, _ in outputs}
        if answer is None:
            raise TypeError("the reference returned None: return the expected output, or a dict of them by name")
        if not isinstance(answer, dict):
            if len(expected) != 1:
                raise TypeError(f"the reference returned one array, and the outputs are {', '.join(expected) or 'none'}"
                                ": return a dict of them by name, or mark the outputs with Out or InOut")
            answer = {next(iter(expected)): answer}
        encoded = []
        for name, value in answer.items():
            if name not in expected:
                raise InvalidArgumentError(f"the reference returned '{name}', and the outputs are {', '.join(expected)}")
            dtype, shape = expected[name]
            encoded.append((name, dtype, encode(value, dtype, shape, f"the reference of '{name}'")))
        return encoded

    return call


def check(function: Callable, scalars: Dict[str, Any]) -> Callable:
    """For _native: (problem, config, inputs, outputs) -> bool."""

    def call(problem, config, inputs, outputs):
        before, after = _decoded(inputs), _decoded(outputs)
        known = {**scalars, **problem, **config, **before, **after, "problem": problem, "config": config,
                 "inputs": before, "outputs": after}
        try:
            answer = call_by_name(function, known, list(after.values()), "the check")
        except UnknownParameter as error:
            raise CallbackMistake(str(error)) from None
        if getattr(answer, "size", 1) != 1:
            raise CallbackMistake(f"the check returned an array of {answer.size} elements: return a bool, such as "
                                  "numpy.allclose(...) or (...).all()")
        return True if answer is None else bool(answer)

    return call


def metric(function: Callable, name: str) -> Callable:
    """For _native: values by name -> float."""

    def call(values):
        answer = call_by_name(function, {**values, "values": values}, [values], f"the metric '{name}'")
        return math.nan if answer is None else float(answer)

    return call


def label_of(function: Callable) -> str:
    """Changes with the code of a function, so that stored results are checked again."""
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        text = repr(type(function))
    code = getattr(function, "__code__", None)
    if code is not None:  # two lambdas may be in one line
        constants = [each for each in code.co_consts if isinstance(each, (str, bytes, int, float, tuple))]
        text += repr((code.co_code, constants, code.co_names))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
