// Knowledge of a search before it starts: suggestions of the hardware model, and records of other devices and problems.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/run/target.hpp"
#include "core/search/strategy.hpp"
#include "core/spec/spec.hpp"

namespace xtune::store {
class GrowingRecords;
}  // namespace xtune::store

namespace xtune::run {

struct Knowledge {
  std::vector<std::uint64_t> first;  ///< by the spec's [candidates]
  /// The configuration of calls without a measurement, which a search tries before all others; unset: the space is
  /// empty, or only a part of the spec's.
  std::optional<std::uint64_t> default_index;
  std::vector<search::Source> sources;
  std::vector<std::string> notes;  ///< for the user, one line each: what guides the search, or why something does not
};

/// The candidates of the spec's [candidates] for a GPU with a known model, and the default configuration.
Knowledge candidates_of(const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                        const run::Target& target);

/// Adds the stored records of the same kernel on other devices, of other problems on this one, and of this one with
/// another driver. Only records that existed before this problem was first measured on this device with its driver
/// count, so that a run that is continued or repeated has the same guidance as at first. A replay is not guided by
/// records of this problem on the device that it replays, from any backend; a run that measures is guided by results of
/// another backend on its device. GPUs learn only from GPUs, CPUs only from CPUs. The nearest ones are used, up to
/// eight sources. here: the store's records of this kernel on this architecture, refreshed. before_unix_ms: newer
/// records are not used.
void add_sources(Knowledge& knowledge, const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                 const run::Target& target, const store::GrowingRecords& here, const std::filesystem::path& store,
                 std::int64_t before_unix_ms = std::numeric_limits<std::int64_t>::max());

}  // namespace xtune::run
