# SPDX-License-Identifier: Apache-2.0
"""The decorator autotune: a kernel that is tuned when it is first called."""
import functools
import inspect
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy

from xtune._arrays import CTYPES, dtype_name, facts_of, is_array
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


class Autotuned:
    """What autotune makes of a function: called like the kernel, and tuned at the first call for each key."""

    def __init__(self, function: Callable, key: Optional[Sequence[str]], definition: Mapping[str, Any],
                 settings: Mapping[str, Any]):
        functools.update_wrapper(self, function)
        self._function, self._definition, self._settings = function, dict(definition), dict(settings)
        self._declared = _declared_arguments(function)
        self._names = list(self._declared)
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
        self._results: List[Result] = []
        self._lock = threading.Lock()

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


def autotune(params: Mapping[str, Sequence[Value]], *, grid: Extents, block: Extents,
             key: Optional[Sequence[str]] = None, tune_settings: Optional[Mapping[str, Any]] = None,
             **definition: Any) -> Callable[[Callable], Autotuned]:
    """Makes a kernel of a function that returns its source: tuned at the first call for each key, then launched.

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
    configuration stays, and grid and sizes follow.

    tune_settings: of xtune.tune, such as {"seconds": 30}. The other keywords are those of Tunable: reference, check,
    constraints, metrics. The arguments of the first call are copied; only the launch that follows writes to them.
    Raises what tune and Tunable raise, at the first call.
    """

    def decorate(function: Callable) -> Autotuned:
        whole = {"params": params, "grid": extents(grid), "block": extents(block), **definition}
        return Autotuned(function, key, whole, tune_settings or {})

    return decorate
