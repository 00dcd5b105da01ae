// Candidates of tuning variables as lists of values.
#include "tools/kokkos/variables.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <set>
#include <string_view>

#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::kokkos_tools {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw Error(ErrorKind::unsupported, fmt::format("variable '{}': {}", base::printable(name, 120), why));
}

std::string_view view_of(const abi::Text& text) { return {text, ::strnlen(text, abi::text_bytes)}; }

std::vector<Value> set_values(const std::string& name, std::int32_t type, const abi::Set& set) {
  if (set.size > max_set_values)
    refuse(name, fmt::format("it has {} candidates (at most {} are possible)", set.size, max_set_values));
  const void* const place = set.values.integers;
  if (set.size > 0 && !place) refuse(name, "its candidates are missing");
  std::vector<Value> values;
  std::set<Value, bool (*)(const Value&, const Value&)> known([](const Value& a, const Value& b) { return a < b; });
  for (std::size_t i = 0; i < set.size; ++i) {
    abi::Value raw{};
    if (type == abi::type_integer)
      raw.integer = set.values.integers[i];
    else if (type == abi::type_double)
      raw.real = set.values.reals[i];
    else
      std::memcpy(raw.text, set.values.texts[i], abi::text_bytes);
    const auto value = read_value(type, raw);
    if (!value) refuse(name, fmt::format("candidate {} is not a finite number or valid text", i));
    if (known.insert(*value).second) values.push_back(*value);
  }
  return values;
}

/// Numbers of the steps of a range that are used: all, or max_range_values of them, with the first and the last.
std::vector<std::uint64_t> used_steps(const std::string& name, const abi::Range& range, std::uint64_t last,
                                      bool upper_is_step) {
  const std::uint64_t from = range.open_lower ? 1 : 0;
  const std::uint64_t below = last + (range.open_upper && upper_is_step ? 0 : 1);
  if (from >= below) refuse(name, "its range is empty");
  const std::uint64_t count = below - from, used = std::min<std::uint64_t>(count, max_range_values);
  std::vector<std::uint64_t> steps{from};
  for (std::uint64_t i = 1; i < used; ++i)
    // In two parts: the product of both may exceed 64 bits.
    steps.push_back(from + i * ((count - 1) / (used - 1)) + i * ((count - 1) % (used - 1)) / (used - 1));
  return steps;
}

std::vector<Value> integer_range(const std::string& name, const abi::Range& range) {
  const std::int64_t step = std::max<std::int64_t>(range.step.integer, 1);
  const std::int64_t lower = range.lower.integer, upper = range.upper.integer;
  if (lower > upper) refuse(name, "its range is empty");
  const std::uint64_t width = static_cast<std::uint64_t>(upper) - static_cast<std::uint64_t>(lower);
  const std::uint64_t last = std::min<std::uint64_t>(width / static_cast<std::uint64_t>(step), INT64_MAX);
  const bool upper_is_step = width % static_cast<std::uint64_t>(step) == 0;
  std::vector<Value> values;
  for (const std::uint64_t number : used_steps(name, range, last, upper_is_step))
    values.emplace_back(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(lower) + number * static_cast<std::uint64_t>(step)));
  return values;
}

/// The value without the last digits, in which a product has its rounding errors: 0.94905, not 0.9490500000000001.
double without_last_digits(double value) {
  const std::string text = fmt::format("{:.15g}", value);
  double rounded = value;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

std::vector<Value> real_range(const std::string& name, const abi::Range& range) {
  const double lower = range.lower.real, upper = range.upper.real;
  double step = range.step.real;
  if (!std::isfinite(lower) || !std::isfinite(upper) || !std::isfinite(step) || !std::isfinite(upper - lower))
    refuse(name, "its range is not finite");
  if (lower > upper) refuse(name, "its range is empty");
  if (!(step > 0)) step = (upper - lower) / (max_range_values - 1);
  if (!(step > 0)) return {Value(lower)};
  double steps = std::floor((upper - lower) / step * (1 + 1e-12));
  if (!(steps < 1e15)) {
    steps = max_range_values - 1;
    step = (upper - lower) / steps;
  }
  const auto last = static_cast<std::uint64_t>(steps);
  const bool upper_is_step = lower + static_cast<double>(last) * step >= upper - step * 1e-9;
  std::vector<Value> values;
  for (const std::uint64_t number : used_steps(name, range, last, upper_is_step))
    values.emplace_back(std::clamp(without_last_digits(lower + static_cast<double>(number) * step), lower, upper));
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace

Variable read_variable(const char* name, const abi::VariableInfo& info) {
  Variable variable{name ? name : "", info.type, {}};
  if (!base::is_utf8(variable.name)) variable.name = base::printable(variable.name);
  if (info.type < abi::type_double || info.type > abi::type_text)
    refuse(variable.name, fmt::format("its type {} is unknown", info.type));
  if (info.candidate_kind == abi::candidates_set)
    variable.values = set_values(variable.name, info.type, info.candidates.set);
  else if (info.candidate_kind == abi::candidates_range && info.type == abi::type_integer)
    variable.values = integer_range(variable.name, info.candidates.range);
  else if (info.candidate_kind == abi::candidates_range && info.type == abi::type_double)
    variable.values = real_range(variable.name, info.candidates.range);
  else
    refuse(variable.name, "it has neither a set nor a range of candidates");
  if (variable.values.empty()) refuse(variable.name, "it has no candidates");
  return variable;
}

bool write_value(std::int32_t type, const Value& value, abi::Value& out) {
  if (const auto* integer = std::get_if<std::int64_t>(&value); integer && type == abi::type_integer) {
    out.integer = *integer;
  } else if (const auto* real = std::get_if<double>(&value); real && type == abi::type_double) {
    out.real = *real;
  } else if (const auto* text = std::get_if<std::string>(&value);
             text && type == abi::type_text && text->size() < abi::text_bytes) {
    std::memset(out.text, 0, abi::text_bytes);
    std::memcpy(out.text, text->data(), text->size());
  } else {
    return false;
  }
  return true;
}

std::optional<Value> read_value(std::int32_t type, const abi::Value& value) {
  if (type == abi::type_integer) return Value(value.integer);
  if (type == abi::type_double && std::isfinite(value.real)) return Value(value.real);
  if (type == abi::type_text && view_of(value.text).size() < abi::text_bytes && base::is_utf8(view_of(value.text)))
    return Value(view_of(value.text));
  return std::nullopt;
}

}  // namespace xtune::kokkos_tools
