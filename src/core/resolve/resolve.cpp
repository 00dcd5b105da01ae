// Requests, launches and arguments of configurations. Keys are in resolve_keys.cpp.
#include <fmt/core.h>

#include <algorithm>

#include "base/named.hpp"
#include "core/build/source_closure.hpp"
#include "core/build/step_limits.hpp"
#include "core/resolve/resolve_state.hpp"
#include "core/space/value.hpp"
#include "core/spec/process_spec.hpp"
#include "xtune/error.hpp"

namespace xtune::resolve {

namespace {

[[noreturn]] void fail_at(const spec::Location& at, const std::string& message) {
  throw Error(ErrorKind::invalid_spec, spec::to_string(at) + ": " + message);
}

}  // namespace

CandidateResolver::State::State(const spec::Spec& spec_, const space::Space& space_, Bindings problem_,
                                device::DeviceInfo device_, std::string arch_, std::string toolchain_, bool sanitize_)
    : SpecTexts(spec_, space_, std::move(problem_), std::move(device_)),
      arch(std::move(arch_)),
      toolchain(std::move(toolchain_)),
      sanitize(sanitize_) {
  const bool whole = device::takes_programs(device.backend, toolchain);
  if (!spec.kernel.source.empty()) sources.tuned = unit_source(spec, spec.kernel.source, whole);
  if (spec.process) {
    build::KeyedFiles files;
    sources.tuned.text = source_manifest(*spec.process, files);
    files.unknown.clear();  // the spec must list files that a build reads besides its sources
    data_files = files;     // a program that is not built is run from its sources
    std::error_code failed;
    for (const build::KeyedFile& file : files.files)
      program.paths.insert(std::filesystem::weakly_canonical(file.path, failed));
    program.keyed = std::make_shared<const build::KeyedFiles>(std::move(files));
  }
  const spec::ReferenceSpec& reference = spec.validate.reference;
  if (reference.kind == spec::ReferenceSpec::Kind::kernel)
    sources.reference = reference.source.empty() || reference.source == spec.kernel.source
                            ? sources.tuned
                            : unit_source(spec, reference.source, whole);
}

build::CompileRequest CandidateResolver::State::request(const space::Config& config, const UnitSource& from) const {
  build::CompileRequest result;
  result.source_name = from.path.string();
  result.source = from.text;
  result.first_line = from.first_line;
  result.headers = from.headers;
  result.left_out = from.left_out;
  result.include_dirs.push_back(from.path.parent_path().string());
  for (const auto& folder : spec.kernel.include_dirs) result.include_dirs.push_back(folder.string());
  const std::vector<space::Parameter>& parameters = space.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].compile_time) result.defines.emplace_back(parameters[i].name, space::to_define(config.at(i)));
  for (std::size_t i = 0; i < defines.size(); ++i)
    result.defines.emplace_back(spec.kernel.defines[i].first, expanded(defines[i], config));
  result.arch = arch;
  if (device::is_emulated(device)) result.options.emplace_back("-gline-tables-only");  // faults name the line
  result.sanitize = sanitize;
  return result;
}

CandidateResolver::CandidateResolver(const spec::Spec& spec, const space::Space& space, Bindings problem,
                                     device::DeviceInfo device, std::string arch, std::string toolchain_fingerprint,
                                     bool sanitize, const std::filesystem::path& store)
    : state_(std::make_unique<State>(spec, space, std::move(problem), std::move(device), std::move(arch),
                                     std::move(toolchain_fingerprint), sanitize)) {
  if (!spec.process) state_->manifests.store = store;
}

CandidateResolver::~CandidateResolver() = default;

Bindings CandidateResolver::bindings(const space::Config& config) const {
  Bindings result = state_->constants;
  result.merge(state_->space.named(config));
  return result;
}

/// A text without a value is replaced by its error, as in the requests of kernels; the call then rejects it.
build::CompileRequest CandidateResolver::State::program_request(const space::Config& config) const {
  const spec::ProcessSpec& process = *spec.process;
  build::CompileRequest request;
  request.source_name = spec.path.string();
  request.source = sources.tuned.text;
  request.folder = process.folder.string();
  request.entry = "program";
  try {
    request.options = call_texts(process.build, config);
    for (const auto& [name, word] : process.build_env) request.defines.emplace_back(name, call_text(word, config));
  } catch (const NoValue& failure) {
    request.options = {"(" + failure.complaint + ")"};
  }
  request.arch = arch;
  return request;
}

build::CompileRequest CandidateResolver::compile_request(const space::Config& config) const {
  if (state_->spec.process) return state_->keyed(state_->program_request(config));
  build::CompileRequest request = state_->request(config, state_->sources.tuned);
  std::vector<std::string> entries;
  for (const StepAt& launch : state_->steps_at(config))
    number_of(state_->expanded(launch.step->entry, config), entries);
  if (!entries.empty()) {
    request.entry = entries.front();
    request.more_entries.assign(entries.begin() + 1, entries.end());
  }
  for (const spec::CompiledText& option : state_->options) request.options.push_back(state_->expanded(option, config));
  if (const std::string file = state_->controls_file(config); !file.empty())
    request.options.push_back(build::controls_option + file);
  for (const ArgumentText& variable : state_->variables)
    request.variables.push_back(state_->expanded(variable.text, config));
  return state_->keyed(std::move(request));
}

space::Config CandidateResolver::reference_config() const {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->of_reference.config) return *state_->of_reference.config;
  }
  const spec::Spec& spec = state_->spec;
  space::Config found;
  if (spec.validate.reference.config)
    for (const space::Parameter& parameter : state_->space.parameters())
      found.push_back(spec.validate.reference.config->at(parameter.name));
  else
    found = default_reference_config();
  const std::lock_guard lock(state_->mutex);
  return *(state_->of_reference.config = std::move(found));
}

// Options of one run must not change the reference. Its key has the values that it uses, so a run whose whole space
// cannot be made may take another configuration.
space::Config CandidateResolver::default_reference_config() const {
  std::optional<space::Space> whole;
  const spec::ReferenceSpec::Kind kind = state_->spec.validate.reference.kind;
  const bool takes_values = kind == spec::ReferenceSpec::Kind::kernel || kind == spec::ReferenceSpec::Kind::builtin;
  if (state_->spec.unrestricted && takes_values) try {
      whole = spec::make_space(*state_->spec.unrestricted, state_->problem, device::device_facts(state_->device));
    } catch (const Error&) {
    }
  const space::Space& all = whole ? *whole : state_->space;
  if (const std::optional<Bindings>& given = state_->spec.dispatch.default_config)
    if (const auto index = all.index_of(*given)) return all.at(*index);
  constexpr std::uint64_t max_tries = 100'000;
  for (std::uint64_t index = 0; index < std::min(all.size(), max_tries); ++index) try {
      space::Config config = all.at(index);
      if (!limit_violation(launch(config), nullptr)) return config;
    } catch (const build::CandidateFailure&) {
    }
  return all.at(0);
}

build::CompileRequest CandidateResolver::reference_request() const {
  const spec::ReferenceSpec& reference = state_->spec.validate.reference;
  const space::Config config = reference_config();
  if (reference.config) return compile_request(config);
  build::CompileRequest request = state_->request(config, state_->sources.reference);
  request.entry = reference.name;
  const space::Lookup names = state_->lookup(config);
  for (const spec::CompiledText& option : state_->reference_options) request.options.push_back(option.expand(names));
  for (const std::size_t constant : reference_constants())
    request.variables.push_back(state_->variables[constant].text.expand(names));
  // The source would define them once more, with other values.
  if (!reference.options.empty())
    std::erase_if(request.defines, [own = build::defined_macros(request.options)](const auto& define) {
      return own.contains(define.first);
    });
  return state_->keyed(std::move(request));
}

device::LaunchPlan CandidateResolver::reference_launch() const {
  const space::Config config = reference_config();
  try {
    if (state_->spec.validate.reference.config) return launch(config);
    device::Step step;
    step.launch = state_->resolve(state_->reference_launch, config);
    step.arguments = spec::passed_numbers(state_->spec, spec::reference_args(state_->spec));
    device::LaunchPlan plan;
    plan.steps.push_back(std::move(step));
    return plan;
  } catch (const NoValue& failure) {
    throw Error(ErrorKind::invalid_spec, std::string(failure.what()) + ", in the reference's launch");
  } catch (const build::CandidateFailure& failure) {
    fail_at(state_->spec.validate.reference.at, std::string("the reference's launch: ") + failure.what());
  }
}

device::LaunchPlan CandidateResolver::launch(const space::Config& config) const {
  device::LaunchPlan plan;
  if (state_->spec.process) {
    plan.call = state_->program_call(config);
    return plan;
  }
  state_->check_templates(config);
  scratch(config);
  tensor_maps(config);
  scalars(config);
  std::vector<std::string> entries;
  std::size_t replacement = spec::arguments_of(state_->spec, std::nullopt).size();
  for (const auto& [own, index] : state_->steps_at(config)) {
    device::Step step;
    const std::string entry = state_->expanded(own->entry, config);
    step.kernel = number_of(entry, entries);
    step.arguments = own->arguments;
    for (const CompiledStep::With& with : own->with)
      std::replace(step.arguments->begin(), step.arguments->end(), with.argument, replacement++);
    if (own->number > 0) step.name = fmt::format("step {} '{}'", own->number, entry);
    if (index) step.name += fmt::format(" at {} = {}", index->name, to_text(index->value));
    try {
      step.launch = state_->resolve(own->launch, config, index ? &*index : nullptr);
    } catch (const NoValue& failure) {
      throw NoValue(failure.at, step.named(failure.complaint));
    }
    plan.steps.push_back(std::move(step));
  }
  if (plan.steps.empty())
    throw build::CandidateFailure(Outcome::rejected,
                                  "no step is left: `when` is false for all of [[steps]]; add a constraint to "
                                  "[space] that excludes such configurations");
  return plan;
}

std::optional<std::string> CandidateResolver::limit_violation(const device::LaunchPlan& launch,
                                                              const build::Artifact* artifact) const {
  return build::forbidden(launch, artifact, state_->device);
}

std::vector<measure::ScalarArgument> CandidateResolver::scalars(const space::Config& config) const {
  std::vector<measure::ScalarArgument> result;
  for (const ValueTexts& value : state_->by_value) result.push_back(state_->bytes_of(value, config));
  for (const auto& [step, index] : state_->steps_at(config))
    for (const CompiledStep::With& with : step->with) {
      result.push_back(state_->bytes_of(with.value, config, index ? &*index : nullptr));
      result.back().replaces = with.argument;
    }
  return result;
}

namespace {

std::vector<std::byte> encoded_value(const spec::ArgSpec& argument, const space::Lookup& names) {
  const Value value = spec::evaluate(*argument.value, names);
  if (auto encoded = spec::encode_scalar(argument.dtype, value)) return *std::move(encoded);
  fail_at(argument.value->at,
          fmt::format("{} '{}': {} does not fit {}", spec::kind_words.of(argument.kind), argument.name,
                      text_and_value(argument.value->text, space::shown_text(value)), to_string(argument.dtype)));
}

std::vector<std::uint64_t> shape_of(const spec::ArgSpec& argument, const space::Lookup& names) {
  std::vector<std::uint64_t> shape;
  for (const spec::Text& text : argument.shape) {
    const std::int64_t extent = spec::evaluate_integer(text, names);
    if (extent <= 0)
      fail_at(text.at,
              fmt::format("argument '{}': its extent {} = {} must be at least 1", argument.name, text.text, extent));
    shape.push_back(static_cast<std::uint64_t>(extent));
  }
  return shape;
}

/// Sets the numbers of a fill, or its formula, in which the name of a buffer stands for its number of elements.
void set_numbers(validate::ArgumentLayout& layout, const spec::ArgSpec& argument,
                 const std::vector<spec::ArgSpec>& arguments, const space::Lookup& names) {
  Bindings sizes;
  const space::Lookup sizes_too = [&](std::string_view name) -> const Value* {
    const Value* const known = names(name);
    const spec::ArgSpec* const buffer = known ? nullptr : base::find_named(arguments, name);
    if (!buffer) return known;
    validate::ArgumentLayout of_buffer;
    of_buffer.shape = shape_of(*buffer, names);
    return &(sizes[buffer->name] = static_cast<std::int64_t>(of_buffer.elements()));
  };
  if (argument.fill != Fill::formula) {
    for (const spec::Text& text : argument.numbers) layout.numbers.push_back(spec::evaluate_integer(text, sizes_too));
    return;
  }
  if (argument.numbers.size() != 1)
    fail_at(argument.at, "argument '" + argument.name + "': a formula is one expression: { formula = \"index % 7\" }");
  spec::Text formula = argument.numbers.front();
  layout.formula = formula.text;
  formula.derived = nullptr;
  const space::Expression expression = spec::parse_expression(formula);
  for (const std::string& name : expression.names()) {
    if (std::ranges::find(spec::place_names, name) != spec::place_names.end()) continue;
    spec::Text value = argument.numbers.front();
    value.text = name;
    layout.names[name] = spec::evaluate(value, sizes_too);
  }
}

/// An argument whose texts name no parameters.
validate::ArgumentLayout layout_of(const spec::ArgSpec& argument, const std::vector<spec::ArgSpec>& arguments,
                                   const space::Lookup& names, std::uint64_t limit_bytes) {
  validate::ArgumentLayout layout{
      argument.name, argument.role, argument.dtype, {}, argument.fill, argument.file, spec::to_string(argument.at)};
  layout.shape = shape_of(argument, names);
  if (argument.value) layout.value = encoded_value(argument, names);
  set_numbers(layout, argument, arguments, names);
  layout.sum_of = argument.sum_of;
  if (!argument.like.empty()) {
    layout.like = {layout_of(*base::find_named(arguments, argument.like), arguments, names, limit_bytes)};
    layout.permute = argument.permute;
  }
  try {
    validate::layout_bytes(layout, limit_bytes);
    validate::check_contents(layout);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::invalid_argument)
      fail_at(argument.numbers.empty() ? argument.at : argument.numbers.back().at, error.what());
    throw Error(error.kind(), layout.at + ": " + error.what());
  }
  return layout;
}

}  // namespace

std::vector<validate::ArgumentLayout> CandidateResolver::layouts(std::uint64_t limit_bytes) const {
  std::vector<validate::ArgumentLayout> result;
  const space::Lookup names = [this](std::string_view name) { return state_->constant(name); };
  for (const spec::ArgSpec& argument : state_->args)
    if (argument.kind == spec::ArgKind::buffer && argument.role != spec::ArgRole::scratch)
      result.push_back(layout_of(argument, state_->args, names, limit_bytes));
  return result;
}

std::vector<validate::ArgumentLayout> CandidateResolver::constants(std::uint64_t limit_bytes) const {
  std::vector<validate::ArgumentLayout> result;
  const space::Lookup names = [this](std::string_view name) { return state_->constant(name); };
  for (const ArgumentText& variable : state_->variables)
    result.push_back(layout_of(*variable.argument, state_->args, names, limit_bytes));
  return result;
}

std::vector<std::pair<std::string, validate::ToleranceRule>> CandidateResolver::tolerances() const {
  const spec::ValidateSpec& validate = state_->spec.validate;
  validate::ToleranceRule rule{validate.rtol,           validate.atol, validate.max_mismatched_ratio,
                               validate.outlier_factor, std::nullopt,  std::nullopt};
  if (validate.accumulate)
    rule.accumulate = spec::dtype_in(validate.accumulate_text, *validate.accumulate, state_->problem);
  if (validate.reduction) {
    const std::int64_t terms =
        spec::evaluate_integer(*validate.reduction, [this](std::string_view name) { return state_->constant(name); });
    if (terms < 0)
      fail_at(validate.reduction->at, fmt::format("a reduction length must be at least 0, and this is {}", terms));
    rule.reduction = static_cast<std::uint64_t>(terms);
  }
  std::vector<std::pair<std::string, validate::ToleranceRule>> result;
  for (const spec::ArgSpec& argument : state_->spec.args)
    if (spec::is_output(argument.role)) result.emplace_back(argument.name, rule);
  return result;
}

std::vector<std::string> CandidateResolver::check_command() const {
  std::vector<std::string> words;
  for (const spec::Text& word : state_->spec.validate.check)
    words.push_back(spec::expand(word, [this](std::string_view name) { return state_->constant(name); }));
  return words;
}

}  // namespace xtune::resolve
