// -D NAME=value: another problem size, or a parameter pinned to one value.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/space/value.hpp"
#include "core/spec/reader.hpp"
#include "xtune/error.hpp"

namespace xtune::spec {

namespace {

template <class Number>
std::optional<Number> parse_number(const std::string& text) {
  Number number{};
  const char* const first = text.data() + (text.size() > 1 && text[0] == '+' ? 1 : 0);
  const char* const last = text.data() + text.size();
  const auto [stop, error] = std::from_chars(first, last, number);
  return stop == last && error == std::errc() ? std::optional(number) : std::nullopt;
}

// The text as a value of the name's type. option: that of the command line, for errors.
Value parse_like(const std::string& name, const std::string& text, const Value& own, const std::string& option = "-D") {
  std::optional<Value> value;
  if (std::holds_alternative<std::string>(own)) value = text;
  if (std::holds_alternative<std::int64_t>(own))
    if (const auto number = parse_number<std::int64_t>(text)) value = *number;
  if (std::holds_alternative<double>(own))
    if (const auto number = parse_number<double>(text); number && std::isfinite(*number)) value = *number;
  if (std::holds_alternative<bool>(own)) {
    if (text == "true" || text == "1") value = true;
    if (text == "false" || text == "0") value = false;
  }
  if (!value)
    throw Error(ErrorKind::invalid_argument,
                option + " " + name + "=" + base::one_line(base::printable(text, 80)) + ": " + name + " is " +
                    (std::holds_alternative<std::int64_t>(own) ? "an " : "a ") + space::type_name(own) + ", and '" +
                    base::printable(text, 80) + "' is not");
  space::require_utf8(option + " " + name, *value);
  return *value;
}

bool set_problem(Spec& spec, const std::string& name, const std::string& text) {
  const auto own = spec.cases.front().find(name);
  if (own == spec.cases.front().end()) return false;
  const Value before = own->second;
  const Value value = parse_like(name, text, before);
  bool changed = false;
  for (Bindings& problem : spec.cases) {
    changed = changed || problem[name] != value;
    problem[name] = value;
  }
  std::vector<Bindings> distinct;  // cases that differed only in this name have become one
  for (Bindings& problem : spec.cases)
    if (std::find(distinct.begin(), distinct.end(), problem) == distinct.end()) distinct.push_back(std::move(problem));
  const bool several = spec.cases.size() > 1;
  spec.cases = std::move(distinct);
  if (changed && several) spec.notes.push_back("-D " + name + " = " + space::shown_text(value) + " in every case");
  return true;
}

bool pin_parameter(Spec& spec, const std::string& name, const std::string& text) {
  space::Parameter* const parameter = base::find_named(spec.parameters, name);
  if (!parameter) return false;
  const Value value = parse_like(name, text, parameter->values.front());
  const bool listed = std::find(parameter->values.begin(), parameter->values.end(), value) != parameter->values.end();
  if (!listed)
    spec.notes.push_back("-D " + name + " = " + space::shown_text(value) + " (not among " +
                         values_text(parameter->values) + ")");
  parameter->values = {value};
  return true;
}

}  // namespace

std::string values_text(const std::vector<Value>& values) {
  std::string text;
  constexpr std::size_t most = 8;
  for (std::size_t i = 0; i < std::min(values.size(), most); ++i)
    text += (i == 0 ? "" : ", ") + space::shown_text(values[i]);
  return "[" + text + (values.size() > most ? ", ...]" : "]");
}

void apply_choices(Reader& reader, const Defines& choices) {
  for (const auto& [name, text] : choices) {
    space::Parameter* const parameter = base::find_named(reader.spec.parameters, name);
    if (!parameter) {
      std::vector<std::string> names;
      for (const space::Parameter& known : reader.spec.parameters) names.push_back(known.name);
      throw Error(ErrorKind::invalid_argument, "--config " + base::printable(name, 80) + ": not a parameter of " +
                                                   reader.document.at({}).file + base::did_you_mean(name, names));
    }
    const Value value = parse_like(name, text, parameter->values.front(), "--config");
    if (std::find(parameter->values.begin(), parameter->values.end(), value) == parameter->values.end())
      throw Error(ErrorKind::invalid_argument,
                  "--config " + name + "=" + space::shown_text(value) + ": not among the values of " + name +
                      ", which are " + values_text(parameter->values) + "; -D pins a parameter to any value");
    parameter->values = {value};
  }
}

void apply_defines(Reader& reader, const Defines& defines) {
  Spec& spec = reader.spec;
  for (const auto& [name, text] : defines) {
    if (set_problem(spec, name, text) || pin_parameter(spec, name, text)) continue;
    std::vector<std::string> names;
    for (const auto& [known, value] : spec.cases.front()) names.push_back(known);
    for (const space::Parameter& parameter : spec.parameters) names.push_back(parameter.name);
    throw Error(ErrorKind::invalid_argument, "-D " + base::printable(name, 80) +
                                                 ": neither a problem size nor a parameter of " +
                                                 reader.document.at({}).file + base::did_you_mean(name, names));
  }
}

}  // namespace xtune::spec
