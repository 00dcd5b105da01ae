// A random order in constant memory, and a sample that shows every value.
#include "core/search/samples.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_set>

#include "base/random.hpp"

namespace xtune::search {

namespace {

// Two phases. Until every value was shown: chooses among some draws the one with the most new values, after its other
// parameters were moved to new values too if the constraints allow. A constant stride would not do: it may be a
// multiple of the number of values of the inner parameters, and would show only one of them. After that: random draws.

constexpr std::uint64_t seed = 1;
/// Number of draws among which the next configuration with new values is chosen.
constexpr int draws_for_one = 16;
/// Number of failed attempts until the remaining values count as impossible to find.
constexpr int max_failed_choices = 64;

class SpreadSample {
 public:
  SpreadSample(const space::Space& space, std::uint64_t limit, const WorkOf& work_of)
      : space_(space), limit_(limit), work_of_(work_of), order_(space.size(), seed) {
    for (const space::Parameter& parameter : space.parameters()) {
      shown_.emplace_back(parameter.values.size(), false);
      hidden_ += parameter.values.size();
    }
  }

  std::vector<std::uint64_t> draw() {
    show_values();
    fill();
    return std::move(chosen_);
  }

 private:
  using Digits = std::vector<std::uint32_t>;

  bool full() const { return works_.size() >= limit_; }

  std::size_t new_values(const Digits& digits) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < digits.size(); ++i) count += shown_[i][digits[i]] ? 0 : 1;
    return count;
  }

  /// Moves one parameter after the other from a value that was shown to a new one.
  void move_to_new_values(Digits& digits) const {
    for (std::size_t i = 0; i < digits.size(); ++i) {
      if (!shown_[i][digits[i]]) continue;
      const std::uint32_t own = digits[i];
      for (std::uint32_t value = 0; value < shown_[i].size(); ++value) {
        digits[i] = value;
        if (!shown_[i][value] && space_.index_of(digits)) break;
        digits[i] = own;
      }
    }
  }

  void show_values() {
    const std::uint64_t draws = std::min<std::uint64_t>(space_.size(), draws_for_one);
    std::uint64_t position = 0;
    for (int vain = 0; hidden_ > 0 && vain < max_failed_choices;) {
      Digits best;
      std::size_t most = 0;
      for (std::uint64_t i = 0; i < draws; ++i) {
        Digits digits = space_.value_indices(order_(position++ % space_.size()));
        move_to_new_values(digits);
        if (const std::size_t count = new_values(digits); count > most) {
          most = count;
          best = std::move(digits);
        }
      }
      if (most == 0)
        ++vain;
      else if (!take(space_.index_of(best).value()))
        return;
    }
  }

  void fill() {
    // If few works are left among many configurations, not all of them are checked.
    const std::uint64_t patience = 1000 + 10 * std::min<std::uint64_t>(limit_, 1'000'000);
    std::uint64_t vain = 0;
    for (std::uint64_t i = 0; i < space_.size() && !full() && vain < patience; ++i) {
      const std::uint64_t index = order_(i);
      if (taken_.contains(index) || works_.contains(work_of_(index)))
        ++vain;
      else if (take(index))
        vain = 0;
    }
  }

  /// False: it is a new piece of work, and the sample is full.
  bool take(std::uint64_t index) {
    std::string work = work_of_(index);
    if (full() && !works_.contains(work)) return false;
    works_.insert(std::move(work));
    taken_.insert(index);
    chosen_.push_back(index);
    const Digits digits = space_.value_indices(index);
    for (std::size_t i = 0; i < digits.size(); ++i) {
      hidden_ -= shown_[i][digits[i]] ? 0 : 1;
      shown_[i][digits[i]] = true;
    }
    return true;
  }

  const space::Space& space_;
  std::uint64_t limit_;
  const WorkOf& work_of_;
  Permutation order_;
  std::vector<std::vector<bool>> shown_;  ///< by parameter and value
  std::size_t hidden_ = 0;                ///< number of values that were not shown
  std::unordered_set<std::string> works_;
  std::unordered_set<std::uint64_t> taken_;
  std::vector<std::uint64_t> chosen_;
};

}  // namespace

Permutation::Permutation(std::uint64_t size, std::uint64_t seed) noexcept
    : size_(size),
      half_bits_(
          std::max<std::uint32_t>(1, (static_cast<std::uint32_t>(std::bit_width(size > 0 ? size - 1 : 0)) + 1) / 2)) {
  base::Random random(seed);
  for (std::uint64_t& key : keys_) key = random.next();
}

std::uint64_t Permutation::operator()(std::uint64_t position) const noexcept {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  do {  // the domain is less than four times the size, so this takes a few rounds on average
    std::uint64_t left = position >> half_bits_;
    std::uint64_t right = position & mask;
    for (const std::uint64_t key : keys_) {
      const std::uint64_t next = left ^ (base::mix64(right ^ key) & mask);
      left = right;
      right = next;
    }
    position = left << half_bits_ | right;
  } while (position >= size_);
  return position;
}

std::uint64_t Permutation::position_of(std::uint64_t index) const noexcept {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  do {
    std::uint64_t left = index >> half_bits_;
    std::uint64_t right = index & mask;
    for (auto key = keys_.rbegin(); key != keys_.rend(); ++key) {
      const std::uint64_t before = right ^ (base::mix64(left ^ *key) & mask);
      right = left;
      left = before;
    }
    index = left << half_bits_ | right;
  } while (index >= size_);
  return index;
}

std::vector<std::uint64_t> spread_sample(const space::Space& space, std::uint64_t limit, const WorkOf& work_of) {
  if (space.size() <= limit) {
    std::vector<std::uint64_t> all(space.size());
    std::iota(all.begin(), all.end(), std::uint64_t{0});
    return all;
  }
  return SpreadSample(space, limit, work_of).draw();
}

}  // namespace xtune::search
