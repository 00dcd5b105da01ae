# SPDX-License-Identifier: Apache-2.0
"""Element types, and the contents of arrays of NumPy, PyTorch, CuPy, Numba, JAX and others, for tuning."""
import sys
from typing import Any, NamedTuple, Optional, Tuple

import numpy

from xtune.errors import InvalidArgumentError

_NUMPY = {
    "f16": numpy.float16,
    "f32": numpy.float32,
    "f64": numpy.float64,
    "i8": numpy.int8,
    "i16": numpy.int16,
    "i32": numpy.int32,
    "i64": numpy.int64,
    "u8": numpy.uint8,
    "u16": numpy.uint16,
    "u32": numpy.uint32,
    "u64": numpy.uint64,
    "bool": numpy.bool_,
    "c64": numpy.complex64,
    "c128": numpy.complex128,
}
_NAMES = {numpy.dtype(type_).name: name for name, type_ in _NUMPY.items()}
_NAMES.update({"bool": "bool", "bfloat16": "bf16", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2"})
_NARROW = {"bf16": numpy.uint16, "f8e4m3": numpy.uint8, "f8e5m2": numpy.uint8}
DTYPES = tuple(_NUMPY) + tuple(_NARROW)

#: The type's name in C++ for CUDA and HIP.
CTYPES = {
    "f16": "__half",
    "bf16": "__nv_bfloat16",
    "f32": "float",
    "f64": "double",
    "i8": "signed char",
    "i16": "short",
    "i32": "int",
    "i64": "long long",
    "u8": "unsigned char",
    "u16": "unsigned short",
    "u32": "unsigned int",
    "u64": "unsigned long long",
    "bool": "bool",
    "c64": "float2",
    "c128": "double2",
    "f8e4m3": "__nv_fp8_e4m3",
    "f8e5m2": "__nv_fp8_e5m2",
}


TORCH_NAMES = {
    **{name: numpy.dtype(type_).name for name, type_ in _NUMPY.items()},
    **{"bool": "bool", "bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"},
}
#: By the texts of types in NumPy and PyTorch, and of __cuda_array_interface__: "float32", "torch.float32", "<f4".
DTYPES_BY_TEXT = {text: name for name, theirs in TORCH_NAMES.items() for text in (theirs, f"torch.{theirs}")}
DTYPES_BY_TEXT.update((numpy.dtype(type_).str, name) for name, type_ in _NUMPY.items())


def empty_like(like: Any, shape: Tuple[int, ...], dtype: str) -> Any:
    """An array of this shape and type, of the library and on the device of `like`."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(like, torch.Tensor):
        return like.new_empty(shape, dtype=getattr(torch, TORCH_NAMES[dtype]))
    numpy_type = _NUMPY.get(dtype, _NARROW.get(dtype))
    if isinstance(like, numpy.ndarray):
        return numpy.empty(shape, like.dtype if _NAMES.get(like.dtype.name) == dtype else numpy_type)
    library = type(like).__module__.partition(".")[0]
    if library == "cupy":
        return sys.modules["cupy"].empty(shape, numpy_type)
    if library == "numba":
        return sys.modules["numba.cuda"].device_array(shape, numpy_type)
    raise InvalidArgumentError(
        f"arrays of {library} are not written by others, so this call cannot make its output: pass out= with an array "
        "of NumPy, PyTorch, CuPy or Numba"
    )


class ArrayFacts(NamedTuple):
    """An array's element type and shape, and its bytes: on the host as a NumPy array of u8, or at a device pointer."""

    dtype: str
    shape: Tuple[int, ...]
    host: Optional[numpy.ndarray]
    pointer: int
    bytes: int


def dtype_name(dtype: Any, what: str = "dtype") -> str:
    """The name in xtune of a dtype of NumPy, PyTorch or ml_dtypes, of its name, or of a C type. Raises
    InvalidArgumentError."""
    if isinstance(dtype, str) and dtype in DTYPES:
        return dtype
    text = str(dtype)
    name = text[len("torch.") :] if text.startswith("torch.") else text
    if name not in _NAMES:
        try:
            name = numpy.dtype(dtype).name
        except Exception:  # NumPy raises several for what is not a dtype
            name = ""
    if name not in _NAMES:
        text = text.encode(errors="backslashreplace").decode()
        raise InvalidArgumentError(
            f"{what}: {text} is not a type that kernels take; use one of {', '.join(DTYPES)}, "
            "or a dtype of NumPy or PyTorch"
        )
    return _NAMES[name]


def is_array(value: Any) -> bool:
    """Whether it is an array, and not a NumPy scalar."""
    return not isinstance(value, (numpy.generic, type)) and any(
        hasattr(value, name) for name in ("__array_interface__", "__cuda_array_interface__", "__dlpack__")
    )


def _is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _of_numpy(array: numpy.ndarray, name: str, dtype: Optional[str] = None) -> ArrayFacts:
    if not array.flags.c_contiguous:
        raise InvalidArgumentError(
            f"'{name}' is an array that is not contiguous in C order: pass " "numpy.ascontiguousarray(...)"
        )
    if not array.dtype.isnative:
        raise InvalidArgumentError(
            f"'{name}' has elements of {array.dtype}, which are not in this machine's byte order"
        )
    dtype = dtype or dtype_name(array.dtype, f"'{name}'")
    return ArrayFacts(dtype, array.shape, array.reshape(-1).view(numpy.uint8), 0, array.nbytes)


def _of_torch(tensor: Any, name: str) -> ArrayFacts:
    if not tensor.is_contiguous():
        raise InvalidArgumentError(f"'{name}' is a tensor that is not contiguous: pass tensor.contiguous()")
    dtype, shape = dtype_name(tensor.dtype, f"'{name}'"), tuple(tensor.shape)
    if tensor.is_cuda:
        return ArrayFacts(dtype, shape, None, tensor.data_ptr(), tensor.numel() * tensor.element_size())
    import torch

    flat = tensor.detach().reshape(-1).view(torch.uint8).numpy()
    return ArrayFacts(dtype, shape, flat, 0, flat.nbytes)


def _of_cuda_interface(array: Any, name: str) -> ArrayFacts:
    interface = array.__cuda_array_interface__
    if not isinstance(interface, dict) or not {"typestr", "shape", "data"} <= set(interface):
        raise InvalidArgumentError(f"'{name}': its __cuda_array_interface__ lacks typestr, shape or data")
    dtype = numpy.dtype(interface["typestr"])
    shape = tuple(interface["shape"])
    strides = interface.get("strides")
    dense = [dtype.itemsize * int(numpy.prod(shape[i + 1 :], dtype=numpy.int64)) for i in range(len(shape))]
    if strides is not None and any(
        extent > 1 and stride != want for extent, stride, want in zip(shape, strides, dense)
    ):
        raise InvalidArgumentError(f"'{name}' is an array that is not contiguous in C order: copy it first")
    size = dtype.itemsize * int(numpy.prod(shape, dtype=numpy.int64))
    return ArrayFacts(dtype_name(dtype, f"'{name}'"), shape, None, interface["data"][0], size)


def _require_unmasked(array: Any, what: str) -> None:
    if isinstance(array, numpy.ma.MaskedArray):
        raise InvalidArgumentError(f"{what} is a masked array, and a kernel knows no mask: pass array.filled(...)")


def facts_of(array: Any, name: str) -> ArrayFacts:
    """Type, shape and contents. Raises InvalidArgumentError for an array that is masked, not contiguous or has elements
    that no kernel takes, and for what is not an array."""
    _require_unmasked(array, f"'{name}'")
    if _is_torch(array):
        return _of_torch(array, name)
    if isinstance(array, numpy.ndarray):
        return _of_numpy(array, name)
    if hasattr(array, "__cuda_array_interface__"):
        return _of_cuda_interface(array, name)
    if hasattr(array, "__array_interface__") or hasattr(array, "__array__"):
        return _of_numpy(numpy.asarray(array), name)
    if hasattr(array, "__dlpack__"):
        try:
            return _of_numpy(numpy.from_dlpack(array), name)
        except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
            raise InvalidArgumentError(
                f"'{name}': NumPy cannot read its __dlpack__ ({error}): pass a copy on the " "host"
            ) from error
    raise InvalidArgumentError(
        f"'{name}': {type(array).__name__} is not an array; pass an array of NumPy, PyTorch, CuPy, "
        "Numba or JAX, for example numpy.asarray(...)"
    )


def _decoded_f8(dtype: str) -> numpy.ndarray:
    """The values of the 128 codes without sign."""
    codes = numpy.arange(128)
    mantissa_bits, bias = (3, 7) if dtype == "f8e4m3" else (2, 15)
    exponent, mantissa = codes >> mantissa_bits, codes & ((1 << mantissa_bits) - 1)
    values = numpy.where(
        exponent == 0,
        numpy.ldexp(mantissa / (1 << mantissa_bits), 1 - bias),
        numpy.ldexp(1 + mantissa / (1 << mantissa_bits), exponent - bias),
    ).astype(numpy.float32)
    if dtype == "f8e4m3":
        values[127] = numpy.nan
    else:
        values[124], values[125:] = numpy.inf, numpy.nan
    return values


def decode(data: Any, dtype: str, shape: Tuple[int, ...]) -> numpy.ndarray:
    """Bytes as an array. NumPy lacks bf16 and the 8-bit floats: they become f32, without rounding."""
    if dtype in _NUMPY:
        return numpy.frombuffer(data, dtype=_NUMPY[dtype]).reshape(shape)
    bits = numpy.frombuffer(data, dtype=_NARROW[dtype]).reshape(shape)
    if dtype == "bf16":
        return (bits.astype(numpy.uint32) << 16).view(numpy.float32)
    values = _decoded_f8(dtype)
    return numpy.concatenate([values, -values])[bits]


def _encode_bf16(values: numpy.ndarray) -> numpy.ndarray:
    words = values.astype(numpy.float32).view(numpy.uint32).astype(numpy.uint64)
    rounded = (words + 0x7FFF + ((words >> 16) & 1)) >> 16
    return numpy.where(numpy.isnan(values), 0x7FC0, rounded).astype(numpy.uint16)


def _encode_f8(values: numpy.ndarray, dtype: str) -> numpy.ndarray:
    values = values.astype(numpy.float64)
    finite = _decoded_f8(dtype).astype(numpy.float64)
    finite = finite[numpy.isfinite(finite)]
    step = finite[-1] - finite[-2]
    middles = (finite + numpy.append(finite[1:], finite[-1] + step)) / 2
    size = numpy.abs(values)
    code = numpy.searchsorted(middles, size)  # a tie takes the lower code ...
    tie = size == middles[numpy.minimum(code, len(middles) - 1)]
    code = numpy.where(tie & (code % 2 == 1), code + 1, code)  # ... unless it is odd
    code = numpy.where(code >= len(finite), 127 if dtype == "f8e4m3" else 124, code)
    code = numpy.where(numpy.isnan(values), 127, code)
    return (code + numpy.where(numpy.signbit(values), 128, 0)).astype(numpy.uint8)


def encode(value: Any, dtype: str, shape: Optional[Tuple[int, ...]], what: str) -> numpy.ndarray:
    """The bytes of an array of this type and shape (None: any), for what a callback returned. Numbers are rounded to
    the type, as numpy.asarray does. Raises InvalidArgumentError for another shape, and for what is not numbers."""
    if _is_torch(value):
        value = value.detach().cpu()
        value = value.float().numpy() if dtype in _NARROW or str(value.dtype) == "torch.bfloat16" else value.numpy()
    elif hasattr(value, "__cuda_array_interface__") and hasattr(value, "get"):
        value = value.get()  # CuPy
    _require_unmasked(value, what)
    array = numpy.asarray(value)
    if shape is not None and array.shape != tuple(shape) and array.size != 1:
        raise InvalidArgumentError(f"{what} has the shape {array.shape}, and the argument has {tuple(shape)}")
    if shape is not None and array.shape != tuple(shape):
        if int(numpy.prod(shape)) != 1:
            raise InvalidArgumentError(f"{what} has the shape {array.shape}, and the argument has {tuple(shape)}")
        array = array.reshape(shape)
    if array.dtype.name in _NAMES and _NAMES[array.dtype.name] == dtype:  # also the types of ml_dtypes
        return numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8)
    if array.dtype.kind not in "biufc" and array.dtype.name not in _NAMES:
        raise InvalidArgumentError(f"{what} has elements of {array.dtype}, which are not numbers")
    if array.dtype.kind == "c" and dtype not in ("c64", "c128"):
        raise InvalidArgumentError(f"{what} is complex, and the argument is {dtype}")
    if array.dtype.kind in "fc" and dtype[0] in "iu":
        raise InvalidArgumentError(
            f"{what} has elements of {array.dtype}, and the argument is {dtype}: convert it, " "rounded as you want it"
        )
    if dtype in _NUMPY:
        array = array.astype(_NUMPY[dtype])
    elif dtype == "bf16":
        array = _encode_bf16(array.astype(numpy.float32))
    else:
        array = _encode_f8(array, dtype)
    return numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8)
