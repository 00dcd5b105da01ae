// Checks the names in a spec's search and validation.
#include "core/run/check_spec.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/build/source_closure.hpp"
#include "core/model/rank.hpp"
#include "core/search/strategy.hpp"
#include "core/space/value.hpp"
#include "core/spec/template_text.hpp"
#include "core/validate/builtin.hpp"
#include "xtune/error.hpp"

namespace xtune::run {
namespace {

using Names = std::vector<std::string>;

bool contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void refuse_word(const spec::Spec& spec, const spec::Location& at, const std::string& what,
                              const std::string& word, const Names& valid) {
  throw spec::spec_error(spec, at,
                         fmt::format("{} '{}'{}; one of {}", what, base::printable(word, 80),
                                     base::did_you_mean(word, valid), fmt::join(valid, ", ")));
}

void check_strategy(const spec::Spec& spec) {
  if (const std::string complaint = search::strategy_complaint(spec.search.strategy); !complaint.empty())
    throw spec::spec_error(spec, spec.search.at, complaint);
}

void check_builtin(const spec::Spec& spec) {
  const spec::ReferenceSpec& reference = spec.validate.reference;
  const validate::BuiltinSignature* const signature = validate::builtin_signature(reference.name);
  if (!signature)
    refuse_word(spec, reference.at, "unknown builtin reference", reference.name, validate::builtin_names());
  Names roles = signature->required;
  roles.insert(roles.end(), signature->optional.begin(), signature->optional.end());
  Names words = roles;
  words.insert(words.end(), signature->scalars.begin(), signature->scalars.end());
  Names buffers, bound;
  for (const spec::ArgSpec& argument : spec.args)
    if (has_elements(argument.kind) && argument.role != spec::ArgRole::scratch) buffers.push_back(argument.name);
  for (const auto& [role, text] : reference.bindings) {
    if (!contains(words, role))
      refuse_word(spec, text.at, "the builtin reference " + reference.name + " has no", role, words);
    if (contains(roles, role) && !contains(buffers, text.text))
      refuse_word(spec, text.at, fmt::format("{}.{} takes a buffer argument, not", reference.name, role), text.text,
                  buffers);
    if (const auto choices = signature->words.find(role);
        choices != signature->words.end() && !contains(choices->second, text.text))
      refuse_word(spec, text.at, fmt::format("the builtin reference {} has no {}", reference.name, role), text.text,
                  choices->second);
    bound.push_back(role);
  }
  for (const std::string& role : signature->required)
    if (!contains(bound, role))
      throw spec::spec_error(
          spec, reference.at,
          fmt::format("the builtin reference {} needs {} = \"...\", the name of a buffer argument ({})", reference.name,
                      role, fmt::join(buffers, ", ")));
}

/// Macros of a reference's options have the options' values; launch and scalars would have those of whichever
/// configuration is tried first.
void check_reference_options(const spec::Spec& spec) {
  const spec::ReferenceSpec& reference = spec.validate.reference;
  if (reference.options.empty()) return;
  std::vector<std::string> options;
  for (const spec::Text& option : reference.options) options.push_back(option.text);
  const spec::LaunchSpec& launch = reference.launch ? *reference.launch : spec.launch;
  const auto in_launch = spec::names_in(launch);
  for (const std::string& name : build::defined_macros(options)) {
    if (!base::find_named(spec.parameters, name)) continue;
    std::string user = in_launch.contains(name) ? "the launch" : "";
    for (const spec::ArgSpec* argument : spec::arguments_of(spec, spec::reference_args(spec)))
      if (argument->kind != spec::ArgKind::buffer && spec::names_in(*argument).contains(name))
        user = fmt::format("the argument '{}'", argument->name);
    if (user.empty()) continue;
    const auto at = std::find_if(reference.options.begin(), reference.options.end(),
                                 [&](const spec::Text& option) { return option.text.find(name) != std::string::npos; });
    throw spec::spec_error(
        spec, at->at,
        fmt::format("the reference's options define the parameter '{}', but {} takes its value from the configuration "
                    "that is tried. Write reference = {{ config = {{ {} = ... }} }} for the kernel at one "
                    "configuration{}",
                    name, user, name,
                    in_launch.contains(name) ? ", or give the reference a grid and block without " + name : ""));
  }
}

}  // namespace

void check_spec(const spec::Spec& spec) {
  check_strategy(spec);
  if (spec.candidates) model::check_candidates(spec);
  if (spec.validate.reference.kind == spec::ReferenceSpec::Kind::builtin) check_builtin(spec);
  check_reference_options(spec);
}

std::optional<std::string> check_launches(const spec::Spec& spec, const space::Space& space,
                                          const resolve::CandidateResolver& resolver) {
  constexpr std::uint64_t max_tried = std::uint64_t{1} << 18;
  if (space.size() == 0) return std::nullopt;
  const std::vector<spec::StepSpec> steps = spec::steps_of(spec);
  const spec::Location at = steps.empty() || steps.front().launch.block.empty() ? spec::Location{spec.path.string()}
                                                                                : steps.front().launch.block.front().at;
  const auto failure_of = [&](std::uint64_t index) -> std::optional<resolve::NoValue> {
    try {
      const auto limit = resolver.limit_violation(resolver.launch(space.at(index)), nullptr);
      return limit ? std::optional(resolve::NoValue(at, *limit)) : std::nullopt;
    } catch (const resolve::NoValue& failure) {
      return failure;
    } catch (const build::CandidateFailure& failure) {
      return resolve::NoValue(at, failure.what());
    }
  };
  // Neighbours in the numbering often fail for the same reason, so the steps are long.
  std::uint64_t step = space.size() / 1000003 + 7919;
  while (std::gcd(step, space.size()) != 1) ++step;
  step %= space.size();
  const std::uint64_t tried = std::min(space.size(), max_tried);
  const std::optional<resolve::NoValue> first = failure_of(0);
  if (!first) return std::nullopt;
  for (std::uint64_t i = 1, index = step; i < tried; ++i) {
    if (!failure_of(index)) return std::nullopt;
    index = index < space.size() - step ? index + step : index - (space.size() - step);
  }
  const std::string example = fmt::format("e.g. {}: {}", space::shown_text(space.named(space.at(0))), first->complaint);
  if (tried == space.size())
    throw Error(ErrorKind::nothing_valid,
                spec::spec_error(spec, first->at, "no configuration can be launched, " + example).what());
  return fmt::format("none of {} configurations that were tried can be launched, {}", tried, example);
}

void check_objective(const spec::Spec& spec, const device::DeviceInfo& device) {
  if (device.backend != "host") return;
  for (const spec::ObjectiveSpec::Goal& goal : spec.objective.goals) {
    const space::Expression expression = spec::parse_expression(goal.expression);
    const auto& names = expression.names();
    const auto of_device = [](const std::string& name) { return name.starts_with("device."); };
    if (std::ranges::find(names, "energy_j") == names.end() || std::ranges::any_of(names, of_device)) continue;
    throw Error(ErrorKind::unsupported,
                spec::spec_error(spec, goal.expression.at,
                                 fmt::format("the objective needs energy_j, which is not measured on {} (backend {})",
                                             device.name.empty() ? device.arch : device.name, device.backend))
                    .what());
  }
}

ReferencePlan plan_contents(const spec::Spec& spec, const resolve::CandidateResolver& resolver) {
  const spec::ReferenceSpec& reference = spec.validate.reference;
  ReferencePlan plan;
  plan.output = reference.output;
  plan.file = reference.file;
  plan.folder = spec.path.parent_path();
  const space::Config own = resolver.reference_config();
  plan.scalars = resolver.scalars(own);
  const Bindings bindings = resolver.bindings(own);
  const auto lookup = [&](std::string_view name) { return space::find_value(bindings, name); };
  for (const auto& [role, text] : reference.bindings) {
    const spec::ArgSpec* const argument = base::find_named(spec.args, text.text);
    if (argument && has_elements(argument->kind))
      plan.arrays.emplace_back(role, text.text);
    else if (spec::is_word_role(role))
      plan.values[role] = text.text;
    else
      plan.values[role] = spec::evaluate(text, lookup);
  }
  for (const spec::Text& word : reference.command) plan.command.push_back(spec::expand(word, lookup));
  return plan;
}

namespace {

/// As the worker that computes the reference will call it.
void check_builtin_call(const spec::Spec& spec, const resolve::CandidateResolver& resolver,
                        const std::vector<validate::ArgumentLayout>& layouts, std::uint64_t limit_bytes) {
  const spec::ReferenceSpec& reference = spec.validate.reference;
  const ReferencePlan plan = plan_contents(spec, resolver);
  const std::vector<validate::ArgumentLayout> constants = resolver.constants(limit_bytes);
  validate::BuiltinCall call;
  call.scalars = {plan.values.begin(), plan.values.end()};
  for (const validate::ArgumentLayout& layout : layouts)
    if (!call.output && layout.role != spec::ArgRole::in && (plan.output.empty() || layout.name == plan.output))
      call.output = &layout;
  for (const auto& [role, name] : plan.arrays) {
    const validate::ArgumentLayout* found = base::find_named(layouts, name);
    if (!found) found = base::find_named(constants, name);
    if (found && found->role != spec::ArgRole::out) call.arrays[role] = {found, {}};
  }
  if (call.output && call.arrays.size() == plan.arrays.size()) validate::check_builtin(reference.name, call);
}

}  // namespace

void check_reference(const spec::Spec& spec, const resolve::CandidateResolver& resolver, std::uint64_t limit_bytes) {
  const spec::ReferenceSpec& reference = spec.validate.reference;
  using enum spec::ReferenceSpec::Kind;
  if (reference.kind != file && reference.kind != builtin) return;
  const std::vector<validate::ArgumentLayout> layouts = resolver.layouts(limit_bytes);
  try {
    if (reference.kind == builtin) return check_builtin_call(spec, resolver, layouts, limit_bytes);
    for (validate::ArgumentLayout output : layouts) {
      if (output.role == spec::ArgRole::in || (!reference.output.empty() && output.name != reference.output)) continue;
      output.file = reference.file;
      validate::check_contents(output);
    }
  } catch (const Error& error) {
    throw spec::spec_error(spec, reference.at, error.what());
  }
}

}  // namespace xtune::run
