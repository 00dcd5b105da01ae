// What a search knows before it starts: what the model of the hardware suggests, and what records of other devices and
// problems tell.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "core/search/strategy.hpp"
#include "core/spec/spec.hpp"
#include "core/target/target.hpp"

namespace xtune::store {
class GrowingRecords;
}  // namespace xtune::store

namespace xtune::run {

struct Knowledge {
  std::vector<std::uint64_t> first;  ///< by the spec's [candidates]
  std::vector<search::Source> sources;
  std::vector<std::string> notes;  ///< for the user, a line each: what guides the search, or why it does not
};

/// The candidates of the spec's [candidates] for a GPU whose model is known.
Knowledge candidates_of(const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                        const target::Target& target);

/// Adds the stored records of the same kernel on other devices, of other problems on this one, and of this one with
/// another driver: those that were there before this problem was first measured on this device with its driver, so that
/// a run that goes on, or repeats, is guided as it was at first. A replay is not guided by records of this problem on
/// the device that it replays, through whichever backend they were taken; a run that measures is guided by what another
/// backend found on its device. GPUs learn from GPUs alone, CPUs from CPUs. The nearest count, eight sources at most.
/// here: the store's records of this kernel on this architecture, refreshed. before_unix_ms: what is newer guides
/// nothing.
void add_sources(Knowledge& knowledge, const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                 const target::Target& target, const store::GrowingRecords& here, const std::filesystem::path& store,
                 std::int64_t before_unix_ms = std::numeric_limits<std::int64_t>::max());

}  // namespace xtune::run
