// The failures of a run by outcome, each with an example.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/run/tuner.hpp"

namespace xtune::report {

/// The configurations of a run that ended with one outcome other than ok and pruned.
struct FailureGroup {
  Outcome outcome = Outcome::rejected;
  std::uint64_t count = 0;
  bool sanitizer = false;  ///< AddressSanitizer or UBSan reported at least one of them
  const record::Record* example =
      nullptr;  ///< from the result: one with a report, else the first with a message; may be null
};

/// Groups with sanitizer reports come first, then the most frequent; `rejected` comes last, because it is not an error
/// of a kernel.
std::vector<FailureGroup> failure_groups(const run::TuneResult& result);

/// A line for each: "3 crashed, e.g. BLOCK=64: AddressSanitizer: heap-buffer-overflow ... conv.cu:62".
std::string failures_text(const spec::Spec& spec, const run::TuneResult& result);

/// [{"outcome", "count", "sanitizer", "config", "message"}], the last two of the example.
nlohmann::ordered_json failures_json(const run::TuneResult& result);

}  // namespace xtune::report
