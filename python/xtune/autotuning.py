# SPDX-License-Identifier: Apache-2.0
"""The decorator autotune: a kernel that is tuned when it is first called."""
import functools
import inspect
import re
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy

from xtune._arrays import CTYPES, dtype_name, facts_of, is_array
from xtune._callbacks import label_of
from xtune._timers import timer_for
from xtune._tuning import load, tune
from xtune.errors import InvalidArgumentError
from xtune.results import Config, Result, Value
from xtune.tunable import Constant, Extents, Scalar, Scratch, Tunable, _Buffer, extents


class Argument:
    """An argument as the decorated function sees it, which returns the source.

    name: of the parameter. dtype: "f32". ctype: the same in C++, "float". shape: of an array, () for a number. value: of
    a number in `key`, else None. As text it is its name.
    """

    def __init__(self, name: str, dtype: str, shape: Tuple[int, ...], value: Any):
        self.name, self.dtype, self.shape, self.value = name, dtype, shape, value

    @property
    def ctype(self) -> str:
        """The type in C++: float, int, __half."""
        return CTYPES[self.dtype]

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"xtune.Argument({self.name}: {self.dtype}{list(self.shape) if self.shape else ''})"


class _Tuned:
    """What both kinds of tuned functions have: the names of what callers pass, and the results so far."""

    def __init__(self, function: Callable, names: Sequence[str]):
        functools.update_wrapper(self, function)
        self._function, self._names = function, list(names)
        self._results: List[Result] = []
        self._lock = threading.RLock()

    @property
    def results(self) -> List[Result]:
        """The Result of each tuning in this process, in order."""
        return list(self._results)

    @property
    def best_config(self) -> Optional[Config]:
        """The configuration of the last tuning in this process; None before the first call."""
        return self._results[-1].best.config if self._results else None

    def __repr__(self) -> str:
        return f"<xtune.autotune {self.__name__}({', '.join(self._names)})>"


class Autotuned(_Tuned):
    """What autotune makes of a function: called like the kernel, and tuned at the first call for each key."""

    def __init__(self, function: Callable, key: Optional[Sequence[str]], definition: Mapping[str, Any],
                 settings: Mapping[str, Any]):
        self._declared = _declared_arguments(function)
        super().__init__(function, list(self._declared))
        self._definition, self._settings = dict(definition), dict(settings)
        self._numbers = [name for name, each in self._declared.items() if not isinstance(each, (_Buffer, Scratch))]
        self._key = list(key) if key is not None else [
            name for name in self._numbers if self._declared[name][0] in "iu"]
        for name in self._key:
            if name not in self._numbers:
                raise InvalidArgumentError(f"autotune: the key '{name}' is not a number among the parameters of "
                                           f"{self.__name__} ({', '.join(self._names)})")
        self._key_at = [self._names.index(name) for name in self._key]
        self._arrays_at = [i for i, name in enumerate(self._names) if name not in self._numbers]
        self._kernels: Dict[Any, Any] = {}

    def __call__(self, *args: Any, stream: Any = None, **named: Any) -> None:
        """Launches the kernel with the best configuration for the key of these arguments; tunes it first if needed."""
        if named or len(args) != len(self._names):
            args = self._bound(args, named)
        try:
            key = tuple([args[i] for i in self._key_at] + [args[i].dtype for i in self._arrays_at])
        except AttributeError:  # one is not an array, which tunable() explains, or has only a protocol
            key = self.tunable(*args).toml()
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernel_for(key, args)
        if stream is None:
            kernel(*args)
        else:
            kernel(*args, stream=stream)

    def _bound(self, args: Sequence[Any], named: Mapping[str, Any]) -> List[Any]:
        signature = inspect.Signature([
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in self._names])
        try:
            return list(signature.bind(*args, **named).arguments.values())
        except TypeError as error:
            raise TypeError(f"{self.__name__}(): {error}") from None

    def _kernel_for(self, key: Any, args: Sequence[Any]) -> Any:
        with self._lock:
            if key not in self._kernels:
                tunable = self.tunable(*args)
                result = tune(tunable, **self._settings)
                self._kernels[key] = self._load(args, result)
                self._results.append(result)
            return self._kernels[key]

    def _load(self, args: Sequence[Any], result: Result) -> Any:
        """A kernel with this configuration for all sizes that are not in the key."""
        fixed = {name: [value] for name, value in result.best.config.items()}
        tunable = self.tunable(*args, _params=fixed)
        places = {name: self._settings[name] for name in ("compiler", "store") if name in self._settings}
        return load(tunable, backend=result.device.backend, **places)

    def tunable(self, *args: Any, _params: Optional[Mapping[str, Sequence[Value]]] = None) -> Tunable:
        """What these arguments would tune, for example for xtune.all_configs."""
        described, values = {}, {}
        for name, value in zip(self._names, args):
            declared = self._declared[name]
            if isinstance(declared, _Buffer):
                if not is_array(value):
                    raise TypeError(f"{self.__name__}(): '{name}' is {type(value).__name__}, not an array")
                facts = facts_of(value, name)
                described[name] = Argument(name, facts.dtype, facts.shape, None)
                values[name] = declared.with_data(value)
            elif isinstance(declared, Scratch):
                described[name] = Argument(name, dtype_name(declared.dtype), (), None)
                values[name] = declared
            else:
                described[name] = Argument(name, declared, (), value if name in self._key else None)
                values[name] = self._scalar(name, declared, value)
        source = self._function(**described)
        if not isinstance(source, str):
            raise TypeError(f"{self.__name__} must return the source of a kernel as text, not "
                            f"{type(source).__name__}")
        definition = {"name": None, **self._definition, "source": source, "args": values}
        if _params is not None:
            definition["params"] = _params
            definition.pop("constraints", None)
        return Tunable(**definition)

    @staticmethod
    def _scalar(name: str, dtype: str, value: Any) -> Any:
        if dtype[0] in "iu":
            return _numpy_type(dtype)(value)
        return Scalar(dtype, str(bool(value)).lower() if dtype == "bool" else float(value))


class AutotunedFunction(_Tuned):
    """What autotune makes of a callable: called like it without the parameters, which are tuned for each key."""

    def __init__(self, function: Callable, params: Mapping[str, Sequence[Value]], key: Sequence[str],
                 constraints: Any, restore: Sequence[str], check: Optional[Callable], timer: str,
                 version: Optional[str], measure: Optional[Mapping[str, Value]], settings: Mapping[str, Any]):
        self._params, self._constraints = dict(params), constraints
        self._check, self._timer, self._settings = check, timer, dict(settings)
        self._measure = {} if measure is None else dict(measure)
        self._version = label_of(getattr(function, "fn", function)) if version is None else version
        signature = inspect.signature(function)
        for name in self._params:
            if name not in signature.parameters and not _takes_any(signature):
                raise InvalidArgumentError(f"autotune: '{name}' is not a parameter of "
                                           f"{getattr(function, '__name__', function)}")
        self._signature = signature.replace(parameters=[
            each for name, each in signature.parameters.items() if name not in self._params])
        super().__init__(function, list(self._signature.parameters))
        self._key, self._restore = list(key), list(restore)
        for name in self._key + self._restore:
            if name not in self._names:
                raise InvalidArgumentError(f"autotune: '{name}' is not a parameter of {self.__name__} that callers pass "
                                           f"({', '.join(self._names)})")
        self._configs: Dict[Any, Config] = {}

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Calls the function with the best configuration for the key of these arguments; tunes it first if needed."""
        bound = self._signature.bind(*args, **named)
        bound.apply_defaults()
        key = tuple(_key_of(bound.arguments[name]) for name in self._key)
        config = self._configs.get(key)
        if config is None:
            with self._lock:
                if key not in self._configs:
                    result = self._tune(key, bound)
                    self._configs[key] = result.best.config
                    self._results.append(result)
                config = self._configs[key]
        return self._function(*args, **named, **config)

    def _tune(self, key: Any, bound: inspect.BoundArguments) -> Result:
        problem = {name: each if isinstance(each, (bool, int, float, str)) else repr(each)
                   for name, each in zip(self._key, key)}
        arguments = list(bound.arguments.values())
        timer = timer_for(self._timer, arguments)
        saved = {name: _copy(bound.arguments[name]) for name in self._restore}
        checked = set()

        def restore():
            for name, contents in saved.items():
                bound.arguments[name][...] = contents

        def timed(_, config):
            def call():
                return self._function(*bound.args, **bound.kwargs, **config)

            which = tuple(config.items())
            if which not in checked:  # the first call may compile
                restore()
                answer = call()
                if self._check is not None and self._check(answer, *bound.args, **bound.kwargs) is False:
                    raise ValueError("the check says that the result is wrong")
                checked.add(which)
            return timer.time(which, call, restore if saved else None)

        name = re.sub(r"[^\w.+-]", "_", self.__name__)  # "<lambda>"
        tunable = Tunable(name, problem=problem, params=self._params, constraints=self._constraints,
                          measure=self._measure).function(timed, self._version, timer.device)
        try:
            return tune(tunable, **self._settings)
        finally:
            restore()


def _takes_any(signature: inspect.Signature) -> bool:
    return any(each.kind == inspect.Parameter.VAR_KEYWORD for each in signature.parameters.values())


def _key_of(value: Any) -> Any:
    """Arrays by dtype and shape, other arguments by their value."""
    return f"{value.dtype}{list(value.shape)}" if is_array(value) else value


def _copy(array: Any) -> Any:
    return array.clone() if hasattr(array, "clone") else array.copy()


def _numpy_type(dtype: str) -> Any:
    return getattr(numpy, {"i": "int", "u": "uint"}[dtype[0]] + dtype[1:])


def _declared_arguments(function: Callable) -> Dict[str, Any]:
    """For each parameter an In, Out, InOut or Scratch, or the dtype of a number."""
    declared: Dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        annotation = parameter.annotation
        if isinstance(annotation, str) and annotation not in CTYPES:  # from __future__ import annotations
            closure = inspect.getclosurevars(function).nonlocals
            annotation = eval(annotation, function.__globals__, dict(closure))
        if inspect.isclass(annotation) and issubclass(annotation, _Buffer):
            annotation = annotation()
        if isinstance(annotation, Constant) or annotation is inspect.Parameter.empty:
            raise InvalidArgumentError(f"autotune: annotate '{name}' of {function.__name__}: xtune.In, xtune.Out or "
                                       "xtune.InOut for an array, a type such as numpy.int32 for a number")
        declared[name] = annotation if isinstance(annotation, (_Buffer, Scratch)) else dtype_name(
            annotation, f"autotune: '{name}' of {function.__name__}")
    return declared


def autotune(params: Mapping[str, Sequence[Value]], *, grid: Optional[Extents] = None, block: Optional[Extents] = None,
             key: Optional[Sequence[str]] = None, tune_settings: Optional[Mapping[str, Any]] = None,
             restore: Sequence[str] = (), timer: str = "auto", version: Optional[str] = None,
             **definition: Any) -> Callable[[Callable], Any]:
    """Tunes a function when it is first called: one that returns a kernel's source, or any other.

    With grid and block, the function returns the source of a kernel in CUDA C++ or HIP C++:

        @xtune.autotune(params={"BLOCK": [64, 128, 256]}, key=["n"], grid="ceildiv(n, BLOCK)", block="BLOCK",
                        reference=lambda x, y, a: a * x + y)
        def saxpy(x: xtune.In, y: xtune.InOut, a: np.float32, n: np.int32):
            return '''extern "C" __global__ void saxpy(const float* x, float* y, float a, int n) {...}'''

        saxpy(x, y, 2.0, n)

    Each parameter of the function is an argument of the kernel, in its order, annotated with In, Out, InOut (or an
    object of them, In(shape=("n",))), Scratch, or the type of a number. The function is called with an Argument for each
    of them, so that the source may depend on types. Integers are problem sizes: expressions use them by name.

    key: names of numbers; another value of one of them, or another dtype of an array, is tuned by itself. Default: all
    integers. Integers that are not in the key may change freely if the shapes of arrays are expressions: the
    configuration stays, and grid and sizes follow. The other keywords are those of Tunable: reference, check,
    constraints, metrics. The arguments of the first call are copied; only the launch that follows writes to them.

    Without grid and block, the function itself is timed, in this process, and gets the parameters as keywords:

        @xtune.autotune(params={"BLOCK": [256, 1024], "num_warps": [4, 8]}, key=["n"])
        def add(x, y, n, *, BLOCK, num_warps):
            add_kernel[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK=BLOCK, num_warps=num_warps)

        add(x, y, n)

    key: names of arguments; arrays count by dtype and shape, others by their value. Default: none. restore: names of
    arrays that get their contents back before each call while tuning, and afterwards. timer: "torch" (events of the
    current stream, with a flushed L2 cache), "wall", or "auto": torch if an argument is a tensor on a GPU. check: called
    with the first result of each configuration and the arguments; False or an exception makes it fail. version: stored
    results answer as long as it stays the same; default: from the code of the function. constraints, measure: as of
    Tunable. A configuration whose call raises fails; a call that hangs is not ended.

    tune_settings: of xtune.tune, such as {"seconds": 30}. Raises what tune and Tunable raise, at the first call.
    """

    def decorate(function: Callable) -> Any:
        if grid is None and block is None:
            known = {"constraints": (), "check": None, "measure": None}
            for name in definition:
                if name not in known:
                    raise TypeError(f"autotune() got '{name}', which only a kernel with grid and block takes")
            known.update(definition)
            return AutotunedFunction(function, params, key or (), restore=restore, timer=timer, version=version,
                                     settings=tune_settings or {}, **known)
        if grid is None or block is None:
            raise TypeError("autotune() needs both grid and block for a kernel, or none of them for a function")
        whole = {"params": params, "grid": extents(grid), "block": extents(block), **definition}
        return Autotuned(function, key, whole, tune_settings or {})

    return decorate
