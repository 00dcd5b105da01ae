// Whether the sources or the strategy itself proposes next.
#pragma once

#include <cstdint>
#include <limits>
#include <unordered_set>
#include <vector>

#include "core/search/result.hpp"

namespace xtune::search {

/// Lets the sources propose only while the results support one of them, and only as long as that pays. A proposal of
/// the sources is lost if its result is not better than everything that the strategy found on its own. It is partly
/// lost if it is better than that, but hardly an improvement. The allowed loss grows with the support, up to three for
/// a search with one proposal at a time.
class Following {
 public:
  /// Whether one more proposal of the sources, if lost, would stay within the allowed loss. support: that of the
  /// sources by the results, as Opening::support.
  bool allows(double support) const;
  /// Whether no further proposal of the sources can be allowed.
  bool over() const;
  void proposed(std::uint64_t index, bool by_sources);
  /// Receives each configuration's first result.
  void observe(const SearchResult& result);

  /// The loss of the sources' proposals so far.
  double lost() const noexcept { return lost_; }

 private:
  void judge();

  std::unordered_set<std::uint64_t> own_under_way_, theirs_under_way_;
  std::vector<SearchResult> unjudged_;  // of the sources, before the strategy itself had a success
  std::uint64_t own_ = 0, theirs_ = 0;
  double lost_ = 0;
  double best_ms_ = std::numeric_limits<double>::infinity(), own_best_ms_ = best_ms_;
};

}  // namespace xtune::search
