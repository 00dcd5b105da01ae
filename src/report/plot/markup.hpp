// HTML and SVG as text.
#pragma once

#include <string>
#include <string_view>

namespace xtune::report::plot {

/// For text and for quoted attribute values. Control characters and invalid UTF-8 become visible escapes; line ends are
/// kept.
std::string escaped(std::string_view text);

/// A coordinate with at most one decimal: "12", "12.5".
std::string coordinate(double value);

/// A number with up to `digits` significant digits, without an exponent if it is short enough: "0.25", "1200".
std::string short_number(double value, int digits = 3);

/// The text itself, or its first characters and an ellipsis: up to `limit` characters.
std::string shortened(std::string_view text, std::size_t limit);

/// The number of characters in a text, by code points.
std::size_t characters(std::string_view text);

}  // namespace xtune::report::plot
