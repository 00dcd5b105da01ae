// SPDX-License-Identifier: Apache-2.0
// The parts of the module.
#pragma once

#include "function.hpp"
#include "xtune/tunable.hpp"

namespace xtune::python {

template <>
inline constexpr const char* class_name<Tunable> = "xtune._native.Tunable";

void define_results(PyObject* module);  ///< the classes that results keep
void define_kernel(PyObject* module);   ///< xtune::Kernel as a callable class
void define_tunable(PyObject* module);  ///< the builder
void define_tuning(PyObject* module);   ///< tune, load and the questions without a run
/// _xla_call: the address of the C function that launches a registered call.
void define_xla(PyObject* module);

}  // namespace xtune::python
