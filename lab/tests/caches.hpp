// Small Kernel Tuner caches, written by hand.
#pragma once

#include <string>
#include <vector>

#include "lab/formats.hpp"
#include "xtune/error.hpp"

namespace xtune::test {

inline const std::string cache_head = R"({
"device_name": "NVIDIA A100", "kernel_name": "copy", "problem_size": [4096, 2],
"tune_params_keys": ["x", "y"],
"tune_params": {"x": [1, 2, 4], "y": ["row", "col"]},
"objective": "time",
"cache": {
)";

/// Every kind of entry that a cache has.
inline const std::string cache_entries =
    R"("1,row": {"x": 1, "y": "row", "time": 3.0, "times": [2.0, 4.0], "compile_time": 1000.0, "verification_time": 100, "benchmark_time": 400.0, "GFLOP/s": 7.5, "strategy_time": 0, "framework_time": 2.0, "timestamp": "2023-12-22 13:17:23.719843+00:00"},
"2,row": {"x": 2, "y": "row", "time": 1.0, "times": [1.0, 1.0], "compile_time": 2000.0, "benchmark_time": 300.0},
"4,row": {"x": 4, "y": "row", "time": "CompilationFailedConfig", "compile_time": 500.0, "benchmark_time": 0},
"1,col": {"x": 1, "y": "col", "time": "RuntimeFailedConfig", "compile_time": 700.0, "benchmark_time": 5.0},
"2,col": {"x": 2, "y": "col", "__error__": "InvalidConfig", "compile_time": 0})";

inline const std::string cache = cache_head + cache_entries + "}\n}";

/// A recording with one parameter "i" = 0 .. n-1, these times (0: launch_failed), and a second of cost for each.
inline lab::Recording recording_of(const std::vector<double>& times_ms, const std::string& name = "line") {
  space::Parameter parameter{"i", {}, true};
  std::vector<lab::RecordedRow> rows;
  for (std::uint32_t i = 0; i < times_ms.size(); ++i) {
    parameter.values.emplace_back(std::int64_t{i});
    lab::RecordedRow row;
    row.values = {i};
    row.result.bench_s = 1;
    row.result.time_ms = times_ms[i];
    if (times_ms[i] > 0)
      row.result.samples_ms = {times_ms[i]};
    else
      row.result.outcome = Outcome::launch_failed;
    rows.push_back(row);
  }
  lab::Recording recording = lab::make_recording({parameter}, std::move(rows));
  recording.name = name;
  recording.kernel = "line";
  return recording;
}

/// The message of the Error that `act` throws, after its kind: "invalid_argument: ...".
template <class Act>
std::string error_of(const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    return std::string(to_string(error.kind())) + ": " + error.what();
  }
  return "no error";
}

}  // namespace xtune::test
