// Queries the terminal each time, because users resize it.
#include "cli/terminal.hpp"

#include <sys/ioctl.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace xtune::cli {
namespace {

constexpr std::size_t default_columns = 80, min_columns = 20;

std::size_t given_columns() {
  const char* const text = std::getenv("COLUMNS");
  if (!text) return 0;
  const std::string_view digits = text;
  std::size_t columns = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), columns);
  return error == std::errc() && end == digits.data() + digits.size() ? columns : 0;
}

}  // namespace

std::size_t terminal_width(int descriptor) {
  if (const std::size_t given = given_columns(); given >= min_columns) return given;
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col >= min_columns ? size.ws_col : default_columns;
}

}  // namespace xtune::cli
