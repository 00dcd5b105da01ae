// Turning [validate] reference into a plan that the bench worker can carry out.
#include "core/run/reference_plan.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/space/value.hpp"
#include "core/spec/template_text.hpp"
#include "core/validate/builtin.hpp"
#include "xtune/error.hpp"

namespace xtune::run {
namespace {

/// A source that is refused, or takes too long, is an error of the spec. The reason why a compiler was killed is not.
ErrorKind kind_of_failure(const ipc::CompileAnswer& answer) {
  // An unclear cause, such as a missing header, is most likely an error in the spec.
  const bool of_the_machine = answer.lack != build::Lack::none && answer.lack != build::Lack::unclear;
  return of_the_machine || answer.outcome == Outcome::crashed ? ErrorKind::io : ErrorKind::invalid_spec;
}

/// The message is often a line of the log, which is not to be shown twice.
std::string message_and_log(const ipc::CompileAnswer& answer) {
  const std::string log = base::printable(answer.log, 4000);
  if (log.starts_with(answer.message)) return log;
  return answer.message + (log.empty() ? "" : "\n" + log);
}

}  // namespace

ReferenceBuilder::ReferenceBuilder(const spec::Spec& spec, const resolve::CandidateResolver& resolver,
                                   const target::Target& target, std::filesystem::path store,
                                   std::filesystem::path scratch)
    : spec_(spec), resolver_(resolver), target_(target), store_(std::move(store)), scratch_(std::move(scratch)) {}

ipc::ReferencePlan ReferenceBuilder::plan_builtin() const {
  const spec::ReferenceSpec& reference = spec_.validate.reference;
  ipc::ReferencePlan plan;
  plan.kind = reference.kind;
  plan.at = spec::to_string(reference.at);
  plan.name = reference.name;
  plan.output = reference.output;
  const Bindings bindings = resolver_.bindings(resolver_.reference_config());
  const auto lookup = [&](std::string_view name) { return space::find_value(bindings, name); };
  for (const auto& [role, text] : reference.bindings) {
    const spec::ArgSpec* const argument = base::find_named(spec_.args, text.text);
    if (argument && has_elements(argument->kind))
      plan.arrays.emplace_back(role, text.text);
    else if (spec::is_word_role(role))
      plan.scalars[role] = text.text;
    else
      plan.scalars[role] = spec::evaluate(text, lookup);
  }
  return plan;
}

void ReferenceBuilder::build(ipc::CompileService& compiler, std::function<void(ipc::ReferencePlan)> done) {
  const spec::ReferenceSpec& reference = spec_.validate.reference;
  const space::Config own = resolver_.reference_config();
  if (reference.kind != spec::ReferenceSpec::Kind::kernel) {
    ipc::ReferencePlan plan = plan_builtin();
    plan.file = reference.file;
    plan.folder = spec_.path.parent_path();
    plan.scalar_arguments = resolver_.scalars(own);
    const Bindings bindings = resolver_.bindings(own);
    for (const spec::Text& word : reference.command)
      plan.command.push_back(
          spec::expand(word, [&](std::string_view name) { return space::find_value(bindings, name); }));
    done(std::move(plan));
    return;
  }
  ipc::ReferencePlan plan;
  plan.kind = reference.kind;
  plan.at = spec::to_string(reference.at);
  plan.name = reference.name;
  plan.launch = resolver_.reference_launch();
  plan.scalar_arguments = resolver_.scalars(own);
  plan.constants = resolver_.reference_constants();
  plan.scratch = resolver_.scratch(own);
  // A plain kernel that takes none must not fail for the maps of one configuration.
  if (std::any_of(spec_.args.begin(), spec_.args.end(), [&](const spec::ArgSpec& argument) {
        return argument.map && plan.launch.takes(spec::passed_number(spec_, argument));
      }))
    plan.maps = resolver_.tensor_maps(own);
  const build::CompileRequest request = resolver_.reference_request();
  const ipc::CompileJob job{target_.backend.name, store_, resolver_.reference_artifact_key(request), request, scratch_};
  plan.compile_job = std::make_shared<ipc::CompileJob>(job);
  compiler.compile(
      job, spec_.kernel.compile_timeout_s, [plan, at = reference.at, done](const ipc::CompileAnswer& answer) mutable {
        if (answer.outcome != Outcome::ok)
          throw Error(kind_of_failure(answer),
                      fmt::format("{}: the reference kernel '{}' did not compile ({}): {}", spec::to_string(at),
                                  plan.name, to_string(answer.outcome), message_and_log(answer)));
        plan.artifact = answer.artifact;
        done(std::move(plan));
      });
}

}  // namespace xtune::run
