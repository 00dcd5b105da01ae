// SPDX-License-Identifier: Apache-2.0
// Calls of kernels by XLA's foreign functions, which JAX's programs make (xtune/jax.py).
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "object.hpp"
#include "xtune/array.hpp"
#include "xtune/kernel.hpp"

namespace xtune::python {

/// An array of these facts in C order, without an address. Throws Error(invalid_argument) for more than 8 dimensions.
Array described_array(const Kernel& kernel, const std::string& name, DType dtype,
                      const std::vector<std::int64_t>& shape);

using XlaArrays = std::vector<std::tuple<std::string, DType, std::vector<std::int64_t>>>;
/// Registers what a call is under a key, once: arrays: (name, dtype, shape) of each, in the order in which calls pass
/// their addresses, where addresses of changed arrays may follow once more; named: scalars and names of the problem.
void register_xla_call(const Kernel& kernel, const std::string& key, const XlaArrays& arrays, const Bindings& named);

}  // namespace xtune::python
