// A store's winners, and its measurements, in formats for other programs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/record/record.hpp"
#include "core/store/bundle.hpp"

namespace xtune::store {

using record::bindings_json;

/// [{"kernel", "arch", "problem", "config", "time_ms", "interval_ms", "device", "backend", "driver", "tainted",
/// "artifact_key", "key", "unix_time_ms"}, ...]
nlohmann::ordered_json export_json(const std::vector<Winner>& winners);

/// Kernel Tuner's results file, T4 schema 1.0.0, of one kernel's records for one problem on one device. Throws
/// Error(invalid_argument) with the choices if several remain.
nlohmann::ordered_json export_kernel_tuner(const std::filesystem::path& store, const WinnerFilter& filter,
                                           std::vector<std::string>& warnings);

/// For decision trees over problem sizes, which python/xtune/compat/headers.py grows: [{"kernel", "arch", "configs",
/// "cases": [{"problem", "device", "best", "best_ms", "times_ms"}, ...]}, ...]. smallest_cover picked the
/// configurations, at most max_configs; times_ms are theirs, null if not measured. within: how much slower than the
/// best of a case is good enough. Cases whose parameters or dimensions differ from the newest case's are skipped with a
/// warning.
nlohmann::ordered_json tree_groups(const std::vector<MeasuredCase>& cases, std::size_t max_configs, double within,
                                   std::vector<std::string>& warnings);

/// The measurements as a CSV table, a line for each record. The times of one problem on one kind of device are put on
/// one scale, that of its best by the median; the column `scale` has the factors.
std::string export_csv(std::vector<StoredMeasurements> measurements);
/// The same as kbench's output.csv, a line for each measurement of a search that passed: name, met (ms), iters, the
/// metrics, spec.
std::string export_kbench(const std::vector<StoredMeasurements>& measurements);

}  // namespace xtune::store
