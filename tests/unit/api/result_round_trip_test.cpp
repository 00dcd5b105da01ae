// Saved results survive JSON, for any contents.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/results.hpp"
#include "support/random_values.hpp"

namespace xtune {
XTUNE_ENUMERATORS(Outcome, 8)
XTUNE_ENUMERATORS(DType, 17)
XTUNE_ENUMERATORS(AcrossRule, 2)
XTUNE_ENUMERATORS(WinningArgument::Kind, 6)
XTUNE_MEMBERS(Timing, samples, min_ms, q1_ms, median_ms, q3_ms, mean_ms, max_ms, noise, low_ms, high_ms)
XTUNE_MEMBERS(Resources, registers, spilled_bytes, shared_bytes, max_threads_per_block)
XTUNE_MEMBERS(Measurement, config, outcome, stage, message, time_ms, timing, samples_ms, metrics, resources,
              reference_ms, tainted, from_store, compile_s, key, artifact_key)
XTUNE_MEMBERS(MeasuredDevice, backend, name, arch, index)
XTUNE_MEMBERS(WinningTensorMap, of, tf32, nan_outside, shape, strides, box, element_strides, swizzle, l2_promotion,
              interleave)
XTUNE_MEMBERS(WinningField, at_byte, dtype, value)
XTUNE_MEMBERS(WinningArgument, name, kind, dtype, shape, value, filled, map, fields, bytes)
XTUNE_MEMBERS(WinningStep, entry_symbol, grid, block, shared_bytes, cluster, static_shared_bytes, arguments,
              cooperative)
XTUNE_PART_OF_MEMBERS(WinningKernel,
                      (source, binary, format, entry_symbol, grid, block, shared_bytes, arch, cluster, arguments,
                       kernel_arguments, steps, cooperative),
                      (format, entry_symbol, grid, block, shared_bytes, arch, cluster, arguments, kernel_arguments,
                       steps, cooperative))
XTUNE_MEMBERS(Across, rule, score, ratio, measurement)
XTUNE_PART_OF_MEMBERS(Result,
                      (kernel_name, problem, device, toolchain, winner, ties, prediction, across, measurements, counts,
                       from_store, space_size, total_s, compile_cpu_s, device_busy_s, interrupted, out_of_time,
                       warnings, binary, no_binary),
                      (kernel_name, problem, device, toolchain, winner, ties, across, measurements, from_store,
                       space_size, total_s, compile_cpu_s, device_busy_s, interrupted, out_of_time, warnings, binary,
                       no_binary))
}  // namespace xtune

TEST_CASE("A saved result with random values comes back from JSON as it was") {
  using namespace xtune;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    test::RandomValues random(seed, true);
    auto result = random.make<Result>();
    if (!result.winner) result.winner = random.make<Measurement>();
    if (result.binary) {
      for (auto* extents : {&result.binary->grid, &result.binary->block, &result.binary->cluster})
        extents->resize(3, 7);
      for (WinningStep& step : result.binary->steps)
        for (auto* extents : {&step.grid, &step.block, &step.cluster}) extents->resize(3, 7);
      for (WinningArgument& argument : result.binary->arguments) {
        const bool is_struct = argument.kind == WinningArgument::Kind::structure;
        const bool is_scalar = argument.kind == WinningArgument::Kind::scalar;
        if (!is_scalar) argument.value.clear();
        if (is_scalar || is_struct) argument.shape.clear();
        if (!is_struct) argument.fields.clear(), argument.bytes.clear();
      }
    }
    result.counts = {{Outcome::ok, random.below(9)}, {Outcome::pruned, 0}};
    Result read;
    read_latency(nlohmann::json::parse(latency_json(result).dump()), read);
    read_best_config(nlohmann::json::parse(best_config_json(result).dump()), read);
    CAPTURE(seed);
    CHECK(test::same(read, result));
    CHECK(read.counts == result.counts);
  }
}
