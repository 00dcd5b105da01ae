// Builds the space and the resolver of its configurations, and makes trials of them.
#include "core/run/run_context.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/space/value.hpp"
#include "xtune/error.hpp"

namespace xtune::run {
namespace {

// Enough for the last messages of a program; a record is one line of a file that is read completely.
constexpr std::size_t max_log_bytes = 2048;

}  // namespace

void fill_record(store::Record& record, const Trial& trial, const device::DeviceInfo& device,
                 const BenchAnswer& answer) {
  record.device = device;
  record.outcome = answer.outcome;
  const bool timed = answer.outcome == Outcome::ok || answer.outcome == Outcome::pruned;
  record.stage = timed ? "measure" : answer.stage;
  record.message = answer.message;
  if (!timed) record.log = base::end_of(answer.log, max_log_bytes);
  record.reported = answer.reported;
  record.samples_ms = answer.samples_ms;
  record.tainted = answer.taints;
  record.dynamic_shared_bytes = trial.launch.max_shared_bytes();
  record.validation = answer.validation;
  record.repeatable = answer.repeatable;
  record.telemetry = answer.telemetry;
  record.bench_s = answer.busy_s;
  if (timed) record.time_ms = measure::summarize(record.samples_ms);
}

namespace {

constexpr std::uint64_t default_evals = 400;

}  // namespace

RunContext::RunContext(const spec::Spec& spec_, const Bindings& problem_, const run::Target& target_,
                       const TuneOptions& options_, const TuneServices& services_, TuneObserver& observer_,
                       const std::function<void()>& poll)
    : spec(spec_),
      problem(problem_),
      target(target_),
      options(options_),
      services(services_),
      observer(observer_),
      space(spec::make_space(spec, problem, device::device_facts(target.device), poll)),
      resolver(spec, space, problem, target.device, target.arch, target.backend.toolchain, options.sanitize,
               options.artifact_store()),
      keys(resolver),
      suggested(options.only.empty() ? candidates_of(spec, space, problem, target) : Knowledge()),
      objective(spec),
      criterion(objective.criterion(problem, target.device)),
      evals(spec.search.max_evals(spec.search.strategy == "exhaustive" ? space.size() : default_evals)),
      // On a CPU the kernel and the compilers would compete for the same cores, and every time would be wrong.
      alternates(options.alternate || device::is_cpu(target.device)),
      // Each device has one configuration in progress and one waiting.
      max_in_flight(services.compiler.parallel() * (alternates ? 4 : 2) +
                    2 * std::max<std::size_t>(services.benches.size(), 1)) {}

TrialPtr RunContext::make_trial(std::uint64_t index) const {
  auto trial = std::make_shared<Trial>();
  trial->proposal.index = index;
  trial->config = space.at(index);
  trial->request = resolver.compile_request(trial->config);
  store::Record& record = trial->record;
  record.kernel = spec.kernel.name;
  record.problem = problem;
  record.config = space.named(trial->config);
  record.device = target.device;
  record.toolchain = target.backend.toolchain;
  record.attempt = options.attempt;
  set_keys(record, trial->config, resolver.artifact_key(trial->request));
  return trial;
}

void RunContext::set_keys(store::Record& record, const space::Config& config, const std::string& artifact_key) const {
  record.artifact_key = artifact_key;
  record.key_parts = resolver.measurement_key_parts(config, artifact_key);
  record.key = build::key_of(record.key_parts);
}

TrialPtr RunContext::make_trial(std::uint64_t index, Trial::Purpose purpose) const {
  TrialPtr trial = make_trial(index);
  trial->purpose = purpose;
  trial->launch = resolver.launch(trial->config);
  return trial;
}

bool RunContext::any_key(const space::Config& config, const std::function<bool(const store::KeyDigest&)>& visit) const {
  return keys.any(config, [&](const base::Sha256& key) { return visit(store::KeyDigest(key)); });
}

CompileJob RunContext::compile_job(const std::string& key, build::CompileRequest request) const {
  return {target.backend.name, options.artifact_store(), key, std::move(request), options.scratch};
}

namespace {

/// Of the inputs that one configuration is tried on.
std::uint64_t inputs_seed(std::uint64_t seed, const Bindings& config) {
  const std::string digest = base::sha256(std::to_string(seed) + " " + space::shown_text(config));
  return std::stoull(digest.substr(0, 16), nullptr, 16);
}

}  // namespace

BenchJob RunContext::bench_job(const Trial& trial) const {
  BenchJob job{{trial.artifact, trial.launch, resolver.scalars(trial.config), resolver.scratch(trial.config),
                resolver.tensor_maps(trial.config)},
               std::nullopt,
               trial.record.config};
  job.validate_only = !measures();
  if (spec.validate.inputs == spec::Inputs::fresh) job.inputs_seed = inputs_seed(spec.search.seed, job.config);
  return job;
}

double RunContext::bench_timeout_s() const {
  double factor = 1;
  if (!spec.validate.check.empty()) factor += check_calls;
  if (spec.validate.inputs == spec::Inputs::fresh) factor += reference_timeout_factor(spec.validate.reference.kind);
  return spec.measure.timeout_s * factor + spec.measure.wait_s;
}

std::uint64_t RunContext::planned() const {
  return options.only.empty() ? std::min<std::uint64_t>(evals, space.size()) : options.only.size();
}

}  // namespace xtune::run
