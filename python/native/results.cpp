// SPDX-License-Identifier: Apache-2.0
// Fields in the order of include/xtune/result.hpp.
#include "results.hpp"

#include "convert.hpp"
#include "kernel.hpp"
#include "xtune/kernel.hpp"

namespace xtune::python {

using namespace pybind11::literals;

py::object to_python(const Timing& timing) {
  return result_class("Timing")("samples"_a = timing.samples, "min_ms"_a = timing.min_ms, "q1_ms"_a = timing.q1_ms,
                                "median_ms"_a = timing.median_ms, "q3_ms"_a = timing.q3_ms,
                                "mean_ms"_a = timing.mean_ms, "max_ms"_a = timing.max_ms, "noise"_a = timing.noise,
                                "low_ms"_a = timing.low_ms, "high_ms"_a = timing.high_ms);
}

py::object to_python(const Resources& resources) {
  return result_class("Resources")("registers"_a = resources.registers, "spilled_bytes"_a = resources.spilled_bytes,
                                   "shared_bytes"_a = resources.shared_bytes,
                                   "max_threads_per_block"_a = resources.max_threads_per_block);
}

py::object to_python(const Across& across) {
  return result_class("Across")("rule"_a = to_string(across.rule), "score"_a = across.score, "ratio"_a = across.ratio,
                                "measurement"_a = to_python(across.measurement));
}

namespace {

py::dict counts_of(const Result& result) {
  py::dict counts;
  for (const auto& [outcome, count] : result.counts) counts[to_string(outcome)] = count;
  return counts;
}

}  // namespace

py::object to_python(const Measurement& measurement) {
  py::dict metrics;
  for (const auto& [name, value] : measurement.metrics) metrics[py::str(name)] = value;
  return result_class("Measurement")(
      "config"_a = measurement.config, "outcome"_a = to_string(measurement.outcome), "stage"_a = measurement.stage,
      "message"_a = escaped(measurement.message), "time_ms"_a = measurement.time_ms,
      "timing"_a = to_python(measurement.timing), "samples_ms"_a = measurement.samples_ms, "metrics"_a = metrics,
      "resources"_a = to_python(measurement.resources), "reference_ms"_a = measurement.reference_ms,
      "tainted"_a = measurement.tainted, "from_store"_a = measurement.from_store, "compile_s"_a = measurement.compile_s,
      "key"_a = measurement.key, "artifact_key"_a = measurement.artifact_key);
}

py::object to_python(const TuneProgress& progress) {
  return result_class("Progress")("done"_a = progress.done, "total"_a = progress.total,
                                  "from_store"_a = progress.from_store, "compiling"_a = progress.compiling,
                                  "waiting"_a = progress.waiting, "elapsed_s"_a = progress.elapsed_s,
                                  "best_ms"_a = progress.best_ms);
}

py::object to_python(const Choice& choice) {
  return result_class("Choice")("kind"_a = to_string(choice.kind), "config"_a = choice.config,
                                "measured_for"_a = choice.measured_for, "time_ms"_a = choice.time_ms,
                                "distance"_a = choice.distance, "stale"_a = choice.stale, "scratch"_a = choice.scratch,
                                "reasons"_a = choice.reasons);
}

py::object to_python(const Candidate& candidate) {
  return result_class("Candidate")("config"_a = candidate.config, "estimated_ms"_a = candidate.estimated_ms,
                                   "reason"_a = candidate.reason);
}

py::object to_python(const AvailableDevice& device) {
  return result_class("Device")("backend"_a = device.backend, "index"_a = device.index, "name"_a = device.name,
                                "vendor"_a = device.vendor, "arch"_a = device.arch, "driver"_a = device.driver,
                                "compute_units"_a = device.compute_units, "memory_bytes"_a = device.memory_bytes,
                                "shared_bytes"_a = device.shared_bytes);
}

py::object to_python(const AvailableBackend& backend) {
  return result_class("Backend")("name"_a = backend.name, "devices"_a = list_of(backend.devices),
                                 "device_reason"_a = backend.device_reason, "compiler"_a = backend.compiler,
                                 "compiler_reason"_a = backend.compiler_reason);
}

py::object to_python(std::shared_ptr<const Result> result) {
  const MeasuredDevice& from = result->device;
  const py::object device = result_class("MeasuredDevice")("backend"_a = from.backend, "name"_a = from.name,
                                                           "arch"_a = from.arch, "index"_a = from.index);
  const py::object winner = result->winner ? to_python(*result->winner) : py::none();
  const py::object across = result->across ? to_python(*result->across) : py::none();
  return result_class("Result")(
      "kernel_name"_a = result->kernel_name, "problem"_a = result->problem, "device"_a = device,
      "toolchain"_a = result->toolchain, "winner"_a = winner, "ties"_a = list_of(result->ties), "across"_a = across,
      "measurements"_a = list_of(result->measurements), "counts"_a = counts_of(*result),
      "from_store"_a = result->from_store, "space_size"_a = result->space_size, "total_s"_a = result->total_s,
      "compile_cpu_s"_a = result->compile_cpu_s, "device_busy_s"_a = result->device_busy_s,
      "interrupted"_a = result->interrupted, "out_of_time"_a = result->out_of_time, "warnings"_a = result->warnings,
      "_native"_a = std::make_shared<NativeResult>(NativeResult{result}));
}

py::object to_python(std::shared_ptr<const CompiledConfig> compiled) {
  return result_class("CompiledConfig")("config"_a = compiled->config, "outcome"_a = to_string(compiled->outcome),
                                        "message"_a = escaped(compiled->message), "log"_a = escaped(compiled->log),
                                        "key"_a = compiled->key, "resources"_a = to_python(compiled->resources),
                                        "seconds"_a = compiled->seconds,
                                        "_native"_a = std::make_shared<NativeCompiled>(NativeCompiled{compiled}));
}

void define_results(py::module_& module) {
  py::class_<NativeResult, std::shared_ptr<NativeResult>>(module, "Result")
      .def("best", [](const NativeResult& r) { return to_python(r.result->best()); })
      .def("save", [](const NativeResult& r, const std::filesystem::path& directory) { r.result->save(directory); })
      .def("source", [](const NativeResult& r) { return r.result->binary ? r.result->binary->source : ""; })
      .def("kernel", [](const NativeResult& r, bool checked) { return make_kernel(r.result->kernel(checked)); });
  py::class_<NativeCompiled, std::shared_ptr<NativeCompiled>>(module, "CompiledConfig")
      .def("kernel", [](const NativeCompiled& c, bool checked) { return make_kernel(c.compiled->kernel(checked)); });
  module.def("load_result", [](const std::filesystem::path& directory) {
    return to_python(std::make_shared<const Result>(Result::load(directory)));
  });
}

}  // namespace xtune::python
