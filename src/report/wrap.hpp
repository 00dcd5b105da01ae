// Breaks text into lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace xtune::report {

/// Columns that a text takes: its code points.
std::size_t columns_of(std::string_view text);

/// Appends the words of a paragraph and a line end. `column` is where the line stands that was begun; further lines
/// begin at `hang`, and none is longer than `width` as long as the words allow it. line_end ends the lines but the
/// last.
void add_wrapped(std::string& text, std::string_view paragraph, std::size_t column, std::size_t hang, std::size_t width,
                 std::string_view line_end = "\n");

/// The text with its lines that are longer than `width` wrapped, under the words behind their first one where they
/// begin with a label ("best: ..."), else under their own beginning.
std::string wrapped_lines(const std::string& text, std::size_t width);

}  // namespace xtune::report
