// Warnings with one cause, told once with their count.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace xtune::base {

/// What is wrong, whatever it befell: words with a slash, record files, hashes and numbers are alike.
std::string cause_of(std::string_view warning);

struct Cause {
  std::string cause;
  std::string first;      ///< the first warning of it, as it is
  std::size_t count = 1;  ///< of warnings

  /// "a.jsonl:12: skipped: no JSON (41 times)"
  std::string text() const;
};

/// In the order of the first of each.
class Causes {
 public:
  /// Whether it is the first warning of its cause.
  bool add(const std::string& warning);
  const std::vector<Cause>& all() const noexcept { return causes_; }

 private:
  std::vector<Cause> causes_;
};

}  // namespace xtune::base
