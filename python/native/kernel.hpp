// SPDX-License-Identifier: Apache-2.0
// xtune::Kernel as the callable class _native.Kernel.
#pragma once

#include <pybind11/pybind11.h>

#include "xtune/kernel.hpp"

namespace xtune::python {

/// A new object of _native.Kernel.
pybind11::object make_kernel(Kernel kernel);

void define_kernel(pybind11::module_& module);

}  // namespace xtune::python
