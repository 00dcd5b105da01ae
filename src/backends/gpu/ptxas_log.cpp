// The parser of ptxas' report.
#include "backends/gpu/ptxas_log.hpp"

#include <algorithm>
#include <charconv>

#include "base/text.hpp"

namespace xtune::gpu {
namespace {

/// The number before `words` in a line, such as 1404 before "bytes spill stores".
std::optional<std::int64_t> number_before(std::string_view line, std::string_view words) {
  const auto at = line.find(words);
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  auto end = line.find_last_not_of(' ', at - 1);
  if (end == std::string_view::npos) return std::nullopt;
  auto begin = line.find_last_not_of("0123456789", end);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  std::int64_t number = 0;
  const auto [last, error] = std::from_chars(line.data() + begin, line.data() + end + 1, number);
  if (error != std::errc() || last != line.data() + end + 1 || begin > end) return std::nullopt;
  return number;
}

/// The text between `words` and `stop` (or the end of the line): the name in "Function properties for NAME".
std::string_view text_after(std::string_view line, std::string_view words, char stop) {
  const auto at = line.find(words);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + words.size());
  line = line.substr(0, line.find(stop));
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
  return line;
}

std::optional<int> as_int(std::optional<std::int64_t> number) {
  if (!number || *number > 1'000'000'000) return std::nullopt;
  return static_cast<int>(*number);
}

}  // namespace

build::ResourceUsage parse_ptxas_log(std::string_view log, std::string_view entry_symbol) {
  build::ResourceUsage usage;
  // "Used n registers" belongs to the entry being compiled; the stack and spill line to the function named just before,
  // which may be a device function that the entry calls.
  bool in_entry = false, in_function = false;
  for (const std::string_view line : base::split_lines(log)) {
    if (const auto name = text_after(line, "Compiling entry function '", '\''); !name.empty()) {
      in_entry = in_function = name == entry_symbol;
    } else if (const auto function = text_after(line, "Function properties for ", '\n'); !function.empty()) {
      in_function = function == entry_symbol || function == "'" + std::string(entry_symbol) + "'";
    } else if (line.find("bytes spill stores") != std::string_view::npos) {
      if (in_function) usage.spilled_bytes = number_before(line, "bytes spill stores");
    } else if (in_entry && line.find("Used ") != std::string_view::npos) {
      usage.registers = as_int(number_before(line, "registers"));
      usage.static_shared_bytes = number_before(line, "bytes smem").value_or(0);
    }
  }
  return usage;
}

std::int64_t largest_static_shared(std::string_view log) {
  std::int64_t largest = 0;
  for (const std::string_view line : base::split_lines(log))
    largest = std::max(largest, number_before(line, "bytes smem").value_or(0));
  return largest;
}

}  // namespace xtune::gpu
