// Compiles the kernels that check configurations, and opens the problem.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/build/shortage.hpp"
#include "core/run/check_spec.hpp"
#include "core/run/run_parts.hpp"
#include "core/space/value.hpp"
#include "core/spec/process_spec.hpp"
#include "core/spec/template_text.hpp"
#include "core/validate/builtin.hpp"
#include "core/validate/check_kernel.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::run {
namespace {

/// A source that is refused, or takes too long, is an error of the spec. The reason why a compiler was killed is not.
ErrorKind kind_of_failure(const CompileAnswer& answer) {
  // An unclear cause, such as a missing header, is most likely an error in the spec.
  const bool of_the_machine = answer.lack != build::Lack::none && answer.lack != build::Lack::unclear;
  return of_the_machine || answer.outcome == Outcome::crashed ? ErrorKind::io : ErrorKind::invalid_spec;
}

/// The message is often a line of the log, which is not to be shown twice.
std::string message_and_log(const CompileAnswer& answer) {
  const std::string log = base::printable(answer.log, 4000);
  if (log.starts_with(answer.message)) return log;
  return answer.message + (log.empty() ? "" : "\n" + log);
}

/// The compiled reference kernel, to be completed with its artifact.
ReferencePlan plan_kernel(const RunContext& run) {
  const resolve::CandidateResolver& resolver = run.resolver;
  const space::Config own = resolver.reference_config();
  ReferencePlan plan;
  plan.launch = resolver.reference_launch();
  plan.scalars = resolver.scalars(own);
  plan.constants = resolver.reference_constants();
  plan.scratch = resolver.scratch(own);
  // A plain kernel that takes none must not fail for the maps of one configuration.
  if (std::any_of(run.spec.args.begin(), run.spec.args.end(), [&](const spec::ArgSpec& argument) {
        return argument.map && plan.launch.takes(spec::passed_number(run.spec, argument));
      }))
    plan.maps = resolver.tensor_maps(own);
  return plan;
}

}  // namespace

/// Reading every output back would take longer than most measurements.
void ProblemSetup::compile_check_kernel(std::function<void(CheckKernel)> done) {
  if (!run_.target.own_memory) return done({});
  build::CompileRequest request = validate::check_request(run_.target.arch);
  request.toolchain = run_.target.backend.toolchain;
  const CompileJob job = run_.compile_job(run_.resolver.artifact_key(request), request);
  run_.compiler.compile(job, run_.spec.kernel.compile_timeout_s, [this, done, job](const CompileAnswer& answer) {
    if (answer.outcome == Outcome::ok) return done({answer.artifact, job});
    run_.observer.on_note(
        fmt::format("outputs are compared on the host: the kernel that does it on the device did not "
                    "compile: {}",
                    answer.message));
    done({});
  });
}

/// done is called from the event loop, or at once if nothing has to be compiled.
void ProblemSetup::make_reference(std::function<void(Reference)> done) {
  const spec::ReferenceSpec& reference = run_.spec.validate.reference;
  const bool is_kernel = reference.kind == spec::ReferenceSpec::Kind::kernel;
  if (!is_kernel) check_reference(run_.spec, run_.resolver);
  ReferencePlan plan = is_kernel ? plan_kernel(run_) : plan_contents(run_.spec, run_.resolver);
  plan.kind = reference.kind;
  plan.at = spec::to_string(reference.at);
  plan.name = reference.name;
  if (!is_kernel) return done({std::move(plan), std::nullopt});
  const build::CompileRequest request = run_.resolver.reference_request();
  CompileJob job = run_.compile_job(run_.resolver.artifact_key(request), request);
  run_.compiler.compile(
      job, run_.spec.kernel.compile_timeout_s,
      [this, job, plan = std::move(plan), done = std::move(done)](const CompileAnswer& answer) mutable {
        if (answer.outcome != Outcome::ok)
          throw Error(kind_of_failure(answer),
                      fmt::format("{}: the reference kernel '{}' did not compile ({}): {}", plan.at, plan.name,
                                  to_string(answer.outcome), message_and_log(answer)));
        run_.resolver.learn(job.request.source_name, answer.artifact.manifest, true);
        plan.artifact = answer.artifact;
        if (!answer.artifact.key.empty()) job.key = answer.artifact.key;
        done({std::move(plan), std::move(job)});
      });
}

void ProblemSetup::prepare() {
  if (std::exchange(begun_, true)) return;
  if (run_.spec.process && run_.spec.process->build.given())
    build::require_programs_allowed(run_.options.scratch.empty() ? system::temporary_folder() : run_.options.scratch);
  struct Compiled {
    std::optional<Reference> reference;
    std::optional<CheckKernel> check_kernel;
  };
  const auto& [values, macros] = run_.resolver.reference_values();
  for (const std::string& name : macros)
    run_.observer.on_warning(fmt::format(
        "{}: the source of the reference kernel names the parameter {}, and is always compiled with {}. Give another "
        "value in the reference's options, such as \"-D{}=...\"",
        spec::to_string(run_.spec.validate.reference.at), name, space::shown_text(Bindings{{name, values.at(name)}}),
        name));
  const auto compiled = std::make_shared<Compiled>();
  const auto open_with_both = [this, compiled] {
    if (compiled->reference && compiled->check_kernel)
      open(std::move(*compiled->reference), std::move(*compiled->check_kernel));
  };
  compile_check_kernel([compiled, open_with_both](CheckKernel kernel) {
    compiled->check_kernel = std::move(kernel);
    open_with_both();
  });
  make_reference([compiled, open_with_both](Reference reference) {
    compiled->reference = std::move(reference);
    open_with_both();
  });
}

void ProblemSetup::open(Reference reference, CheckKernel check_kernel) {
  Problem job;
  job.backend = run_.target.backend.name;
  job.cache = run_.options.artifact_store();
  job.scratch = run_.options.scratch;
  job.seed = run_.spec.search.seed;
  job.sanitize = run_.options.sanitize;
  std::vector<validate::ArgumentLayout> layouts = run_.resolver.layouts();
  std::size_t next = 0;
  for (const spec::ArgSpec& argument : run_.spec.args) {
    if (argument.kind == spec::ArgKind::constant) continue;
    const bool is_buffer = argument.kind == spec::ArgKind::buffer;
    ArgumentPlan& plan = job.arguments.emplace_back();
    if (argument.map)
      plan.map_of = spec::passed_number(run_.spec, *base::find_named(run_.spec.args, argument.map->of));
    else if (argument.role == spec::ArgRole::scratch)
      plan.scratch = true;
    else if (is_buffer)
      plan.buffer = layouts.at(next++);
    job.types.push_back({argument.name, dtype_of(argument, run_.problem),
                         is_buffer || argument.kind == spec::ArgKind::table, argument.map.has_value(),
                         argument.value_bytes});
  }
  job.constants = run_.resolver.constants();
  std::tie(job.reference, job.reference_job) = std::move(reference);
  std::tie(job.check_kernel, job.check_kernel_job) = std::move(check_kernel);
  job.tolerances = run_.resolver.tolerances();
  job.check = run_.resolver.check_command();
  job.check_at = spec::to_string(run_.spec.validate.check_at);
  job.folder = run_.spec.path.parent_path();
  job.must_repeat = run_.spec.validate.repeatable == spec::Repeatable::bitwise;
  if (run_.spec.validate.repeatable != spec::Repeatable::ignore) job.repeats = run_.spec.validate.repeat;
  job.measure = run_.spec.measure;
  if (!run_.measures()) job.measure.flush = spec::Flush::none;  // no further sets of buffers
  job.warn = [this, warned = std::make_shared<std::set<std::string>>()](const std::string& text) {
    if (warned->insert(text).second) run_.observer.on_warning(text);  // several workers may compute the reference
  };
  job.time_reference =
      job.reference.kind == spec::ReferenceSpec::Kind::kernel && run_.spec.validate.time_reference && run_.measures();
  job.reference_timed = [this, name = job.reference.name](const std::vector<double>& samples_ms) {
    run_.keeper.set_reference({name, samples_ms});
  };
  job.compile_job = [this](const Bindings& config) {
    const build::CompileRequest request =
        run_.resolver.compile_request(run_.space.at(run_.space.index_of(config).value()));
    return run_.compile_job(run_.resolver.artifact_key(request), request);
  };
  run_.devices.set_problem(std::move(job));
  // On a GPU the first configuration is still being compiled.
  if (!run_.alternates) run_.devices.first().bench->prepare();
  done_ = true;
  ++run_.totals.answers;
}

void ProblemSetup::restart() {
  if (!done_) begun_ = false;
}

}  // namespace xtune::run
