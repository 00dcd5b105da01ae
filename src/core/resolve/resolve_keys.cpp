// Artifact and measurement keys of configurations.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/hash.hpp"
#include "base/named.hpp"
#include "core/build/environment.hpp"
#include "core/build/named_files.hpp"
#include "core/build/source_closure.hpp"
#include "core/device/backend_facts.hpp"
#include "core/resolve/resolve_state.hpp"
#include "core/spec/process_spec.hpp"
#include "core/spec/section.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::resolve {

namespace {

/// The digest of a file that the bench worker reads later.
std::string short_file_digest(const std::filesystem::path& path, build::KeyedFiles& files) {
  build::key_file(path, files);
  return "sha256:" + files.files.back().sha256.substr(0, 32);
}

std::vector<std::string> texts_of(const std::vector<spec::Text>& texts) {
  std::vector<std::string> result;
  for (const spec::Text& text : texts) result.push_back(text.text);
  return result;
}

std::string extents_text(const std::array<std::uint32_t, 3>& extents) {
  return fmt::format("{}x{}x{}", extents[0], extents[1], extents[2]);
}

std::string launch_text(const device::Launch& launch) {
  return fmt::format("grid {} block {} cluster {} shared {}{}", extents_text(launch.grid), extents_text(launch.block),
                     extents_text(launch.cluster), launch.shared_bytes, launch.cooperative ? " cooperative" : "");
}

/// ["pack grid 4x1x1 ... args [...]", ...]. own, entries: of the steps of the plan.
std::string steps_text(const device::LaunchPlan& plan, const std::vector<StepAt>& own,
                       const std::vector<std::string>& entries, const SpecTexts& texts, const space::Config& config) {
  std::vector<std::string> items;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const auto& [step, index] = own.at(i);
    items.push_back(entries.at(i) + " " + launch_text(plan.steps[i].launch));
    if (step->arguments) items.back() += " args " + build::canonical_list(step->argument_names);
    for (const CompiledStep::With& with : step->with)
      items.back() += " with " + texts.value_text(with.value, config, index ? &*index : nullptr);
  }
  return build::canonical_list(items);
}

std::string hex_text(const std::vector<std::byte>& bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

/// "normal", "integers 0 1000".
std::string fill_text(const validate::ArgumentLayout& layout) {
  if (!layout.like.empty()) {
    std::string text = "like " + layout.like.front().name;
    for (const std::size_t dimension : layout.permute) text += " " + std::to_string(dimension);
    return text;
  }
  std::string text = layout.sum_of.empty() ? spec::fill_words.of(layout.fill) : "sum of " + layout.sum_of;
  for (const std::int64_t number : layout.numbers) text += " " + std::to_string(number);
  if (layout.fill == Fill::formula) text += " " + layout.formula + " " + space::bindings_text(layout.names);
  return text;
}

/// Includes each buffer's position among all arguments, which determines the positions of the scalars.
std::string buffers_text(const std::vector<spec::ArgSpec>& arguments,
                         const std::vector<validate::ArgumentLayout>& layouts, build::KeyedFiles& files) {
  const auto place_of = [&](const std::string& name) {
    const spec::ArgSpec* const argument = base::find_named(arguments, name);
    return argument ? argument - arguments.data() : std::ssize(arguments);
  };
  std::vector<std::string> items;
  for (const validate::ArgumentLayout& layout : layouts)
    items.push_back(fmt::format("{}: {} {} {} {}", place_of(layout.name), layout.name, spec::role_words.of(layout.role),
                                validate::describe(layout.dtype, layout.shape),
                                !layout.value.empty()  ? "value " + hex_text(layout.value)
                                : !layout.file.empty() ? short_file_digest(layout.file, files)
                                                       : fill_text(layout)));
  return build::canonical_list(items);
}

/// Whether the reference kernel is of the tuned kernel's source.
bool has_source_of_kernel(const spec::Spec& spec) {
  const std::filesystem::path& own = spec.validate.reference.source;
  return own.empty() || own == spec.kernel.source;
}

/// Definitions of the kernel that a reference's options replace.
std::vector<std::string> replaced_definitions(const spec::Spec& spec) {
  const std::set<std::string> own = build::defined_macros(texts_of(spec.validate.reference.options));
  std::vector<std::string> names;
  for (const space::Parameter& parameter : spec.parameters)
    if (parameter.compile_time && own.contains(parameter.name)) names.push_back(parameter.name);
  for (const auto& [name, text] : spec.kernel.defines)
    if (own.contains(name)) names.push_back(name);
  return names;
}

std::string names_text(const spec::Spec& spec, const std::vector<std::size_t>& args) {
  std::vector<std::string> names;
  for (const std::size_t number : args) names.push_back(spec.args.at(number).name);
  return build::canonical_list(names);
}

/// digest: of a reference kernel, its source's; of one configuration, all that makes it. values: of parameters that it
/// uses.
std::string reference_text(const spec::Spec& spec, const std::string& digest, const Bindings& values,
                           const std::string& command_text, build::KeyedFiles& files) {
  const spec::ReferenceSpec& reference = spec.validate.reference;
  const std::string at = values.empty() ? "" : " at " + key_text(values);
  switch (reference.kind) {
    case spec::ReferenceSpec::Kind::none:
      return "none";
    case spec::ReferenceSpec::Kind::kernel: {
      if (reference.config) return fmt::format("config {} {}", key_text(*reference.config), digest);
      std::string text = fmt::format("kernel {} {} options {}", reference.name, digest,
                                     build::canonical_list(texts_of(reference.options)));
      if (const auto replaced = replaced_definitions(spec); !replaced.empty())
        text += " own " + build::canonical_list(replaced);
      if (reference.args) text += " args " + names_text(spec, *reference.args);
      if (reference.launch)
        text += fmt::format(" grid {} block {} shared '{}'", build::canonical_list(texts_of(reference.launch->grid)),
                            build::canonical_list(texts_of(reference.launch->block)),
                            reference.launch->shared ? reference.launch->shared->text : "");
      if (reference.launch && !reference.launch->cluster.empty())
        text += " cluster " + build::canonical_list(texts_of(reference.launch->cluster));
      if (reference.launch && reference.launch->cooperative) text += " cooperative";
      return text + at;
    }
    case spec::ReferenceSpec::Kind::builtin: {
      std::vector<std::string> items;
      for (const auto& [role, text] : reference.bindings) items.push_back(role + "=" + text.text);
      return fmt::format("builtin {} {} {}{}", reference.name, reference.output, build::canonical_list(items), at);
    }
    case spec::ReferenceSpec::Kind::file:
      return fmt::format("file {} {}", reference.output, short_file_digest(reference.file, files));
    case spec::ReferenceSpec::Kind::command:
      return command_text;
    case spec::ReferenceSpec::Kind::given:
      return "given " + reference.digest;
  }
  return "unknown";
}

// "auto 1" to "auto 3": versions of the formula in tolerance.hpp. All agree where results must be exact, and the last
// two agree for rtol, and for arrays without rows.
std::string tolerance_text(const std::vector<std::pair<std::string, validate::ToleranceRule>>& rules,
                           const std::vector<spec::ArgSpec>& arguments) {
  std::string text;
  for (const auto& [output, rule] : rules) {
    const spec::ArgSpec& argument = *base::find_named(arguments, output);
    const bool exact = rule.reduction == 0 || !spec::is_floating(argument.dtype);
    const auto bound = [exact](const std::optional<double>& given, int version) {
      return given ? fmt::format("{}", *given) : fmt::format("auto {}", exact ? 1 : version);
    };
    text += fmt::format("{}{}: rtol {} atol {} ratio {}", text.empty() ? "" : "; ", output, bound(rule.rtol, 2),
                        bound(rule.atol, argument.shape.size() > 1 ? 3 : 2), rule.max_mismatched_ratio);
    if (rule.max_mismatched_ratio > 0) text += fmt::format(" outliers {}", rule.outlier_factor);
    if (rule.rtol && rule.atol) continue;
    if (rule.reduction) text += fmt::format(" reduction {}", *rule.reduction);
    if (rule.accumulate) text += fmt::format(" accumulate {}", to_string(*rule.accumulate));
  }
  return text;
}

/// The settings that determine which functions a kernel's calls reach, if it runs in a system process; empty: none is
/// set.
std::string loader_text(bool has_threads, build::KeyedFiles& files) {
  std::vector<std::string> items;
  std::vector<build::VariableReader> readers{build::VariableReader::loader};
  if (has_threads) readers.push_back(build::VariableReader::threads);
  for (const auto& [name, value] : build::set_variables(readers)) {
    if (value.empty()) continue;
    items.push_back(name + "=" + value);
    if (name != "LD_PRELOAD") continue;
    for (std::size_t begin = 0; begin < value.size();) {
      const std::size_t end = std::min(value.find_first_of(" :", begin), value.size());
      const std::string file = value.substr(begin, end - begin);
      std::error_code error;
      if (file.find('/') != std::string::npos && std::filesystem::is_regular_file(file, error))
        items.push_back(short_file_digest(file, files));
      begin = end + 1;
    }
  }
  return items.empty() ? "" : build::canonical_list(items);
}

/// Whether a runtime of threads may read the environment: an option requests OpenMP or links such a runtime, or Kokkos
/// is used, which may be built on it.
bool uses_threads(const spec::Spec& spec, const device::DeviceInfo& device) {
  if (spec.for_kokkos()) return true;
  std::vector<std::string> options = texts_of(spec.kernel.options);
  if (const auto own = spec.kernel.backend_options.find(device.backend); own != spec.kernel.backend_options.end())
    for (const spec::Text& option : own->second) options.push_back(option.text);
  return build::may_use_threads(options);
}

/// The parts of a call that affect its times and its validation.
std::string call_key_text(const device::ProgramCall& call, const spec::ProcessSpec& process) {
  const auto value_text = [](const device::ProgramValue& value) {
    return fmt::format("{}={} '{}' {} {} {}", value.name.empty() ? "time" : value.name, static_cast<int>(value.form),
                       value.where, value.file, value.unit, value.row);
  };
  std::vector<std::string> variables, values{value_text(call.time)};
  std::map<std::string, std::string> set =
      build::set_variables({build::VariableReader::threads, build::VariableReader::loader}, process.environment);
  for (const auto& [name, text] : call.environment) {
    set.erase(name);
    variables.push_back(name + "=" + text);
  }
  for (const auto& [name, value] : set) variables.push_back(name + "=" + device::to_call_text(value));
  for (const device::ProgramValue& metric : call.metrics) values.push_back(value_text(metric));
  std::string text = "call " + build::canonical_list(call.words);
  if (!variables.empty()) text += " environment " + build::canonical_list(variables);
  text += " values " + build::canonical_list(values);
  if (!call.expect.empty()) text += " expect " + build::canonical_list({call.expect});
  if (!call.check.empty()) text += " check " + build::canonical_list(call.check);
  if (!call.request.empty()) text += " request " + build::canonical_list({call.request});
  if (call.checks) text += " checked";
  return text;
}

/// The reference's request; `bare`, if a text of it has no value, which its compile reports.
build::CompileRequest bare_or_whole(const build::CompileRequest& bare,
                                    const std::function<build::CompileRequest()>& request) {
  try {
    return request();
  } catch (const Error&) {
  } catch (const build::CandidateFailure&) {
  }
  return bare;
}

/// Parts of the environment of a measurement.
void add_environment_parts(const spec::Spec& spec, const device::DeviceInfo& device, build::KeyParts& parts,
                           build::KeyedFiles& files) {
  parts.emplace_back("device", device_part(device));
  if (const int mhz = device.locked_clock_mhz; mhz > 0) parts.emplace_back("clocks", fmt::format("{} MHz", mhz));
  if (!device.driver.empty()) parts.emplace_back("driver", device.driver);
  if (std::string quota = cpu_quota_part(device); !quota.empty()) parts.emplace_back("cpu_quota", quota);
  if (has_compiler(device, device::CompilerKind::program))
    if (std::string loader = loader_text(uses_threads(spec, device), files); !loader.empty())
      parts.emplace_back("environment", std::move(loader));
  parts.emplace_back("schema", build::key_schema);
}

}  // namespace

std::string problem_part(const Bindings& problem) { return key_text(problem); }

std::string device_part(const device::DeviceInfo& device) {
  return build::canonical_list(
      {device.backend, device.vendor, device.arch, device.name, std::to_string(device.compute_units)});
}

std::string cpu_quota_part(const device::DeviceInfo& device) {
  if (!device::is_cpu(device) || device.cpu_quota_milli <= 0) return {};
  return fmt::format("{:g}", static_cast<double>(device.cpu_quota_milli) / 1000);
}

const CandidateResolver::ReferenceValues& CandidateResolver::reference_values() const {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->of_reference.values) return *state_->of_reference.values;
  }
  const spec::ReferenceSpec& reference = state_->spec.validate.reference;
  ReferenceValues found;
  std::set<std::string, std::less<>> names;
  const auto add = [&](const spec::CompiledText& text) { names.merge(text.names()); };
  const auto add_all = [&](const std::vector<spec::CompiledText>& texts) {
    std::for_each(texts.begin(), texts.end(), add);
  };
  if (reference.kind == spec::ReferenceSpec::Kind::builtin) {
    for (const auto& [role, text] : reference.bindings)
      if (!spec::is_word_role(role) && !base::find_named(state_->spec.args, text.text))
        add(spec::CompiledText::expression(text));
  } else if (reference.kind == spec::ReferenceSpec::Kind::kernel && !reference.config) {
    const space::Config config = reference_config();
    build::CompileRequest request = state_->request(config, state_->sources.reference);
    for (const spec::CompiledText& option : state_->reference_options)
      request.options.push_back(state_->expanded(option, config));
    std::set<std::string> words;
    bool any_word = false;  // ## makes names that are not in the text
    for (const build::SourceScan& file : build::compile_closure(request).files) {
      words.insert(file.words.begin(), file.words.end());
      any_word = any_word || file.computes_names;
    }
    const std::set<std::string> own = build::defined_macros(texts_of(reference.options));
    for (const space::Parameter& parameter : state_->spec.parameters) {
      if (!parameter.compile_time || own.contains(parameter.name)) continue;
      if (any_word || words.contains(parameter.name)) names.insert(parameter.name);
      if (words.contains(parameter.name) && !has_source_of_kernel(state_->spec)) found.macros.push_back(parameter.name);
    }
    for (std::size_t i = 0; i < state_->defines.size(); ++i)
      if (const std::string& name = state_->spec.kernel.defines[i].first;
          !own.contains(name) && (any_word || words.contains(name)))
        add(state_->defines[i]);
    add_all(state_->reference_options);
    for (const auto* texts :
         {&state_->reference_launch.grid, &state_->reference_launch.block, &state_->reference_launch.cluster})
      add_all(*texts);
    if (state_->reference_launch.shared) add(*state_->reference_launch.shared);
    for (const ArgumentText& variable : state_->variables) add(variable.text);
    const std::vector<const spec::ArgSpec*> taken =
        spec::arguments_of(state_->spec, spec::reference_args(state_->spec));
    const auto takes = [&](const spec::ArgSpec* argument) {
      return std::any_of(taken.begin(), taken.end(), [&](const auto* one) { return one->name == argument->name; });
    };
    for (const ValueTexts& value : state_->by_value)
      if (takes(value.argument)) add_all(value.all());
    for (const ScratchTexts& scratch : state_->buffers.scratch)
      if (takes(scratch.argument)) add_all(scratch.shape);
    for (const TensorMapTexts& map : state_->buffers.maps)
      if (takes(map.argument))
        for (const spec::CompiledText* text : map.all()) add(*text);
  }
  for (const space::Parameter& parameter : state_->spec.parameters)
    if (names.contains(parameter.name))
      found.values[parameter.name] = state_->space.named(reference_config()).at(parameter.name);
  const std::lock_guard lock(state_->mutex);
  return *(state_->of_reference.values = std::move(found));
}

std::vector<std::size_t> CandidateResolver::reference_constants() const {
  std::vector<std::size_t> found;
  const ArgumentTexts& variables = state_->variables;
  if (variables.empty()) return found;
  const space::Config config = reference_config();
  const bool same = has_source_of_kernel(state_->spec);
  build::SourceClosure closure;
  if (!same) closure = build::compile_closure(state_->request(config, state_->sources.reference));
  const auto named = [&](const std::string& identifier) {
    return std::any_of(closure.files.begin(), closure.files.end(),
                       [&](const build::SourceScan& file) { return file.words.contains(identifier); });
  };
  for (std::size_t i = 0; i < variables.size(); ++i)
    if (same || named(build::unqualified_name(state_->expanded(variables[i].text, config)))) found.push_back(i);
  return found;
}

std::string CandidateResolver::launch_part(const space::Config& config) const {
  try {
    const device::LaunchPlan resolved = launch(config);
    if (resolved.call)
      return call_key_text(*resolved.call, *state_->spec.process) + state_->call_files_text(*resolved.call);
    const std::vector<StepAt> own = state_->steps_at(config);
    std::vector<std::string> entries;
    for (const StepAt& at : own) entries.push_back(state_->expanded(at.step->entry, config));
    std::string text = state_->spec.steps.empty() ? launch_text(resolved.steps.front().launch)
                                                  : "steps " + steps_text(resolved, own, entries, *state_, config);
    if (!state_->buffers.scratch.empty()) {
      build::KeyedFiles none;
      text += " scratch " + buffers_text(state_->spec.args, scratch(config), none);
    }
    if (const CompiledStep& only = *own.front().step; state_->spec.steps.empty() && only.arguments)
      text += " args " + build::canonical_list(only.argument_names);
    if (!state_->buffers.maps.empty()) text += " maps " + maps_text(config);
    return text;
  } catch (const NoValue& failure) {
    return failure.complaint;
  } catch (const build::CandidateFailure& failure) {
    return failure.what();
  }
}

/// With the places of the maps and their buffers among all arguments.
std::string CandidateResolver::maps_text(const space::Config& config) const {
  const std::vector<measure::TensorMap> maps = tensor_maps(config);
  std::vector<std::string> items;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const TensorMapTexts& texts = state_->buffers.maps[i];
    items.push_back(fmt::format("{}: {} of {}: {}", texts.argument - state_->args.data(), texts.argument->name,
                                texts.of - state_->args.data(), measure::to_string(maps[i])));
  }
  return build::canonical_list(items);
}

namespace {

void add_protocol_parts(const spec::Spec& spec, build::KeyParts& parts) {
  // What is only recorded does not invalidate results.
  if (spec.validate.repeatable == spec::Repeatable::bitwise)
    parts.emplace_back("repeat", std::to_string(spec.validate.repeat));
  parts.emplace_back("protocol", "2: " + spec::measure_section.key_text(spec.measure));
  // Earlier records lack it: zeroing was not part of their times.
  if (std::any_of(spec.args.begin(), spec.args.end(), [](const spec::ArgSpec& argument) {
        return argument.role == spec::ArgRole::scratch && argument.fill == Fill::zero;
      }))
    parts.emplace_back("zeroing", "timed");
}

}  // namespace

build::KeyParts CandidateResolver::measurement_key_parts(const space::Config& config,
                                                         const std::string& artifact_key) const {
  const spec::Spec& spec = state_->spec;
  {  // Parts that are the same for all configurations require reading files, so they are computed once.
    const auto digest_with_reads = [this](const build::CompileRequest& bare) {
      State& state = *state_;
      const std::string digest = state.read(bare).digest;
      std::unique_lock lock(state.mutex);
      std::optional<std::string>& reads = state.of_reference.reads;
      if (!reads && !state.manifests.of(state.device.backend, bare.source_name).empty()) {
        lock.unlock();
        const build::CompileRequest whole = bare_or_whole(bare, [this] { return reference_request(); });
        lock.lock();
        if (!reads) state.of_reference.set_reads(state.manifests.digest_of_stored(whole), state.constant_parts);
      }
      return reads.value_or("").empty() ? digest : digest + " reads " + *reads;
    };
    std::string reference_digest;
    const ReferenceValues& values = reference_values();
    if (spec.validate.reference.config) {
      const space::Config own = reference_config();
      build::CompileRequest request = compile_request(own);
      // The identity of a reference does not include compiler and architecture.
      request.arch.clear();
      request.sanitize = false;
      const build::KeyParts kernel = build::artifact_key_parts(request, "", "", digest_with_reads(request));
      reference_digest = build::key_of(
          {{"kernel", build::key_of(kernel)}, {"scalars", state_->scalars_part(own)}, {"launch", launch_part(own)}});
    } else if (spec.validate.reference.kind == spec::ReferenceSpec::Kind::kernel) {
      // Its options determine what is included, and need not have a value.
      const space::Config own = reference_config();
      build::CompileRequest request = state_->request(own, state_->sources.reference);
      for (const spec::CompiledText& option : state_->reference_options)
        request.options.push_back(state_->expanded(option, own));
      reference_digest = digest_with_reads(request);
    }
    const std::lock_guard lock(state_->mutex);
    if (state_->constant_parts.empty()) {
      const bool is_command = spec.validate.reference.kind == spec::ReferenceSpec::Kind::command;
      const std::string command_text =
          is_command ? state_->command_text(spec.validate.reference.command) : std::string();
      build::KeyParts parts{
          {"problem", problem_part(state_->problem)},
          {"buffers", buffers_text(spec.args, layouts(), state_->data_files)},
          {"seed", std::to_string(spec.search.seed)},
          {"reference", reference_text(spec, reference_digest, values.values, command_text, state_->data_files)}};
      if (!state_->variables.empty())
        parts.emplace_back("constants", buffers_text(spec.args, constants(), state_->data_files));
      if (const std::string& check = spec.validate.reference.checked_by; !check.empty())
        parts.emplace_back("check", check);
      if (!spec.validate.check.empty()) parts.emplace_back("check_command", state_->command_text(spec.validate.check));
      if (spec.validate.inputs == spec::Inputs::fresh) parts.emplace_back("inputs", "fresh 1");
      parts.emplace_back("tolerance", tolerance_text(tolerances(), state_->args));
      add_protocol_parts(spec, parts);
      add_environment_parts(spec, state_->device, parts, state_->data_files);
      state_->constant_parts = std::move(parts);
    }
  }
  build::KeyParts parts{{"artifact", artifact_key},
                        {"runtime", state_->runtime_part(config)},
                        {"scalars", state_->scalars_part(config)},
                        {"launch", launch_part(config)}};
  parts.insert(parts.end(), state_->constant_parts.begin(), state_->constant_parts.end());
  // Part of the artifact's key as well; repeated so that a record shows that its times are not the kernel's.
  if (state_->sanitize) parts.emplace_back("sanitize", "true");
  return parts;
}

}  // namespace xtune::resolve
