// SPDX-License-Identifier: Apache-2.0
// Results of the library as the dataclasses of xtune.results.
#pragma once

#include "function.hpp"
#include "xtune/inventory.hpp"
#include "xtune/kernel.hpp"
#include "xtune/lookup.hpp"
#include "xtune/result.hpp"
#include "xtune/tune.hpp"

namespace xtune::python {

// What a result of Python keeps of the library's, for Result.save and Result.kernel.
template <>
inline constexpr const char* class_name<Result> = "xtune._native.Result";
template <>
inline constexpr const char* class_name<CompiledConfig> = "xtune._native.CompiledConfig";

}  // namespace xtune::python

namespace xtune {
python::Object object_of(const Timing& timing);
python::Object object_of(const Resources& resources);
python::Object object_of(const MeasuredDevice& device);
python::Object object_of(const ExpectedTime& expected);
python::Object object_of(const Prediction& prediction);
python::Object object_of(const Across& across);
python::Object object_of(const Measurement& measurement);
python::Object object_of(const TuneProgress& progress);
python::Object object_of(const Choice& choice);
python::Object object_of(const Candidate& candidate);
python::Object object_of(const KernelArgument& argument);
python::Object object_of(const AvailableDevice& device);
python::Object object_of(const AvailableBackend& backend);
python::Object object_of(const Result& result);
python::Object object_of(const CompiledConfig& compiled);
python::Object object_of(const Kernel& kernel);  ///< a new object of _native.Kernel
}  // namespace xtune
