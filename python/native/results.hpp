// SPDX-License-Identifier: Apache-2.0
// Results of the library as the dataclasses of xtune.results.
#pragma once

#include <memory>

#include "function.hpp"
#include "xtune/inventory.hpp"
#include "xtune/kernel.hpp"
#include "xtune/lookup.hpp"
#include "xtune/result.hpp"
#include "xtune/tune.hpp"

namespace xtune::python {

/// What a result of Python keeps of the library's, for Result.save and Result.kernel.
using NativeResult = std::shared_ptr<const Result>;
/// The same for a compiled configuration.
using NativeCompiled = std::shared_ptr<const CompiledConfig>;
template <>
inline constexpr const char* class_name<NativeResult> = "xtune._native.Result";
template <>
inline constexpr const char* class_name<NativeCompiled> = "xtune._native.CompiledConfig";

}  // namespace xtune::python

namespace xtune {
python::Object object_of(const Timing& timing);
python::Object object_of(const Resources& resources);
python::Object object_of(const MeasuredDevice& device);
python::Object object_of(const Across& across);
python::Object object_of(const Measurement& measurement);
python::Object object_of(const TuneProgress& progress);
python::Object object_of(const Choice& choice);
python::Object object_of(const Candidate& candidate);
python::Object object_of(const KernelArgument& argument);
python::Object object_of(const AvailableDevice& device);
python::Object object_of(const AvailableBackend& backend);
python::Object object_of(const python::NativeResult& result);
python::Object object_of(const python::NativeCompiled& compiled);
python::Object object_of(const Kernel& kernel);  ///< a new object of _native.Kernel
}  // namespace xtune
