# SPDX-License-Identifier: Apache-2.0
"""Kernel Tuner's description of a kernel as an xtune.Tunable: source, launch, arguments, answers."""
import functools
import math
import os
import pathlib
import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy

from xtune import _checks
from xtune._arrays import dtype_name, is_array
from xtune._callbacks import call_with_values
from xtune._labels import label_of, value_label
from xtune.compat._table import Space, as_expression, condition_over, evaluated, replaced
from xtune.errors import InvalidArgumentError, UnsupportedError
from xtune.tunable import Constant, In, InOut, Scalar, Tunable, _text_of

Sizes = Union[float, str, Callable, Sequence[Union[float, str]]]
Divisors = Union[None, float, str, Callable, Sequence[Union[float, str, Callable]]]
_AXES = "xyz"
_MOST_GENERATED = 3 << 20  # characters of all sources that a function returns: they are one source
# Words of xtune's expressions, which are not names of arguments.
_WORDS = {"and", "or", "not", "in", "if", "else", "true", "false", "True", "False", "device", "time_s", "time_ms"}

# The source.


def _looks_like_a_path(source: str) -> bool:
    return len(source) <= 250 and not re.search(r"[();{}\n]", source)


def code_of(source: Any) -> Tuple[str, List[str]]:
    """The text of a source, and the directories of its files."""
    if isinstance(source, (list, tuple)) and source:
        texts, directories = zip(*(code_of(each) for each in source))
        return texts[0], [each for some in directories for each in some]
    if isinstance(source, os.PathLike) or (isinstance(source, str) and _looks_like_a_path(source)):
        path = pathlib.Path(source)
        return _text_of(path), [str(path.resolve().parent)]
    if not isinstance(source, str):
        raise InvalidArgumentError(
            f"kernel_source is {_checks.shown(source)}: pass a text, a file, a list of files or a " "function"
        )
    return source, []


def _generated(generate: Callable, space: Space) -> str:
    """A function that returns the source of each configuration: all its texts, between #if and #elif."""
    texts: List[str] = []

    def number(params):
        text, _ = code_of(generate(params))
        if text not in texts:
            texts.append(text)
        return texts.index(text)

    space.compute("kernel_source_number", number)
    if len(texts) == 1:
        return texts[0]
    size = sum(len(text) for text in texts)
    if size > _MOST_GENERATED:
        raise InvalidArgumentError(
            f"kernel_source: the function returns {len(texts)} different sources with {size} characters in all (at most "
            f"{_MOST_GENERATED}): use macros for what differs"
        )
    parts = [f"#{'el' if i else ''}if kernel_source_number == {i}\n#line 1\n{text}\n" for i, text in enumerate(texts)]
    return "".join(parts) + "#endif\n"


def _without_unroll_zero(code: str, params: Mapping[str, Sequence[Any]]) -> str:
    """A loop_unroll_factor of 0 leaves the decision to the compiler."""
    for name, values in params.items():
        if "loop_unroll_factor" in name and 0 in values:
            code = re.sub(
                rf"^([ \t]*#pragma\s+unroll\s+{name}\b.*)$", rf"#if {name} != 0\n\1\n#endif", code, flags=re.M
            )
    return code


# The launch.


def _product(divisors: Any, params: Mapping, what: str) -> Any:
    """What the problem size is divided by, for a configuration."""
    if callable(divisors):
        return divisors(params)
    if isinstance(divisors, str):
        return int(evaluated(divisors, params, what))
    if isinstance(divisors, (int, float, numpy.number)):
        return divisors
    return math.prod(_product(each, params, what) for each in divisors)


def sizes_of(problem_size: Any) -> Sequence[Any]:
    return problem_size if isinstance(problem_size, (list, tuple)) else (problem_size,)


def _positive(size: Any, what: str) -> Any:
    if _checks.require(what, size, float) <= 0:
        raise InvalidArgumentError(_checks.refusal(what, size, "a number above 0"))
    return size


def _size(problem_size: Any, axis: int, params: Mapping) -> int:
    sizes = sizes_of(problem_size(params) if callable(problem_size) else problem_size)
    size = sizes[axis] if axis < len(sizes) else 1
    size = evaluated(size, params, "problem_size") if isinstance(size, str) else size
    return int(_positive(size, f"problem_size, {_AXES[axis]}"))


def _divisor_expression(divisors: Any, names: Sequence[str]) -> Optional[str]:
    if isinstance(divisors, bool) or callable(divisors) or isinstance(divisors, float):
        return None
    if isinstance(divisors, (int, numpy.integer)):
        return str(divisors)
    if isinstance(divisors, str):
        expression = as_expression(divisors, names)
        return f"({expression})" if expression else None
    parts = [_divisor_expression(each, names) for each in divisors]
    return None if None in parts else " * ".join(parts) or "1"


class _Launch:
    """Grid, block and shared memory as expressions over the space."""

    def __init__(
        self,
        space: Space,
        problem_size: Any,
        grid_div: Sequence[Any],
        block_names: Sequence[str],
        smem_args: Optional[Mapping[str, Any]],
    ):
        names = list(space.params)
        self.problem: Dict[str, int] = {}
        self.block = [name if name in names else str(default) for name, default in zip(block_names, (256, 1, 1))]
        divisors = [[name] if name in names else [] for name in block_names]
        divisors = [own if own is not None else default for own, default in zip(grid_div, divisors)]
        sizes = sizes_of(problem_size)
        if not callable(problem_size) and not 1 <= len(sizes) <= 3:
            raise InvalidArgumentError(f"problem_size has {len(sizes)} dimensions; 1 to 3 are expected")
        self.grid = []
        for axis, letter in enumerate(_AXES):
            size = None if callable(problem_size) else sizes[axis] if axis < len(sizes) else 1
            self.grid.append(self._extent(space, problem_size, size, divisors[axis], axis, f"grid_size_{letter}"))
        self.shared = self._shared(space, smem_args)

    def _extent(self, space: Space, problem_size: Any, size: Any, divisors: Any, axis: int, name: str) -> str:
        names = list(space.params)
        what = f"grid_div_{_AXES[axis]}"
        for each in divisors if isinstance(divisors, (list, tuple)) else [divisors]:
            if not isinstance(each, str) and not callable(each):
                _positive(each, what)
        divisor = _divisor_expression(divisors, names)
        if divisor is not None and isinstance(size, (int, numpy.integer)):
            self.problem[f"problem_size_{_AXES[axis]}"] = int(_positive(size, f"problem_size, {_AXES[axis]}"))
            return f"ceildiv(problem_size_{_AXES[axis]}, {divisor})"
        if divisor is not None and isinstance(size, str) and (expression := as_expression(size, names)):
            return f"ceildiv({expression}, {divisor})"
        return space.compute(
            name,
            lambda params: int(
                math.ceil(
                    float(_size(problem_size, axis, params)) / float(_positive(_product(divisors, params, what), what))
                )
            ),
        )

    @staticmethod
    def _shared(space: Space, smem_args: Optional[Mapping[str, Any]]) -> Optional[str]:
        if not smem_args:
            return None
        for key in smem_args:
            if key != "size":
                raise UnsupportedError(f"smem_args: '{key}' is unknown; only 'size', in bytes, has a meaning")
        size = smem_args["size"]
        if callable(size):
            return space.compute(
                "shared_memory_bytes", lambda params: int(_checks.require("smem_args: size", size(params), float))
            )
        if isinstance(size, str):
            return as_expression(size, list(space.params)) or space.compute(
                "shared_memory_bytes", lambda params: int(evaluated(size, params, "smem_args: size"))
            )
        return str(_checks.whole_number("smem_args: size", size))


def _names(code: str, name: str) -> bool:
    """Whether the code may use it. A macro that it does not use would only cause compilations."""
    return name in code or re.search(r'#\s*include\s*"', code) is not None


def _add_defines(tunable: Tunable, space: Space, launch: _Launch, block_names: Sequence[str], code: str) -> None:
    """What Kernel Tuner defines by itself, in addition to the parameters."""
    known = {*space.params, *space.computed}
    for letter, grid, name, block in zip(_AXES, launch.grid, block_names, launch.block):
        if f"grid_size_{letter}" not in known and _names(code, f"grid_size_{letter}"):
            tunable.define(f"grid_size_{letter}", "{" + grid + "}")
        if name not in known:
            tunable.define(name, block)
    tunable.define("kernel_tuner", "1")


def _compute_defines(space: Space, defines: Mapping[str, Any]) -> Dict[str, str]:
    """Those that are templates; the others become parameters of the space, which are macros."""
    templates = {}
    for name, value in defines.items():
        if name in space.params:
            if value == name:
                continue  # the parameter itself
            raise InvalidArgumentError(f"defines: '{name}' is a parameter; only '{name}' can be its value")
        if callable(value):
            text = space.compute(name, lambda params, value=value: str(value(params)))
        else:
            text = space.compute(name, lambda params, value=str(value): replaced(value, params))
        if name not in space.computed:
            text = text.replace("{", "{'{'}")
        if text != name:
            templates[name] = text
    return templates


# Arguments and answers.


def _parameters_of(kernel: str, code: str) -> List[str]:
    """The parameters in the kernel's signature; empty: it was not found."""
    code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", code, flags=re.S)
    found = re.search(rf"\b{re.escape(kernel)}\s*\(((?:[^()]|\([^()]*\))*)\)\s*{{", code)
    return [each.strip() for each in found.group(1).split(",")] if found and found.group(1).strip() else []


def _arguments(
    kernel: str, code: str, values: Sequence[Any], space: Space, outputs: Sequence[bool], all_written: bool
) -> Dict[str, Any]:
    """The kernel's arguments by name. Arrays are inputs if the kernel takes a pointer to const and no answer is given."""
    declared = _parameters_of(kernel, code)
    if len(declared) != len(values):
        declared = [""] * len(values)
    arguments: Dict[str, Any] = {}
    for i, (value, text, output) in enumerate(zip(values, declared, outputs)):
        name = (re.findall(r"\w+", text.split("[")[0]) or [f"argument_{i}"])[-1]
        if (
            name in arguments
            or name in space.params
            or name in space.computed
            or name in _WORDS
            or name.startswith("problem_size_")
        ):
            name = f"argument_{i}"
        if is_array(value):
            reads_only = re.search(r"\bconst\b[^*]*\*[^*]*$", text) is not None and not output and not all_written
            arguments[name] = In(value) if reads_only else InOut(value)
        elif isinstance(value, numpy.generic):
            number = _checks.require(f"arguments[{i}]", value.item(), float)
            arguments[name] = Scalar(dtype_name(value.dtype), str(number).lower() if value.dtype == bool else number)
        else:
            raise InvalidArgumentError(
                f"arguments[{i}] is {type(value).__name__}: pass arrays, and NumPy scalars such as " "numpy.int32(n)"
            )
    return arguments


def judge(
    tunable: Tunable,
    arguments: Mapping[str, Any],
    answer: Optional[Sequence[Any]],
    atol: float,
    verify: Optional[Callable],
    observe: Optional[Callable[[Mapping, Sequence[Any], Sequence[Any]], None]] = None,
) -> None:
    """Adds the check of the outputs. observe: gets the outputs of each configuration. As in Kernel Tuner, it replaces the
    comparison with the answer, but not verify."""
    if answer is None and verify is None and observe is None:
        tunable.skip_validation()
        return
    expected = list(answer) if answer is not None else [None] * len(arguments)
    tunable.tolerance(1e-5, atol)
    if verify is None and observe is None:
        wanted = {name: each for name, each in zip(arguments, expected) if each is not None}
        tunable.reference(lambda: wanted)
        return
    takes_atol = "atol" in getattr(getattr(verify, "__code__", None), "co_varnames", ("atol",))
    if verify is not None:
        _checks.takes("verify", verify, 2, **({"atol": atol} if takes_atol else {}))

    def check(inputs, outputs, config):
        seen = {**inputs, **outputs}
        computed = [seen.get(name) for name in arguments]
        if observe is not None:
            observe(config, expected, computed)
        if verify is None:
            return True
        verdict = verify(expected, computed, atol=atol) if takes_atol else verify(expected, computed)
        return bool(numpy.all(verdict))

    label = "" if verify is None else label_of(verify)
    tunable.validator(check, f"{label} {observe is not None} {value_label(expected)} {atol!r}")


# The whole.


def _add_restrictions(space: Space, restrictions: Any) -> None:
    names = list(space.params)
    if restrictions is None:
        return
    for each in [restrictions] if isinstance(restrictions, str) or callable(restrictions) else restrictions:
        if isinstance(each, str) and (expression := as_expression(each, names)) is not None:
            space.constraints.append(expression)
        elif isinstance(each, str):
            used = [name for name in names if name in re.findall(r"\w+", each)]
            space.constraints.append(
                condition_over(used or names[:1], functools.partial(evaluated, each, what="restrictions"))
            )
        elif callable(each):
            space.constraints.append(
                condition_over(names, functools.partial(call_with_values, each, what="restrictions: a function"))
            )
        else:
            raise UnsupportedError(f"restrictions: {each!r} is neither a text nor a function of a configuration")


def tunable_of(
    kernel_name: str,
    kernel_source: Any,
    problem_size: Any,
    arguments: Sequence[Any],
    tune_params: Mapping[str, Sequence[Any]],
    grid_div: Sequence[Any],
    *,
    restrictions: Any = None,
    answer: Optional[Sequence[Any]] = None,
    smem_args: Any = None,
    cmem_args: Any = None,
    texmem_args: Any = None,
    compiler_options: Any = None,
    defines: Optional[Mapping[str, Any]] = None,
    block_size_names: Optional[Sequence[str]] = None,
    all_written: bool = False,
) -> Tuple[Tunable, Any, str]:
    """The Tunable, its arguments by name, and the source."""
    if texmem_args:
        raise UnsupportedError(
            "texmem_args: xtune has no textures as arguments; read the array itself, for example with " "__ldg"
        )
    if answer is not None and len(answer) != len(arguments):
        raise InvalidArgumentError(
            f"answer has {len(answer)} elements, and arguments has {len(arguments)}: give None for "
            "each argument that is not an output"
        )
    for where, given in (
        ("problem_size", problem_size),
        ("kernel_source", kernel_source),
        ("restrictions", restrictions),
        *((f"grid_div_{axis}", each) for axis, each in zip(_AXES, grid_div)),
        ("smem_args: size", (smem_args or {}).get("size")),
        *((f"defines: '{name}'", each) for name, each in (defines or {}).items()),
    ):
        for each in given if isinstance(given, (list, tuple)) else [given]:
            if callable(each):
                _checks.takes(where, each, 1)
    for name in tune_params:
        if name.startswith("nvml_"):
            raise UnsupportedError(f"tune_params: '{name}' sets clocks or power limits, which xtune does not change")
    space = Space(tune_params)
    _add_restrictions(space, restrictions)
    names = list(block_size_names or ())
    names += [f"block_size_{letter}" for letter in _AXES][len(names) :]
    launch = _Launch(space, problem_size, grid_div, names, smem_args)
    code, directories = (_generated(kernel_source, space), []) if callable(kernel_source) else code_of(kernel_source)
    templates = _compute_defines(space, defines) if defines is not None else {}
    base = re.match(r"\w+", kernel_name)
    if base is None:
        raise InvalidArgumentError(f"kernel_name: {kernel_name!r} is not the name of a function")
    outputs = [each is not None for each in answer] if answer is not None else [False] * len(arguments)
    named = _arguments(base.group(), code, arguments, space, outputs, all_written)
    tunable = Tunable(
        base.group(),
        _without_unroll_zero(code, space.params),
        problem=launch.problem,
        entry="".join("{" + part + "}" if part in space.params else part for part in re.split(r"(\w+)", kernel_name)),
        grid=launch.grid,
        block=launch.block,
        shared=launch.shared,
        options=list(compiler_options or ()),
        include_dirs=directories,
        args=named,
    )
    for name, values in space.params.items():
        tunable.param(name, values, launch_only=defines is not None and name not in defines)
    for name, values in space.computed.items():
        tunable.param(name, values, launch_only=not _names(code, name))
    for constraint in space.constraints:
        tunable.constraint(constraint)
    if defines is None:
        _add_defines(tunable, space, launch, names, code)
    for name, text in templates.items():
        tunable.define(name, text)
    for name, value in (cmem_args or {}).items():
        tunable.arg(name, Constant(numpy.atleast_1d(value)))
    return tunable, named, code
