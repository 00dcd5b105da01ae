// A store's winners, and its measurements, in forms that other programs read.
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

/// A C++ header that needs nothing but the standard library, a namespace xtune_best::<kernel> for each kernel, with the
/// winners and constexpr functions that choose among them. Names that are no C++ identifiers are made ones. Winners
/// whose parameters or dimensions are not the newest winner's are left out, with a warning. Throws Error(nothing_valid)
/// where there is none.
std::string export_header(const std::vector<Winner>& winners, std::vector<std::string>& warnings);

/// Kernel Tuner's results file, T4 schema 1.0.0, of one kernel's records for one problem on one device. Throws
/// Error(invalid_argument) where several are left, with the choice.
nlohmann::ordered_json export_kernel_tuner(const std::filesystem::path& store, const WinnerFilter& filter,
                                           std::vector<std::string>& warnings);

}  // namespace xtune::store
