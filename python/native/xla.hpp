// SPDX-License-Identifier: Apache-2.0
// Calls of kernels by XLA's foreign functions, which JAX's programs make (xtune/jax.py).
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>
#include <vector>

#include "xtune/array.hpp"
#include "xtune/kernel.hpp"

namespace xtune::python {

/// An array of these facts in C order, without an address. Throws Error(invalid_argument) for more than 8 dimensions.
Array described_array(const Kernel& kernel, const std::string& name, DType dtype,
                      const std::vector<std::int64_t>& shape);

/// Registers what a call is under a key, once: arrays: (name, dtype, shape) of each, in the order in which calls pass
/// their addresses, where addresses of changed arrays may follow once more; named: scalars and names of the problem.
void register_xla_call(const Kernel& kernel, const std::string& key, const pybind11::list& arrays,
                       const pybind11::dict& named);

/// Defines _xla_call: the address of the C function that launches a registered call.
void define_xla(pybind11::module_& module);

}  // namespace xtune::python
