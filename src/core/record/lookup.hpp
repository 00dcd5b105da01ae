// Which record answers for a problem on a device, and why a lookup hits or misses.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/record/best.hpp"

namespace xtune {

enum class Match { exact, nearest, none };
const char* to_string(Match match) noexcept;

/// What is asked of each record before it may answer; either may be empty. SpecFit makes them from a spec.
struct LookupRules {
  /// Why a record may not answer ("whose parameters are not this spec's"), or empty.
  std::function<std::string(const Record&)> obstacle;
  /// How its key differs from the one that its configuration would have today, as key_difference tells; empty: not at
  /// all. A record whose key still holds goes before a faster one whose key does not.
  std::function<std::vector<std::string>(const Record&)> differences;
};

/// Answers "which configuration for this problem on this device", from records of one architecture.
struct LookupResult {
  Match match = Match::none;
  std::optional<Record> record;
  double distance = 0;                   ///< nearest: sum over dimensions of |log2(a/b)|
  std::vector<std::string> differences;  ///< how the record's key differs from today's, a line each
  std::vector<std::string> reasons;      ///< what was considered and why it was taken or not, a line each
};

/// exact (this problem, this device) > nearest problem by shape on the same architecture > none. Records of sanitized
/// kernels never answer: their times are not the kernel's.
LookupResult look_up(const std::vector<Record>& records, const Bindings& problem, const DeviceInfo& device,
                     const Criterion& criterion = {}, const LookupRules& rules = {});

}  // namespace xtune
