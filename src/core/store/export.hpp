// A store's winners, and its measurements, in formats for other programs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/record/record_json.hpp"
#include "core/store/bundle.hpp"

namespace xtune::store {

using record::bindings_json;

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

/// Limits of a decision tree.
struct TreeOptions {
  std::size_t max_configs = 8;  ///< different configurations of a tree
  double within = 0.05;         ///< how much slower than the best of a case is good enough
  std::size_t max_depth = 16;   ///< questions on the way to a leaf
};
/// For each kernel and architecture a tree over the problem sizes (config_tree.hpp) whose configurations
/// smallest_cover picked (cover.hpp), and its answer at each case: the regret is how much more time it takes than the
/// best, and null if the chosen configuration was not measured there. Format: docs/store.md. Cases whose parameters or
/// dimensions differ from the newest case's are skipped with a warning; trees with cases beyond `within` give one, too.
/// Throws Error(nothing_valid) without cases.
nlohmann::ordered_json export_tree_json(const std::vector<MeasuredCase>& cases, const TreeOptions& options,
                                        std::vector<std::string>& warnings);
/// The same as a C++17 header that needs only the standard library: a namespace xtune_tree::<kernel>::<architecture>
/// with select(problem), the configurations, and the answers at the cases.
std::string export_tree_header(const std::vector<MeasuredCase>& cases, const TreeOptions& options,
                               std::vector<std::string>& warnings);

/// How names of vLLM's tables of its fused mixture-of-experts kernel relate to those of a kernel in the store.
struct VllmOptions {
  std::map<std::string, std::string>
      names;          ///< vLLM's name of a size or parameter -> the kernel's own; others are equal
  std::string dtype;  ///< "fp8_w8a8", for the file's name; empty: none
  std::optional<std::pair<std::int64_t, std::int64_t>>
      block_shape;  ///< of a quantisation by blocks, for the file's name
};
/// vLLM's tables, by the names that vLLM looks for: a table for each E, N and device, with a configuration for each M.
/// Parameters that vLLM does not know are omitted with a warning. Throws Error(invalid_argument) if a size or parameter
/// that vLLM needs is missing or is not a whole number, and if two winners belong to one M; Error(nothing_valid)
/// without winners.
std::map<std::string, nlohmann::ordered_json> export_vllm_moe(const std::vector<Winner>& winners,
                                                              const VllmOptions& options,
                                                              std::vector<std::string>& warnings);

}  // namespace xtune::store
