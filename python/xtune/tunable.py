# SPDX-License-Identifier: Apache-2.0
"""A kernel to tune, with everything about it."""
import copy
import ctypes
import inspect
import logging
import os
import re
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, TypedDict, TypeVar, Union

import numpy

from xtune import _callbacks, _checks, _native
from xtune._arrays import dtype_name, encode, facts_of, is_array
from xtune._expressions import traced
from xtune._labels import label_of
from xtune.errors import InvalidArgumentError, StorageError
from xtune.results import Value

Formula = Union[int, float, str]  #: a number, or an expression over problem, device and parameters
Extents = Union[Formula, Sequence[Formula]]
Launch = Union[
    Formula, Sequence[Formula], Callable[..., Any]
]  #: of a grid or a block: also a function that returns them
Goal = Union[Formula, Callable[..., float]]
Path = Union[str, os.PathLike[str]]
_Function = TypeVar("_Function", bound=Callable)
_log = logging.getLogger("xtune")


class MeasureKeys(TypedDict, total=False):
    """Keys of [measure] in a spec (docs/spec-format.md)."""

    warmup: int
    rep: int
    min_rep: int
    min_time_ms: float
    max_time_ms: float
    noise: float
    timeout_s: float
    mode: str
    flush: str
    launch: str
    wait_s: float
    energy_ms: float
    statistic: str
    outliers: str
    race: bool
    finals: int


class SearchKeys(TypedDict, total=False):
    """Keys of [search] in a spec."""

    strategy: str
    effort: str
    evals: int
    seconds: float
    seed: int
    advisor: str
    advisor_share: float
    advisor_every: int
    advisor_timeout_s: float


class ValidationKeys(TypedDict, total=False):
    """Keys of [validate] in a spec, but for reference and validator, which are functions here."""

    rtol: float
    atol: float
    max_mismatched_ratio: float
    outlier_factor: float
    reduction: Formula
    accumulate: str
    inputs: str
    repeat: int
    repeatable: bool
    time_reference: bool


class _Rest(TypedDict, total=False):
    """Keywords of Tunable that tune() and autotune() take alike."""

    name: Optional[str]
    source_file: Optional[Path]
    entry: Optional[str]
    cases: Sequence[Mapping[str, Value]]
    args: Union[None, Mapping[str, Any], Sequence[Any]]
    shared: Optional[Formula]
    cluster: Optional[Launch]
    cooperative: bool
    constraints: Union[str, Callable, Sequence[Union[str, Callable]]]
    reference: Optional[Callable]
    validator: Optional[Callable]
    check: Optional[Callable]  # an earlier name of validator
    tolerance: Optional[Sequence[float]]
    options: Sequence[str]
    defines: Optional[Mapping[str, Formula]]
    include_dirs: Sequence[Path]
    metrics: Optional[Mapping[str, Union[Formula, Callable[..., float]]]]
    minimize: Union[None, Goal, Sequence[Goal]]
    maximize: Union[None, Goal, Sequence[Goal]]
    measure: Optional[MeasureKeys]
    search: Optional[SearchKeys]
    validation: Optional[ValidationKeys]


class Definition(_Rest, total=False):
    """What tune() and tune_cases() take of a Tunable in addition to their settings, of which `problem` is one."""

    params: Optional[Mapping[Union[str, tuple], Sequence[Any]]]
    grid: Optional[Launch]
    block: Optional[Launch]


class AutotuneDefinition(_Rest, total=False):
    """What autotune() takes of a Tunable in addition to its own keywords."""

    problem: Optional[Mapping[str, Value]]


@_checks.checked_methods
class _Buffer:
    """An array argument, declared by its data, or by dtype and shape."""

    _role = ""  # the method of _native.Tunable that declares it

    def __init__(
        self,
        data: Any = None,
        dtype: Any = None,
        shape: Optional[Extents] = None,
        *,
        when: Optional[Formula] = None,
        transposed: Optional[str] = None,
    ):
        self.data, self.dtype, self.shape = data, dtype, shape
        self.when, self.transposed = when, transposed

    def with_data(self, data: Any) -> "_Buffer":
        """The same declaration for this array."""
        other = copy.copy(self)  # the constructor of a subclass may take other arguments
        other.data = data
        return other

    def __repr__(self) -> str:
        return f"xtune.{type(self).__name__}({'...' if self.data is not None else ''})"


class In(_Buffer):
    """An array that the kernel reads and must not write.

    data: an array of NumPy, PyTorch, CuPy, Numba or JAX, which gives dtype, shape and contents; a
    function of the problem (a dict), or of any of `problem`, `name`, `dtype` ("f32"), `shape` and
    `seed` by their names, that returns such contents; the path of a .npy file (os.PathLike); or how
    to fill it: "auto", "integer", "uniform", "normal", "zero", "one", "range", "sorted",
    "permutation" or "one_hot", or a word with its numbers: {"integers": (first, end)} for random
    integers that are at least first and below end, such as indices, {"sorted": (first, end)} for
    these in ascending order, {"offsets": end} for where the rows of a sparse matrix begin,
    {"one_hot": count} for several ones in a row, {"formula": "index % 7"} for the value of an
    expression in which `index` is an element's number, and i0, i1, ... its indices in each
    dimension. A number may be an expression over the problem and the names of other buffers, which
    stand for their number of elements. None: "auto", small random numbers.
    dtype: "f32", numpy.float32, torch.bfloat16; needed without an array.
    shape: extents as numbers or expressions over the problem, ("M", "N"); without it the array's
    own, as numbers. With expressions, one tuned kernel serves arrays of every size.
    when: for calls with arrays, the boolean of the problem (or an expression) that is true where
    this input is passed. transposed: the boolean of the problem that is true where it is passed as
    a transposed view.
    """

    _role = "input"


class InOut(_Buffer):
    """An array that the kernel reads and writes; every launch while tuning starts with the same contents. As In."""

    _role = "inout"


class Out(_Buffer):
    """An array that the kernel writes and never reads. As In, but its contents do not matter."""

    _role = "output"


class Constant(_Buffer):
    """A __constant__ or __device__ variable of the source, which is not an argument of a call. As In."""

    _role = "constant"


@_checks.checked_methods
class Scratch:
    """Memory of one launch, whose contents are never compared.

    shape: extents, which may name parameters. zero: it holds zeros before every launch.
    """

    def __init__(self, dtype: Any, shape: Extents, zero: bool = False):
        self.dtype, self.shape, self.zero = dtype, shape, zero


@_checks.checked_methods
class Scalar:
    """A number that is passed by value.

    dtype: "i32", numpy.int32. value: a number or an expression. The name of a problem size makes
    calls set that size; an expression with parameters is passed by xtune, and is not an argument of
    a call. default: what it is in a call with arrays that does not pass it; otherwise the value.
    """

    def __init__(self, dtype: Any, value: Formula, *, default: Optional[Formula] = None):
        self.dtype, self.value, self.default = dtype, value, default


@_checks.checked_methods
class Table:
    """The address of an array with the addresses of buffers (float**): of, a name or several of
    arguments; count in each of them, stride elements apart."""

    def __init__(self, of: Union[str, Sequence[str]], *, count: Formula = 1, stride: Formula = 0):
        self.of = of
        self.count = count
        self.stride = stride


@_checks.checked_methods
class TensorMap:
    """A CUtensorMap of the buffer `of` (NVIDIA GPUs of compute capability 9.0 and later), which
    xtune makes.

    box: elements that one copy takes. swizzle, l2_promotion, interleave: bytes. shape, strides,
    element_strides: in elements, where they differ from the buffer's. tf32: f32 is rounded to tf32.
    nan_outside: what lies outside reads as NaN, not as zero.
    """

    def __init__(
        self,
        of: str,
        box: Extents,
        *,
        swizzle: Formula = 0,
        shape: Extents = (),
        strides: Extents = (),
        element_strides: Extents = (),
        l2_promotion: Formula = 128,
        interleave: Formula = 0,
        dtype: Any = None,
        tf32: bool = False,
        nan_outside: bool = False,
    ):
        self.of = of
        self.view = {
            "box": extents(box),
            "swizzle": swizzle,
            "shape": extents(shape),
            "strides": extents(strides),
            "element_strides": extents(element_strides),
            "l2_promotion": l2_promotion,
            "interleave": interleave,
            "dtype": None if dtype is None else dtype_name(dtype),
            "tf32": tf32,
            "nan_outside": nan_outside,
        }


def extents(value: Launch) -> List[Formula]:
    """One extent, or several, as a list. A function of parameters and problem sizes becomes expressions."""
    if callable(value):
        return traced(value)
    if isinstance(value, (str, int, float)) or numpy.isscalar(value):
        return [value]
    return list(value)


def _formulas(each: Sequence[Union[Formula, Callable[..., Any]]]) -> List[Formula]:
    return extents(each[0]) if len(each) == 1 and callable(each[0]) else extents(each)  # type: ignore[arg-type]


def entry_of(source: str) -> str:
    """The name of the only __global__ function of a source. Raises InvalidArgumentError if there is another number."""
    code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.S)
    code = re.sub(r"__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)", " ", code)
    names = list(dict.fromkeys(re.findall(r"__global__\b[^;{}()]*?\b(\w+)\s*\(", code)))
    if len(names) != 1:
        found = ", ".join(names) if names else "none"
        raise InvalidArgumentError(
            f"the source has {len(names)} __global__ functions ({found}): pass name=, the function " "to tune"
        )
    return names[0]


def _text_of(source_file: Path) -> str:
    try:
        with open(source_file, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as error:
        raise StorageError(f"cannot read {os.fspath(source_file)}: {error.strerror}") from None


def each_of(value: Any) -> Iterable:
    """Several of something, or a single text or function, as a sequence."""
    return [value] if isinstance(value, str) or callable(value) else value


def _type_and_shape(name: str, buffer: _Buffer) -> Tuple[str, List[Formula]]:
    facts = facts_of(buffer.data, name) if is_array(buffer.data) else None
    if facts is None and (buffer.dtype is None or buffer.shape is None):
        raise InvalidArgumentError(f"'{name}': pass an array, or a dtype and a shape")
    dtype = dtype_name(buffer.dtype, f"'{name}'") if buffer.dtype is not None else facts.dtype
    if facts is not None and facts.dtype != dtype:
        raise InvalidArgumentError(
            f"'{name}' is declared as {dtype}, and its array has elements of {facts.dtype}: " "convert it first"
        )
    return dtype, extents(buffer.shape) if buffer.shape is not None else list(facts.shape) or [1]


def _columns(params: Mapping[Union[str, tuple], Sequence[Any]]) -> Dict[str, List[Any]]:
    """The values of each parameter, also of those whose values belong together."""
    columns: Dict[str, List[Any]] = {}
    for key, values in params.items():
        if not isinstance(key, tuple):
            columns[key] = list(values)
            continue
        for i, name in enumerate(key):
            columns[name] = list(dict.fromkeys(row[i] for row in values if len(row) == len(key)))
    return columns


def _described(name: str, value: Any) -> tuple:
    """An argument by position, for _native."""
    if is_array(value):
        value = In(value)
    if isinstance(value, _Buffer) and not isinstance(value, Constant):
        return ("array", value._role, *_type_and_shape(name, value))
    if isinstance(value, Scalar):
        return "number", dtype_name(value.dtype, f"'{name}'"), value.value
    if isinstance(value, (bytes, numpy.void, ctypes.Structure)):
        return "value", bytes(value)
    if isinstance(value, numpy.generic) and not isinstance(value, numpy.complexfloating):
        return "number", dtype_name(value.dtype, f"'{name}'"), value.item()
    if isinstance(value, (bool, int, float)):
        return "number", {bool: "bool", float: "f64"}.get(type(value)), value
    raise InvalidArgumentError(
        f"{name}: expected an array, In, InOut, Out, a number, Scalar or a struct, not {_checks.shown(value)}; other "
        "arguments go by name: args={'x': x, ...}"
    )


@_checks.checked_methods
class Tunable:
    """A kernel with its parameters, arguments and reference.

    name: the kernel's name in the store, and its entry point unless entry is given; None: the
    source's only __global__ function. source: CUDA C++ or HIP C++; or source_file. Every keyword
    has its own method:

        params       {"BLOCK": [64, 128]}: macros of the source, and names in expressions
        problem      {"N": 4096}: problem sizes that expressions use by name
        cases        [{"N": 4096}, {"N": 8192}]: several problems, for tune_cases
        args         the kernel's arguments by name, in its order: arrays, In, Out, InOut, Scratch,
                     Scalar, Constant, TensorMap, or NumPy scalars. A NumPy integer becomes a
                     problem size of the argument's name. Or a list in the kernel's order, [x,
                     InOut(y), 2.0, n]: names, types, and what is not given of params, grid and
                     block come from the source, and toml() shows them. An integer becomes a problem
                     size of the argument's name
        grid, block  1 to 3 extents, each a number or an expression, "ceildiv(n, BLOCK)"; or a
                     function that returns them: lambda n, BLOCK: -(-n // BLOCK)
        shared       dynamic shared memory in bytes
        constraints  expressions ("BLOCK * UNROLL <= 1024") or callables (lambda BLOCK, UNROLL: ...)
        reference    callable that returns the expected outputs; see the method
        validator    callable that judges the outputs; see the method
        tolerance    (rtol, atol), instead of the default for type and reduction
        options      compiler options; defines: {"NAME": "value"}; include_dirs: paths
        metrics      {"GB_per_s": "12 * n / time_s / 1e9"}, or callables; minimize, maximize: one or
                     two goals instead of the time, expressions or callables; see the methods
        measure, search, validation   keys of these sections of a spec: {"rep": 20}

    Methods return the Tunable. Raises InvalidArgumentError and InvalidSpecError; some mistakes show
    only in check_spec() and in functions that use the Tunable.
    """

    def __init__(
        self,
        name: Optional[str] = None,
        source: Optional[str] = None,
        *,
        source_file: Optional[Path] = None,
        entry: Optional[str] = None,
        params: Optional[Mapping[Union[str, tuple], Sequence[Any]]] = None,
        problem: Optional[Mapping[str, Value]] = None,
        cases: Sequence[Mapping[str, Value]] = (),
        args: Union[None, Mapping[str, Any], Sequence[Any]] = None,
        grid: Optional[Launch] = None,
        block: Optional[Launch] = None,
        shared: Optional[Formula] = None,
        cluster: Optional[Launch] = None,
        cooperative: bool = False,
        constraints: Union[str, Callable, Sequence[Union[str, Callable]]] = (),
        reference: Optional[Callable] = None,
        validator: Optional[Callable] = None,
        tolerance: Optional[Sequence[float]] = None,
        options: Sequence[str] = (),
        defines: Optional[Mapping[str, Formula]] = None,
        include_dirs: Sequence[Path] = (),
        metrics: Optional[Mapping[str, Union[Formula, Callable[..., float]]]] = None,
        minimize: Union[None, Goal, Sequence[Goal]] = None,
        maximize: Union[None, Goal, Sequence[Goal]] = None,
        measure: Optional[MeasureKeys] = None,
        search: Optional[SearchKeys] = None,
        validation: Optional[ValidationKeys] = None,
        check: Optional[Callable] = None,  # an earlier name of validator
    ):
        by_position = args is not None and not isinstance(args, Mapping)
        if source is None and source_file is None:
            if by_position:
                where = f"args: expected a dict or None, not {_checks.shown(args)}"
                raise InvalidArgumentError(f"{where}: names and types of a list come from the source, so pass one")
            if name is None:
                raise InvalidArgumentError("Tunable: pass a name, or a source with one __global__ function")
        if by_position:
            given = {
                "entry": entry or name or "",
                "name": name or "",
                "params": list(_columns(params or {}).items()),
                "grid": [] if grid is None else extents(grid),
                "block": [] if block is None else extents(block),
                "shared": "" if shared is None else shared,
                "problem": dict(problem or {}),
                "defines": list((defines or {}).items()),
                "include_dirs": list(include_dirs),
            }
            self._start_by_position(os.fspath(source_file) if source is None else source, given, list(args))
            if reference is not None or validator is not None or check is not None:
                self.skip_validation()  # of the first configuration
            params = {key: rows for key, rows in (params or {}).items() if isinstance(key, tuple)}
            problem, defines, include_dirs, grid, block, shared, args = None, None, (), None, None, None, None
        else:
            if name is None:
                name = entry_of(_text_of(source_file) if source is None else source)
            self._start(_native.tunable(name))
            if source is not None:
                self.source(source)
            if source_file is not None:
                self.source_file(source_file)
            if entry is not None:
                self.entry(entry)
        for option in options:
            self.option(option)
        for key, value in (defines or {}).items():
            self.define(key, value)
        for directory in include_dirs:
            self.include_dir(directory)
        for key, value in (problem or {}).items():
            self.problem(key, value)
        for case in cases:
            self.add_case(**case)
        for key, values in (params or {}).items():
            self.params(key, values) if isinstance(key, tuple) else self.param(key, values)
        for extent, set_extent in ((grid, self.grid), (block, self.block), (cluster, self.cluster)):
            if extent is not None:
                set_extent(*extents(extent))
        if shared is not None:
            self.shared(shared)
        if cooperative:
            self.cooperative()
        for key, value in (args or {}).items():
            self.arg(key, value)
        for constraint in each_of(constraints):
            self.constraint(constraint)
        if reference is not None:
            self.reference(reference)
        for judge in (check, validator):
            if judge is not None:
                self.validator(judge)
        if tolerance is not None:
            if len(tolerance) != 2:
                raise InvalidArgumentError(f"tolerance: expected (rtol, atol), not {_checks.shown(tolerance)}")
            self.tolerance(*tolerance)
        for key, value in (metrics or {}).items():
            self.metric(key, value)
        for goals, set_goals in ((minimize, self.minimize), (maximize, self.maximize)):
            if goals is not None:
                set_goals(*([goals] if callable(goals) else extents(goals)))
        for keys, set_key in ((measure, self.measure), (search, self.search), (validation, self.validation)):
            for key, value in (keys or {}).items():
                set_key(key, value)

    def _start_by_position(self, source: str, given: Mapping[str, Any], args: List[Any]) -> None:
        """From a source and the arguments of a call, in the kernel's order."""
        described = [_described(f"args[{i}]", value) for i, value in enumerate(args)]
        self._start(_native.tunable_from_source(source, given, described, _log.info))
        for name, value in zip(self._native.argument_names(), args):
            if isinstance(value, Scalar):
                value = value.value
            data = value.data if isinstance(value, _Buffer) else value if is_array(value) else None
            if data is not None and not isinstance(value, Out):
                self.data(name, data, dtype=getattr(value, "dtype", None))
            elif isinstance(value, (bool, int, float, numpy.generic)):
                self._scalars[name] = value.item() if isinstance(value, numpy.generic) else value

    def _start(self, native: Any) -> None:
        self._native = native
        self._scalars: Dict[str, Any] = {}  # for references: values that the problem does not have
        self._problem: Dict[str, Value] = {}
        self._device_arrays: Dict[str, Any] = {}  # whose memory must remain until a run has read it
        self._goals_in_code = 0

    @classmethod
    def _of(cls, native: Any) -> "Tunable":
        tunable = cls.__new__(cls)
        tunable._start(native)
        return tunable

    @classmethod
    def from_file(cls, path: Path, defines: Optional[Mapping[str, Value]] = None) -> "Tunable":
        """Reads a spec file, or the spec of a kernel that comes with xtune, by its name; data,
        predicates, references and validators can be added. defines: like -D NAME=value.

        Raises StorageError, InvalidSpecError."""
        return cls._of(_native.tunable_from_file(path, dict(defines or {})))

    @classmethod
    def from_text(cls, toml: str, base_dir: Path = ".", defines: Optional[Mapping[str, Value]] = None) -> "Tunable":
        """The same for the text of a spec; relative paths in it start at base_dir."""
        return cls._of(_native.tunable_from_text(toml, base_dir, dict(defines or {})))

    def copy(self) -> "Tunable":
        """An independent copy."""
        other = self._of(self._native.copy())
        other._scalars.update(self._scalars)
        other._problem.update(self._problem)
        other._device_arrays.update(self._device_arrays)
        other._goals_in_code = self._goals_in_code
        return other

    def __copy__(self) -> "Tunable":
        return self.copy()

    def __deepcopy__(self, memo: Any) -> "Tunable":
        return self.copy()

    def __reduce__(self) -> Any:
        raise TypeError(
            "a Tunable cannot be pickled, since it may have functions and arrays of a GPU: make it in each "
            "process, for example from Tunable.toml()"
        )

    @property
    def name(self) -> str:
        """Name of the kernel."""
        return self._native.name()

    def __repr__(self) -> str:
        return f"<xtune.Tunable {self.name}>"

    def toml(self) -> str:
        """The text of the spec, without data and callbacks."""
        return self._native.toml()

    def check_spec(self) -> "Tunable":
        """Checks everything that needs no device. Raises InvalidSpecError with the line of toml() that is wrong."""
        self._native.check_spec()
        return self

    def function(
        self,
        timed: Callable[[Dict[str, Value], Dict[str, Value]], float],
        version: str,
        device: str = "host",
        prepare: Optional[Callable[[Dict[str, Value], Dict[str, Value]], Any]] = None,
    ) -> "Tunable":
        """Tunes a function instead of a kernel: timed(problem, config) returns the milliseconds of
        what it measured.

        It is called once for each sample, in this process, on the thread of tune() and without a
        time limit. An exception is a launch that failed. version: stored results answer as long as
        it stays the same. device: "cuda", "hip" or "host", under whose name results are stored.
        prepare(problem, config): called once for each configuration before it is timed, on several
        threads at once (`jobs`), and never while something is timed: to compile it, say. An
        exception means that it does not compile. xtune.autotune makes such a function of any
        callable."""
        if prepare is not None:
            _checks.takes(f"{self.name}: prepare", prepare, 2)
        self._native.function(_callbacks.timed(timed, f"{self.name}: the function"), version, device, prepare)
        return self

    # The source and its launch.

    def source(self, text: str) -> "Tunable":
        """The kernel's source: the common subset of CUDA C++ and HIP C++."""
        self._native.source(text)
        return self

    def source_file(self, path: Path) -> "Tunable":
        """The file of the kernel's source; relative paths start at the working directory."""
        self._native.source_file(path)
        return self

    def entry(self, entry: str) -> "Tunable":
        """The kernel's function: "gemm", or a template-id "gemm<{BLOCK_M}>"."""
        self._native.entry(entry)
        return self

    def option(self, option: str, backend: Optional[str] = None) -> "Tunable":
        """A compiler option, for every backend or only for "cuda", "hip" or "host"."""
        self._native.option(backend, option)
        return self

    def define(self, name: str, value: Formula) -> "Tunable":
        """A macro for the source."""
        self._native.define(name, value)
        return self

    def include_dir(self, path: Path) -> "Tunable":
        """Searched for includes, after the source's directory."""
        self._native.include_dir(path)
        return self

    def compile_timeout_s(self, seconds: float) -> "Tunable":
        """Time limit for compiling one configuration; default 120 seconds."""
        self._native.compile_timeout_s(seconds)
        return self

    def grid(self, *each: Union[Formula, Callable[..., Any]]) -> "Tunable":
        """1 to 3 extents, in blocks; or a function that returns them, as in Triton.

        Its parameters are names of parameters and problem sizes (lambda n, BLOCK: -(-n // BLOCK)),
        or it takes a dict of all (lambda META: (triton.cdiv(n, META["BLOCK"]),)). It is called
        once, and becomes expressions, so it cannot branch on a value."""
        self._native.grid(_formulas(each))
        return self

    def block(self, *each: Union[Formula, Callable[..., Any]]) -> "Tunable":
        """1 to 3 extents, in threads; as grid."""
        self._native.block(_formulas(each))
        return self

    def cluster(self, *each: Union[Formula, Callable[..., Any]]) -> "Tunable":
        """1 to 3 extents of a thread block cluster, in blocks; as grid."""
        self._native.cluster(_formulas(each))
        return self

    def shared(self, size: Formula) -> "Tunable":
        """Dynamic shared memory, bytes."""
        self._native.shared(size)
        return self

    def cooperative(self, on: bool = True) -> "Tunable":
        """Launches so that all blocks are resident at once and may wait for each other (grid.sync())."""
        self._native.cooperative(on)
        return self

    def step(
        self,
        entry: str,
        grid: Launch,
        block: Launch,
        args: Sequence[str] = (),
        when: str = "",
        shared: Formula = "",
        cluster: Launch = (),
        cooperative: bool = False,
    ) -> "Tunable":
        """Adds a kernel to those that are launched in sequence; excludes entry and the extents of a
        single launch.

        args: names of its arguments, in its order; empty: all. when: the step is skipped where this
        is false."""
        grid, block, cluster = extents(grid), extents(block), extents(cluster)
        self._native.step(entry, grid, block, list(args), when, shared, cluster, cooperative)
        return self

    # Problem and space.

    def problem(self, name: str, value: Value) -> "Tunable":
        """A problem size that expressions use by name, and its default."""
        self._native.problem(name, value)
        self._problem[name] = value
        return self

    def add_case(self, **problem: Value) -> "Tunable":
        """One of several problems for tune_cases; sizes that are missing keep their defaults."""
        self._native.add_case(problem)
        return self

    def param(self, name: str, values: Sequence[Value], launch_only: bool = False) -> "Tunable":
        """A parameter and its values. launch_only: it is not a macro, so that its values need no recompilation."""
        self._native.param(name, list(values), launch_only)
        return self

    def params(self, names: Sequence[str], rows: Sequence[Sequence[Value]], launch_only: bool = False) -> "Tunable":
        """Parameters whose values belong together:
        params(("BLOCK_M", "BLOCK_N"), [(128, 64), (64, 64)]).

        Each row has a value for each name, and only the rows are tried. As params={...} of Tunable,
        the key is a tuple of the names. launch_only: as in param."""
        self._native.params(list(names), [list(row) for row in rows], launch_only)
        return self

    def param_range(self, name: str, min: int, max: int, step: int = 1, launch_only: bool = False) -> "Tunable":
        """A parameter with the values min, min + step, ... up to max."""
        self._native.param_range(name, min, max, step, launch_only)
        return self

    def param_pow2(self, name: str, min: int, max: int, launch_only: bool = False) -> "Tunable":
        """A parameter with the powers of two from min to max."""
        self._native.param_pow2(name, min, max, launch_only)
        return self

    def constraint(
        self, condition: Union[str, Callable[..., bool]], names: Optional[Sequence[str]] = None
    ) -> "Tunable":
        """A condition that every configuration must satisfy: an expression, or a callable.

        A callable's parameters are names of parameters and problem sizes (names overrides them), or
        others with a default, which they keep; it is called once for each combination of their
        values, and its exceptions leave tune()."""
        if isinstance(condition, str):
            self._native.constraint(condition)
            return self
        if names is not None:
            self._native.predicate(list(names), [], _callbacks.predicate(condition, list(names)))
        else:
            self._native.predicate(*_callbacks.predicate_by_name(condition))
        return self

    def candidates(self, model: str, map: Optional[Mapping[str, Formula]] = None, top_k: int = 20) -> "Tunable":
        """Starts the search at configurations that a cost model suggests: a template ("matmul") and
        a formula for each of its names."""
        self._native.candidates(model, list((map or {}).items()), _checks.whole_number("top_k", top_k, 1, 2**31 - 1))
        return self

    # Arguments, in the kernel's order.

    def arg(self, name: str, value: Any) -> "Tunable":
        """The next argument of the kernel: an array (read by the kernel), In, Out, InOut, Scratch,
        Scalar, Constant, TensorMap, Table, a NumPy scalar, or a struct by value: a
        ctypes.Structure, a NumPy record or bytes. Raises InvalidArgumentError for anything else.
        """
        if is_array(value):
            value = In(value)
        if isinstance(value, _Buffer):
            self._buffer(name, value)
        elif isinstance(value, Scratch):
            self._native.scratch(name, dtype_name(value.dtype, f"'{name}'"), extents(value.shape), value.zero)
        elif isinstance(value, Scalar):
            self._scalar(name, dtype_name(value.dtype, f"'{name}'"), value.value, value.default)
        elif isinstance(value, TensorMap):
            self._native.tensor_map(name, value.of, value.view)
        elif isinstance(value, Table):
            self._native.table(
                name, [value.of] if isinstance(value.of, str) else list(value.of), value.count, value.stride
            )
        elif isinstance(value, (bytes, numpy.void, ctypes.Structure)):
            self._native.value(name, bytes(value))
        elif isinstance(value, numpy.generic):
            self._numpy_scalar(name, value)
        elif isinstance(value, (bool, int, float)):
            example = {bool: "bool_", int: "int32", float: "float32"}[type(value)]
            raise InvalidArgumentError(
                f"'{name}': pass a NumPy scalar, whose type is the argument's in the kernel, for "
                f"example numpy.{example}({value!r}), or xtune.Scalar"
            )
        else:
            raise InvalidArgumentError(
                f"'{name}': {type(value).__name__} is not an argument of a kernel; pass an array, a "
                "NumPy scalar or record, In, Out, InOut, Scratch, Scalar, Constant, TensorMap or Table"
            )
        return self

    def _buffer(self, name: str, buffer: _Buffer) -> None:
        dtype, shape = _type_and_shape(name, buffer)
        rule = ["" if each is None else each for each in (buffer.when, buffer.transposed)]
        is_input = buffer._role in ("input", "inout")
        if any(rule) and not is_input:
            raise InvalidArgumentError(f"'{name}': when and transposed are for inputs")
        getattr(self._native, buffer._role)(name, dtype, shape, *(rule if is_input else ()))
        if not isinstance(buffer, Out) and buffer.data is not None:
            self.data(name, buffer.data, dtype=dtype)

    def _numpy_scalar(self, name: str, value: numpy.generic) -> None:
        dtype = dtype_name(value.dtype, f"'{name}'")
        if isinstance(value, numpy.complexfloating):
            raise InvalidArgumentError(
                f"'{name}': {value} is complex: pass xtune.Scalar('{dtype}', 1); the value in a "
                "definition is real, and in a call any"
            )
        if isinstance(value, numpy.integer):
            if name not in self._problem:
                self.problem(name, int(value))
            self._scalar(name, dtype, name)
        else:
            self._scalar(name, dtype, str(value.item()).lower() if dtype == "bool" else value.item())

    def _scalar(self, name: str, dtype: str, value: Formula, default: Optional[Formula] = None) -> None:
        self._native.scalar(name, dtype, value, "" if default is None else default)
        if not isinstance(value, str):
            self._scalars[name] = value
        elif value in ("true", "false"):
            self._scalars[name] = value == "true"

    def data(self, name: str, data: Any, dtype: Any = None) -> "Tunable":
        """The contents of an argument that is already declared: as the data of In.

        dtype: of what a function returns; needed for a spec from a file. Contents on a GPU are read
        when a run begins.
        """
        if isinstance(data, str):
            self._native.data_fill(name, _checks.require(f"the data of '{name}'", data, str), [])
        elif isinstance(data, dict):
            if len(data) != 1:
                raise InvalidArgumentError(f"the data of '{name}': expected {{'integers': (first, end)}}, got {data!r}")
            [(word, numbers)] = data.items()
            self._native.data_fill(name, word, list(numbers) if isinstance(numbers, (list, tuple)) else [numbers])
        elif isinstance(data, os.PathLike):
            self._native.data_file(name, data)
        elif is_array(data):
            facts = facts_of(data, name)
            if facts.host is None:
                self._device_arrays[name] = data
                self._native.data_device(name, facts.pointer, facts.bytes)
            else:
                self._native.data_bytes(name, facts.dtype, facts.host)
        elif callable(data):
            chosen = None if dtype is None else dtype_name(dtype)

            def generate(request):
                named = dict(zip(("name", "dtype", "shape", "seed"), request))
                made = _callbacks.call_generator(data, request[-1], named, f"the data of '{name}'")
                kind = chosen if chosen is not None else facts_of(made, name).dtype
                return encode(made, kind, None, f"the data of '{name}'")

            self._native.data_generate(name, generate)
        else:
            raise InvalidArgumentError(
                f"'{name}': {type(data).__name__} is not data; pass an array, a function of the "
                'problem, the path of a .npy file (pathlib.Path), or a word such as "normal"'
            )
        return self

    def kernel_args(self, *names: str) -> "Tunable":
        """The arguments that the kernel takes, in its order, if these are not all that are declared."""
        self._native.kernel_args(list(names))
        return self

    # References and validators.

    def reference(self, function: Callable[..., Any]) -> "Tunable":
        """Code that computes the expected outputs, once for each problem.

        Its parameters are names of inputs (NumPy arrays before the launch), of scalars and of
        problem sizes, or `inputs` and `problem` (dicts). It returns the only output, or a dict of
        outputs by name; numbers are rounded to the output's type. bf16 and 8-bit floats are f32
        arrays. If it raises, tune() raises InvalidArgumentError from that."""
        self._native.reference(_callbacks.reference(function, self._scalars))
        return self

    def validator(self, function: Callable[..., Any], label: Optional[str] = None) -> "Tunable":
        """Code that judges the outputs of every configuration that runs.

        Its parameters are names of outputs (NumPy arrays after the launch), inputs, scalars,
        problem sizes and parameters, or `inputs`, `outputs`, `config` and `problem` (dicts). The
        result is wrong if it returns False or raises; None is right. label: stored results are
        validated again if it changes; default: from the code of the function, of the functions of
        its module that it calls, and from the values that both use (closures, defaults, an object's
        state, globals)."""
        native = _callbacks.validator(function, self._scalars, f"{self.name}: the validator")
        self._native.validator(native, label or label_of(function))
        return self

    check = validator  # an earlier name

    def reference_kernel(
        self,
        entry: str,
        *,
        source: str = "",
        source_file: Path = "",
        options: Sequence[str] = (),
        grid: Launch = (),
        block: Launch = (),
        shared: Formula = "",
        args: Sequence[str] = (),
    ) -> "Tunable":
        """A kernel that computes the same in a simpler way; what is missing is as for the tuned kernel."""
        self._native.reference_kernel(
            entry, source_file, source, list(options), extents(grid), extents(block), shared, list(args)
        )
        return self

    def reference_config(self, **values: Value) -> "Tunable":
        """The kernel itself at one configuration, which cannot find an error that all configurations share."""
        self._native.reference_config(values)
        return self

    def reference_builtin(self, builtin: str, output: str = "", **roles: Formula) -> "Tunable":
        """A reference that xtune provides: reference_builtin("gemm", a="A", b="B")."""
        self._native.reference_builtin(builtin, list(roles.items()), output)
        return self

    def reference_file(self, npy: Path, output: str = "") -> "Tunable":
        """Expected contents in a .npy file."""
        self._native.reference_file(npy, output)
        return self

    def reference_command(self, *words: str) -> "Tunable":
        """A program that writes the expected contents."""
        self._native.reference_command(list(words))
        return self

    def skip_validation(self) -> "Tunable":
        """Accepts every result: removes the reference and the validator."""
        self._native.skip_validation()
        return self

    def tolerance(self, rtol: float, atol: float) -> "Tunable":
        """Instead of the default for type and reduction."""
        self._native.tolerance(rtol, atol)
        return self

    # Other keys of a spec.

    def validation(self, key: str, value: Value) -> "Tunable":
        """A key of [validate]: validation("repeat", 2)."""
        self._native.validation(key, value)
        return self

    def measure(self, key: str, value: Value) -> "Tunable":
        """A key of [measure]: measure("flush", "none")."""
        self._native.measure(key, value)
        return self

    def search(self, key: str, value: Value) -> "Tunable":
        """A key of [search]: search("evals", 100)."""
        self._native.search(key, value)
        return self

    def metric(self, name: str, metric: Union[Formula, Callable[..., float]], label: Optional[str] = None) -> "Tunable":
        """A value that is shown with results: metric("GB_per_s", "12 * N / time_s / 1e9"), or a
        callable.

        A callable's parameters are names that an expression may use (problem sizes, parameters,
        time_ms, time_s, registers, ...) and of metrics before it, or `values` (a dict of all of
        them); it returns a number, or None for no value. It is called whenever a value is needed,
        also for stored measurements: nothing that it returns is stored. Its exceptions leave
        tune(). label: as of validator; decides whether finals of an earlier run count."""
        if callable(metric):
            self._native.metric_code(name, _callbacks.metric(metric, name), label or label_of(metric))
        else:
            self._native.metric(name, metric)
        return self

    def minimize(self, *goals: Goal) -> "Tunable":
        """One or two goals instead of the time: expressions, or callables, which become metrics
        ("goal", "goal_2").

        With a callable, every configuration is measured in full: a race cannot know whether more
        time is worse."""
        self._native.minimize(self._goals(goals))
        return self

    def maximize(self, *goals: Goal) -> "Tunable":
        """As minimize."""
        self._native.maximize(self._goals(goals))
        return self

    def _goals(self, goals: Sequence[Goal]) -> List[Formula]:
        """Expressions; a callable becomes a metric."""
        formulas: List[Formula] = []
        for goal in goals:
            if callable(goal):
                self._goals_in_code += 1
                name = "goal" if self._goals_in_code == 1 else f"goal_{self._goals_in_code}"
                self.metric(name, goal)
                goal = name
            formulas.append(goal)
        return formulas

    def across(self, rule: str = "geomean") -> "Tunable":
        """For tune_cases: also one configuration for all cases, by "geomean" or "worst"."""
        if rule not in ("geomean", "worst"):
            raise InvalidArgumentError(f"across: '{rule}' is unknown; use geomean or worst")
        self._native.across(rule == "worst")
        return self

    def dispatch_key(self, *key: Formula) -> "Tunable":
        """Buckets problems: dispatch_key("pow2(M)", "N")."""
        self._native.dispatch_key(list(key))
        return self

    def dispatch_radius(self, radius: float) -> "Tunable":
        """The maximum distance of a problem whose configuration is used outside of its bucket."""
        self._native.dispatch_radius(radius)
        return self


_PARAMETERS = {name: each for name, each in inspect.signature(Tunable).parameters.items() if name != "source"}
#: What else defines a kernel whose source is given: keywords of tune() and autotune() too.
DEFINITION = list(_PARAMETERS)


def with_definition(function: _Function) -> _Function:
    """Decorates a function of **definition: help() and completion show the keywords of Tunable in its place."""
    signature = inspect.signature(function)
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    more = [
        each.replace(kind=each.KEYWORD_ONLY) for name, each in _PARAMETERS.items() if name not in signature.parameters
    ]
    function.__signature__ = signature.replace(parameters=own + more)  # type: ignore[attr-defined]
    return function
