// Buffers, validation and measurement of one problem, using the device interfaces.
#include "worker/bench_session.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "core/measure/flush.hpp"
#include "core/measure/series.hpp"
#include "xtune/error.hpp"

namespace xtune::worker {
namespace {

// Maximum share of the device's memory that rotation uses for argument sets.
constexpr double rotation_share = 0.4;
constexpr std::size_t max_sets = 64;
// Other processes come and go on a CPU, and run during many launches: an even series of a thousand launches shows
// little.
constexpr double shared_roughness = 1;

/// The samples of the series are the last ones that were taken.
void report(const device::ProgramCall& call, const Sampler& sampler, ipc::BenchAnswer& answer) {
  for (std::size_t i = 0; i < sampler.reported().size() && i < call.metrics.size(); ++i) {
    const std::vector<double>& all = sampler.reported()[i];
    const std::size_t count = std::min(answer.samples_ms.size(), all.size());
    answer.reported.emplace_back(call.metrics[i].name,
                                 std::vector<double>(all.end() - static_cast<std::ptrdiff_t>(count), all.end()));
  }
}

}  // namespace

BenchSession::BenchSession(measure::Device& device, ipc::OpenJob job, base::Clock& clock,
                           const std::function<std::uint64_t()>& available_bytes)
    : device_(device),
      job_(std::move(job)),
      clock_(clock),
      available_bytes_(available_bytes),
      cache_(job_.cache),
      check_(job_, arguments_, constants_),
      guard_size_(job_.sanitize ? 0 : validate::guard_bytes),
      guard_(job_.measure.wait_s),
      roughness_(device::is_cpu(device_.info()) ? shared_roughness : 0) {
  const MemoryFound found{available_bytes(),
                          static_cast<std::uint64_t>(std::max<std::int64_t>(device_.info().memory_bytes, 0)),
                          device::is_cpu(device_.info())};
  if (job_.measure.launch == spec::LaunchBy::graph)
    if (const std::string lack = device_.lack_of_graphs(); !lack.empty())
      throw Error(ErrorKind::unsupported, "[measure] launch = \"graph\": " + lack + "; remove it, or set \"stream\"");
  const std::size_t sets = choose_sets(found.host);
  needs_ = memory_needs(job_, sets, guard_size_, flush_bytes_);
  require_memory(job_, needs_, found);
  for (const ipc::ArgumentPlan& plan : job_.arguments) {
    if (!plan.buffer) continue;
    arguments_.push_back(filled_argument(*plan.buffer, job_.seed));
  }
  constants_ = Constants(job_.constants, job_.seed);
  allocate(sets);
}

std::uint64_t BenchSession::host_bytes() const noexcept {
  return needs_.host + (device::is_cpu(device_.info()) ? needs_.device : 0);
}

std::size_t BenchSession::choose_sets(std::uint64_t available_bytes) {
  const std::uint64_t bytes = std::max<std::uint64_t>(set_bytes(job_, guard_size_), 1);
  std::size_t count = 1;
  if (job_.measure.flush == spec::Flush::l2) flush_bytes_ = measure::flush_bytes(device_.info());
  if (job_.measure.flush == spec::Flush::rotate) {
    const std::uint64_t wanted = measure::flush_bytes(device_.info()) / bytes + 2;
    double memory = device_.info().memory_bytes > 0 ? static_cast<double>(device_.info().memory_bytes) : 1e9;
    if (device::is_cpu(device_.info())) memory = std::min(memory, static_cast<double>(available_bytes));
    const double affordable = memory * rotation_share / static_cast<double>(bytes);
    count = static_cast<std::size_t>(
        std::clamp(std::min<double>(static_cast<double>(wanted), affordable), 1.0, static_cast<double>(max_sets)));
    // Too few sets to evict each other from the cache: flush as well, rather than measure a warm cache.
    if (count < wanted) flush_bytes_ = measure::flush_bytes(device_.info());
  }
  return count;
}

void BenchSession::allocate(std::size_t sets) {
  inputs_intact_.assign(sets, false);
  for (std::size_t i = 0; i < sets; ++i) {
    BufferSet set;
    for (const TestArgument& argument : arguments_) {
      set.push_back(std::make_unique<GuardedBuffer>(device_, argument.layout.bytes(), guard_size_));
      device_.name_memory(set.back()->address(), set.back()->size(), "argument '" + argument.layout.name + "'");
    }
    sets_.push_back(std::move(set));
  }
}

std::unique_ptr<ScratchBuffers> BenchSession::make_scratch(const std::vector<validate::ArgumentLayout>& layouts) {
  // On a CPU, kernels are stopped that take half of what is free, and scratch buffers count as theirs.
  constexpr double share = 0.4;
  const auto most = layouts.empty() ? 0 : static_cast<double>(available_bytes_()) * share;
  return std::make_unique<ScratchBuffers>(device_, layouts, guard_size_, static_cast<std::uint64_t>(most));
}

std::vector<measure::KernelArgument> BenchSession::arguments_for(BufferSet& set, const ScratchBuffers& scratch,
                                                                 const Passed& passed) const {
  std::vector<measure::KernelArgument> arguments(job_.arguments.size());
  std::size_t buffer = 0, scalar = 0, scratch_buffer = 0, map = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ipc::ArgumentPlan& plan = job_.arguments[i];
    if (plan.buffer)
      arguments[i] = set[buffer++].get();
    else if (plan.scratch)
      arguments[i] = scratch.buffer(scratch_buffer++);
    else if (!plan.map_of)
      arguments[i] = passed.scalars.at(scalar++);
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::optional<std::size_t>& of = job_.arguments[i].map_of;
    if (!of) continue;
    const std::size_t number = map++;
    if (!passed.launch.takes(i)) continue;
    void* const address = std::get<measure::Buffer*>(arguments.at(*of))->address();
    arguments[i] = device_.encode(passed.maps.at(number), address);
  }
  return arguments;
}

build::Artifact BenchSession::with_image(const build::Artifact& artifact) const {
  if (auto found = cache_.find(artifact.key)) {
    cache_.mark_used(artifact.key);
    return *found;
  }
  if (auto found = build::ArtifactCache(ipc::scratch_cache(job_.scratch)).find(artifact.key)) return *found;
  throw ipc::MissingArtifact(artifact.key, job_.cache);
}

ipc::BenchAnswer BenchSession::bench(const ipc::BenchJob& job) {
  if (job.inputs_seed) renew_inputs(*job.inputs_seed);
  prepare_reference();
  contenders_.clear();
  ipc::BenchAnswer answer;
  const std::int64_t start = clock_.now_ns();
  answer.stage = "load";
  try {
    const std::unique_ptr<measure::Program> program = device_.load(with_image(job.artifact), job.launch);
    program->check_types(job_.types);
    constants_.fill(*program);
    const std::unique_ptr<ScratchBuffers> scratch = make_scratch(job.scratch);
    answer.stage = "run";
    bench_loaded(*program, *scratch, job, answer);
    // After the last launch, so that intact inputs need not be written again for the next configuration.
    if (answer.outcome == Outcome::ok || answer.outcome == Outcome::pruned)
      judge_inputs(answer) && constants_.check(*program, answer);
  } catch (const build::CandidateFailure& failure) {
    answer.outcome = failure.outcome();
    answer.lack = build::lack_of(failure);
    answer.message = failure.what();
    answer.log = failure.log();
  }
  if (answer.outcome != Outcome::ok && answer.outcome != Outcome::pruned) {
    answer.samples_ms.clear();
    answer.reported.clear();
  }
  answer.busy_s = static_cast<double>(clock_.now_ns() - start) * 1e-9;
  return answer;
}

void BenchSession::reset_sets() {
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    if (device_check_)
      device_check_->reset(sets_[i], !inputs_intact_[i]);
    else
      reset(arguments_, sets_[i], !inputs_intact_[i]);
    inputs_intact_[i] = false;
  }
}

bool BenchSession::judge_outputs(BufferSet& set, ipc::BenchAnswer& answer) {
  if (device_check_ && device_check_->outputs_agree(set, answer)) return true;
  return check_outputs(arguments_, set, answer);
}

bool BenchSession::judge_inputs(ipc::BenchAnswer& answer) {
  bool intact = true;
  for (std::size_t i = 0; i < sets_.size() && intact; ++i) {
    intact = (device_check_ && device_check_->inputs_intact(sets_[i])) || check_inputs(arguments_, sets_[i], answer);
    inputs_intact_[i] = intact;
  }
  return intact;
}

Sampler BenchSession::sampler(measure::Program& program, ScratchBuffers& scratch, const Passed& passed) {
  Sampler::Plan plan;
  plan.flush_bytes = flush_bytes_;
  plan.graph = job_.measure.launch == spec::LaunchBy::graph;
  for (BufferSet& set : sets_) plan.sets.push_back(arguments_for(set, scratch, passed));
  const bool in_place = std::any_of(arguments_.begin(), arguments_.end(), [](const TestArgument& argument) {
    return argument.layout.role == spec::ArgRole::inout;
  });
  if (in_place || scratch.any_zeroed())
    plan.restore = [this, in_place, &scratch](std::size_t set) {
      scratch.zero();
      if (!in_place) return;
      device_check_ ? device_check_->restore_in_place(sets_[set]) : restore_in_place(arguments_, sets_[set]);
    };
  return Sampler(program, std::move(plan));
}

void BenchSession::bench_loaded(measure::Program& program, ScratchBuffers& scratch, const ipc::BenchJob& job,
                                ipc::BenchAnswer& answer) {
  reset_sets();
  const std::vector<measure::KernelArgument> arguments =
      arguments_for(sets_[0], scratch, {job.launch, job.scalars, job.maps});
  const auto run_once = [&](bool timed) {
    scratch.renew();
    measure::RunOptions options{arguments, timed, 0};
    options.graph = job_.measure.launch == spec::LaunchBy::graph;
    return program.run(options).time_ms;
  };
  // The first launch is on its own in any case, so its time would not be that of a launch in a graph.
  const double first_ms = run_once(job.incumbent.has_value() && job_.measure.launch == spec::LaunchBy::stream);
  answer.stage = "validate";
  if (!scratch.check_guards(answer) || !judge_outputs(sets_[0], answer)) return;
  check_.judge(sets_[0]);
  leave_outputs(job_, arguments_, sets_[0], "first");
  std::optional<RepeatCheck> repeats;
  if (job_.repeats > 0) repeats.emplace(arguments_, device_check_.get(), sets_[0]);
  const auto judge_repeats = [&](int times) {
    if (!repeats) return true;
    for (int i = 0; i < times && repeats->result().same(); ++i) {
      poison_outputs(sets_[0], validate::Poison::usual);
      run_once(false);
      repeats->compare(sets_[0]);
    }
    answer.repeatable = repeats->result();
    if (repeats->result().same() || !job_.must_repeat) return true;
    answer.stage = "validate";
    // An input that a launch changed is the cause of other outputs, not their consequence.
    return judge_inputs(answer) && repeats->refuse(answer);
  };
  if (!judge_repeats(job_.repeats)) return;
  if (job.validate_only) return;

  answer.stage = "measure";
  const spec::MeasureSpec& measure = job_.measure;
  Sampler sampler = this->sampler(program, scratch, {job.launch, job.scalars, job.maps});
  const measure::StoppingRule rule{measure.min_rep, measure.rep, measure.min_time_ms, measure.max_time_ms,
                                   measure.noise};
  settle();
  measure::Series series = measure::measure_challenger(
      {[&] { return sampler.sample_ms(); }, [&](int launches) { sampler.warm_up(launches); }, measure.warmup, first_ms},
      rule, clock_, job.incumbent, roughness_);
  answer.samples_ms = std::move(series.samples_ms);
  if (job.launch.call) report(*job.launch.call, sampler, answer);
  answer.telemetry = sampler.telemetry();
  watch(answer.telemetry, answer.taints);
  if (series.stopped_by == measure::Stop::beaten) {
    answer.outcome = Outcome::pruned;
    return;
  }
  if (measure.energy_ms > 0) measure_energy(sampler, answer);
  if (judge_last_launch(program, sampler, scratch, answer)) judge_repeats(1);
}

}  // namespace xtune::worker
