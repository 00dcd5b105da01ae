// Loads a spec: the file, the overlay, the sections in the order in which they need each other, the checks.
#include "core/spec/spec.hpp"

#include <algorithm>

#include "core/device/backend_facts.hpp"
#include "core/spec/reader.hpp"
#include "core/spec/template_text.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::spec {

namespace {

// Measuring energy and comparing bits take additional launches, so this is done only if a goal uses it.
void measure_what_goals_name(Spec& spec) {
  constexpr double enough_ms = 300;
  for (const ObjectiveSpec::Goal& goal : spec.objective.goals)
    if (spec.measure.energy_ms == 0 && parse_expression(goal.expression).names().contains("energy_j"))
      spec.measure.energy_ms = enough_ms;
  for (const ObjectiveSpec::Goal& goal : spec.objective.goals)
    if (!spec.process && spec.validate.repeatable == Repeatable::ignore &&
        parse_expression(goal.expression).names().contains("repeatable")) {
      spec.validate.repeatable = Repeatable::record;
      spec.validate.repeat = usual_repeats;
    }
}

constexpr std::uintmax_t largest_spec = 4 << 20;

const std::vector<std::string> sections{"kernel",  "problem",   "cases",    "derived",  "space",   "candidates",
                                        "launch",  "steps",     "args",     "validate", "measure", "search",
                                        "metrics", "objective", "dispatch", "on",       "process"};

// The document is parsed once more for each overlay, because merging changes it.
Spec read_spec(const std::string& text, const std::string& name, const std::filesystem::path& base_dir,
               const SpecOptions& options, bool check_files, std::vector<std::string>* overlays = nullptr) {
  Document document(text, name);
  Spec spec;
  spec.text = std::make_shared<const std::string>(text);
  spec.text_name = name;
  spec.path = (base_dir / std::filesystem::path(name).filename()).lexically_normal();
  Reader reader{document, spec, base_dir, check_files};
  if (document.root().entries.empty()) reader.fail({1, 1}, "the spec is empty: it needs [kernel] and [space]");
  reader.check_keys(document.root(), "the spec", sections);
  check_overlays(reader);
  if (const TomlNode* on = document.root().find("on"); on != nullptr && overlays != nullptr)
    for (const auto& [backend, node] : on->entries) overlays->push_back(backend);
  apply_overlay(reader, options.backend, options.defines);
  if (document.root().find("on") != nullptr && document.root().find("on")->find(options.backend) != nullptr)
    spec.backend = options.backend;
  read_problem(reader, options.suite);
  read_derived(reader);
  read_space(reader);
  reader.listed = spec.parameters;
  const auto listed_configs = spec.configs;
  const std::size_t listed_constraints = spec.constraints.size();
  if (options.suite) apply_suite_defines(reader, *options.suite);
  apply_defines(reader, options.defines);
  apply_choices(reader, options.choices);
  restrict_configs(reader);
  add_filters(reader, options);
  read_process(reader);
  read_kernel(reader);
  read_args(reader);
  read_validate(reader);
  read_steps(reader);
  check_arguments_used(reader);
  read_settings(reader);
  if (options.suite) apply_suite_budget(reader, *options.suite);
  if (spec.space_only()) {
    for (const char* section : {"launch", "args"})
      if (const TomlNode* node = document.root().find(section))
        reader.fail(node->at, "[" + std::string(section) + "] without a kernel: [kernel] has no source");
    if (spec.parameters.empty())
      reader.fail({1, 1}, "the spec has neither a source in [kernel] nor parameters in [space.params]");
  }
  check_expressions(reader);
  document.throw_complaints();
  measure_what_goals_name(spec);
  const auto same_values = [](const space::Parameter& a, const space::Parameter& b) { return a.values == b.values; };
  if (!std::ranges::equal(spec.parameters, reader.listed, same_values) || !options.filters.empty() ||
      spec.partition.count > 1) {
    auto whole = std::make_shared<Spec>(spec);
    whole->parameters = reader.listed;
    whole->configs = listed_configs;
    whole->constraints.resize(listed_constraints);
    whole->partition = {};
    spec.unrestricted = std::move(whole);
  }
  return spec;
}

}  // namespace

bool Spec::for_kokkos() const noexcept {
  const device::BackendFacts* const facts = device::find_backend_facts(kernel.backend);
  return facts != nullptr && facts->source == device::SourceKind::kokkos;
}

std::size_t passed_number(const Spec& spec, const ArgSpec& argument) {
  std::size_t number = 0;
  for (const ArgSpec& each : spec.args) {
    if (&each == &argument) break;
    if (each.kind != ArgKind::constant) ++number;
  }
  return number;
}

std::optional<std::vector<std::size_t>> passed_numbers(const Spec& spec,
                                                       const std::optional<std::vector<std::size_t>>& args) {
  if (!args) return std::nullopt;
  std::vector<std::size_t> numbers;
  for (const std::size_t number : *args) numbers.push_back(passed_number(spec, spec.args.at(number)));
  return numbers;
}

std::vector<const ArgSpec*> arguments_of(const Spec& spec, const std::optional<std::vector<std::size_t>>& args) {
  std::vector<const ArgSpec*> arguments;
  if (args)
    for (const std::size_t number : *args) arguments.push_back(&spec.args.at(number));
  else
    for (const ArgSpec& argument : spec.args)
      if (argument.kind != ArgKind::constant) arguments.push_back(&argument);
  return arguments;
}

const std::optional<std::vector<std::size_t>>& reference_args(const Spec& spec) {
  return spec.validate.reference.args ? spec.validate.reference.args : spec.kernel.args;
}

bool is_word_role(std::string_view role) noexcept { return role == "op" || role == "layout" || role == "boundary"; }

std::string to_string(const Location& at) {
  if (at.line == 0) return at.file;
  return at.file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

Spec parse_spec(const std::string& text, const std::string& name, const std::filesystem::path& base_dir,
                const SpecOptions& options) {
  const std::filesystem::path base = std::filesystem::absolute(base_dir);
  std::vector<std::string> overlays;
  Spec spec = read_spec(text, name, base, options, true, &overlays);
  // An error in another backend's overlay is reported on every machine, not only where that backend runs.
  for (const std::string& backend : overlays)
    if (backend != options.backend) read_spec(text, name, base, {{}, backend}, false);
  return spec;
}

Spec load_spec(const std::filesystem::path& path, const SpecOptions& options) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (!error && bytes > largest_spec)
    throw Error(ErrorKind::invalid_spec,
                path.string() + ": " + std::to_string(bytes) + " bytes are too many for a spec (at most 4 MiB)");
  const std::string text = system::read_file(path, largest_spec);
  return parse_spec(text, path.string(), std::filesystem::absolute(path).parent_path(), options);
}

SourceText read_source(const Spec& spec, const std::filesystem::path& path) {
  if (!spec.kernel.code || path != spec.kernel.source) return {path, system::read_file(path)};
  const Text& code = *spec.kernel.code;
  return {path, code.text, code.escaped || code.at.line == 0 ? 1 : code.at.line};
}

}  // namespace xtune::spec
