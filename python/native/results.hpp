// SPDX-License-Identifier: Apache-2.0
// Results of the library as the dataclasses of xtune.results.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "xtune/inventory.hpp"
#include "xtune/lookup.hpp"
#include "xtune/result.hpp"
#include "xtune/tune.hpp"

namespace xtune::python {

/// What a result of Python keeps of the library's.
struct NativeResult {
  std::shared_ptr<const Result> result;
};
/// The same for a compiled configuration.
struct NativeCompiled {
  std::shared_ptr<const CompiledConfig> compiled;
};

pybind11::object to_python(const Timing& timing);
pybind11::object to_python(const Resources& resources);
pybind11::object to_python(const Across& across);
pybind11::object to_python(const Measurement& measurement);
pybind11::object to_python(const TuneProgress& progress);
pybind11::object to_python(const Choice& choice);
pybind11::object to_python(const Candidate& candidate);
pybind11::object to_python(const AvailableDevice& device);
pybind11::object to_python(const AvailableBackend& backend);
/// The object keeps the result, for Result.save and Result.kernel.
pybind11::object to_python(std::shared_ptr<const Result> result);
/// The object keeps the build, for CompiledConfig.kernel.
pybind11::object to_python(std::shared_ptr<const CompiledConfig> compiled);

/// A list of what to_python makes of each element.
template <class T>
pybind11::list list_of(const std::vector<T>& items) {
  pybind11::list list;
  for (const T& item : items) list.append(to_python(item));
  return list;
}

/// The native classes that the objects keep.
void define_results(pybind11::module_& module);

}  // namespace xtune::python
