// Few values each: a draft's space should be small enough to try.
#include "core/outline/value_ranges.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <initializer_list>

namespace xtune::outline {

namespace {

bool has_any(const std::string& name, std::initializer_list<const char*> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](const char* part) { return name.find(part) != name.npos; });
}

bool counts_threads(const std::string& name) {
  return has_any(name, {"BLOCK", "THREAD", "TPB"}) && !has_any(name, {"PER_", "MIN_"});
}

std::vector<Value> list(std::initializer_list<std::int64_t> values) { return {values.begin(), values.end()}; }

std::vector<Value> by_name(const std::string& name) {
  const bool one_of_several = name.size() > 2 && name[name.size() - 2] == '_';  // BLOCK_X, TILE_M
  if (has_any(name, {"USE_", "ENABLE_", "HAS_", "WITH_", "IS_", "PAD", "SKEW"})) return list({0, 1});
  if (has_any(name, {"STAGE"})) return list({2, 3, 4});
  if (has_any(name, {"UNROLL", "PER_", "VEC", "COARSEN", "ITEMS", "MIN_"})) return list({1, 2, 4});
  if (has_any(name, {"WARPS"})) return list({2, 4, 8});
  // Tiles of a matrix product.
  const bool matrix = one_of_several && (name.back() == 'M' || name.back() == 'N');
  if (matrix && name.starts_with("THREAD")) return list({2, 4, 8});
  if (matrix && has_any(name, {"BLOCK", "TILE"})) return list({32, 64, 128});
  if (has_any(name, {"TILE"}) || (counts_threads(name) && one_of_several)) return list({8, 16, 32});
  if (counts_threads(name)) return list({64, 128, 256});
  return list({1, 2, 4});
}

}  // namespace

std::vector<Value> plausible_values(const std::string& name, std::optional<std::int64_t> value, bool is_condition) {
  if (is_condition && value.value_or(0) <= 1) return list({0, 1});
  if (!value) return by_name(name);
  if (*value < 0) return {*value};
  if (*value == 0) return list({0, 1});
  constexpr std::int64_t most_threads = 1024, most = std::int64_t{1} << 40;
  std::vector<Value> values;
  if (*value > most) return {*value};
  const bool power = std::has_single_bit(static_cast<std::uint64_t>(*value));
  const std::int64_t least = std::max<std::int64_t>(1, *value / (power ? 4 : 2));
  const std::int64_t last = counts_threads(name) ? std::max(*value, std::min(*value * 4, most_threads)) : *value * 4;
  for (std::int64_t each = least; each <= last; each *= 2) {
    // Half of an odd number is rounded down: the default itself is always among the values.
    if (!power && each != *value && each * 2 > *value && each < *value) each = *value;
    values.emplace_back(each);
  }
  return values;
}

std::optional<std::int64_t> integer_of(const std::string& literal) {
  std::string digits = literal;
  while (!digits.empty() && (std::tolower(digits.back()) == 'u' || std::tolower(digits.back()) == 'l'))
    digits.pop_back();
  const bool hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
  if (hexadecimal) digits.erase(0, 2);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, hexadecimal ? 16 : 10);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::string macro_case(const std::string& name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    if (i > 0 && std::isupper(c) != 0 && std::islower(static_cast<unsigned char>(name[i - 1])) != 0) text += '_';
    text += static_cast<char>(std::toupper(c));
  }
  return text;
}

}  // namespace xtune::outline
