// The start of a run's search: its strategy, its guidance, and its maximum number of open proposals.
#pragma once

#include <memory>

#include "core/run/run_context.hpp"
#include "core/search/strategy.hpp"

namespace xtune::run {

/// Whether records of other devices and problems guide the search.
bool learns_from_store(const RunContext& run);
/// records: of the kernel and architecture, refreshed. Notes for the user are sent to the observer.
std::unique_ptr<search::Strategy> make_search(const RunContext& run, const store::GrowingRecords& records);
/// Maximum number of proposals without an outcome. parallel: maximum number of compilers at once.
std::size_t proposal_window(const RunContext& run, std::size_t parallel);

}  // namespace xtune::run
