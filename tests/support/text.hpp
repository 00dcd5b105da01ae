// Whether a text holds a part, so that a failed CHECK prints the text.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace xtune::test {

struct Found {
  bool found;
  std::string text;
  operator bool() const { return found; }
  friend std::ostream& operator<<(std::ostream& out, const Found& result) { return out << result.text; }
};

inline Found has(const std::string& text, const std::string& part) {
  return {text.find(part) != std::string::npos, text};
}

/// Whether one of the texts holds the part.
inline Found any_has(const std::vector<std::string>& texts, const std::string& part) {
  Found result{false, ""};
  for (const std::string& text : texts) {
    result.found |= has(text, part);
    result.text += text + "\n";
  }
  return result;
}

}  // namespace xtune::test
