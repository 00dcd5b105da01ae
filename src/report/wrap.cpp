// Breaks only at spaces.
#include "report/wrap.hpp"

#include <algorithm>
#include <sstream>

namespace xtune::report {

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

void add_wrapped(std::string& text, std::string_view paragraph, std::size_t column, std::size_t hang, std::size_t width,
                 std::string_view line_end) {
  std::istringstream words{std::string(paragraph)};
  bool first = true;
  for (std::string word; words >> word; first = false) {
    const std::size_t columns = columns_of(word);
    if (!first && column + 1 + columns + (line_end.size() - 1) > width) {
      text.append(line_end).append(hang, ' ');
      column = hang;
    } else if (!first) {
      text += ' ';
      ++column;
    }
    text += word;
    column += columns;
  }
  text += '\n';
}

std::string wrapped_lines(const std::string& text, std::size_t width) {
  std::string wrapped;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (columns_of(line) <= width) {
      wrapped += line + '\n';
      continue;
    }
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t label = line.find(": ");
    const bool labelled = label != std::string::npos && line.find(' ', indent) == label + 1;
    wrapped.append(indent, ' ');
    add_wrapped(wrapped, line, indent, labelled ? label + 2 : indent + 2, width);
  }
  return wrapped;
}

}  // namespace xtune::report
