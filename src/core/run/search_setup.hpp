// What a run's search starts from: its strategy, what guides that, and how many proposals it may have open.
#pragma once

#include <memory>

#include "core/run/run_context.hpp"
#include "core/search/strategy.hpp"

namespace xtune::run {

/// Whether records of other devices and problems guide the search.
bool learns_from_store(const RunContext& run);
/// records: of the kernel and architecture, refreshed. Notes for the user go to the observer.
std::unique_ptr<search::Strategy> make_search(const RunContext& run, const store::GrowingRecords& records);
/// Proposals without an outcome at most. parallel: compilers that run at once.
std::size_t proposal_window(const RunContext& run, std::size_t parallel);

}  // namespace xtune::run
