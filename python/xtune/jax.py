# SPDX-License-Identifier: Apache-2.0
"""Tuned kernels as functions of JAX 0.5 or newer, through XLA's foreign functions.

    gemm = xtune.jax.op("gemm")
    c = jax.jit(lambda a, b: gemm(a, b) + 1)(a, b)

The first use compiles jax_call.cpp with the headers of the installed jaxlib, for which it needs a C++17 compiler.
"""
import ctypes
import functools
import hashlib
import itertools
import os
import shlex
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import jax
import numpy

import xtune
from xtune import _checks, _native
from xtune._arrays import TORCH_NAMES
from xtune.errors import InvalidArgumentError, UnavailableError

_DTYPES = {theirs: ours for ours, theirs in TORCH_NAMES.items()}
_SOURCE = Path(__file__).with_name("jax_call.cpp")
_numbers = itertools.count()


def op(spec: Any, *, words: Optional[Dict[str, Any]] = None, **settings: Any) -> Callable:
    """A function of JAX arrays that calls a kernel, also within jax.jit.

    spec: what xtune.load takes with these settings, or a kernel that it returned; without
    `backend`, that of JAX's default device. words: of the spec's problem, for all calls.

    The function is called as the kernel: arrays that every call needs go by position, other arrays,
    scalars and names of the problem by name. Scalars and names are Python's numbers, bools and
    texts, which a traced value is not. It returns the outputs, and then the arrays that the kernel
    changes; the caller's own stay as they are. jax.vmap calls it once for each slice; for
    gradients, use jax.custom_vjp.

    Raises InvalidArgumentError if arguments do not fit, and UnavailableError if jax_call.cpp cannot
    be compiled. What goes wrong later, in the launch, is an error of JAX.
    """
    if not isinstance(spec, xtune.Kernel):
        settings.setdefault("backend", "host" if jax.default_backend() == "cpu" else "gpu")
        spec = xtune.load(spec, **settings)
    return _Operator(spec, dict(words or {}))


class _Operator:
    """A kernel with the target that XLA calls."""

    def __init__(self, kernel: Any, words: Dict[str, Any]):
        self._kernel, self._words = kernel, words
        self._number = next(_numbers)
        self._arguments = kernel._call_arguments()
        self._target = _target(kernel.backend)
        self.__name__ = kernel.name

    def __call__(self, *given: Any, **named: Any) -> Any:
        arrays, values = self._sorted(given, named)
        facts = [(name, *_facts(f"{self._kernel.name}: '{name}'", each)) for name, each in arrays.items()]
        dense = {name: (dtype, list(shape), _strides(shape)) for name, dtype, shape in facts}
        names = [name for name, is_array, is_output, _, _ in self._arguments if is_array and is_output]
        made = [
            (name, dtype, tuple(shape)) for name, (dtype, shape) in zip(names, self._kernel._outputs(dense, values))
        ]
        written = {name for name, _, _, _, is_written in self._arguments if is_written}
        changed = [each for each in facts if each[0] in written]
        aliases = {facts.index(each): len(made) + i for i, each in enumerate(changed)}
        key = f"{self._kernel.name} {self._number}: {facts} {made} {sorted(values.items())}"
        self._kernel._register_xla_call(key, facts + made, values)
        results = [jax.ShapeDtypeStruct(shape, _numpy_type(dtype)) for _, dtype, shape in made + changed]
        call = jax.ffi.ffi_call(self._target, results, vmap_method="sequential", input_output_aliases=aliases)
        answer = call(*arrays.values(), key=key)
        return answer[0] if len(answer) == 1 else tuple(answer)

    def _sorted(self, given: Tuple[Any, ...], named: Dict[str, Any]) -> Tuple[Dict[str, Any], Dict[str, Any]]:
        """The arrays, and the scalars and names of the problem."""
        name = self._kernel.name
        in_order = [each for each, _, _, is_required, _ in self._arguments if is_required]
        if len(given) > len(in_order):
            raise InvalidArgumentError(
                f"{name}: {len(given)} arrays by position, and it takes {len(in_order)} ({', '.join(in_order)}); pass "
                "others by name"
            )
        are_arrays = {each: is_array and not is_output for each, is_array, is_output, _, _ in self._arguments}
        arrays, values = dict(zip(in_order, given)), dict(self._words)
        for each, value in named.items():
            if each in arrays:
                raise InvalidArgumentError(f"{name}: '{each}' is passed by position and by name")
            if are_arrays.get(each):
                arrays[each] = value
            elif isinstance(value, jax.core.Tracer):
                raise InvalidArgumentError(
                    f"{name}: '{each}' is a traced value, and scalars are fixed when a function is compiled: pass a "
                    "number, for example by static_argnames of jax.jit"
                )
            else:
                values[each] = value
        return arrays, values


def _facts(where: str, array: Any) -> Tuple[str, Tuple[int, ...]]:
    """The dtype and shape of an array or a traced one."""
    if not hasattr(array, "shape") or not hasattr(array, "dtype"):
        raise InvalidArgumentError(f"{where}: expected an array of JAX, not {_checks.shown(array)}")
    dtype = _DTYPES.get(numpy.dtype(array.dtype).name)
    if dtype is None:
        raise InvalidArgumentError(f"{where}: kernels have no type for {array.dtype}")
    return dtype, tuple(int(extent) for extent in array.shape)


def _strides(shape: Tuple[int, ...]) -> List[int]:
    """Elements from an index to the next, in C order."""
    return [int(numpy.prod(shape[i + 1 :], dtype=numpy.int64)) for i in range(len(shape))]


def _numpy_type(dtype: str) -> Any:
    return jax.numpy.dtype(TORCH_NAMES[dtype])


@functools.lru_cache(maxsize=None)
def _target(backend: str) -> str:
    """The target of a backend, registered once."""
    library = ctypes.CDLL(str(_library()))
    library.xtune_set_call(ctypes.c_void_p(_native._xla_call))
    handler = library.xtune_on_host if backend == "host" else library.xtune_on_gpu
    platform = {"host": "cpu", "cuda": "CUDA", "hip": "ROCM"}[backend]
    jax.ffi.register_ffi_target(f"xtune_{backend}", jax.ffi.pycapsule(handler), platform=platform)
    return f"xtune_{backend}"


def _library() -> Path:
    """jax_call.cpp, compiled for the jaxlib that is installed and kept in the store's directory."""
    include = jax.ffi.include_dir()
    headers = sorted(Path(include, "xla", "ffi", "api").glob("*.h"))
    digest = hashlib.sha256(b"\0".join(each.read_bytes() for each in [_SOURCE, *headers])).hexdigest()[:16]
    folder = Path(os.environ.get("XTUNE_CACHE_DIR") or Path.home() / ".cache" / "xtune", "jax")
    library = folder / f"{digest}.so"
    if not _is_ours(library):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            made = Path(scratch, "jax_call.so")
            _compile(include, made)
            made.replace(library)
    return library


def _is_ours(path: Path) -> bool:
    """Whether a file exists that only this user can have written."""
    try:
        facts = [os.stat(path), os.stat(path.parent)]
    except OSError:
        return False
    return all(each.st_uid == os.geteuid() and not each.st_mode & (stat.S_IWGRP | stat.S_IWOTH) for each in facts)


def _compile(include: str, output: Path) -> None:
    compiler = os.environ.get("CXX") or next(filter(shutil.which, ("c++", "g++", "clang++")), None)
    if compiler is None:
        raise UnavailableError("xtune.jax needs a C++17 compiler once, and none was found: install g++, or set CXX")
    command = [*shlex.split(compiler), "-std=c++17", "-O2", "-fPIC", "-shared", "-isystem", include]
    command += [str(_SOURCE), "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UnavailableError(f"xtune.jax: {shlex.join(command)} failed:\n{done.stderr.strip()}")
