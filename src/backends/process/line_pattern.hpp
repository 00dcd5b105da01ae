// A regular expression from the user, matched line by line with a limit on its work.
#pragma once

#include <optional>
#include <regex>
#include <string>

namespace xtune::process {

/// An ECMAScript expression. Only the first 4096 bytes of each line are searched.
class LinePattern {
 public:
  explicit LinePattern(const std::string& expression) : expression_(expression), regex_(expression) {}

  struct Match {
    std::string text;   ///< the first group, or the whole match
    std::string after;  ///< the rest of the line
  };
  /// The match in the last line of which any part matches; nullopt: none. Throws NoNumber for an expression that takes
  /// too many steps, such as a repeated repetition: "(a+)+".
  std::optional<Match> last_match(const std::string& text) const;
  /// Whether any part of a line matches. Throws as above.
  bool matches(const std::string& text) const;

 private:
  template <class Found>
  void search(const std::string& text, const Found& found) const;

  std::string expression_;
  std::regex regex_;
};

}  // namespace xtune::process
