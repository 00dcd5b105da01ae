// SPDX-License-Identifier: Apache-2.0
// xtune::Tunable as the class _native.Tunable.
#pragma once

#include <pybind11/pybind11.h>

namespace xtune::python {

void define_tunable(pybind11::module_& module);

}  // namespace xtune::python
