// SPDX-License-Identifier: Apache-2.0
// Conversions that a kernel's scalars need; f16 and bf16 round to nearest, ties to even.
#include "scalars.hpp"

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>

#include "xtune/error.hpp"

namespace xtune::python {

namespace {

[[noreturn]] void refuse(PyObject* object, DType dtype, const std::string& place, const char* why = "") {
  PyErr_Clear();
  throw Error(ErrorKind::invalid_argument,
              place + ", is a scalar of " + to_string(dtype) + " and was given " + shown(object) + why);
}

template <class T>
void store(T value, Bits& bits) {
  std::memcpy(bits.data(), &value, sizeof value);
}

template <class T>
T number_of(PyObject* object, DType dtype, const std::string& place) {
  T value = 0;
  if (!read(object, value)) refuse(object, dtype, place);
  return value;
}

std::uint16_t bf16_of(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((word >> 16) | 0x40);
  return static_cast<std::uint16_t>((word + 0x7fff + ((word >> 16) & 1)) >> 16);
}

std::uint16_t f16_of(float value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return sign | 0x7e00;
  const float size = std::fabs(value);
  if (size >= 65520.0F) return sign | 0x7c00;
  if (size < 0x1p-14F) return static_cast<std::uint16_t>(sign | static_cast<int>(std::nearbyint(size * 0x1p24F)));
  int exponent = 0;
  const float fraction = std::frexp(size, &exponent);  // in [0.5, 1)
  const int mantissa = static_cast<int>(std::nearbyint(fraction * 2048.0F)) - 1024;
  return static_cast<std::uint16_t>(sign + ((exponent + 14) << 10) + mantissa);
}

/// A finite number must not become infinite, as in a definition.
void require_fit(bool became_infinite, double value, PyObject* object, DType dtype, const std::string& place) {
  if (became_infinite && std::isfinite(value)) refuse(object, dtype, place, ", which is too large for it");
}

float read_float(PyObject* object, DType dtype, const std::string& place) {
  const auto value = number_of<double>(object, dtype, place);
  const auto nearest = static_cast<float>(value);
  require_fit(std::isinf(nearest), value, object, dtype, place);
  return nearest;
}

void read_half(PyObject* object, DType dtype, const std::string& place, Bits& bits) {
  const float value = read_float(object, dtype, place);
  const bool is_f16 = dtype == DType::f16;
  const std::uint16_t nearest = is_f16 ? f16_of(value) : bf16_of(value);
  require_fit((nearest & 0x7fff) == (is_f16 ? 0x7c00 : 0x7f80), value, object, dtype, place);
  store(nearest, bits);
}

void read_complex(PyObject* object, DType dtype, const std::string& place, Bits& bits) {
  auto* const type = reinterpret_cast<PyObject*>(&PyComplex_Type);
  PyObject* const number =  // a text would be parsed
      PyUnicode_Check(object) ? nullptr : PyObject_CallFunctionObjArgs(type, object, static_cast<PyObject*>(nullptr));
  if (!number) refuse(object, dtype, place);
  const Object owner = Object::made(number);
  const double real = PyComplex_RealAsDouble(number), imaginary = PyComplex_ImagAsDouble(number);
  if (dtype == DType::c128) return store(std::complex<double>(real, imaginary), bits);
  const std::complex<float> nearest(static_cast<float>(real), static_cast<float>(imaginary));
  require_fit(std::isinf(nearest.real()), real, object, dtype, place);
  require_fit(std::isinf(nearest.imag()), imaginary, object, dtype, place);
  store(nearest, bits);
}

}  // namespace

void read_scalar(PyObject* object, DType dtype, const std::string& place, Bits& bits) {
  switch (dtype) {
    case DType::i8:
      return store(number_of<std::int8_t>(object, dtype, place), bits);
    case DType::i16:
      return store(number_of<std::int16_t>(object, dtype, place), bits);
    case DType::i32:
      return store(number_of<std::int32_t>(object, dtype, place), bits);
    case DType::i64:
      return store(number_of<std::int64_t>(object, dtype, place), bits);
    case DType::u8:
      return store(number_of<std::uint8_t>(object, dtype, place), bits);
    case DType::u16:
      return store(number_of<std::uint16_t>(object, dtype, place), bits);
    case DType::u32:
      return store(number_of<std::uint32_t>(object, dtype, place), bits);
    case DType::u64:
      return store(number_of<std::uint64_t>(object, dtype, place), bits);
    case DType::f32:
      return store(read_float(object, dtype, place), bits);
    case DType::f64:
      return store(number_of<double>(object, dtype, place), bits);
    case DType::f16:
    case DType::bf16:
      return read_half(object, dtype, place, bits);
    case DType::boolean: {
      const int value = PyObject_IsTrue(object);
      if (value < 0) refuse(object, dtype, place);
      return store(value == 1, bits);
    }
    case DType::c64:
    case DType::c128:
      return read_complex(object, dtype, place, bits);
    case DType::f8e4m3:  // the bits
    case DType::f8e5m2:
      return store(number_of<std::uint8_t>(object, dtype, place), bits);
  }
}

Bytes struct_bytes(PyObject* object, std::size_t bytes, const std::string& place) {
  const std::string takes = place + ", is a struct or vector of " + std::to_string(bytes) + " bytes and was given ";
  Bytes given;
  try {
    given = Bytes(object);
  } catch (const ErrorSet&) {
    PyErr_Clear();
    throw Error(ErrorKind::invalid_argument,
                takes + shown(object) + ": pass a ctypes.Structure, a NumPy record or array, or bytes");
  }
  if (given.span().size() != bytes)
    throw Error(ErrorKind::invalid_argument,
                takes + std::to_string(given.span().size()) + ": check the padding of its fields");
  return given;
}

}  // namespace xtune::python
