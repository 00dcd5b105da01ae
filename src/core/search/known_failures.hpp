// Which configurations are likely to fail, by the results so far.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace xtune::search {

/// Remembers configurations by their value indices, and whether they failed.
class KnownFailures {
 public:
  void add(std::vector<std::uint32_t> digits, bool failed) {
    (failed ? failed_ : succeeded_).push_back(std::move(digits));
  }
  /// Whether most of the nearest ones failed: those that differ from it in the fewest parameters.
  bool likely(const std::vector<std::uint32_t>& digits) const;

 private:
  std::vector<std::vector<std::uint32_t>> failed_, succeeded_;
};

}  // namespace xtune::search
