// SPDX-License-Identifier: Apache-2.0
// Numbers of Python as the bits of a kernel's argument.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "object.hpp"

namespace xtune::python {

/// The bits of a value of any DType.
using Bits = std::array<std::byte, 16>;

/// Throws Error(invalid_argument), which begins with place, for an object that is not such a number, and for an integer
/// out of range.
void read_scalar(PyObject* object, DType dtype, const std::string& place, Bits& bits);

/// The bytes of a struct: a ctypes.Structure, a NumPy record, bytes, or another object with a buffer. Throws
/// Error(invalid_argument), which begins with place, for another object, or one of another size.
Bytes struct_bytes(PyObject* object, std::size_t bytes, const std::string& place);

}  // namespace xtune::python
