// The kernels that a configuration launches in sequence; a spec without steps has one.
#include <fmt/core.h>

#include <algorithm>

#include "core/resolve/resolve_state.hpp"
#include "core/space/value.hpp"
#include "xtune/error.hpp"

namespace xtune::resolve {

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

device::LaunchPlan CandidateResolver::launch(const space::Config& config) const {
  device::LaunchPlan plan;
  if (state_->spec.process) {
    plan.call = state_->program_call(config);
    return plan;
  }
  state_->check_templates(config);
  scratch(config);
  tensor_maps(config);
  for (std::size_t i = 0; i < state_->scalar_values.size(); ++i) state_->scalar(i, config);
  std::vector<std::string> entries;
  for (const CompiledStep* const own : steps_at(state_->steps, state_->lookup(config))) {
    device::Step step;
    const std::string entry = state_->expanded(own->entry, config);
    step.kernel = number_of(entry, entries);
    step.arguments = own->arguments;
    if (own->number > 0) step.name = fmt::format("step {} '{}'", own->number, entry);
    try {
      step.launch = state_->resolve(own->launch, config);
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

}  // namespace xtune::resolve
