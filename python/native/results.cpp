// SPDX-License-Identifier: Apache-2.0
// Fields in the order of python/xtune/results.py.
#include "results.hpp"

#include "module.hpp"

namespace xtune {

using namespace python;

namespace {
Object result_class(const char* name) { return imported("xtune.results").attribute(name); }
}  // namespace

Object object_of(const Timing& timing) {
  return result_class("Timing")(timing.samples, timing.min_ms, timing.q1_ms, timing.median_ms, timing.q3_ms,
                                timing.mean_ms, timing.max_ms, timing.noise, timing.low_ms, timing.high_ms);
}

Object object_of(const Resources& resources) {
  return result_class("Resources")(resources.registers, resources.spilled_bytes, resources.shared_bytes,
                                   resources.max_threads_per_block);
}

Object object_of(const MeasuredDevice& device) {
  return result_class("MeasuredDevice")(device.backend, device.name, device.arch, device.index);
}

Object object_of(const ExpectedTime& expected) {
  return result_class("ExpectedTime")(expected.time_ms, expected.low_ms, expected.high_ms);
}

Object object_of(const Prediction& prediction) {
  return result_class("Prediction")(prediction.config, prediction.time_ms, prediction.expected, prediction.source);
}

Object object_of(const Across& across) {
  return result_class("Across")(across.rule, across.score, across.ratio, across.measurement);
}

Object object_of(const Measurement& measurement) {
  return result_class("Measurement")(measurement.config, measurement.outcome, measurement.stage, measurement.message,
                                     measurement.time_ms, measurement.timing, measurement.samples_ms,
                                     dict_of(measurement.metrics), measurement.resources, measurement.reference_ms,
                                     measurement.tainted, measurement.from_store, measurement.compile_s,
                                     measurement.key, measurement.artifact_key);
}

Object object_of(const TuneProgress& progress) {
  return result_class("Progress")(progress.done, progress.total, progress.from_store, progress.compiling,
                                  progress.waiting, progress.elapsed_s, progress.best_ms);
}

Object object_of(const Choice& choice) {
  return result_class("Choice")(choice.kind, choice.config, choice.measured_for, choice.time_ms, choice.expected,
                                choice.distance, choice.stale, choice.scratch, choice.reasons);
}

Object object_of(const Candidate& candidate) {
  return result_class("Candidate")(candidate.config, candidate.estimated_ms, candidate.reason);
}

Object object_of(const AvailableDevice& device) {
  return result_class("Device")(device.backend, device.index, device.name, device.vendor, device.arch, device.driver,
                                device.compute_units, device.memory_bytes, device.shared_bytes);
}

Object object_of(const AvailableBackend& backend) {
  return result_class("Backend")(backend.name, backend.devices, backend.device_reason, backend.compiler,
                                 backend.compiler_reason);
}

Object object_of(const KernelArgument& argument) {
  return result_class("KernelArgument")(argument.name, argument.dtype, argument.is_buffer, argument.is_written,
                                        argument.shape, argument.size);
}

Object object_of(const Result& result) {
  return result_class("Result")(result.kernel_name, result.problem, result.device, result.toolchain, result.winner,
                                result.ties, result.prediction, result.across, result.measurements, result.counts,
                                result.from_store, result.space_size, result.total_s, result.compile_cpu_s,
                                result.device_busy_s, result.interrupted, result.out_of_time, result.warnings,
                                new_instance(std::make_unique<Result>(result)));
}

Object object_of(const CompiledConfig& compiled) {
  return result_class("CompiledConfig")(compiled.config, compiled.outcome, compiled.message, compiled.log, compiled.key,
                                        compiled.resources, compiled.seconds,
                                        new_instance(std::make_unique<CompiledConfig>(compiled)));
}

}  // namespace xtune

namespace xtune::python {

void define_results(PyObject* module) {
  static PyMethodDef of_result[] = {
      method<&Result::best>("best"),
      method<&Result::save>("save"),
      method("source", [](const Result& result) { return result.binary ? result.binary->source : ""; }),
      method("kernel", [](const Result& result, bool checked) { return result.kernel(checked); }),
      {}};
  static PyMethodDef of_compiled[] = {
      method("kernel", [](const CompiledConfig& compiled, bool checked) { return compiled.kernel(checked); }), {}};
  static PyMethodDef functions[] = {function<Result::load>("load_result"), {}};
  define_class<Result>(module, of_result);
  define_class<CompiledConfig>(module, of_compiled);
  define(module, functions);
}

}  // namespace xtune::python
