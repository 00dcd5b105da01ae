// Text for HTML and SVG: what users wrote becomes text and nothing else.
#pragma once

#include <string>
#include <string_view>

namespace xtune::plot {

/// For text and for attribute values in quotes. Control characters and invalid UTF-8 become visible escapes, line ends
/// stay.
std::string escaped(std::string_view text);

/// A coordinate with at most one decimal: "12", "12.5".
std::string coordinate(double value);

/// A number with at most `digits` significant digits and without an exponent where that stays short: "0.25", "1200".
std::string short_number(double value, int digits = 3);

/// The text itself, or its first characters and an ellipsis: `limit` characters at most.
std::string shortened(std::string_view text, std::size_t limit);

/// How many characters a text has, by its code points.
std::size_t characters(std::string_view text);

}  // namespace xtune::plot
