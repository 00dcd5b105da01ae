// The members of a record and of its parts, for round trips with random values.
#pragma once

#include "core/build/artifact.hpp"
#include "core/store/record.hpp"
#include "support/random_values.hpp"

namespace xtune {
XTUNE_ENUMERATORS(Outcome, 8)
}  // namespace xtune

namespace xtune::device {
XTUNE_MEMBERS(DeviceInfo, backend, number, name, vendor, arch, uuid, driver, warp_size, compute_units, cpu_quota_milli,
              shared_per_block, shared_per_block_optin, shared_per_compute_unit, registers_per_block,
              registers_per_compute_unit, max_threads_per_block, max_threads_per_compute_unit, max_grid_x, max_grid_y,
              max_grid_z, max_block_x, max_block_y, max_block_z, l2_bytes, memory_bytes, clock_khz, memory_clock_khz,
              memory_bus_bits, locked_clock_mhz)
}  // namespace xtune::device

namespace xtune::measure {
XTUNE_PART_OF_MEMBERS(Summary, (count, min, q1, median, q3, mean, max, noise, low, high, outliers, inlier_mean),
                      (count, min, q1, median, q3, mean, max, noise, low, high, outliers))
XTUNE_MEMBERS(Telemetry, clock_mhz, temperature_c, power_w, energy_j, overhead_ms, launches)
}  // namespace xtune::measure

namespace xtune::validate {
XTUNE_PART_OF_MEMBERS(Tolerance, (rtol, atol, max_mismatched_ratio, outlier_factor, row_atol, row_length),
                      (rtol, atol, max_mismatched_ratio, outlier_factor))
XTUNE_MEMBERS(Comparison, output, passed, count, mismatched, nans, infinities, outliers, unwritten, first_index,
              first_coordinates, actual, expected, actual_imaginary, expected_imaginary, max_abs_error, max_rel_error,
              tolerance)
XTUNE_MEMBERS(BitDifference, argument, coordinates, before, now, differing, count)
XTUNE_MEMBERS(Repeatability, launches, difference)
}  // namespace xtune::validate

namespace xtune::build {
XTUNE_MEMBERS(ResourceUsage, registers, scalar_registers, accumulator_registers, spilled_bytes, static_shared_bytes,
              max_threads_per_block, warp_size)
XTUNE_MEMBERS(KernelEntry, symbol, usage)
XTUNE_MEMBERS(Manifest, files, absent)
XTUNE_PART_OF_MEMBERS(Artifact,
                      (key, backend, arch, format, entry_symbol, image, log, compile_s, usage, toolchain, variables,
                       entries, manifest, unread, files_read),
                      (key, backend, arch, format, entry_symbol, log, compile_s, usage, toolchain, variables, entries,
                       manifest, unread))
}  // namespace xtune::build

namespace xtune::store {
XTUNE_MEMBERS(StepUsage, entry, usage, dynamic_shared_bytes)
XTUNE_MEMBERS(ReferenceTime, name, samples_ms)
XTUNE_MEMBERS(Record, kernel, key, key_parts, problem, config, outcome, stage, message, limit_s, log, samples_ms,
              time_ms, slowness, reported, validation, repeatable, reference, telemetry, usage, dynamic_shared_bytes,
              steps, artifact_key, artifact_sha256, device, toolchain, host, attempt, proposed_by, tainted, drift,
              finals, finals_by, objective, score, unix_time_ms, compile_s, compile_cpu_s, bench_s)
}  // namespace xtune::store

namespace xtune::test {

/// Resets members that a comparison omits because they have no meaning.
inline void settle(validate::Comparison& comparison) {
  if (!comparison.first_index) {
    comparison.first_coordinates.clear();
    comparison.actual = comparison.expected = comparison.actual_imaginary = comparison.expected_imaginary = 0;
  }
  if (comparison.tolerance.max_mismatched_ratio == 0) comparison.tolerance.outlier_factor = 10;
}

/// As records keep it: samples rounded, no summary of nothing, metrics in the order of their names.
inline void settle(store::Record& record) {
  for (double& sample : record.samples_ms) sample = store::kept_time_ms(sample);
  if (record.reference)
    for (double& sample : record.reference->samples_ms) sample = store::kept_time_ms(sample);
  if (record.time_ms.count == 0) record.time_ms = {};
  // From as many samples as it counts, a summary's outliers are found again.
  if (record.time_ms.count != 0 && record.time_ms.count == record.samples_ms.size()) ++record.time_ms.count;
  record.time_ms.inlier_mean = record.time_ms.mean;
  std::map<std::string, std::vector<double>> by_name(record.reported.begin(), record.reported.end());
  record.reported.assign(by_name.begin(), by_name.end());
  if (record.validation) settle(*record.validation);
}

}  // namespace xtune::test
