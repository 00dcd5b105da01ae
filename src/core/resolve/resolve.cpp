// Requests, launches and arguments of configurations. Keys are in resolve_keys.cpp.
#include <fmt/core.h>

#include <algorithm>

#include "base/files.hpp"
#include "core/build/source_cursor.hpp"
#include "core/resolve/resolve_state.hpp"
#include "xtune/error.hpp"

namespace xtune {

namespace {

[[noreturn]] void fail_at(const Location& at, const std::string& message) {
  throw Error(ErrorKind::invalid_spec, to_string(at) + ": " + message);
}

std::vector<CompiledText> compile_expressions(const std::vector<Text>& texts) {
  std::vector<CompiledText> result;
  for (const Text& text : texts) result.push_back(CompiledText::expression(text));
  return result;
}

CompiledLaunch compile_launch(const LaunchSpec& spec) {
  CompiledLaunch launch{
      compile_expressions(spec.grid), compile_expressions(spec.block), compile_expressions(spec.cluster), {}};
  if (spec.shared) launch.shared = CompiledText::expression(*spec.shared);
  return launch;
}

void add_templates(std::vector<CompiledText>& to, const std::vector<Text>& texts) {
  for (const Text& text : texts) to.push_back(CompiledText::template_text(text));
}

std::vector<CompiledText> compile_options(const KernelSpec& kernel, const std::string& backend) {
  std::vector<CompiledText> options;
  add_templates(options, kernel.options);
  if (const auto own = kernel.backend_options.find(backend); own != kernel.backend_options.end())
    add_templates(options, own->second);
  return options;
}

}  // namespace

CandidateResolver::State::State(const Spec& spec_, const Space& space_, Bindings problem_, DeviceInfo device_,
                                std::string arch_, std::string toolchain_, bool sanitize_)
    : spec(spec_),
      space(space_),
      problem(std::move(problem_)),
      device(std::move(device_)),
      arch(std::move(arch_)),
      toolchain(std::move(toolchain_)),
      sanitize(sanitize_),
      constants(device_facts(device)) {
  for (const auto& [name, value] : problem) constants.insert_or_assign(name, value);
  if (!spec.kernel.source.empty()) source = without_byte_order_mark(read_file(spec.kernel.source));
  if (spec.process) {
    KeyedFiles files;
    source = source_manifest(*spec.process, files);
    files.unknown.clear();  // what a build may read beyond its sources is for the spec to name
    data_files = files;     // a program that is not built is run from its sources
    std::error_code failed;
    for (const KeyedFile& file : files.files)
      program_paths.insert(std::filesystem::weakly_canonical(file.path, failed));
    program_files = std::make_shared<const KeyedFiles>(std::move(files));
  }
  const ReferenceSpec& reference = spec.validate.reference;
  if (reference.kind == ReferenceSpec::Kind::kernel)
    reference_source = reference.source.empty() || reference.source == spec.kernel.source
                           ? source
                           : std::string(without_byte_order_mark(read_file(reference.source)));
  entry = CompiledText::template_text(spec.kernel.entry);
  options = compile_options(spec.kernel, device.backend);
  if (reference.options.empty())
    reference_options = options;
  else
    add_templates(reference_options, reference.options);
  for (const auto& [name, value] : spec.kernel.defines) defines.push_back(CompiledText::template_text(value));
  for (const ArgSpec& argument : spec.args) {
    if (argument.kind != ArgKind::scalar || !argument.value) continue;
    scalar_args.push_back(&argument);
    scalar_values.push_back(CompiledText::expression(*argument.value));
  }
  launch = compile_launch(spec.launch);
  reference_launch = reference.launch ? compile_launch(*reference.launch) : launch;
}

Lookup CandidateResolver::State::lookup(const Config& config) const {
  return [this, &config](std::string_view name) -> const Value* {
    const std::vector<Parameter>& parameters = space.parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (parameters[i].name == name) return &config.at(i);
    return constant(name);
  };
}

const Value* CandidateResolver::State::constant(std::string_view name) const {
  const auto found = constants.find(name);
  return found == constants.end() ? nullptr : &found->second;
}

CompileRequest CandidateResolver::State::request(const Config& config, const std::filesystem::path& path,
                                                 const std::string& text) const {
  CompileRequest result;
  result.source_name = path.string();
  result.source = text;
  result.include_dirs.push_back(path.parent_path().string());
  for (const auto& folder : spec.kernel.include_dirs) result.include_dirs.push_back(folder.string());
  const std::vector<Parameter>& parameters = space.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].compile_time) result.defines.emplace_back(parameters[i].name, to_define(config.at(i)));
  for (std::size_t i = 0; i < defines.size(); ++i)
    result.defines.emplace_back(spec.kernel.defines[i].first, expanded(defines[i], config));
  result.arch = arch;
  result.sanitize = sanitize;
  return result;
}

CandidateResolver::CandidateResolver(const Spec& spec, const Space& space, Bindings problem, DeviceInfo device,
                                     std::string arch, std::string toolchain_fingerprint, bool sanitize)
    : state_(std::make_unique<State>(spec, space, std::move(problem), std::move(device), std::move(arch),
                                     std::move(toolchain_fingerprint), sanitize)) {}

CandidateResolver::~CandidateResolver() = default;

Bindings CandidateResolver::bindings(const Config& config) const {
  Bindings result = state_->constants;
  result.merge(config_bindings(config));
  return result;
}

Bindings CandidateResolver::config_bindings(const Config& config) const {
  Bindings result;
  const std::vector<Parameter>& parameters = state_->space.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) result.emplace(parameters[i].name, config.at(i));
  return result;
}

CompileRequest CandidateResolver::compile_request(const Config& config) const {
  if (state_->spec.process) return state_->keyed(state_->program_request(config));
  const KernelSpec& kernel = state_->spec.kernel;
  CompileRequest request = state_->request(config, kernel.source, state_->source);
  request.entry = state_->expanded(state_->entry, config);
  for (const CompiledText& option : state_->options) request.options.push_back(state_->expanded(option, config));
  return state_->keyed(std::move(request));
}

CompileRequest CandidateResolver::State::bare_reference_request(const Config& config) const {
  const std::filesystem::path& own = spec.validate.reference.source;
  return request(config, own.empty() ? spec.kernel.source : own, reference_source);
}

CompileRequest CandidateResolver::reference_request(const Config& config) const {
  CompileRequest request = state_->bare_reference_request(config);
  request.entry = state_->spec.validate.reference.name;
  const Lookup names = state_->lookup(config);
  for (const CompiledText& option : state_->reference_options) request.options.push_back(option.expand(names));
  return state_->keyed(std::move(request));
}

Launch CandidateResolver::launch(const Config& config) const {
  if (state_->spec.process) {
    Launch launch;
    launch.call = state_->program_call(config);
    return launch;
  }
  state_->check_templates(config);
  for (std::size_t i = 0; i < state_->scalar_args.size(); ++i) state_->scalar(i, config);
  return state_->resolve(state_->launch, config);
}

Launch CandidateResolver::reference_launch(const Config& config) const {
  try {
    return state_->resolve(state_->reference_launch, config);
  } catch (const NoValue& failure) {
    throw Error(ErrorKind::invalid_spec, std::string(failure.what()) + ", in the reference's launch");
  } catch (const CandidateFailure& failure) {
    fail_at(state_->spec.validate.reference.at, std::string("the reference's launch: ") + failure.what());
  }
}

std::vector<ScalarArgument> CandidateResolver::scalars(const Config& config) const {
  std::vector<ScalarArgument> result;
  for (std::size_t i = 0; i < state_->scalar_args.size(); ++i) result.push_back(state_->scalar(i, config));
  return result;
}

std::vector<ArgumentLayout> CandidateResolver::layouts(std::uint64_t limit_bytes) const {
  std::vector<ArgumentLayout> result;
  const Lookup names = [this](std::string_view name) { return state_->constant(name); };
  for (const ArgSpec& argument : state_->spec.args) {
    if (argument.kind == ArgKind::scalar) continue;
    ArgumentLayout layout{argument.name, argument.role, argument.dtype,        {},
                          argument.fill, argument.file, to_string(argument.at)};
    for (const Text& text : argument.shape) {
      const std::int64_t extent = evaluate_integer(text, names);
      if (extent <= 0)
        fail_at(text.at,
                fmt::format("argument '{}': its extent {} = {} must be at least 1", argument.name, text.text, extent));
      layout.shape.push_back(static_cast<std::uint64_t>(extent));
    }
    try {
      layout_bytes(layout, limit_bytes);
      check_input_file(layout);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::invalid_argument) fail_at(argument.at, error.what());
      throw Error(error.kind(), layout.at + ": " + error.what());
    }
    result.push_back(std::move(layout));
  }
  return result;
}

std::vector<std::pair<std::string, ToleranceRule>> CandidateResolver::tolerances() const {
  const ValidateSpec& validate = state_->spec.validate;
  ToleranceRule rule{validate.rtol,           validate.atol, validate.max_mismatched_ratio,
                     validate.outlier_factor, std::nullopt,  validate.accumulate};
  if (validate.reduction) {
    const std::int64_t terms =
        evaluate_integer(*validate.reduction, [this](std::string_view name) { return state_->constant(name); });
    if (terms < 0)
      fail_at(validate.reduction->at, fmt::format("a reduction length must be at least 0, and this is {}", terms));
    rule.reduction = static_cast<std::uint64_t>(terms);
  }
  std::vector<std::pair<std::string, ToleranceRule>> result;
  for (const ArgSpec& argument : state_->spec.args)
    if (argument.kind != ArgKind::scalar && argument.role != ArgRole::in) result.emplace_back(argument.name, rule);
  return result;
}

}  // namespace xtune
