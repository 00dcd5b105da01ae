// Loads a spec: the file, the overlay, the sections in the order in which they need each other, the checks.
#include "core/spec/spec.hpp"

#include <algorithm>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/device/backend_facts.hpp"
#include "core/device/device_info.hpp"
#include "core/space/value.hpp"
#include "core/spec/reader.hpp"
#include "core/spec/template_text.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::spec {

namespace {

using Names = std::vector<std::string>;

/// Checks every expression of a spec before anything runs: that it parses, that its names exist and are allowed where
/// they are used, and, if it uses only names of the problem, that it can be evaluated.
class ExpressionChecker {
 public:
  explicit ExpressionChecker(const Reader& reader) : document_(reader.document), spec_(reader.spec) {
    for (const auto& [name, value] : spec_.cases.front()) problem_.push_back(name);
    problem_and_device_ = problem_;
    problem_and_device_.insert(problem_and_device_.end(), device::device_fact_names().begin(),
                               device::device_fact_names().end());
    problem_device_and_buffers_ = problem_and_device_;
    for (const ArgSpec& arg : spec_.args)
      if (has_elements(arg.kind) && arg.role != ArgRole::scratch) problem_device_and_buffers_.push_back(arg.name);
    parameters_ = names_of(spec_.parameters);
    all_ = problem_and_device_;
    all_.insert(all_.end(), parameters_.begin(), parameters_.end());
    with_time_ = all_;
    with_time_.insert(with_time_.end(), {"time_s", "time_ms"});
    const Names reported = reported_names(spec_);
    with_time_.insert(with_time_.end(), reported.begin(), reported.end());
  }

  /// A name of an element's place has one meaning in a formula.
  void check_places(const ArgSpec& arg) const {
    for (const Text& text : arg.numbers)
      for (const char* const place : place_names) {
        const bool is_name = std::ranges::count(problem_device_and_buffers_, place) > 0 ||
                             (spec_.derived && spec_.derived->contains(place));
        if (is_name && parse_expression({text.text, text.at}).names().contains(place))
          document_.fail(text.at, "fill: '" + std::string(place) +
                                      "' is an element's place in a formula, and a name of this spec: rename that");
      }
  }

  void check_spec() const {
    for (const Text& text : spec_.constraints) check(text, all_, "a constraint");
    check_kernel();
    if (spec_.process) check_process(*spec_.process);
    for (const StepSpec& step : steps_of(spec_)) {
      check_template(step.entry);
      Names names = all_;
      if (step.repeat) check(step.repeat->count, all_, "a step's repetitions"), names.push_back(step.repeat->index);
      check_launch(step.launch, names);
      if (step.when) check(*step.when, names, "a step's condition");
      for (const auto& [name, value] : step.with) check(value, names, "a step's value");
    }
    for (const ArgSpec& arg : spec_.args) {
      const bool is_scratch = arg.role == ArgRole::scratch;
      for (const Text& text : arg.shape) check_size(text, is_scratch ? all_ : problem_and_device_, "a shape", 1);
      Names of_fill = problem_device_and_buffers_;
      if (arg.fill == Fill::formula) {
        check_places(arg);
        of_fill.insert(of_fill.end(), place_names.begin(), place_names.end());
      }
      for (const Text& text : arg.numbers) check(text, of_fill, "a number of a fill");
      if (arg.value) check(*arg.value, arg.kind == ArgKind::scalar ? all_ : problem_and_device_, "a value");
      for (const FieldSpec& field : arg.fields) {
        for (const Text& text : field.value) check(text, all_, "a value");
        for (const auto* text : {&field.offset, &field.stride})
          if (*text) check_size(**text, all_, "an offset", 0);
        if (field.entries) check_size(*field.entries, all_, "a count", 1);
      }
      if (arg.symbol) check_template(*arg.symbol);
      if (arg.map) check_tensor_map(*arg.map);
    }
    Names measured = with_time_;
    measured.insert(measured.end(), quantity_names().begin(), quantity_names().end());
    for (const Metric& metric : spec_.metrics) check(metric.expression, measured, "a metric");
    for (const Metric& metric : spec_.metrics) measured.push_back(metric.name);
    for (const ObjectiveSpec::Goal& goal : spec_.objective.goals) check(goal.expression, measured, "an objective");
    if (spec_.candidates)
      for (const CandidateField& field : spec_.candidates->map) check(field.expression, all_, "a candidate's field");
    for (const Text& text : spec_.dispatch.key) check(text, problem_and_device_, "a dispatch key");
    check_reference();
    if (spec_.validate.reduction) check_size(*spec_.validate.reduction, problem_and_device_, "a reduction length", 0);
  }

 private:
  void check_kernel() const {
    const KernelSpec& kernel = spec_.kernel;
    for (const Text& text : kernel.options) check_template(text);
    for (const auto& [backend, options] : kernel.backend_options)
      for (const Text& text : options) check_template(text);
    if (kernel.controls) check_template(*kernel.controls);
    for (const auto& [name, text] : kernel.defines) check_template(text);
  }

  void check_tensor_map(const TensorMapSpec& map) const {
    for (const auto* sizes : {&map.box, &map.shape, &map.strides, &map.element_strides})
      for (const Text& text : *sizes) check_size(text, all_, "an extent of a tensor map", 1);
    for (const auto* bytes : {&map.swizzle, &map.l2_promotion, &map.interleave})
      if (*bytes) check_size(**bytes, all_, "a number of bytes", 0);
  }

  void check_process(const ProcessSpec& process) const {
    for (const ProcessCommand* command : {&process.build, &process.run, &process.check, &process.exec_prefix})
      for (const CommandWord& word : command->words) check_word(word);
    for (const auto* variables : {&process.env, &process.build_env})
      for (const auto& [name, word] : *variables) check_word(word);
  }

  void check_word(const CommandWord& word) const {
    for (const CompiledText::Part* part : word.expressions()) check(part->text, all_, "a command");
  }

  void check_launch(const LaunchSpec& launch, const Names& names) const {
    for (const auto* sizes : {&launch.grid, &launch.block, &launch.cluster})
      for (const Text& text : *sizes) check_size(text, names, "a launch size", 1);
    if (launch.shared) check_size(*launch.shared, names, "the shared memory", 0);
  }

  void check_reference() const {
    const ReferenceSpec& reference = spec_.validate.reference;
    for (const Text& text : reference.options) check_template(text);
    for (const auto* command : {&reference.command, &spec_.validate.check})
      for (const Text& text : *command) check_template(text, problem_and_device_);
    if (reference.launch) check_launch(*reference.launch, all_);
    for (const auto& [role, text] : reference.bindings) {
      if (base::find_named(spec_.args, text.text) || is_word_role(role)) continue;  // a word of the builtin
      Names names = all_;
      for (const ArgSpec& arg : spec_.args) names.push_back(arg.name);
      check(text, all_, "a reference", &names);
    }
  }

  void check_template(const Text& text) const { check_template(text, all_); }

  void check_template(const Text& text, const Names& allowed) const {
    try {
      const CompiledText compiled = CompiledText::template_text(text);
      for (const CompiledText::Part& part : compiled.parts())
        if (!part.expression.empty()) check(part.text, allowed, "a text");
    } catch (const TextError& error) {
      document_.fail(error.at, error.message);
    }
  }

  space::Expression parse(const Text& text) const {
    try {
      return parse_expression(text);
    } catch (const space::ExpressionError& error) {
      document_.fail(locate(text, error.column), error.what());
    }
  }

  void check(const Text& text, const Names& allowed, const std::string& what,
             const Names* suggestions = nullptr) const {
    const space::Expression expression = parse(text);
    for (const std::string& name : expression.names())
      if (std::find(allowed.begin(), allowed.end(), name) == allowed.end())
        unknown_name(text, expression, name, suggestions == nullptr ? allowed : *suggestions, what);
    fold(text, expression, [](const Value&) { return std::string(); });
  }

  void check_size(const Text& text, const Names& allowed, const std::string& what, std::int64_t least) const {
    check(text, allowed, what);
    fold(text, parse(text), [&](const Value& value) -> std::string {
      const auto integer = space::integer_of(value);
      if (!integer)
        return what + " must be an integer, and this is the " + space::type_name(value) + " " +
               space::shown_text(value);
      return *integer < least ? what + " must be at least " + std::to_string(least) + ", and this is " + to_text(value)
                              : std::string();
    });
  }

  [[noreturn]] void unknown_name(const Text& text, const space::Expression& expression, const std::string& name,
                                 const Names& allowed, const std::string& what) const {
    const Location at = locate(text, expression.column_of(name));
    const auto among = [&](const Names& names, const std::string& word) {
      return std::find(names.begin(), names.end(), word) != names.end();
    };
    if (among(parameters_, name))
      document_.fail(at, "the parameter '" + name + "' cannot be used in " + what +
                             ", which may name problem sizes and device facts only");
    if (name == "time_s" || name == "time_ms") document_.fail(at, "'" + name + "' is known to metrics only");
    std::string hint = base::did_you_mean(name, allowed);
    if (among(allowed, "device." + name)) hint = " (did you mean 'device." + name + "'?)";
    if (name == "inf" || name == "nan") hint = " (did you mean float('" + name + "')?)";
    document_.fail(at, "unknown name '" + name + "' in " + what + (hint.empty() ? known(allowed) : hint));
  }

  /// "; known: M, N and the facts device.*"
  static std::string known(const Names& allowed) {
    std::string list;
    bool facts = false;
    for (const std::string& name : allowed) {
      facts = facts || name.starts_with("device.");
      if (!name.starts_with("device.")) list += (list.empty() ? "" : ", ") + name;
    }
    if (facts) list += list.empty() ? "the facts device.*" : " and the facts device.*";
    return list.empty() ? "" : "; known: " + list;
  }

  // Expressions that use only names of the problem are evaluated now: a division by zero is found before anything is
  // compiled.
  template <class Complaint>
  void fold(const Text& text, const space::Expression& expression, Complaint complaint) const {
    const bool problem_only = std::all_of(
        expression.names().begin(), expression.names().end(),
        [&](const std::string& name) { return std::find(problem_.begin(), problem_.end(), name) != problem_.end(); });
    if (!problem_only) return;
    for (const Bindings& problem : spec_.cases) {
      const auto values = [&] {
        std::string list;
        for (const std::string& name : expression.names())
          list += (list.empty() ? " (" : ", ") + name + " = " + space::shown_text(problem.find(name)->second);
        return list.empty() ? list : list + ")";
      };
      try {
        const Value value =
            expression.evaluate([&](std::string_view name) -> const Value* { return &problem.find(name)->second; });
        if (const std::string message = complaint(value); !message.empty())
          document_.fail(locate(text, 0), message + values());
      } catch (const space::ExpressionError& error) {
        document_.fail(locate(text, error.column), error.what() + values());
      }
    }
  }

  const Document& document_;
  const Spec& spec_;
  Names problem_, problem_and_device_, problem_device_and_buffers_, parameters_, all_, with_time_;
};

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

/// A draft has "?" where only its author knows the text. lists: also in lists, whose items are then no values to try.
void find_blanks(Document& document, const TomlNode& node, const std::string& key, bool lists) {
  if (node.kind == TomlNode::Kind::text && std::get<std::string>(node.value) == "?")
    document.complain(node.at, "'?' is a blank: fill in " + key);
  for (std::size_t i = 0; lists && i < node.items.size(); ++i) {
    find_blanks(document, node.items[i], key, lists);
    if (node.items[i].kind == TomlNode::Kind::text && std::get<std::string>(node.items[i].value) == "?") break;
  }
  for (const auto& [name, entry] : node.entries) find_blanks(document, entry, name == "values" ? key : name, lists);
}

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
  for (const char* section : {"space", "launch", "steps", "args"})
    if (const TomlNode* node = document.root().find(section))
      find_blanks(document, *node, section, section != std::string("space"));
  document.throw_complaints();
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
  ExpressionChecker(reader).check_spec();
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
