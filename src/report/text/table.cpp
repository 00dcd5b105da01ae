// Wrapping, and the column layout of render_table.
#include "report/text/table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/text.hpp"

namespace xtune::report {

std::size_t columns_of(std::string_view text) {
  const std::string shown = base::painted(text, false);
  return static_cast<std::size_t>(
      std::count_if(shown.begin(), shown.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

namespace {

/// Takes the next word from the text; empty: there is none.
std::string_view next_word(std::string_view& text) {
  text = base::trimmed(text);
  std::size_t end = 0;
  while (end < text.size() && !std::isspace(static_cast<unsigned char>(text[end]))) {
    const std::size_t close = text[end] == '`' ? text.find('`', end + 1) : std::string_view::npos;
    end = close == std::string_view::npos ? end + 1 : close + 1;
  }
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

/// Whether a compiler, or xtune in a spec, marks a part of the line before with it.
bool is_caret_line(std::string_view line) {
  return line.find('^') != std::string_view::npos && line.find_first_not_of(" |^~") == std::string_view::npos;
}

}  // namespace

void add_wrapped(std::string& text, std::string_view paragraph, std::size_t column, std::size_t hang, std::size_t width,
                 std::string_view line_end) {
  bool first = true;
  for (std::string_view word; !(word = next_word(paragraph)).empty(); first = false) {
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
  const std::vector<std::string_view> lines = base::split_lines(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    if (columns_of(line) <= width || (i + 1 < lines.size() && is_caret_line(lines[i + 1])) || is_caret_line(line)) {
      wrapped.append(line).append("\n");
      continue;
    }
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t label = line.find(": ");
    const bool labelled = label != std::string_view::npos && line.find(' ', indent) == label + 1;
    const std::size_t start = labelled ? std::min(line.find_first_not_of(' ', label + 1), line.size()) : indent;
    const std::string_view opening = line.substr(0, start);
    const std::size_t hang = columns_of(opening) + (labelled ? 0 : 2);
    wrapped.append(opening);
    add_wrapped(wrapped, line.substr(start), columns_of(opening), std::min(hang, width / 2), width);
  }
  return wrapped;
}

namespace {

bool numeric(const std::string& text) {
  return !text.empty() && (std::isdigit(static_cast<unsigned char>(text[0])) ||
                           (text[0] == '-' && text.size() > 1 && std::isdigit(static_cast<unsigned char>(text[1]))));
}

using Rows = std::vector<std::vector<std::string>>;
using Kind = FittedTable::Kind;

struct Layout {
  std::vector<std::string> header;
  Rows rows;
  Rows below;  ///< the texts below each row, in their order
};

/// The columns that are not omitted, without the parameters that have one value in all rows, which are added to `same`.
std::vector<std::size_t> shown_columns(const FittedTable& table, std::string& same) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const auto& [title, kind] = table.columns[i];
    const auto all_are = [&](const std::string& cell) {
      return std::all_of(table.rows.begin(), table.rows.end(), [&](const auto& row) { return row[i] == cell; });
    };
    const bool uniform = table.rows.empty() || all_are(table.rows.front()[i]);
    if ((kind == Kind::remark && all_are("")) || (kind == Kind::context && uniform)) continue;
    if (kind == Kind::parameter && uniform && table.rows.size() > 1)
      same += (same.empty() ? "" : " ") + title + "=" + base::one_line(table.rows.front()[i]);
    else
      shown.push_back(i);
  }
  return shown;
}

const std::string as_above = "as above";

/// The table with its first texts as columns, and with the parameters as columns or not.
Layout layout_of(const FittedTable& table, const std::vector<std::size_t>& shown, std::size_t text_columns,
                 bool parameter_columns) {
  Layout layout{{}, Rows(table.rows.size()), Rows(table.rows.size())};
  for (const std::size_t i : shown) {
    const auto& [title, kind] = table.columns[i];
    const bool is_column = kind == Kind::fixed || (kind == Kind::parameter ? parameter_columns : text_columns > 0);
    if (kind > Kind::parameter && text_columns > 0) --text_columns;
    if (is_column) layout.header.push_back(title);
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      const bool repeats = kind == Kind::remark && row > 0 && !table.rows[row][i].empty() &&
                           table.rows[row][i] == table.rows[row - 1][i];
      const std::string& cell = repeats ? as_above : table.rows[row][i];
      std::vector<std::string>& below = layout.below[row];
      if (is_column)
        layout.rows[row].push_back(cell);
      else if (repeats && !below.empty())
        below.back() += ": " + cell;
      else if (kind == Kind::parameter && !below.empty())
        below.front() += " " + title + "=" + cell;
      else
        below.push_back(kind == Kind::parameter ? title + "=" + cell : cell);
    }
  }
  return layout;
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  for (const std::string_view line : base::split_lines(text)) longest = std::max(longest, columns_of(line));
  return longest;
}

/// The lines of a rendered table with the texts below each row.
std::string with_below(const std::string& table, const Layout& layout, std::size_t width) {
  std::string text;
  const std::size_t indent = layout.rows.empty() ? 0 : columns_of(layout.rows.back().front()) + 2;
  std::size_t row = 0;
  for (std::size_t number = 0; const std::string_view line : base::split_lines(table)) {
    text.append(line).append("\n");
    if (number++ < 2) continue;  // the header and its rule
    for (const std::string& below : layout.below[row++]) {
      if (below.empty()) continue;
      text.append(indent, ' ');
      add_wrapped(text, base::one_line(below), indent, indent, width);
    }
  }
  return text;
}

}  // namespace

std::string render_fitted(const FittedTable& table, std::size_t width) {
  std::string same;
  const std::vector<std::size_t> shown = shown_columns(table, same);
  const auto texts = static_cast<std::size_t>(std::count_if(
      shown.begin(), shown.end(), [&](std::size_t i) { return table.columns[i].kind > Kind::parameter; }));
  std::string text;
  for (std::size_t columns = texts + 1;; --columns) {
    const bool parameters = columns > 0;
    const Layout layout = layout_of(table, shown, parameters ? columns - 1 : 0, parameters);
    const std::string plain = render_table(layout.header, layout.rows);
    if (parameters && longest_line(plain) > width) continue;
    text = with_below(plain, layout, width);
    break;
  }
  if (!table.end.empty()) text += table.end + "\n";
  if (!same.empty()) add_wrapped(text, "same in all rows: " + same, 0, 2, width);
  return text;
}

std::string render_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& given) {
  std::vector<std::vector<std::string>> rows = given;
  for (auto& row : rows)
    for (std::string& cell : row) cell = base::one_line(cell);
  std::vector<std::size_t> widths;
  std::vector<bool> right(header.size(), true);
  for (const std::string& cell : header) widths.push_back(columns_of(cell));
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size() && i < header.size(); ++i) {
      widths[i] = std::max(widths[i], columns_of(row[i]));
      if (!row[i].empty() && row[i] != "-" && !numeric(row[i])) right[i] = false;
    }
  std::string text;
  const auto add = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t i = 0; i < header.size(); ++i) {
      const std::string cell = i < row.size() ? row[i] : "";
      const std::string padding(widths[i] - columns_of(cell), ' ');
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
