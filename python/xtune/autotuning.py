# SPDX-License-Identifier: Apache-2.0
"""The decorator autotune: a kernel that is tuned when it is first called."""
import functools
import hashlib
import inspect
import math
import operator
import re
import sys
import threading
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Collection,
    Dict,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Union,
)

import numpy

from xtune import _checks
from xtune._arrays import CTYPES, dtype_name, facts_of, is_array
from xtune._callbacks import judged
from xtune._labels import label_of, value_label
from xtune._timers import timer_for
from xtune._tuning import load, require_known, tune, tune_settings_of
from xtune.errors import CallbackMistake, InvalidArgumentError
from xtune.results import Config, Result, Value
from xtune.tunable import (
    DEFINITION,
    AutotuneDefinition,
    Constant,
    Launch,
    Scalar,
    Scratch,
    Tunable,
    _Buffer,
    each_of,
    extents,
    with_definition,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack
else:
    Unpack = {AutotuneDefinition: Any}  # checked by Tunable


class Argument:
    """An argument as the decorated function sees it, which returns the source.

    name: of the parameter. dtype: "f32". ctype: the same in C++, "float". shape: of an array, ()
    for a number. value: of a number in `key`, else None. As text it is its name. A function that
    reads the shape of an array is tuned for each shape of it.
    """

    def __init__(
        self,
        name: str,
        dtype: str,
        shape: Tuple[int, ...],
        value: Any,
        on_shape: Optional[Callable[[str], None]] = None,
    ):
        self.name, self.dtype, self.value = name, dtype, value
        self._shape, self._on_shape = shape, on_shape

    @property
    def shape(self) -> Tuple[int, ...]:
        """Of an array; () for a number."""
        if self._on_shape is not None:
            self._on_shape(self.name)
        return self._shape

    @property
    def ctype(self) -> str:
        """The type in C++: float, int, __half."""
        return CTYPES[self.dtype]

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"xtune.Argument({self.name}: {self.dtype}{list(self._shape) if self._shape else ''})"


class _Tuned:
    """What both kinds of tuned functions have: the names of what callers pass, and the results so far."""

    def __init__(self, function: Callable, names: Sequence[str]):
        functools.update_wrapper(self, function, updated=())  # attributes of the function stay its own
        if not hasattr(function, "__name__"):
            self.__name__ = self.__qualname__ = _name_of(function)
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

    def __reduce__(self) -> str:
        return self.__qualname__  # by name, as functions are pickled

    def __repr__(self) -> str:
        return f"<xtune.autotune {self.__name__}({', '.join(self._names)})>"


class Autotuned(_Tuned):
    """What autotune makes of a function: called like the kernel, and tuned at the first call for each key."""

    def __init__(
        self,
        function: Callable,
        key: Optional[Sequence[str]],
        definition: Mapping[str, Any],
        settings: Mapping[str, Any],
    ):
        self._declared = _declared_arguments(function)
        super().__init__(function, list(self._declared))
        self._definition, self._settings = dict(definition), dict(settings)
        self._numbers = [name for name, each in self._declared.items() if not isinstance(each, (_Buffer, Scratch))]
        self._key = (
            list(each_of(key))
            if key is not None
            else [name for name in self._numbers if self._declared[name][0] in "iu"]
        )
        for name in self._key:
            if name not in self._numbers:
                raise InvalidArgumentError(
                    f"autotune: the key '{name}' is not a number among the parameters of "
                    f"{self.__name__} ({', '.join(self._names)})"
                )
        self._key_at = [self._names.index(name) for name in self._key]
        self._arrays_at = [i for i, name in enumerate(self._names) if name not in self._numbers]
        self._shapes_at: List[int] = []  # the arrays whose shape the function reads: they belong to the key
        self._kernels: Dict[Any, Any] = {}

    def __call__(self, *args: Any, stream: Any = None, **named: Any) -> None:
        """Launches the kernel with the best configuration for the key of these arguments; tunes it first if needed."""
        if named or len(args) != len(self._names):
            args = self._bound(args, named)
        try:
            kernel = self._kernels.get(self._key_of(args))
        except (AttributeError, TypeError):  # an array that has only a protocol, or a wrong type: tunable() explains it
            kernel = self._kernels.get(self.tunable(*args).toml())
        if kernel is None:
            kernel = self._kernel_for(args)
        if stream is None:
            kernel(*args)
        else:
            kernel(*args, stream=stream)

    def _bound(self, args: Sequence[Any], named: Mapping[str, Any]) -> List[Any]:
        signature = inspect.Signature(
            [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in self._names]
        )
        try:
            return list(signature.bind(*args, **named).arguments.values())
        except TypeError as error:
            raise InvalidArgumentError(f"{self.__name__}(): {error}") from None

    def _key_of(self, args: Sequence[Any]) -> Any:
        key = [_same_nan(args[i]) for i in self._key_at] + [args[i].dtype for i in self._arrays_at]
        return tuple(key + [tuple(args[i].shape) for i in self._shapes_at] if self._shapes_at else key)

    def _note_shape(self, name: str) -> None:
        at = self._names.index(name)
        if at not in self._shapes_at:
            self._shapes_at.append(at)

    def _kernel_for(self, args: Sequence[Any]) -> Any:
        with self._lock:
            tunable = self.tunable(*args)
            try:  # the function has just read the shapes that it needs
                key = self._key_of(args)
            except (AttributeError, TypeError):
                key = tunable.toml()
            if key not in self._kernels:
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
                    raise InvalidArgumentError(f"{self.__name__}(): '{name}' is {type(value).__name__}, not an array")
                facts = facts_of(value, name)
                described[name] = Argument(name, facts.dtype, facts.shape, None, self._note_shape)
                values[name] = declared.with_data(value)
            elif isinstance(declared, Scratch):
                described[name] = Argument(name, dtype_name(declared.dtype), (), None)
                values[name] = declared
            else:
                described[name] = Argument(name, declared, (), value if name in self._key else None)
                values[name] = self._scalar(name, declared, value)
        source = self._function(**described)
        if not isinstance(source, str):
            raise InvalidArgumentError(
                f"{self.__name__} must return the source of a kernel as text, not " f"{type(source).__name__}"
            )
        definition = {"name": None, **self._definition, "source": source, "args": values}
        if _params is not None:
            definition["params"] = _params
            definition.pop("constraints", None)
        return Tunable(**definition)

    def _scalar(self, name: str, dtype: str, value: Any) -> Any:
        """value: also an array of one number without a dimension, as for a call of the kernel."""
        where = f"{self.__name__}(): '{name}'"
        convert, expected = (
            (operator.index, "a whole number")
            if dtype[0] in "iu"
            else (_truth, "a bool")
            if dtype == "bool"
            else (_real, "a number")
        )
        try:
            number = convert(value)
        except (TypeError, ValueError):
            raise InvalidArgumentError(_checks.refusal(where, value, expected)) from None
        if dtype[0] not in "iu":
            return Scalar(dtype, str(number).lower() if dtype == "bool" else number)
        limits = numpy.iinfo(_numpy_type(dtype))
        return limits.dtype.type(_checks.whole_number(where, number, int(limits.min), int(limits.max)))


class _Call(NamedTuple):
    """The arguments of a call as they were given, those by default, and all by name."""

    args: Sequence[Any]
    named: Mapping[str, Any]
    defaults: Mapping[str, Any]
    arguments: Mapping[str, Any]


class _Placing:
    """The arguments of calls for a function that gets its tuned parameters as keywords: values of the parameters that
    come after one of those go by name, too."""

    def __init__(self, signature: inspect.Signature, tuned: Collection[str], function: str):
        self._leading, self._later = sys.maxsize, ()
        order = [
            each
            for each in signature.parameters.values()
            if each.kind not in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
        ]
        first = next((i for i, each in enumerate(order) if each.name in tuned), None)
        if first is None:
            return
        if order[first].kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
            raise InvalidArgumentError(
                f"autotune: '{order[first].name}' of {function} cannot be passed by name, as what is "
                "tuned is: make it a keyword (after '*')"
            )
        if order[-1].kind is inspect.Parameter.VAR_POSITIONAL:
            raise InvalidArgumentError(
                f"autotune: '{order[first].name}' of {function} comes before '*{order[-1].name}', whose "
                f"first value would be taken for it: write it after '*{order[-1].name}'"
            )
        self._later = tuple(each.name for each in order[first:] if each.name not in tuned)
        self._leading = first if self._later else sys.maxsize

    def __call__(self, args: Sequence[Any], named: Mapping[str, Any]) -> Tuple[Sequence[Any], Mapping[str, Any]]:
        if not self._leading < len(args) <= self._leading + len(self._later):
            return args, named
        return args[: self._leading], {**dict(zip(self._later, args[self._leading :])), **named}


class AutotunedFunction(_Tuned):
    """What autotune makes of a callable: called like it without the parameters, which are tuned for each key."""

    def __init__(
        self,
        function: Callable,
        params: Mapping[str, Sequence[Value]],
        key: Sequence[str],
        *,
        restore: Sequence[str],
        validator: Optional[Callable],
        prepare: Optional[Callable],
        timer: str,
        version: Optional[str],
        definition: Mapping[str, Any],
        settings: Mapping[str, Any],
    ):
        self._params, self._definition = dict(params), dict(definition)
        self._validator, self._prepare, self._timer, self._settings = validator, prepare, timer, dict(settings)
        if version is None:
            version = self._version_of(function) + ("" if validator is None else f"-{label_of(validator)}")
        self._version = version
        signature = self._signature_of(function)
        names = [name for key in self._params for name in (key if isinstance(key, tuple) else (key,))]
        for name in names:
            if name not in signature.parameters and not _takes_any(signature):
                raise InvalidArgumentError(f"autotune: '{name}' is not a parameter of {_name_of(function)}")
        self._tuned = frozenset(names)
        self._place = _Placing(signature, self._tuned, _name_of(function))
        self._signature = signature.replace(
            parameters=[each for name, each in signature.parameters.items() if name not in names]
        )
        super().__init__(
            function,
            [name for name, each in self._signature.parameters.items() if each.kind != inspect.Parameter.VAR_KEYWORD],
        )
        self._key, self._restore = list(each_of(key)), list(each_of(restore))
        for name in self._key + self._restore:
            if name not in self._names:
                raise InvalidArgumentError(
                    f"autotune: '{name}' is not a parameter of {self.__name__} that callers pass "
                    f"({', '.join(self._names)})"
                )
        self._configs: Dict[Any, Config] = {}

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method of a class, it gets the object as its first argument."""
        return self if instance is None else functools.partial(self, instance)

    @staticmethod
    def _version_of(function: Callable) -> str:
        return label_of(getattr(function, "fn", function), contents=False)

    @staticmethod
    def _signature_of(function: Callable) -> inspect.Signature:
        return _signature(function)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Calls the function with the best configuration for the key of these arguments; tunes it first if needed."""
        call = self._bound(args, named)
        key = self._key_of(call)
        config = self._known(key)
        if config is None:
            config = self._config_for(key, self._function, call, self._prepare)
        args, named = self._place(args, named)
        return self._function(*args, **named, **config)

    _bind = staticmethod(inspect.Signature.bind)

    def _bound(self, args: Sequence[Any], named: Mapping[str, Any]) -> _Call:
        for name in named:
            if name in self._tuned:
                raise InvalidArgumentError(f"{self.__name__}(): '{name}' is tuned, so a call must not pass it")
        try:
            bound = self._bind(self._signature, *args, **named)
        except TypeError as error:
            raise InvalidArgumentError(f"{self.__name__}(): {error}") from None
        given = set(bound.arguments)
        bound.apply_defaults()
        defaults = {
            name: value
            for name, value in bound.arguments.items()
            if name not in given and self._signature.parameters[name].default is not inspect.Parameter.empty
        }
        for name in (*self._key, *self._restore):
            if name not in bound.arguments:
                raise InvalidArgumentError(f"{self.__name__}(): missing a required argument: '{name}'")
        return _Call(args, named, defaults, bound.arguments)

    def _key_of(self, call: _Call) -> Any:
        return tuple([_key_of(call.arguments[name]) for name in self._key])

    def _known(self, key: Any) -> Optional[Config]:
        """The configuration of an earlier tuning."""
        try:
            return self._configs.get(key)
        except TypeError:
            name, value = next((name, value) for name, value in zip(self._key, key) if not _is_hashable(value))
            raise InvalidArgumentError(
                f"{self.__name__}(): the key '{name}' is {_checks.shown(value)}, which cannot be a "
                "key: pass a number, a text, a tuple or an array"
            ) from None

    def _problem_of(self, call: _Call) -> Config:
        """The key by name, for the store."""
        key = {name: _key_of(call.arguments[name]) for name in self._key}
        return {name: each if _is_value(each) else _described(each) for name, each in key.items()}

    def _config_for(self, key: Any, function: Callable, call: _Call, prepare: Optional[Callable]) -> Config:
        with self._lock:
            if key not in self._configs:
                result = self._tune(function, call, prepare)
                self._configs[key] = result.best.config
                self._results.append(result)
            return self._configs[key]

    def _copy(self, name: str, array: Any) -> Any:
        if not is_array(array):
            raise InvalidArgumentError(f"{self.__name__}(): restore: '{name}' is {_checks.shown(array)}, not an array")
        return array.clone() if hasattr(array, "clone") else array.copy()

    def _judge(self, answer: Any, call: _Call) -> bool:
        what = f"{self.__name__}: the validator"
        given = (answer, *call.args), {**call.named, **call.defaults}
        try:
            inspect.signature(self._validator).bind(*given[0], **given[1])
        except TypeError as error:
            raise CallbackMistake(f"{what} cannot be called with the result and the arguments: {error}") from None
        except ValueError:  # it has no signature
            pass
        return judged(self._validator(*given[0], **given[1]), what)

    def _tune(self, function: Callable, call: _Call, prepare: Optional[Callable]) -> Result:
        timer = timer_for(self._timer, list(call.arguments.values()))
        args, named = self._place(call.args, call.named)
        saved = {name: self._copy(name, call.arguments[name]) for name in self._restore}
        checked = set()

        def restore():
            for name, contents in saved.items():
                call.arguments[name][...] = contents

        def timed(_, config):
            def run():
                return function(*args, **named, **config)

            which = tuple(config.items())
            if which not in checked:  # the first call may compile
                restore()
                answer = run()
                if self._validator is not None and not self._judge(answer, call):
                    raise ValueError("the validator says that the result is wrong")
                checked.add(which)
            return timer.time(which, run, restore if saved else None)

        def prepared(_, config):
            with timer.in_thread():
                prepare(*args, **named, **config)

        name = re.sub(r"[^\w.+-]", "_", self.__name__)  # "<lambda>"
        measure = {**timer.measure, **(self._definition.get("measure") or {})}
        tunable = Tunable(
            name, problem=self._problem_of(call), params=self._params, **{**self._definition, "measure": measure}
        )
        tunable.function(timed, self._version, timer.device, None if prepare is None else prepared)
        try:
            return tune(tunable, **self._settings)
        finally:
            restore()


class AutotunedTriton(AutotunedFunction):
    """What autotune makes of a Triton kernel: launched as kernel[grid](...), and compiled ahead in threads."""

    def __init__(self, kernel: Any, params: Mapping[str, Sequence[Value]], key: Sequence[str], **others: Any):
        if hasattr(kernel, "configs"):
            raise InvalidArgumentError(
                "autotune: the kernel has triton.autotune as well: remove that decorator, and "
                "pass its configs here (configs=[...])"
            )
        super().__init__(kernel, params, key, **others)
        self.fn = kernel
        self._key_at = [self._names.index(name) for name in self._key]

    _bind = staticmethod(
        inspect.Signature.bind_partial
    )  # heuristics of the kernel give some arguments, and Triton checks them

    @staticmethod
    def _version_of(kernel: Any) -> str:
        """Triton's own key, which covers the functions that the kernel calls."""
        code = getattr(_jit_function(kernel), "cache_key", None) or label_of(_jit_function(kernel).fn, contents=False)
        version = getattr(sys.modules.get("triton"), "__version__", "")
        return hashlib.sha256(f"{code} {version}".encode()).hexdigest()[:16]

    @staticmethod
    def _signature_of(kernel: Any) -> inspect.Signature:
        """The kernel's own parameters, and the options that Triton takes with them (num_warps)."""
        own = inspect.signature(_jit_function(kernel).fn)
        options = inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD)
        return own if _takes_any(own) else own.replace(parameters=[*own.parameters.values(), options])

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self

    def __call__(self, *args: Any, **named: Any) -> Any:
        raise InvalidArgumentError(f"{self.__name__} is a Triton kernel: launch it with {self.__name__}[grid](...)")

    def __getitem__(self, grid: Any) -> Callable:
        """Launches with this grid, a tuple or a function of the parameters."""
        return functools.partial(self.run, grid=grid)

    def run(self, *args: Any, grid: Any, warmup: bool = False, **named: Any) -> Any:
        """Launches with the best configuration for the key of these arguments; tunes the kernel first if needed."""
        key = self._quick_key(args, named)
        config = self._known(key)
        if config is None:
            _make_caches(_jit_function(self.fn))
            launch = functools.partial(self.fn.run, grid=grid, warmup=False)
            compile_only = functools.partial(self.fn.run, grid=grid, warmup=True)
            config = self._config_for(key, launch, self._bound(args, named), self._prepare or compile_only)
        args, named = self._place(args, named)
        return self.fn.run(*args, grid=grid, warmup=warmup, **named, **config)

    def _quick_key(self, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Without binding the arguments, if all of them are positional."""
        if named or any(at >= len(args) for at in self._key_at):
            return self._key_of(self._bound(args, named))
        return tuple([_key_of(args[at]) for at in self._key_at] + _dtypes(args))

    def _key_of(self, call: _Call) -> Any:
        """As of triton.autotune, the dtypes of all arrays belong to it."""
        return super()._key_of(call) + tuple(_dtypes(call.arguments.values()))

    def _problem_of(self, call: _Call) -> Config:
        dtypes = {
            name: str(each.dtype)
            for name, each in call.arguments.items()
            if hasattr(each, "dtype") and name not in self._key
        }
        return {**super()._problem_of(call), **dtypes}


def _dtypes(values: Any) -> List[str]:
    return [str(each.dtype) for each in values if hasattr(each, "dtype")]


def _is_triton(function: Any) -> bool:
    """A kernel of @triton.jit, possibly with @triton.heuristics."""
    return hasattr(function, "fn") and hasattr(function, "run") and hasattr(type(function), "__getitem__")


def _jit_function(kernel: Any) -> Any:
    """What @triton.jit made."""
    while not inspect.isfunction(kernel.fn):
        kernel = kernel.fn
    return kernel


def _make_caches(kernel: Any) -> None:
    """What Triton makes at the first use, before several threads would."""
    kernel.cache_key
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and hasattr(kernel, "device_caches"):
        kernel.device_caches[torch.cuda.current_device()]


def _space_of(configs: Sequence[Any]) -> Dict[Any, List[Any]]:
    """The parameters of these configurations, dicts or triton.Configs, as rows of values: exactly they are tried."""
    rows = []
    for i, config in enumerate(configs):
        if getattr(config, "pre_hook", None) is not None:
            raise InvalidArgumentError(
                f"autotune: configs[{i}] has a pre_hook, which would not be called: let `restore` "
                "name the arrays that need their contents back"
            )
        values = config.all_kwargs() if hasattr(config, "all_kwargs") else config
        rows.append(dict(_checks.require(f"autotune: configs[{i}]", values, Mapping[str, Value])))
        if set(rows[i]) != set(rows[0]):
            raise InvalidArgumentError(
                f"autotune: configs[{i}] sets {', '.join(rows[i])}, and configs[0] sets "
                f"{', '.join(rows[0])}: let all of them set the same names"
            )
    if not rows or not rows[0]:
        raise InvalidArgumentError("autotune: configs needs at least one configuration with a parameter")
    names = tuple(rows[0])
    if len(names) == 1:
        return {names[0]: list(dict.fromkeys(row[names[0]] for row in rows))}
    return {names: list(dict.fromkeys(tuple(row[name] for name in names) for row in rows))}


def _signature(function: Callable) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"autotune: {function!r} has no names of parameters ({error}): decorate a " "function of Python"
        ) from None


def _name_of(function: Callable) -> str:
    """Also of a functools.partial, and of an object that can be called."""
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", type(function).__name__)


def _takes_any(signature: inspect.Signature) -> bool:
    return any(each.kind == inspect.Parameter.VAR_KEYWORD for each in signature.parameters.values())


def _described(value: Any) -> str:
    """A text for an object that cannot be a problem's value. It differs from all values, and changes with the contents."""
    if value is None or isinstance(value, (int, float)):
        return f"({type(value).__name__}) {value!r}"
    text = re.sub(r" at 0x[0-9a-f]+", "", repr(value))
    return f"({type(value).__qualname__} {value_label(value)}) {text:.80}"


def _key_of(value: Any) -> Any:
    """Arrays by dtype and shape, other arguments by their value."""
    return f"{value.dtype}{list(value.shape)}" if is_array(value) else _same_nan(value)


def _real(value: Any) -> float:
    if isinstance(value, (str, bytes)):
        raise TypeError
    return float(value)


def _truth(value: Any) -> bool:
    if not hasattr(value, "__bool__"):  # a text is true too
        raise TypeError
    return bool(value)


def _same_nan(value: Any) -> Any:
    """NaN is not equal to itself, and would be a new key at each call."""
    return math.nan if isinstance(value, float) and value != value else value


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
        return True
    except TypeError:
        return False


def _is_value(value: Any) -> bool:
    """Whether a problem can have it: a text, a finite number, at most 64 bits."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, (bool, str)) or (isinstance(value, int) and -(2**63) <= value < 2**63)


def _numpy_type(dtype: str) -> Any:
    return getattr(numpy, {"i": "int", "u": "uint"}[dtype[0]] + dtype[1:])


def _declared_arguments(function: Callable) -> Dict[str, Any]:
    """For each parameter an In, Out, InOut or Scratch, or the dtype of a number."""
    declared: Dict[str, Any] = {}
    plain = function.func if isinstance(function, functools.partial) else function
    for name, parameter in _signature(function).parameters.items():
        annotation = parameter.annotation
        if isinstance(annotation, str) and annotation not in CTYPES:  # from __future__ import annotations
            try:
                closure = inspect.getclosurevars(plain).nonlocals
                annotation = eval(annotation, plain.__globals__, dict(closure))
            except Exception as error:
                raise InvalidArgumentError(
                    f"autotune: '{name}' of {_name_of(function)}: its annotation '{annotation}' cannot "
                    f"be read: {error}"
                ) from None
        if inspect.isclass(annotation) and issubclass(annotation, _Buffer):
            annotation = annotation()
        if isinstance(annotation, Constant) or annotation is inspect.Parameter.empty:
            raise InvalidArgumentError(
                f"autotune: annotate '{name}' of {_name_of(function)}: xtune.In, xtune.Out or "
                "xtune.InOut for an array, a type such as numpy.int32 for a number"
            )
        declared[name] = (
            annotation
            if isinstance(annotation, (_Buffer, Scratch))
            else dtype_name(annotation, f"autotune: '{name}' of {_name_of(function)}")
        )
    return declared


@with_definition
def autotune(
    params: Optional[Mapping[Union[str, tuple], Sequence[Any]]] = None,
    *,
    configs: Optional[Sequence[Any]] = None,
    grid: Optional[Launch] = None,
    block: Optional[Launch] = None,
    key: Union[None, str, Sequence[str]] = None,
    tune_settings: Optional[Mapping[str, Any]] = None,
    restore: Union[str, Sequence[str]] = (),
    prepare: Optional[Callable] = None,
    timer: str = "auto",
    version: Optional[str] = None,
    **definition: "Unpack[AutotuneDefinition]",
) -> Callable[[Callable], Any]:
    """Tunes a function when it is first called: one that returns a kernel's source, a Triton
    kernel, or any other.

    params: values by name; or configs: a list of configurations (dicts or triton.Configs), exactly
    which are tried.

    With grid and block, the function returns the source of a kernel in CUDA C++ or HIP C++:

        @xtune.autotune(params={"BLOCK": [64, 128, 256]}, key=["n"], grid="ceildiv(n, BLOCK)",
                        block="BLOCK", reference=lambda x, y, a: a * x + y)
        def saxpy(x: xtune.In, y: xtune.InOut, a: np.float32, n: np.int32):
            return '''extern "C" __global__
                      void saxpy(const float* x, float* y, float a, int n) {...}'''

        saxpy(x, y, 2.0, n)

    Each parameter of the function is an argument of the kernel, in its order, annotated with In,
    Out, InOut (or an object of them, In(shape=("n",))), Scratch, or the type of a number. The
    function is called with an Argument for each of them, so that the source may depend on types.
    Integers are problem sizes: expressions use them by name.

    key: names of numbers; another value of one of them, or another dtype of an array, is tuned by
    itself. Default: all integers. Integers that are not in the key may change freely if the shapes
    of arrays are expressions: the configuration stays, and grid and sizes follow. The other
    keywords are those of Tunable: reference, validator, constraints, metrics. The arguments of the
    first call are copied; only the launch that follows writes to them.

    A Triton kernel is tuned as it is, and launched as before:

        @xtune.autotune(params={"BLOCK": [256, 1024], "num_warps": [4, 8]}, key=["n"])
        @triton.jit
        def add(x, y, n, BLOCK: tl.constexpr):
            ...

        add[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)

    Its configurations are compiled ahead in threads, and then raced. The dtypes of all arrays
    belong to the key.

    Any other function is timed in this process, and gets the parameters as keywords:

        @xtune.autotune(params={"CHUNK": [256, 1024]}, key=["n"])
        def add(x, y, n, *, CHUNK):
            ...

        add(x, y, n)

    For both, key has names of arguments; arrays count by dtype and shape, others by their value.
    Default: none. restore: names of arrays that get their contents back before each call while
    tuning, and afterwards. prepare: called with the arguments and a configuration, on several
    threads at once, before any configuration is timed: to compile it, say; an exception makes it
    fail. timer: "torch" (events of the current stream, with a flushed L2 cache), "wall", or "auto":
    torch if an argument is a tensor on a GPU. validator: called with the first result of each
    configuration and the arguments; False or an exception makes it fail. version: stored results
    answer as long as it stays the same; default: from the code of the function and the validator,
    for Triton also of the functions that it calls. constraints, measure, metrics, minimize,
    maximize: as of Tunable. A configuration whose call raises fails; a call that hangs is not
    ended.

    tune_settings: of xtune.tune, such as {"seconds": 30}. Raises what tune and Tunable raise, at
    the first call.
    """
    if "check" in definition:  # an earlier name
        definition.setdefault("validator", definition.pop("check"))
    if params is not None and not isinstance(params, Mapping):
        raise InvalidArgumentError("autotune() takes params or configs: write @xtune.autotune(params={...})")
    _checks.arguments(autotune, {name: value for name, value in locals().items() if name != "definition"}, "autotune: ")
    if timer not in ("auto", "torch", "wall"):
        raise InvalidArgumentError(f"autotune: the timer {timer!r} is unknown; use auto, torch or wall")
    if (params is None) == (configs is None):
        raise InvalidArgumentError("autotune() takes either params or configs")
    tune_settings_of(tune_settings or {}, "autotune: tune_settings", "autotune: tune_settings: ")
    if configs is not None:
        params = _space_of(configs)

    def decorate(function: Callable) -> Any:
        if not callable(function) and not _is_triton(function):
            raise InvalidArgumentError(_checks.refusal("autotune", function, "a function to decorate"))
        if grid is None and block is None:
            others = {name: value for name, value in definition.items() if name != "validator"}
            for name in others:
                if name not in ("constraints", "measure", "metrics", "minimize", "maximize"):
                    raise InvalidArgumentError(
                        f"autotune() got '{name}', which only a kernel with grid and block takes"
                    )
            return (AutotunedTriton if _is_triton(function) else AutotunedFunction)(
                function,
                params,
                key or (),
                restore=restore,
                validator=definition.get("validator"),
                prepare=prepare,
                timer=timer,
                version=version,
                definition=others,
                settings=tune_settings or {},
            )
        if grid is None or block is None:
            raise InvalidArgumentError(
                "autotune() needs both grid and block for a kernel, or none of them for a function"
            )
        if prepare is not None:
            raise InvalidArgumentError("autotune() got 'prepare', which only a function without grid and block takes")
        require_known(definition, DEFINITION, "autotune()")
        whole = {"params": params, "grid": extents(grid), "block": extents(block), **definition}
        return Autotuned(function, key, whole, tune_settings or {})

    return decorate
