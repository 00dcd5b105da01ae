// SPDX-License-Identifier: Apache-2.0
// The module xtune._native: the C++ library, for the Python layer in xtune/.
#include <pybind11/pybind11.h>

#include "errors.hpp"
#include "kernel.hpp"
#include "results.hpp"
#include "tunable.hpp"
#include "tuning.hpp"
#include "xla.hpp"

PYBIND11_MODULE(_native, module) {
  module.doc() = "The C++ library; use the package xtune, which documents everything.";
  xtune::python::register_errors();
  xtune::python::define_results(module);
  xtune::python::define_kernel(module);
  xtune::python::define_tunable(module);
  xtune::python::define_tuning(module);
  xtune::python::define_xla(module);
}
