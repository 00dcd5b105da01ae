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
#include "core/device/backend_facts.hpp"
#include "core/resolve/resolve_state.hpp"
#include "core/space/value.hpp"
#include "core/spec/process_spec.hpp"
#include "core/spec/reader.hpp"
#include "xtune/error.hpp"

namespace xtune::resolve {

namespace {

constexpr std::int64_t max_launch_extent = std::numeric_limits<std::uint32_t>::max();

std::vector<spec::CompiledText> compile_expressions(const std::vector<spec::Text>& texts) {
  std::vector<spec::CompiledText> result;
  for (const spec::Text& text : texts) result.push_back(spec::CompiledText::expression(text));
  return result;
}

TensorMapTexts compile_map(const spec::ArgSpec& argument, const spec::ArgSpec& of) {
  const spec::TensorMapSpec& map = *argument.map;
  const auto one = [](const std::optional<spec::Text>& text) {
    return text ? compile_expressions({*text}) : std::vector<spec::CompiledText>();
  };
  return {&argument,
          &of,
          {{"box", compile_expressions(map.box)},
           {"shape", compile_expressions(map.shape)},
           {"strides", compile_expressions(map.strides)},
           {"element_strides", compile_expressions(map.element_strides)},
           {"of", compile_expressions(of.shape)},
           {"swizzle", one(map.swizzle)},
           {"l2_promotion", one(map.l2_promotion)},
           {"interleave", one(map.interleave)}}};
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

std::optional<spec::CompiledText> compile(const std::optional<spec::Text>& text) {
  return text ? std::optional(spec::CompiledText::expression(*text)) : std::nullopt;
}

ValueTexts compile_scalar(const spec::ArgSpec& argument, const spec::Text& value) {
  return {&argument,
          {{{.name = {}, .at = argument.at, .dtype = argument.dtype}, {spec::CompiledText::expression(value)}}}};
}

ValueTexts compile_value(const spec::ArgSpec& argument, const std::vector<spec::ArgSpec>& args) {
  if (argument.kind == spec::ArgKind::scalar) return compile_scalar(argument, *argument.value);
  ValueTexts value{&argument, {}};
  for (const spec::FieldSpec& field : argument.fields) {
    FieldTexts& texts = value.fields.emplace_back(FieldTexts{
        field, compile_expressions(field.value), compile(field.offset), compile(field.stride), compile(field.entries)});
    if (field.of.empty()) continue;
    texts.of = base::find_named(args, field.of);
    texts.buffer_shape = compile_expressions(texts.of->shape);
  }
  return value;
}

void compile_loop(const spec::Spec& spec, const spec::StepSpec& own, const std::vector<spec::ArgSpec>& args,
                  CompiledStep& step) {
  if (own.repeat) step.repeat = spec::CompiledText::expression(own.repeat->count), step.index = own.repeat->index;
  for (const auto& [name, text] : own.with) {
    const spec::ArgSpec& argument = *base::find_named(args, name);
    step.with.push_back(
        {spec::passed_number(spec, *base::find_named(spec.args, name)), compile_scalar(argument, text)});
  }
  if (step.with.empty() || step.arguments) return;
  step.arguments.emplace();
  for (const spec::ArgSpec* argument : spec::arguments_of(spec, own.args)) {
    step.arguments->push_back(step.argument_names.size());
    step.argument_names.push_back(argument->name);
  }
}

std::vector<CompiledStep> compile_steps(const spec::Spec& spec, const std::vector<spec::ArgSpec>& args) {
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
    compile_loop(spec, own, args, step);
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace

std::string typed_text(const Value& value) {
  return std::holds_alternative<std::string>(value) ? "'" + to_text(value) + "'" : to_text(value);
}

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
      options(compile_options(spec.kernel, device.backend)) {
  for (const auto& [name, value] : problem) constants.insert_or_assign(name, value);
  for (spec::ArgSpec& argument : args) argument.dtype = dtype_of(argument, problem);
  steps = compile_steps(spec, args);
  const spec::ReferenceSpec& reference = spec.validate.reference;
  if (reference.options.empty())
    reference_options = options;
  else
    add_templates(reference_options, reference.options);
  for (const auto& [name, value] : spec.kernel.defines) defines.push_back(spec::CompiledText::template_text(value));
  for (const spec::ArgSpec& argument : args) {
    if (has_value(argument.kind)) by_value.push_back(compile_value(argument, args));
    if (argument.role == spec::ArgRole::scratch)
      buffers.scratch.push_back({&argument, compile_expressions(argument.shape)});
    if (argument.map) buffers.maps.push_back(compile_map(argument, *base::find_named(args, argument.map->of)));
    if (argument.kind == spec::ArgKind::constant)
      variables.push_back({&argument, argument.symbol
                                          ? spec::CompiledText::template_text(*argument.symbol)
                                          : spec::CompiledText::template_text({argument.name, argument.at})});
  }
  if (spec.kernel.controls && !spec.kernel.controls->text.empty()) {
    if (device.backend != device::backend_of_vendor("nvidia"))
      throw spec::spec_error(spec, spec.kernel.controls->at,
                             fmt::format("kernel.controls is a file for ptxas, which the backend {} does not have: "
                                         "move it to [on.cuda.kernel]",
                                         device.backend));
    add_templates(controls, {*spec.kernel.controls});
  }
  reference_launch = reference.launch ? compile_launch(*reference.launch) : steps.front().launch;
}

space::Lookup SpecTexts::lookup(const space::Config& config, const LoopIndex* index) const {
  return [this, &config, index](std::string_view name) -> const Value* {
    if (index && name == index->name) return &index->value;
    const std::vector<space::Parameter>& parameters = space.parameters();
    const space::Parameter* const parameter = base::find_named(parameters, name);
    return parameter ? &config.at(static_cast<std::size_t>(parameter - parameters.data())) : constant(name);
  };
}

const Value* SpecTexts::constant(std::string_view name) const { return space::find_value(constants, name); }

std::string text_and_value(const std::string& text, const std::string& value) {
  return text == value ? value : text + " = " + value;
}

void SpecTexts::reject(const std::vector<const spec::CompiledText*>& texts, const space::Config& config,
                       const spec::Location& at, const std::string& complaint, Limit limit,
                       const LoopIndex* index) const {
  const space::Lookup names = lookup(config, index);
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

Value SpecTexts::value_of(const spec::CompiledText& text, const space::Config& config, const LoopIndex* index) const {
  return valued(
      text, config, [&](const spec::CompiledText& t) { return t.evaluate(lookup(config, index)); }, index);
}

std::int64_t SpecTexts::integer_of(const spec::CompiledText& text, const space::Config& config,
                                   const LoopIndex* index) const {
  return valued(
      text, config, [&](const spec::CompiledText& t) { return t.evaluate_integer(lookup(config, index)); }, index);
}

void SpecTexts::check_templates(const space::Config& config) const {
  const space::Lookup names = lookup(config);
  const auto check = [&](const spec::CompiledText& text) {
    valued(text, config, [&](const spec::CompiledText& t) { return t.expand(names); });
  };
  for (const CompiledStep& step : steps) {
    if (step.when && !step.repeat) value_of(*step.when, config);
    if (!step.repeat) continue;
    const std::int64_t count = integer_of(*step.repeat, config);
    if (count < 0 || count > static_cast<std::int64_t>(spec::max_launches))
      reject({&*step.repeat}, config, step.repeat->source().at,
             fmt::format("repeat: {}, but a step repeats 0 to {} times",
                         text_and_value(step.repeat->source().text, std::to_string(count)), spec::max_launches));
  }
  const std::vector<StepAt> launches = steps_at(config);
  if (launches.size() > spec::max_launches)
    reject({}, config, spec.steps.front().at,
           fmt::format("[[steps]]: their repetitions are more than the {} launches of a configuration",
                       spec::max_launches),
           Limit::of_device);
  for (const StepAt& launch : launches) {
    if (launch.step->when && launch.index) value_of(*launch.step->when, config, &*launch.index);
    check(launch.step->entry);
  }
  for (const auto* texts : {&options, &controls, &defines})
    for (const spec::CompiledText& text : *texts) check(text);
  if (const std::string file = controls_file(config); !file.empty())
    if (const std::string obstacle = spec::file_obstacle(file); !obstacle.empty())
      throw spec::spec_error(
          spec, spec.kernel.controls->at,
          fmt::format("kernel.controls: {} {} (paths are relative to the spec's directory)", file, obstacle));
  for (const ArgumentText& variable : variables) check(variable.text);
}

std::string SpecTexts::controls_file(const space::Config& config) const {
  const std::filesystem::path name = controls.empty() ? "" : expanded(controls.front(), config);
  if (!name.has_filename()) return {};  // "controls/{CONTROLS}" with an empty text
  return std::filesystem::absolute(spec.path.parent_path() / name).lexically_normal().string();
}

device::Launch SpecTexts::resolve(const CompiledLaunch& texts, const space::Config& config,
                                  const LoopIndex* index) const {
  const auto number = [&](const spec::CompiledText& text, const std::string& what, std::int64_t least) {
    const std::int64_t value = integer_of(text, config, index);
    if (value < least || value > max_launch_extent) {
      const std::string complaint =
          fmt::format("{}: {}, but a launch takes {} to {}", what,
                      text_and_value(text.source().text, std::to_string(value)), least, max_launch_extent);
      reject({&text}, config, text.source().at, complaint, Limit::of_device, index);
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

// Texts without a value count as true, and as 1: check_templates rejects the configuration.
std::vector<StepAt> SpecTexts::steps_at(const space::Config& config) const {
  const auto value_or_none = [&](const spec::CompiledText& text, const LoopIndex* index) -> std::optional<Value> {
    try {
      return text.evaluate(lookup(config, index));
    } catch (const spec::TextError&) {
      return std::nullopt;
    }
  };
  std::vector<StepAt> launches;
  for (auto first = steps.begin(), end = first; first != steps.end(); first = end) {
    while (++end != steps.end() && first->alternates_with(*end)) {
    }
    std::int64_t count = 1;
    if (first->repeat)
      if (const auto value = value_or_none(*first->repeat, nullptr)) count = space::integer_of(*value).value_or(1);
    for (std::int64_t i = 0; i < count && launches.size() <= spec::max_launches; ++i)
      for (auto step = first; step != end; ++step) {
        const auto index = step->repeat ? std::optional(LoopIndex{step->index, i}) : std::nullopt;
        const auto when = step->when ? value_or_none(*step->when, index ? &*index : nullptr) : std::nullopt;
        if (!when || space::truth(*when)) launches.push_back({&*step, index});
      }
  }
  return launches;
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
  for (const ValueTexts& value : by_value) texts.push_back(value_text(value, config, nullptr));
  return build::canonical_list(texts);
}

}  // namespace xtune::resolve
