// A record with something in every member, for the record tests.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "core/store/record.hpp"

namespace xtune {

inline device::DeviceInfo example_device() {
  device::DeviceInfo device;
  device.backend = "cuda";
  device.index = 3;
  device.name = "NVIDIA H200";
  device.vendor = "nvidia";
  device.arch = "sm_90";
  device.uuid = "GPU-1234";
  device.driver = "13.0 (580.65)";
  device.compute_units = 132;
  device.shared_per_block = 49152;
  device.shared_per_block_optin = 232448;
  device.registers_per_block = 65536;
  device.l2_bytes = 62914560;
  device.memory_bytes = std::int64_t{140} << 30;
  return device;
}

/// An ok record of configuration BLOCK=block with samples around time_ms.
inline store::Record example_record(std::int64_t block, double time_ms, double spread = 0.001) {
  store::Record record;
  record.kernel = "gemm";
  record.key = "key-" + std::to_string(block);
  record.key_parts = {{"artifact", "abc"}, {"problem", "[\"M=64\"]"}};
  record.problem = {{"M", std::int64_t{64}}, {"N", std::int64_t{64}}};
  record.config = {{"BLOCK", block}};
  record.stage = "measure";
  for (int i = 0; i < 9; ++i) record.samples_ms.push_back(time_ms + spread * (i - 4) / 4);
  record.time_ms = measure::summarize(record.samples_ms);
  record.device = example_device();
  record.toolchain = "nvrtc 13.0";
  record.host = "node1";
  record.attempt = "a1";
  record.unix_time_ms = 1700000000000;
  return record;
}

inline store::Record full_record() {
  store::Record record = example_record(128, 0.125);
  record.config = {
      {"A", true}, {"B", std::int64_t{-5}}, {"C", 2.0}, {"D", std::string("row \"x\"\n\xc3\xa4")}, {"E", INFINITY}};
  record.outcome = Outcome::wrong_result;
  record.message = "C: 1 of 4 elements differ";
  validate::Comparison comparison;
  comparison.output = "C";
  comparison.passed = false;
  comparison.count = std::uint64_t{1} << 40;
  comparison.mismatched = 2;
  comparison.nans = 1;
  comparison.unwritten = 1;
  comparison.first_index = 3;
  comparison.first_coordinates = {1, 1};
  comparison.actual = NAN;
  comparison.expected = -INFINITY;
  comparison.max_abs_error = 0.1;
  comparison.max_rel_error = 1e-300;
  comparison.tolerance = {1e-3, 2e-3, 0.25, 20};
  comparison.infinities = 1;
  comparison.outliers = 2;
  record.validation = comparison;
  record.usage.registers = 128;
  record.usage.spilled_bytes = 0;
  record.usage.max_threads_per_block = 512;
  record.artifact_key = std::string(64, 'a');
  record.artifact_sha256 = std::string(64, 'b');
  record.log = "two lines\nof standard error";
  record.reported = {{"rate", {1.5, NAN}}};
  record.tainted = {"throttled"};
  record.compile_s = 1.5;
  record.compile_cpu_s = 1.25;
  record.bench_s = 0.0625;
  record.limit_s = 12.5;
  record.finals = "first-abc";
  record.finals_by = record.objective = "min time_ms";
  record.score = 0.5;
  record.telemetry = {1980, 41.5, 350, 0.125, 0.0025, 48};
  return record;
}

}  // namespace xtune
