// Column layout of render_table.
#include "report/table.hpp"

#include <algorithm>
#include <cctype>

#include "base/text.hpp"

namespace xtune::report {
namespace {

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

bool numeric(const std::string& text) {
  return !text.empty() && (std::isdigit(static_cast<unsigned char>(text[0])) ||
                           (text[0] == '-' && text.size() > 1 && std::isdigit(static_cast<unsigned char>(text[1]))));
}

}  // namespace

std::string render_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& given) {
  std::vector<std::vector<std::string>> rows = given;
  for (auto& row : rows)
    for (std::string& cell : row) cell = base::one_line(cell);
  std::vector<std::size_t> widths;
  std::vector<bool> right(header.size(), true);
  for (const std::string& cell : header) widths.push_back(width_of(cell));
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size() && i < header.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(row[i]));
      if (!row[i].empty() && row[i] != "-" && !numeric(row[i])) right[i] = false;
    }
  std::string text;
  const auto add = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t i = 0; i < header.size(); ++i) {
      const std::string cell = i < row.size() ? row[i] : "";
      const std::string padding(widths[i] - width_of(cell), ' ');
      line += i ? "  " : "";
      line += right[i] ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add(header);
  std::vector<std::string> rule;
  for (const std::size_t width : widths) rule.emplace_back(width, '-');
  add(rule);
  for (const auto& row : rows) add(row);
  return text;
}

}  // namespace xtune::report
