// Whether the sources or the strategy itself proposes next.
#pragma once

#include <cstdint>
#include <limits>
#include <unordered_set>
#include <vector>

#include "core/search/result.hpp"

namespace xtune::search {

/// Lets the sources propose only while the results bear one of them out, and only as long as that pays. A proposal of
/// theirs is lost when its result is not better than everything that the strategy found on its own. It is lost in part
/// when it is better than that, but hardly an improvement. The allowed loss grows with the support, up to three for
/// a search that proposes one at a time.
class Following {
 public:
  /// Whether one more proposal of the sources, if lost, would stay within the allowed loss. support: of the sources
  /// by the results, as Opening::support.
  bool allows(double support) const;
  /// No proposal of the sources is allowed again, whatever comes.
  bool over() const;
  void proposed(std::uint64_t index, bool by_sources);
  /// Each configuration's first result.
  void observe(const SearchResult& result);

  /// Proposals of the sources that are lost so far.
  double lost() const noexcept { return lost_; }

 private:
  void judge();

  std::unordered_set<std::uint64_t> own_under_way_, theirs_under_way_;
  std::vector<SearchResult> unjudged_;  // of the sources, before the strategy's own had any success
  std::uint64_t own_ = 0, theirs_ = 0;
  double lost_ = 0;
  double best_ms_ = std::numeric_limits<double>::infinity(), own_best_ms_ = best_ms_;
};

}  // namespace xtune::search
