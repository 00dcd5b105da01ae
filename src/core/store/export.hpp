// A store's winners, and its measurements, in formats for other programs.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/store/bundle.hpp"

namespace xtune::store {

/// [{"kernel", "arch", "problem", "config", "time_ms", "interval_ms", "device", "backend", "driver", "tainted",
/// "artifact_key", "key", "unix_time_ms"}, ...]
nlohmann::ordered_json export_json(const std::vector<Winner>& winners);

/// A C++ header that needs only the standard library, with a namespace xtune_best::<kernel> for each kernel, the
/// winners, and constexpr functions that choose among them. Names that are not C++ identifiers are converted. Winners
/// whose parameters or dimensions differ from the newest winner's are omitted, with a warning. Throws
/// Error(nothing_valid) if there are none.
std::string export_header(const std::vector<Winner>& winners, std::vector<std::string>& warnings);

/// Kernel Tuner's results file, T4 schema 1.0.0, of one kernel's records for one problem on one device. Throws
/// Error(invalid_argument) with the choices if several remain.
nlohmann::ordered_json export_kernel_tuner(const std::filesystem::path& store, const WinnerFilter& filter,
                                           std::vector<std::string>& warnings);

}  // namespace xtune::store
