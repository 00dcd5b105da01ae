// U+FDD0 and the following ones begin a style; U+FDEF ends it.
#include "base/style.hpp"

#include <cstddef>
#include <iterator>

namespace xtune::base {
namespace {

constexpr std::string_view mark_lead = "\xEF\xB7";
constexpr unsigned char first_mark = 0x90, end_mark = 0xAF;
/// Select Graphic Rendition of ECMA-48, by Style.
constexpr const char* style_codes[] = {"\x1b[1;32m", "\x1b[1;31m", "\x1b[33m", "\x1b[2m"};
constexpr const char* style_reset = "\x1b[0m";

}  // namespace

std::string styled(Style style, std::string_view text) {
  std::string marked(mark_lead);
  marked += static_cast<char>(first_mark + static_cast<unsigned char>(style));
  marked += text;
  marked += mark_lead;
  return marked += static_cast<char>(end_mark);
}

std::string painted(std::string_view text, bool colours) {
  std::string result;
  bool open = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t mark = text.find(mark_lead, at);
    const auto kind = mark + 2 < text.size() && mark != std::string_view::npos
                          ? static_cast<unsigned char>(text[mark + 2])
                          : static_cast<unsigned char>(0);
    if (kind < first_mark || kind > end_mark) {  // not a mark: another character
      const std::size_t stop = mark == std::string_view::npos ? text.size() : mark + 1;
      result += text.substr(at, stop - at);
      at = stop;
      continue;
    }
    result += text.substr(at, mark - at);
    if (colours && kind < first_mark + std::size(style_codes)) {
      result += style_codes[kind - first_mark];
      open = true;
    } else if (open && kind == end_mark) {
      result += style_reset;
      open = false;
    }
    at = mark + 3;
  }
  return open ? result + style_reset : result;
}

}  // namespace xtune::base
