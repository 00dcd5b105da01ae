// Finals as records: who may take part, and what the records of one that was held say.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/record/criterion.hpp"
#include "core/record/record.hpp"

namespace xtune::record {

/// Of the records, ranked by the criterion, the first that may be the best: `most` at most, clean ones alone where the
/// first is, whose interval begins before the first one's ends, were its time 5 % longer: a device's speed drifts by so
/// much between one measurement and another. Fewer than two need no finals.
std::vector<const Record*> finalists_of(const std::vector<const Record*>& ranked, std::size_t most,
                                        const Criterion& criterion = {});

/// Whether tainted finals count as an answer.
enum class Tainted { never, too };

/// The ids of finals whose records, failures included, are of these configurations (by measurement key) and no others
/// but those whose results were found wrong there: untainted ones, newest first, then the tainted ones if they count.
std::vector<std::string> finals_of(const std::vector<const Record*>& records, const std::vector<std::string>& keys,
                                   Tainted tainted);

/// What judge_finals says of the records of one finals, by what the criterion makes of each round's time. Equal ones
/// always come in the same order, so that finals that are held again have the same winner: of the fastest and its
/// equals clean records go before tainted ones, then fewer spilled bytes, fewer registers, less static shared memory,
/// then the configuration's text. The others that are tied follow by the criterion, then the slower ones.
class FinalsResult {
 public:
  explicit FinalsResult(const std::vector<const Record*>& records, const Criterion& criterion = {});
  const std::vector<const Record*>& order() const noexcept { return order_; }  ///< failures last
  bool tied(const Record& record) const;                                       ///< or the fastest itself
  bool decided() const noexcept { return decided_; }
  std::size_t rounds() const noexcept { return rounds_; }

 private:
  std::vector<const Record*> order_;
  std::size_t tied_ = 0;  ///< so many of order_
  std::size_t rounds_ = 0;
  bool decided_ = false;
};

}  // namespace xtune::record
