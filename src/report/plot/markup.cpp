// Escapes for HTML and SVG, and short numbers.
#include "report/plot/markup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"

namespace xtune::report::plot {

namespace {

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : base::printable_lines(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string coordinate(double value) {
  const double rounded = std::round(value * 10) / 10;
  return rounded == 0 ? "0" : fmt::format("{:g}", rounded);
}

std::string short_number(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-3 || size >= 1e7)) return fmt::format("{:.{}g}", value, digits);
  const int before = size < 1 ? 1 : static_cast<int>(std::floor(std::log10(size))) + 1;
  int decimals = std::max(0, digits - before);
  if (size != 0 && size < 1) decimals = digits - 1 - static_cast<int>(std::floor(std::log10(size)));
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

std::string shortened(std::string_view text, std::size_t limit) {
  if (characters(text) <= limit || limit == 0) return std::string(text);
  std::size_t end = 0;
  for (std::size_t count = 0; end < text.size() && count + 1 < limit; ++count) do
      ++end;
    while (end < text.size() && continues_character(text[end]));
  return std::string(text.substr(0, end)) + "\u2026";
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
}

}  // namespace xtune::report::plot
