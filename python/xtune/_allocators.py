# SPDX-License-Identifier: Apache-2.0
"""Memory for scratch from the caching allocators of frameworks, as load() takes it."""
import importlib
from typing import Any, Callable, Dict, Tuple

from xtune import _checks
from xtune.errors import InvalidArgumentError, UnavailableError

Pair = Tuple[Callable[[int, int], int], Callable[[int, int, int], Any]]


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UnavailableError(f"allocator: '{name}' cannot be imported: {error}") from error


def _of_torch() -> Pair:
    cuda = _module("torch").cuda

    def allocate(size: int, stream: int) -> int:
        return cuda.caching_allocator_alloc(size, stream=stream)

    return allocate, lambda memory, size, stream: cuda.caching_allocator_delete(memory)


def _of_cupy() -> Pair:
    cuda = _module("cupy").cuda
    kept: Dict[int, Any] = {}  # CuPy takes memory back when its object is gone

    def allocate(size: int, stream: int) -> int:
        with cuda.ExternalStream(stream) if stream else cuda.Stream.null:
            memory = cuda.alloc(size)
        kept[memory.ptr] = memory
        return memory.ptr

    return allocate, lambda memory, size, stream: kept.pop(memory)


def pair_of(allocator: Any) -> Pair:
    """allocate(bytes, stream), which returns an address, and release(address, bytes, stream). Streams are addresses."""
    if isinstance(allocator, str):
        if allocator not in ("torch", "cupy"):
            raise InvalidArgumentError(
                f"allocator: '{allocator}' is unknown; use torch, cupy, or a pair of functions: (allocate, release)"
            )
        return _of_torch() if allocator == "torch" else _of_cupy()
    if len(allocator) != 2:
        raise InvalidArgumentError(f"allocator: expected (allocate, release), not {_checks.shown(allocator)}")
    allocate, release = allocator
    return _checks.takes("allocator: allocate", allocate, 2), _checks.takes("allocator: release", release, 3)
