// What the bench workers must know before the first configuration: inputs, reference, and the kernel that checks both.
#include <fmt/core.h>

#include <memory>
#include <set>
#include <tuple>

#include "base/files.hpp"
#include "core/build/shortage.hpp"
#include "core/run/tuning.hpp"
#include "core/spec/process_spec.hpp"
#include "core/validate/check_kernel.hpp"

namespace xtune {

/// Reading every output back would take longer than most measurements do.
void Tuning::compile_check_kernel(std::function<void(CheckKernel)> done) {
  if (!target_.own_memory) return done({});
  CompileRequest request = check_request(target_.arch);
  request.toolchain = target_.backend.toolchain;
  const CompileJob job = compile_job(resolver_.artifact_key(request), request);
  compiler_.compile(job, spec_.kernel.compile_timeout_s, [this, done, job](const CompileAnswer& answer) {
    if (answer.outcome == Outcome::ok) return done({answer.artifact, std::make_shared<CompileJob>(job)});
    observer_.on_note(
        fmt::format("outputs are compared on the host: the kernel that does it on the device did not "
                    "compile: {}",
                    answer.message));
    done({});
  });
}

/// Once, before the first configuration compiles, so that the device need not wait for its reference behind the whole
/// queue.
void Tuning::prepare_bench(const Config& config) {
  if (spec_.process && spec_.process->build.given())
    require_programs_allowed(options_.scratch.empty() ? temporary_folder() : options_.scratch);
  reference_ = std::make_unique<ReferenceBuilder>(spec_, resolver_, target_, options_.store, options_.scratch);
  struct Parts {
    std::optional<ReferencePlan> reference;
    CheckKernel check_kernel;
    bool compiled = false;
  };
  const auto parts = std::make_shared<Parts>();
  const auto open = [this, parts] {
    if (!parts->reference || !parts->compiled) return;
    OpenJob job;
    job.backend = target_.backend.name;
    job.cache = options_.store;
    job.scratch = options_.scratch;
    job.seed = spec_.search.seed;
    job.sanitize = options_.sanitize;
    std::vector<ArgumentLayout> layouts = resolver_.layouts();
    std::size_t next = 0;
    for (const ArgSpec& argument : spec_.args)
      job.arguments.push_back(argument.kind == ArgKind::scalar ? ArgumentPlan{} : ArgumentPlan{layouts.at(next++)});
    job.reference = std::move(*parts->reference);
    std::tie(job.check_kernel, job.check_kernel_job) = std::move(parts->check_kernel);
    job.tolerances = resolver_.tolerances();
    job.repeats = spec_.validate.repeat;
    job.measure = spec_.measure;
    job.warn = [this, told = std::make_shared<std::set<std::string>>()](const std::string& text) {
      if (told->insert(text).second) observer_.on_warning(text);  // several workers may compute the reference
    };
    for (const Lane& lane : lanes_) {
      job.device = lane.device.index;
      lane.bench->set_problem(job);
    }
    problem_set_ = true;
    ++answers_;
  };
  compile_check_kernel([parts, open](CheckKernel kernel) {
    parts->check_kernel = std::move(kernel);
    parts->compiled = true;
    open();
  });
  reference_->build(config, compiler_, [parts, open](ReferencePlan plan) {
    parts->reference = std::move(plan);
    open();
  });
}

}  // namespace xtune
