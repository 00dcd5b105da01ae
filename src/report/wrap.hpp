// Breaks text into lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace xtune::report {

/// The width of a text in columns: its code points.
std::size_t columns_of(std::string_view text);

/// Appends the words of a paragraph and a line end. `column` is the current position in the first line; further lines
/// begin at `hang`, and none is longer than `width`, as far as the words allow. line_end ends all lines except the
/// last.
void add_wrapped(std::string& text, std::string_view paragraph, std::size_t column, std::size_t hang, std::size_t width,
                 std::string_view line_end = "\n");

/// Wraps the lines that are longer than `width`. Continuation lines are indented after the label if the line begins
/// with one ("best: ..."), else like the line itself.
std::string wrapped_lines(const std::string& text, std::size_t width);

}  // namespace xtune::report
