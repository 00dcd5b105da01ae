// The library's matcher tries alternatives one after another, exponentially many for some expressions. It reads the
// an iterator, which can count steps and measure the stack: unlike a clock, both give the same verdict each time.
#include "backends/process/line_pattern.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

#include "backends/process/read_value.hpp"
#include "base/deep_stack.hpp"

namespace xtune::process {
namespace {

constexpr std::size_t longest_line = 4096;
// The library's matcher recurses several times for each character of a line.
constexpr std::size_t max_stack_bytes = base::deep_stack_bytes - (std::size_t{4} << 20);
// "(.*) ms" takes four steps for each pair of characters of a line without a match. A step takes some nanoseconds.
constexpr std::uint64_t max_steps_per_line = 100'000'000;

struct TooManySteps {};

/// What matching one line may use.
struct Budget {
  std::uint64_t steps = max_steps_per_line;
  base::StackDepth depth;
};

/// A place in a line, whose reading uses up the budget.
class CountingIterator {
 public:
  using iterator_category = std::bidirectional_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator() = default;
  CountingIterator(const char* at, Budget& budget) : at_(at), budget_(&budget) {}

  reference operator*() const {
    count();
    return *at_;
  }
  CountingIterator& operator++() {
    ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++at_;
    return before;
  }
  CountingIterator& operator--() {
    --at_;
    return *this;
  }
  CountingIterator operator--(int) {
    CountingIterator before = *this;
    --at_;
    return before;
  }
  bool operator==(const CountingIterator& other) const {
    count();
    return at_ == other.at_;
  }

 private:
  void count() const {
    if (budget_ && (budget_->steps-- == 0 || budget_->depth.bytes() > max_stack_bytes)) throw TooManySteps();
  }

  const char* at_ = nullptr;
  Budget* budget_ = nullptr;
};

}  // namespace

/// Calls found(match) for each line that matches, until it returns false.
template <class Found>
void LinePattern::search(const std::string& text, const Found& found) const {
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = line.substr(0, longest_line);
    Budget budget;
    try {
      std::match_results<CountingIterator> match;
      const CountingIterator first(line.data(), budget), last(line.data() + line.size(), budget);
      const bool matches = std::regex_search(first, last, match, regex_);
      budget.steps = max_steps_per_line;  // for the copy of the match
      if (matches && !found(match)) return;
    } catch (const TooManySteps&) {
      throw NoNumber(
          fmt::format("the regular expression '{}' takes too many steps on a line of the output: write it without "
                      "repetitions within repetitions, as in '(a+)+'",
                      expression_));
    }
  }
}

std::optional<LinePattern::Match> LinePattern::last_match(const std::string& text) const {
  std::optional<Match> last;
  base::on_deep_stack([&] {
    search(text, [&](const std::match_results<CountingIterator>& match) {
      const auto& group = match.size() > 1 ? match[1] : match[0];
      last = Match{group.str(), group.matched ? std::string(group.second, match.suffix().second) : std::string()};
      return true;
    });
  });
  return last;
}

bool LinePattern::matches(const std::string& text) const {
  bool any = false;
  base::on_deep_stack([&] {
    search(text, [&](const std::match_results<CountingIterator>&) {
      any = true;
      return false;
    });
  });
  return any;
}

}  // namespace xtune::process
