// The texts of a spec for one configuration: their values, or the errors.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.hpp"
#include "core/resolve/resolve_state.hpp"
#include "core/space/value.hpp"
#include "system/machine.hpp"
#include "xtune/error.hpp"

namespace xtune::resolve {

namespace {

constexpr std::int64_t max_launch_extent = std::numeric_limits<std::uint32_t>::max();

}  // namespace

std::string text_and_value(const std::string& text, const std::string& value) {
  return text == value ? value : text + " = " + value;
}

std::optional<measure::ScalarArgument> encode_scalar(DType type, const Value& value) {
  measure::ScalarArgument scalar;
  scalar.size = size_of(type);
  if (std::holds_alternative<std::string>(value)) return std::nullopt;
  if (const auto* number = std::get_if<double>(&value)) {
    spec::encode(type, *number, scalar.bytes.data());
    const double encoded = spec::decode(type, scalar.bytes.data());
    // A float is accepted for an integer argument if nothing is lost: M / 2 is a float in this language.
    const bool rounds = spec::is_floating(type) && std::isfinite(*number);
    const bool fits =
        rounds ? std::isfinite(encoded) : encoded == *number || (std::isnan(encoded) && std::isnan(*number));
    return fits ? std::optional(scalar) : std::nullopt;
  }
  const auto* integer = std::get_if<std::int64_t>(&value);
  const std::int64_t whole = integer ? *integer : std::get<bool>(value);
  spec::encode(type, whole, scalar.bytes.data());
  const bool wide = type == DType::i64 || type == DType::u64;
  if (type == DType::u64 && whole < 0) return std::nullopt;
  if (wide) return scalar;
  const double encoded = spec::decode(type, scalar.bytes.data());
  const bool fits = spec::is_floating(type) ? std::isfinite(encoded) : encoded == static_cast<double>(whole);
  return fits ? std::optional(scalar) : std::nullopt;
}

void CandidateResolver::State::reject(const std::vector<const spec::CompiledText*>& texts, const space::Config& config,
                                      const spec::Location& at, const std::string& complaint, Limit limit) const {
  const space::Lookup names = lookup(config);
  std::vector<std::string> named;  // in the order of the texts
  for (const spec::CompiledText* text : texts)
    for (const spec::CompiledText::Part& part : text->parts())
      for (const space::Expression& expression : part.expression)
        for (const std::string& name : expression.names()) base::add_once(named, name);
  std::string values;
  bool parameter_named = false;
  for (const std::string& name : named) {
    const Value* const value = names(name);
    if (value == nullptr) continue;
    parameter_named = parameter_named || value != constant(name);
    values += (values.empty() ? " (" : ", ") + name + " = " + space::shown_text(*value);
  }
  if (parameter_named) throw NoValue(at, complaint + values + ")");
  if (limit == Limit::of_device) throw NoValue(at, complaint);
  throw spec::spec_error(spec, at, complaint);
}

std::string CandidateResolver::State::expanded(const spec::CompiledText& text, const space::Config& config) const {
  try {
    return valued(text, config, [&](const spec::CompiledText& t) { return t.expand(lookup(config)); });
  } catch (const NoValue& failure) {
    return "(" + failure.complaint + ")";
  }
}

void CandidateResolver::State::check_templates(const space::Config& config) const {
  const space::Lookup names = lookup(config);
  const auto check = [&](const spec::CompiledText& text) {
    valued(text, config, [&](const spec::CompiledText& t) { return t.expand(names); });
  };
  for (const CompiledStep& step : steps)
    if (step.when) valued(*step.when, config, [&](const spec::CompiledText& t) { return t.evaluate(names); });
  for (const CompiledStep* const step : steps_at(steps, names)) check(step->entry);
  for (const auto* texts : {&options, &defines})
    for (const spec::CompiledText& text : *texts) check(text);
  for (const ArgumentText& variable : variables) check(variable.text);
}

measure::ScalarArgument CandidateResolver::State::scalar(std::size_t number, const space::Config& config) const {
  const spec::ArgSpec& argument = *scalar_values[number].argument;
  const spec::CompiledText& text = scalar_values[number].text;
  const Value value = valued(text, config, [&](const spec::CompiledText& t) { return t.evaluate(lookup(config)); });
  if (const auto encoded = encode_scalar(argument.dtype, value)) return *encoded;
  reject({&text}, config, argument.value->at,
         fmt::format("argument '{}': {} does not fit {}", argument.name,
                     text_and_value(argument.value->text, space::shown_text(value)), to_string(argument.dtype)));
}

std::vector<validate::ArgumentLayout> CandidateResolver::scratch(const space::Config& config) const {
  std::vector<validate::ArgumentLayout> result;
  const space::Lookup names = state_->lookup(config);
  const std::int64_t memory_bytes = state_->device.memory_bytes;
  const std::uint64_t limit =
      memory_bytes > 0 ? static_cast<std::uint64_t>(memory_bytes) : system::machine_memory_bytes();
  for (const ScratchTexts& texts : state_->buffers.scratch) {
    const spec::ArgSpec& argument = *texts.argument;
    validate::ArgumentLayout layout{
        argument.name, argument.role, argument.dtype, {}, argument.fill, {}, spec::to_string(argument.at)};
    for (const spec::CompiledText& text : texts.shape) {
      const std::int64_t extent =
          state_->valued(text, config, [&](const spec::CompiledText& t) { return t.evaluate_integer(names); });
      if (extent <= 0)
        state_->reject({&text}, config, text.source().at,
                       fmt::format("scratch buffer '{}': its extent {} = {} must be at least 1", argument.name,
                                   text.source().text, extent));
      layout.shape.push_back(static_cast<std::uint64_t>(extent));
    }
    if (limit > 0 && layout.bytes() > limit) {
      std::vector<const spec::CompiledText*> extents;
      for (const spec::CompiledText& text : texts.shape) extents.push_back(&text);
      const spec::Location& at = texts.shape.front().source().at;
      const std::string complaint = fmt::format("scratch buffer '{}': {} takes {}, and the device has {}",
                                                argument.name, validate::describe(argument.dtype, layout.shape),
                                                base::human_bytes(layout.bytes()), base::human_bytes(limit));
      state_->reject(extents, config, at, complaint, State::Limit::of_device);
    }
    result.push_back(std::move(layout));
  }
  return result;
}

device::Launch CandidateResolver::State::resolve(const CompiledLaunch& texts, const space::Config& config) const {
  const space::Lookup names = lookup(config);
  const auto number = [&](const spec::CompiledText& text, const std::string& what, std::int64_t least) {
    const std::int64_t value =
        valued(text, config, [&](const spec::CompiledText& t) { return t.evaluate_integer(names); });
    if (value < least || value > max_launch_extent) {
      const std::string complaint =
          fmt::format("{}: {}, but a launch takes {} to {}", what,
                      text_and_value(text.source().text, std::to_string(value)), least, max_launch_extent);
      reject({&text}, config, text.source().at, complaint, Limit::of_device);
    }
    return static_cast<std::uint32_t>(value);
  };
  const auto extents = [&](const std::vector<spec::CompiledText>& sizes, const char* what) {
    std::array<std::uint32_t, 3> result{1, 1, 1};
    for (std::size_t i = 0; i < std::min<std::size_t>(sizes.size(), 3); ++i)
      result[i] = number(sizes[i], fmt::format("{}[{}]", what, i), 1);
    return result;
  };
  device::Launch resolved;
  resolved.grid = extents(texts.grid, "grid");
  resolved.block = extents(texts.block, "block");
  if (!texts.cluster.empty()) resolved.cluster = extents(texts.cluster, "cluster");
  if (texts.shared) resolved.shared_bytes = number(*texts.shared, "shared", 0);
  return resolved;
}

}  // namespace xtune::resolve
