// SPDX-License-Identifier: Apache-2.0
// tune, load and the questions without a run, as functions of _native.
#pragma once

#include <pybind11/pybind11.h>

namespace xtune::python {

void define_tuning(pybind11::module_& module);

}  // namespace xtune::python
