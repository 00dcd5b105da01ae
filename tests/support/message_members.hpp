// The members of the messages between driver and workers, for round trips with random values.
#pragma once

#include <concepts>
#include <tuple>
#include <type_traits>

#include "core/build/keyed_files.hpp"
#include "support/record_members.hpp"
#include "worker/ipc/protocol.hpp"
#include "worker/ipc/target.hpp"

namespace xtune {
XTUNE_ENUMERATORS(DType, 17)
XTUNE_ENUMERATORS(Fill, 6)
}  // namespace xtune

namespace xtune::device {
XTUNE_ENUMERATORS(ProgramValue::Form, 4)
XTUNE_MEMBERS(ProgramValue, name, form, where, file, unit, row)
XTUNE_MEMBERS(ProgramCall, words, environment, folder, time, metrics, expect, check, outputs, timeout_s, device,
              request, checks, start_timeout_s)
XTUNE_MEMBERS(Launch, grid, block, cluster, shared_bytes, cooperative)
XTUNE_MEMBERS(Step, launch, kernel, arguments, name)
XTUNE_MEMBERS(LaunchPlan, steps, call)
}  // namespace xtune::device

namespace xtune::spec {
XTUNE_ENUMERATORS(ArgRole, 4)
XTUNE_ENUMERATORS(Flush, 3)
XTUNE_ENUMERATORS(LaunchBy, 2)
XTUNE_ENUMERATORS(ReferenceSpec::Kind, 6)
XTUNE_PART_OF_MEMBERS(MeasureSpec,
                      (warmup, rep, min_rep, min_time_ms, max_time_ms, noise, timeout_s, wait_s, energy_ms, flush,
                       launch, statistic, drop_outliers, race, finals),
                      (warmup, rep, min_rep, min_time_ms, max_time_ms, noise, timeout_s, wait_s, energy_ms, flush,
                       launch))
}  // namespace xtune::spec

namespace xtune::measure {
XTUNE_MEMBERS(ScalarArgument::Pointer, at, argument, offset)
XTUNE_MEMBERS(ScalarArgument, bytes, pointers, in_memory, replaces)
XTUNE_MEMBERS(ArgumentType, name, dtype, is_buffer, is_tensor_map, value_bytes)
XTUNE_MEMBERS(TensorMap, dtype, tf32, shape, box, element_strides, strides, swizzle, l2_promotion, interleave,
              nan_outside)
XTUNE_MEMBERS(Incumbent, median_ms, q3_ms)
}  // namespace xtune::measure

namespace xtune::validate {
XTUNE_PART_OF_MEMBERS(ArgumentLayout,
                      (name, role, dtype, shape, fill, file, at, value, integers, like, permute, formula, names,
                       sum_of),
                      (name, role, dtype, shape, fill, file, at, value, integers, permute, formula, names, sum_of))
XTUNE_MEMBERS(ToleranceRule, rtol, atol, max_mismatched_ratio, outlier_factor, reduction, accumulate)
}  // namespace xtune::validate

namespace xtune::build {
XTUNE_ENUMERATORS(Lack, 7)
XTUNE_MEMBERS(KeyedFile, path, state, sha256, recent)
XTUNE_MEMBERS(KeyedFiles, files, absent, unknown)
XTUNE_PART_OF_MEMBERS(ToolFiles, (keyed, may_start_others), (keyed.files, keyed.absent, may_start_others))
XTUNE_PART_OF_MEMBERS(CompileRequest,
                      (source_name, source, first_line, include_dirs, entry, options, defines, arch, sanitize, folder,
                       toolchain, variables, more_entries, files, base_key, known_manifests, headers, left_out, run),
                      (source_name, source, first_line, include_dirs, entry, options, defines, arch, sanitize, folder,
                       toolchain, variables, more_entries, base_key, known_manifests, headers, left_out, run))
}  // namespace xtune::build

namespace xtune::system {
XTUNE_MEMBERS(Search::Place, path, reason)
XTUNE_MEMBERS(Search, what, places, taken)
}  // namespace xtune::system

namespace xtune::run {
XTUNE_MEMBERS(CompilerState, name, toolchain, reason, failed, default_arch, archs, parts)
XTUNE_MEMBERS(BackendState, name, devices, device_reason, device_failed, driver_absent, toolchain, toolchain_reason,
              toolchain_failed, default_arch, toolchain_parts, compilers, searches)
}  // namespace xtune::run

namespace xtune::run {
XTUNE_MEMBERS(CompileJob, backend, cache, key, request, scratch, keep_in_scratch, expected_s)
XTUNE_MEMBERS(ArgumentPlan, buffer, scratch, map_of)
XTUNE_MEMBERS(OpenJob, backend, device, cache, scratch, seed, sanitize, arguments, constants, types, reference, outputs,
              check_kernel, tolerances, check, check_at, folder, repeats, must_repeat, measure, time_reference)
XTUNE_MEMBERS(RoundsJob, jobs, rounds, time_reference)

// Calls and answers have base classes, which structured bindings do not see.
template <class Call>
requires std::derived_from<Call, KernelCall>
auto members(Call& of) {
  const auto call = std::tie(of.artifact, of.launch, of.scalars, of.scratch, of.maps, of.constants);
  if constexpr (std::is_same_v<std::remove_const_t<Call>, BenchJob>)
    return std::tuple_cat(call, std::tie(of.incumbent, of.config, of.inputs_seed, of.validate_only));
  else
    return std::tuple_cat(
        call, std::tie(of.kind, of.at, of.name, of.output, of.arrays, of.values, of.file, of.command, of.folder));
}
template <class Answer>
requires std::derived_from<Answer, Ending>
auto members(Answer& of) {
  const auto ending = std::tie(of.outcome, of.lack, of.message, of.log);
  if constexpr (std::is_same_v<std::remove_const_t<Answer>, CompileAnswer>)
    return std::tuple_cat(ending, std::tie(of.warning, of.artifact, of.cached, of.cpu_s, of.peak_bytes));
  else if constexpr (std::is_same_v<std::remove_const_t<Answer>, BenchAnswer>)
    return std::tuple_cat(ending, std::tie(of.stage, of.samples_ms, of.validation, of.repeatable, of.reported,
                                           of.telemetry, of.taints, of.changed, of.busy_s));
  else
    return std::tuple_cat(ending,
                          std::tie(of.failed, of.samples_ms, of.reference_ms, of.reported, of.taints, of.busy_s));
}
}  // namespace xtune::run

namespace xtune::test {

inline void settle(run::OpenJob& job) {
  for (run::ArgumentPlan& plan : job.arguments) {
    if (plan.map_of) plan.scratch = false;
    if (plan.map_of || plan.scratch) plan.buffer.reset();
  }
}
inline void settle(run::BenchAnswer& answer) {
  if (answer.validation) settle(*answer.validation);
}
inline void settle(run::RoundsJob& job) {
  if (job.jobs.empty()) job.rounds.clear();
  for (std::vector<std::size_t>& round : job.rounds)
    for (std::size_t& index : round) index %= job.jobs.size();
}
template <class Message>
void settle(const Message&) {}

}  // namespace xtune::test
