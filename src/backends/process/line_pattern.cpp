// The library's matcher tries alternatives one after another, exponentially many for some expressions. It reads the
// text through an iterator, which can count its steps: unlike a clock, a count gives the same result on every machine.
#include "backends/process/line_pattern.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

#include "backends/process/read_value.hpp"

namespace xtune::process {
namespace {

// The library's matcher recurses once for each character: a line of megabytes would overflow the stack.
constexpr std::size_t longest_line = 4096;
// "(.*) ms" takes four steps for each pair of characters of a line without a match. A step takes some nanoseconds.
constexpr std::uint64_t max_steps_per_line = 100'000'000;

struct TooManySteps {};

/// A position in a line, with the number of remaining steps.
class CountingIterator {
 public:
  using iterator_category = std::bidirectional_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator() = default;
  CountingIterator(const char* at, std::uint64_t& left) : at_(at), left_(&left) {}

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
    if (left_ && (*left_)-- == 0) throw TooManySteps();
  }

  const char* at_ = nullptr;
  std::uint64_t* left_ = nullptr;
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
    std::uint64_t left = max_steps_per_line;
    try {
      std::match_results<CountingIterator> match;
      const CountingIterator first(line.data(), left), last(line.data() + line.size(), left);
      const bool matches = std::regex_search(first, last, match, regex_);
      left = max_steps_per_line;  // for the copy of the match
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
  search(text, [&](const std::match_results<CountingIterator>& match) {
    const auto& group = match.size() > 1 ? match[1] : match[0];
    last = Match{group.str(), group.matched ? std::string(group.second, match.suffix().second) : std::string()};
    return true;
  });
  return last;
}

bool LinePattern::matches(const std::string& text) const {
  bool any = false;
  search(text, [&](const std::match_results<CountingIterator>&) {
    any = true;
    return false;
  });
  return any;
}

}  // namespace xtune::process
