// Checks every expression of a spec before anything runs: that it parses, that its names exist and are allowed where
// they are used, and, if it uses only names of the problem, that it can be evaluated.
#include <algorithm>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/device/device_info.hpp"
#include "core/space/value.hpp"
#include "core/spec/process_spec.hpp"
#include "core/spec/reader.hpp"
#include "core/spec/template_text.hpp"

namespace xtune::spec {

namespace {

using Names = std::vector<std::string>;

class ExpressionChecker {
 public:
  explicit ExpressionChecker(const Reader& reader) : document_(reader.document), spec_(reader.spec) {
    for (const auto& [name, value] : spec_.cases.front()) problem_.push_back(name);
    problem_and_device_ = problem_;
    problem_and_device_.insert(problem_and_device_.end(), device::device_fact_names().begin(),
                               device::device_fact_names().end());
    for (const space::Parameter& parameter : spec_.parameters) parameters_.push_back(parameter.name);
    all_ = problem_and_device_;
    all_.insert(all_.end(), parameters_.begin(), parameters_.end());
    with_time_ = all_;
    with_time_.insert(with_time_.end(), {"time_s", "time_ms"});
    const Names reported = reported_names(spec_);
    with_time_.insert(with_time_.end(), reported.begin(), reported.end());
  }

  void check_spec() const {
    for (const Text& text : spec_.constraints) check(text, all_, "a constraint");
    check_kernel();
    if (spec_.process) check_process(*spec_.process);
    for (const StepSpec& step : steps_of(spec_)) {
      check_template(step.entry);
      check_launch(step.launch);
      if (step.when) check(*step.when, all_, "a step's condition");
    }
    for (const ArgSpec& arg : spec_.args) {
      const bool is_scratch = arg.role == ArgRole::scratch;
      for (const Text& text : arg.shape) check_size(text, is_scratch ? all_ : problem_and_device_, "a shape", 1);
      for (const Text& text : arg.integers) check(text, problem_and_device_, "a range of integers");
      if (arg.value) check(*arg.value, arg.kind == ArgKind::constant ? problem_and_device_ : all_, "a value");
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
      for (const CommandWord* word : command->texts()) check_word(*word);
    for (const auto* variables : {&process.env, &process.build_env})
      for (const auto& [name, word] : *variables) check_word(word);
  }

  void check_word(const CommandWord& word) const {
    for (const CompiledText::Part* part : word.expressions()) check(part->text, all_, "a command");
  }

  void check_launch(const LaunchSpec& launch) const {
    for (const auto* sizes : {&launch.grid, &launch.block, &launch.cluster})
      for (const Text& text : *sizes) check_size(text, all_, "a launch size", 1);
    if (launch.shared) check_size(*launch.shared, all_, "the shared memory", 0);
  }

  void check_reference() const {
    const ReferenceSpec& reference = spec_.validate.reference;
    for (const Text& text : reference.options) check_template(text);
    for (const auto* command : {&reference.command, &spec_.validate.check})
      for (const Text& text : *command) check_template(text, problem_and_device_);
    if (reference.launch) check_launch(*reference.launch);
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
  Names problem_, problem_and_device_, parameters_, all_, with_time_;
};

}  // namespace

void check_expressions(const Reader& reader) { ExpressionChecker(reader).check_spec(); }

}  // namespace xtune::spec
