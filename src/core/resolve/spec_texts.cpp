// The texts of a spec for one configuration: their values, or the errors.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/resolve/resolve_state.hpp"
#include "core/space/value.hpp"
#include "core/spec/process_spec.hpp"
#include "system/machine.hpp"
#include "xtune/error.hpp"

namespace xtune::resolve {

namespace {

constexpr std::int64_t max_launch_extent = std::numeric_limits<std::uint32_t>::max();

// Strings are quoted, so that "1" differs from 1.
std::string typed_text(const Value& value) {
  return std::holds_alternative<std::string>(value) ? "'" + to_text(value) + "'" : to_text(value);
}

std::vector<spec::CompiledText> compile_expressions(const std::vector<spec::Text>& texts) {
  std::vector<spec::CompiledText> result;
  for (const spec::Text& text : texts) result.push_back(spec::CompiledText::expression(text));
  return result;
}

TensorMapTexts compile_map(const spec::ArgSpec& argument, const spec::ArgSpec& of) {
  const spec::TensorMapSpec& map = *argument.map;
  const auto one = [](const std::optional<spec::Text>& text) {
    return text ? std::optional(spec::CompiledText::expression(*text)) : std::nullopt;
  };
  return {&argument,
          &of,
          compile_expressions(of.shape),
          compile_expressions(map.box),
          compile_expressions(map.shape),
          compile_expressions(map.strides),
          compile_expressions(map.element_strides),
          one(map.swizzle),
          one(map.l2_promotion),
          one(map.interleave)};
}

void add_templates(std::vector<spec::CompiledText>& to, const std::vector<spec::Text>& texts) {
  for (const spec::Text& text : texts) to.push_back(spec::CompiledText::template_text(text));
}

std::vector<spec::CompiledText> compile_options(const spec::KernelSpec& kernel, const std::string& backend) {
  std::vector<spec::CompiledText> options;
  add_templates(options, kernel.options);
  if (const auto own = kernel.backend_options.find(backend); own != kernel.backend_options.end())
    add_templates(options, own->second);
  return options;
}

CompiledLaunch compile_launch(const spec::LaunchSpec& spec) {
  CompiledLaunch launch{compile_expressions(spec.grid),
                        compile_expressions(spec.block),
                        compile_expressions(spec.cluster),
                        {},
                        spec.cooperative};
  if (spec.shared) launch.shared = spec::CompiledText::expression(*spec.shared);
  return launch;
}

std::vector<CompiledStep> compile_steps(const spec::Spec& spec) {
  std::vector<CompiledStep> steps;
  for (const spec::StepSpec& own : spec::steps_of(spec)) {
    CompiledStep step{spec.steps.empty() ? 0 : steps.size() + 1,
                      spec::CompiledText::template_text(own.entry),
                      {},
                      compile_launch(own.launch),
                      {},
                      {}};
    if (own.when) step.when = spec::CompiledText::expression(*own.when);
    step.arguments = spec::passed_numbers(spec, own.args);
    if (own.args)
      for (const std::size_t number : *own.args) step.argument_names.push_back(spec.args.at(number).name);
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace

std::string key_text(const Bindings& bindings) {
  std::vector<std::string> items;
  for (const auto& [name, value] : bindings) items.push_back(name + "=" + typed_text(value));
  return build::canonical_list(items);
}

SpecTexts::SpecTexts(const spec::Spec& spec_, const space::Space& space_, Bindings problem_, device::DeviceInfo device_)
    : spec(spec_),
      space(space_),
      problem(std::move(problem_)),
      device(std::move(device_)),
      constants(device::device_facts(device)),
      args(spec.args),
      steps(compile_steps(spec)),
      options(compile_options(spec.kernel, device.backend)) {
  for (const auto& [name, value] : problem) constants.insert_or_assign(name, value);
  for (spec::ArgSpec& argument : args) argument.dtype = dtype_of(argument, problem);
  const spec::ReferenceSpec& reference = spec.validate.reference;
  if (reference.options.empty())
    reference_options = options;
  else
    add_templates(reference_options, reference.options);
  for (const auto& [name, value] : spec.kernel.defines) defines.push_back(spec::CompiledText::template_text(value));
  for (const spec::ArgSpec& argument : args) {
    if (argument.kind == spec::ArgKind::scalar && argument.value)
      scalar_values.push_back({&argument, spec::CompiledText::expression(*argument.value)});
    if (argument.role == spec::ArgRole::scratch)
      buffers.scratch.push_back({&argument, compile_expressions(argument.shape)});
    if (argument.map) buffers.maps.push_back(compile_map(argument, *base::find_named(args, argument.map->of)));
    if (argument.kind == spec::ArgKind::constant)
      variables.push_back({&argument, argument.symbol
                                          ? spec::CompiledText::template_text(*argument.symbol)
                                          : spec::CompiledText::template_text({argument.name, argument.at})});
  }
  reference_launch = reference.launch ? compile_launch(*reference.launch) : steps.front().launch;
}

space::Lookup SpecTexts::lookup(const space::Config& config) const {
  return [this, &config](std::string_view name) -> const Value* {
    const std::vector<space::Parameter>& parameters = space.parameters();
    const space::Parameter* const parameter = base::find_named(parameters, name);
    return parameter ? &config.at(static_cast<std::size_t>(parameter - parameters.data())) : constant(name);
  };
}

const Value* SpecTexts::constant(std::string_view name) const { return space::find_value(constants, name); }

std::string text_and_value(const std::string& text, const std::string& value) {
  return text == value ? value : text + " = " + value;
}

std::optional<measure::ScalarArgument> encode_scalar(DType type, const Value& value) {
  measure::ScalarArgument scalar;
  scalar.size = size_of(type);
  if (const auto* digits = std::get_if<std::string>(&value)) {  // an integer above 2^63 - 1 (space::expr::Scalar)
    std::uint64_t large = 0;
    const auto [stop, error] = std::from_chars(digits->data(), digits->data() + digits->size(), large);
    if (type != DType::u64 || error != std::errc() || stop != digits->data() + digits->size() || large >> 63 == 0)
      return std::nullopt;
    std::memcpy(scalar.bytes.data(), &large, sizeof large);
    return scalar;
  }
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

void SpecTexts::reject(const std::vector<const spec::CompiledText*>& texts, const space::Config& config,
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

std::string SpecTexts::expanded(const spec::CompiledText& text, const space::Config& config) const {
  try {
    return valued(text, config, [&](const spec::CompiledText& t) { return t.expand(lookup(config)); });
  } catch (const NoValue& failure) {
    return "(" + failure.complaint + ")";
  }
}

Value SpecTexts::value_of(const spec::CompiledText& text, const space::Config& config) const {
  return valued(text, config, [&](const spec::CompiledText& t) { return t.evaluate(lookup(config)); });
}

std::int64_t SpecTexts::integer_of(const spec::CompiledText& text, const space::Config& config) const {
  return valued(text, config, [&](const spec::CompiledText& t) { return t.evaluate_integer(lookup(config)); });
}

void SpecTexts::check_templates(const space::Config& config) const {
  const space::Lookup names = lookup(config);
  const auto check = [&](const spec::CompiledText& text) {
    valued(text, config, [&](const spec::CompiledText& t) { return t.expand(names); });
  };
  for (const CompiledStep& step : steps)
    if (step.when) value_of(*step.when, config);
  for (const CompiledStep* const step : steps_at(steps, names)) check(step->entry);
  for (const auto* texts : {&options, &defines})
    for (const spec::CompiledText& text : *texts) check(text);
  for (const ArgumentText& variable : variables) check(variable.text);
}

measure::ScalarArgument SpecTexts::scalar(std::size_t number, const space::Config& config) const {
  const spec::ArgSpec& argument = *scalar_values[number].argument;
  const spec::CompiledText& text = scalar_values[number].text;
  const Value value = value_of(text, config);
  if (const auto encoded = encode_scalar(argument.dtype, value)) return *encoded;
  reject({&text}, config, argument.value->at,
         fmt::format("argument '{}': {} does not fit {}", argument.name,
                     text_and_value(argument.value->text, space::shown_text(value)), to_string(argument.dtype)));
}

device::Launch SpecTexts::resolve(const CompiledLaunch& texts, const space::Config& config) const {
  const auto number = [&](const spec::CompiledText& text, const std::string& what, std::int64_t least) {
    const std::int64_t value = integer_of(text, config);
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
  resolved.cooperative = texts.cooperative;
  return resolved;
}

std::vector<const CompiledStep*> steps_at(const std::vector<CompiledStep>& steps, const space::Lookup& names) {
  std::vector<const CompiledStep*> remaining;
  for (const CompiledStep& step : steps) {
    try {
      if (step.when && !space::truth(step.when->evaluate(names))) continue;
    } catch (const spec::TextError&) {  // check_templates rejects the configuration
    }
    remaining.push_back(&step);
  }
  return remaining;
}

std::size_t number_of(const std::string& entry, std::vector<std::string>& entries) {
  const auto found = std::find(entries.begin(), entries.end(), entry);
  const auto number = static_cast<std::size_t>(found - entries.begin());
  if (found == entries.end()) entries.push_back(entry);
  return number;
}

std::string SpecTexts::call_text(const spec::CommandWord& word, const space::Config& config) const {
  std::vector<std::string> texts;
  valued(word.text(), config, [&](const spec::CompiledText&) { word.expand(lookup(config), texts); });
  return texts.empty() ? std::string() : texts.front();
}

std::vector<std::string> SpecTexts::call_texts(const spec::ProcessCommand& command, const space::Config& config) const {
  std::vector<std::string> texts;
  const space::Lookup names = lookup(config);
  for (const spec::CommandWord& word : command.words)
    valued(word.text(), config, [&](const spec::CompiledText&) { word.expand(names, texts); });
  return texts;
}

device::ProgramCall SpecTexts::program_call(const space::Config& config) const {
  const spec::ProcessSpec& process = *spec.process;
  call_texts(process.build, config);
  for (const auto& [name, word] : process.build_env) call_text(word, config);
  device::ProgramCall call;
  call.words = call_texts(process.exec_prefix, config);
  for (std::string& word : call_texts(process.run, config)) call.words.push_back(std::move(word));
  if (call.words.empty()) throw NoValue(process.run.at, "process.run has no words for this configuration");
  call.check = call_texts(process.check, config);
  for (const auto& [name, word] : process.env) call.environment.emplace_back(name, call_text(word, config));
  call.folder = process.folder.string();
  call.time = process.time;
  call.metrics = process.metrics;
  call.expect = process.expect;
  for (const std::filesystem::path& output : process.outputs) call.outputs.push_back(output.string());
  call.timeout_s = process.timeout_s;
  if (process.device != "host") call.device = process.device;
  if (!process.serves) return call;
  call.request =
      nlohmann::json{{"config", space::to_json(space.named(config))}, {"problem", space::to_json(problem)}}.dump();
  call.checks = process.checks;
  call.start_timeout_s = process.start_timeout_s;
  return call;
}

std::string SpecTexts::runtime_part(const space::Config& config) const {
  Bindings launch_only;
  const std::vector<space::Parameter>& parameters = space.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (!parameters[i].compile_time) launch_only.emplace(parameters[i].name, config.at(i));
  return key_text(launch_only);
}

std::string SpecTexts::scalars_part(const space::Config& config) const {
  std::vector<std::string> texts;
  for (const auto& [scalar, scalar_value] : scalar_values) {
    const spec::ArgSpec& argument = *scalar;
    std::string value;
    try {
      value = typed_text(value_of(scalar_value, config));
    } catch (const NoValue& failure) {
      value = "(" + failure.complaint + ")";
    }
    texts.push_back(fmt::format("{} {} {}", argument.name, to_string(argument.dtype), value));
  }
  return build::canonical_list(texts);
}

}  // namespace xtune::resolve
