// Warnings that share a cause, reported once with their count.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace xtune::base {

/// The cause of a warning, without the object it is about: words with a slash, record files, hashes and numbers are
/// replaced.
std::string cause_of(std::string_view warning);

struct Cause {
  std::string cause;
  std::string first;      ///< the first warning with this cause, unchanged
  std::size_t count = 1;  ///< number of warnings

  /// "a.jsonl:12: skipped: no JSON (41 times)"
  std::string text() const;
};

/// Causes in the order of their first warnings.
class Causes {
 public:
  /// Returns whether this is the first warning with its cause.
  bool add(const std::string& warning);
  const std::vector<Cause>& all() const noexcept { return causes_; }

 private:
  std::vector<Cause> causes_;
};

}  // namespace xtune::base
