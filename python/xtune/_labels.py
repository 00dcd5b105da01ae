# SPDX-License-Identifier: Apache-2.0
"""Names of code and of values for the store, which change with what they stand for."""
import enum
import functools
import hashlib
import inspect
import pickle
import types
import uuid
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

import numpy

from xtune._arrays import is_array

_PROCESS = uuid.uuid4().hex


def label_of(function: Callable, contents: bool = True) -> str:
    """Changes with a callable's code, the values that it keeps (closures, defaults, arguments of a partial, an object's
    state), and the values and functions of its module that it names.

    contents: of arrays and of the objects of libraries; otherwise only their type and shape count. A value that can
    neither be compared nor pickled, such as a lock, makes a label of this process only: then no stored result answers.
    """
    return _Digest(contents).of(function)


def value_label(value: Any) -> str:
    """Changes with a value."""
    return _Digest(True).of(value)


class _Digest:
    """Feeds a hash with all parts of a value, each with its kind and its end, so that no two values look alike."""

    def __init__(self, contents: bool):
        self._hash, self._contents = hashlib.sha256(), contents
        self._seen: Dict[int, Tuple[int, Any]] = {}  # by id: the number, and the object, which keeps the id in use
        self._open: Set[int] = set()  # the containers that are being added
        self._modules: Set[str] = set()  # of the functions so far

    def of(self, value: Any) -> str:
        self._add(value)
        return self._hash.hexdigest()[:16]

    def _put(self, kind: str, data: Any = b"") -> None:
        data = data if isinstance(data, bytes) else str(data).encode("utf-8", "backslashreplace")
        self._hash.update(f"{kind} {len(data)} ".encode() + data)

    def _add(self, value: Any) -> None:
        if value is None or type(value) in (bool, int, float, complex, str, bytes):
            return self._put(type(value).__name__, value if isinstance(value, bytes) else repr(value))
        if isinstance(value, numpy.generic):
            return self._put(f"scalar {value.dtype.str}", value.tobytes())
        # Whether two equal constants are one object differs between a source and its .pyc file, and is not noted.
        if isinstance(value, (list, tuple, set, frozenset, dict, types.CodeType)):
            if id(value) in self._open:
                return self._put("itself")
            self._open.add(id(value))
            self._add_container(value)
            return self._open.discard(id(value))
        if id(value) in self._seen:
            return self._put("again", self._seen[id(value)][0])
        self._note(value)
        if is_array(value):
            return self._add_array(value)
        if isinstance(value, (types.FunctionType, types.MethodType, functools.partial)):
            return self._add_code(value)
        if isinstance(value, type) and value.__module__ in self._modules:
            return self._add_class(value)
        if isinstance(value, (types.ModuleType, types.BuiltinFunctionType, type, numpy.dtype, numpy.ufunc)):
            return self._put(
                type(value).__name__,
                f"{getattr(value, '__module__', '')} " f"{getattr(value, '__qualname__', None) or value}",
            )
        if isinstance(value, enum.Enum):
            return self._put("enum", f"{type(value).__module__} {value}")
        return self._add_object(value)

    def _note(self, value: Any) -> None:
        self._seen[id(value)] = (len(self._seen), value)

    def _add_class(self, value: type) -> None:
        self._put("class", value.__qualname__)
        for name, member in sorted(vars(value).items()):
            code = getattr(member, "__func__", None) or getattr(member, "fget", None) or member
            if isinstance(code, types.FunctionType) or not name.startswith("__"):
                self._put("member", name)
                self._add(code)

    def _add_all(self, values: Any) -> None:
        values = list(values)
        self._put("count", len(values))
        for each in values:
            self._add(each)

    def _add_array(self, value: Any) -> None:
        self._put(
            "array", f"{value.dtype} {tuple(value.shape)}" if hasattr(value, "shape") else type(value).__qualname__
        )
        if not self._contents:
            return
        try:
            array = numpy.asarray(value)
            if array.dtype.hasobject:
                raise TypeError
            self._put("data", numpy.ascontiguousarray(array).tobytes())
        except Exception:  # on a GPU, or of a type that NumPy lacks
            self._add_pickled(value)

    def _add_container(self, value: Any) -> None:
        self._put(type(value).__qualname__)
        if isinstance(value, types.CodeType):
            self._put("code", value.co_code)
            self._add_all([value.co_consts, value.co_names, value.co_varnames])
        elif isinstance(value, dict):
            self._add_all(value)
            self._add_all(value.values())
        elif isinstance(value, (set, frozenset)):
            self._put("members", " ".join(sorted(_Digest(self._contents).of(each) for each in value)))
        else:
            self._add_all(value)

    def _add_code(self, value: Any, owner: Optional[type] = None) -> None:
        """owner: the class of a method, whose other methods it may call."""
        if isinstance(value, functools.partial):
            self._put("partial")
            self._add_all([value.func, value.args, value.keywords])
        elif isinstance(value, types.MethodType):
            self._put("method")
            self._add(value.__self__)
            self._add_code(value.__func__, type(value.__self__))
        else:
            self._add_function(value, owner)

    def _add_function(self, function: types.FunctionType, owner: Optional[type]) -> None:
        self._put("function")
        self._modules.add(function.__module__)
        self._add_all([function.__code__, function.__defaults__, function.__kwdefaults__])
        for cell in function.__closure__ or ():
            try:
                self._add(cell.cell_contents)
            except ValueError:  # not set yet
                self._put("empty")
        for name in sorted(set(_names_in(function.__code__))):
            method = inspect.getattr_static(owner, name, None) if owner else None
            if isinstance(method, types.FunctionType) and id(method) not in self._seen:
                self._note(method)
                self._put("calls", name)
                self._add_function(method, owner)
            if name in function.__globals__:
                self._add_global(name, function.__globals__[name], function.__module__)

    def _add_global(self, name: str, value: Any, module: str) -> None:
        """Of functions only those of the same module: others belong to a library."""
        self._put("global", name)
        if not isinstance(value, types.FunctionType) or value.__module__ == module:
            self._add(value)

    def _add_object(self, value: Any) -> None:
        kind = type(value)
        self._put("object", f"{kind.__module__} {kind.__qualname__}")
        for name in ("__wrapped__", "fn"):  # of functools.lru_cache, of triton.jit
            wrapped = getattr(value, name, None)
            if isinstance(wrapped, types.FunctionType):
                return self._add(wrapped)
        call = inspect.getattr_static(kind, "__call__", None)
        if isinstance(call, types.FunctionType):
            self._add_function(call, kind)
        if not self._contents:
            if kind.__module__ in self._modules:  # an object of a library may hold caches and addresses
                self._add(dict(getattr(value, "__dict__", {})))
        elif isinstance(call, types.FunctionType) and type(value).__reduce_ex__ is object.__reduce_ex__:
            self._add(_state_of(value))
        else:
            self._add_pickled(value)

    def _add_pickled(self, value: Any) -> None:
        try:
            self._put("pickled", pickle.dumps(value, protocol=4))
        except Exception:
            self._put("process", f"{_PROCESS} {id(value)}")


def _names_in(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _names_in(each)


def _state_of(value: Any) -> List[Any]:
    slots = [name for each in type(value).__mro__ for name in getattr(each, "__slots__", ()) if isinstance(name, str)]
    return [dict(getattr(value, "__dict__", {})), {name: getattr(value, name, None) for name in slots}]
