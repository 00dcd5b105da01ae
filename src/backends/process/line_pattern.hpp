// A regular expression of the user's, matched line by line with a limit on its work.
#pragma once

#include <optional>
#include <regex>
#include <string>

namespace xtune::process {

/// An ECMAScript expression. Of each line the first 4096 bytes are looked at.
class LinePattern {
 public:
  explicit LinePattern(const std::string& expression) : expression_(expression), regex_(expression) {}

  struct Match {
    std::string text;   ///< the first group, or the whole match
    std::string after;  ///< the rest of the line
  };
  /// In the last line that matches any part of it; nullopt: none does. Throws NoNumber for an expression that takes too
  /// many steps, as those do that repeat a repetition: "(a+)+".
  std::optional<Match> last_match(const std::string& text) const;
  /// Whether a line matches: any part of it. Throws as above.
  bool matches(const std::string& text) const;

 private:
  template <class Found>
  void search(const std::string& text, const Found& found) const;

  std::string expression_;
  std::regex regex_;
};

}  // namespace xtune::process
