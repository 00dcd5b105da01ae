// One launch or many, with one set of buffers or several; clocks, temperature and neighbours are looked at before a
// program's samples and after them.
#include "worker/measurer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>
#include <thread>
#include <utility>

#include "worker/validator.hpp"

namespace xtune::worker {

namespace {
// A process that is suspended during each of them still gets a time.
constexpr int suspended_retakes = 10;
// The time of an event has steps of about ten nanoseconds and varies by a hundred: the mean of several spans is more
// precise.
constexpr double apart_target_ms = 0.04;
constexpr double max_ratio = 8;
}  // namespace

Sampler::Sampler(measure::Program& program, Plan plan) : program_(program), plan_(std::move(plan)) {}

void Sampler::warm_up(int launches) {
  const bool itself = program_.times_itself();
  const bool together = plan_.flush_bytes == 0 && !plan_.restore && !itself;
  const bool timed_last = !together && !itself && spent_ms_ == 0;  // determines the time of a launch, if it is unknown
  for (int i = 0; i < launches; ++i) {
    const measure::Sample sample = take(1, timed_last && i + 1 == launches);
    if (timed_last) spent_ms_ = sample.time_ms;
  }
  if (together)
    launches_ = measure::launches_per_span(take(1, true).time_ms);
  else if (spent_ms_ > 0 && !itself)
    spans_ = static_cast<int>(std::clamp(std::ceil(apart_target_ms / spent_ms_), 1.0, max_ratio));
}

double Sampler::sample_ms() {
  double sum_ms = 0;
  for (int span = 0; span < spans_; ++span) {
    const measure::Sample sample = measure::punctual_sample([this] { return take_awake(); });
    overhead_ms_ = sample.overhead_ms;
    if (sample.clock_mhz > 0) clocks_mhz_.push_back(sample.clock_mhz);
    reported_.resize(std::max(reported_.size(), sample.reported.size()));
    for (std::size_t i = 0; i < sample.reported.size(); ++i) reported_[i].push_back(sample.reported[i]);
    sum_ms += sample.time_ms;
  }
  spent_ms_ = sum_ms / spans_;
  return spent_ms_;
}

/// A timed span during which the clock ran and the process did not has no meaning.
measure::Sample Sampler::take_awake() {
  for (int left = suspended_retakes;; --left) {
    const std::uint64_t before = plan_.suspensions();
    measure::Sample sample = take(launches_, true);
    if (plan_.suspensions() == before || left == 0) return sample;
  }
}

void Sampler::run_on(int launches) {
  if (!plan_.restore) {
    take(launches, false);
    return;
  }
  for (int i = 0; i < launches; ++i) take(1, false);
}

measure::Sample Sampler::take(int launches, bool timed) {
  std::vector<std::span<const measure::KernelArgument>> turns;
  for (int i = 0; i < launches; ++i) {
    const std::size_t set = next_++ % plan_.sets.size();
    if (plan_.restore) plan_.restore(set);
    turns.emplace_back(plan_.sets[set]);
  }
  measure::RunOptions options{turns.front(), timed, timed ? plan_.flush_bytes : 0};
  options.more = std::span(turns).subspan(1);
  options.graph = plan_.graph;
  options.zeroed = plan_.zeroed;
  return program_.run(options);
}

measure::Telemetry Sampler::telemetry() const {
  measure::Telemetry telemetry;
  telemetry.clock_mhz = measure::summarize(clocks_mhz_).median;
  telemetry.overhead_ms = overhead_ms_;
  telemetry.launches = launches_ * spans_;
  return telemetry;
}

namespace {

// Other processes come and go on a CPU, and run during many launches: an even series of a thousand launches shows
// little.
constexpr double shared_roughness = 1;

/// The samples of the series are the last ones that were taken.
void report(const device::ProgramCall& call, const Sampler& sampler, run::BenchAnswer& answer) {
  for (std::size_t i = 0; i < sampler.reported().size() && i < call.metrics.size(); ++i) {
    const std::vector<double>& all = sampler.reported()[i];
    const std::size_t count = std::min(answer.samples_ms.size(), all.size());
    answer.reported.emplace_back(call.metrics[i].name,
                                 std::vector<double>(all.end() - static_cast<std::ptrdiff_t>(count), all.end()));
  }
}

}  // namespace

Measurer::Measurer(BenchProblem& problem, Validator& validator, system::Clock& clock)
    : problem_(problem),
      validator_(validator),
      clock_(clock),
      guard_(problem.job.measure.wait_s),
      roughness_(device::is_cpu(problem.device.info()) ? shared_roughness : 0) {}

Sampler Measurer::sampler(LoadedProgram& loaded, const run::KernelCall& call) {
  Sampler::Plan plan;
  plan.flush_bytes = problem_.flush_bytes;
  plan.graph = problem_.job.measure.launch == spec::LaunchBy::graph;
  for (BufferSet& set : problem_.sets) plan.sets.push_back(problem_.arguments_for(set, *loaded.scratch, call));
  plan.zeroed = loaded.scratch->zeroed();
  const bool in_place =
      std::any_of(problem_.arguments.begin(), problem_.arguments.end(),
                  [](const TestArgument& argument) { return argument.layout.role == spec::ArgRole::inout; });
  if (in_place) plan.restore = [this](std::size_t set) { validator_.restore(problem_.sets[set]); };
  return Sampler(*loaded.program, std::move(plan));
}

double Measurer::settle() {
  const std::int64_t start_ns = clock_.now_ns();
  guard_.settle([this] { return look(); },
                [this](double seconds) {
                  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
                  looked_ns_.reset();
                });
  return static_cast<double>(clock_.now_ns() - start_ns) * 1e-9;
}

// NVML takes 3 to 12 ms to answer: configurations in quick succession share a reading, so that readings take about a
// fiftieth of the time. A CPU's state is what happened since the last reading, so each series has its own two.
measure::DeviceState Measurer::look() {
  constexpr std::int64_t fresh_ns = 100'000'000;
  const std::int64_t now_ns = clock_.now_ns();
  if (device::is_cpu(problem_.device.info()) || !looked_ns_ ||
      now_ns - *looked_ns_ >= std::max(fresh_ns, 50 * look_took_ns_)) {
    state_ = problem_.device.state();
    looked_ns_ = clock_.now_ns();
    look_took_ns_ = *looked_ns_ - now_ns;
  }
  return state_;
}

std::vector<std::string> Measurer::watch(measure::Telemetry& telemetry) {
  const measure::DeviceState state = look();
  std::vector<std::string> taints = guard_.taints(state, telemetry.clock_mhz);
  telemetry.temperature_c = state.temperature_c.value_or(0);
  telemetry.power_w = state.power_w.value_or(0);
  return taints;
}

// The device's counter is updated about ten times a second, so a single launch or a short series of them is not enough.
void Measurer::measure_energy(Sampler& sampler, const measure::Budget& budget, run::BenchAnswer& answer) {
  const measure::DeviceState before = problem_.device.state();
  if (!before.energy_j) return;
  const double start_s = budget.spent_s();
  double spent_s = 0;
  // About 20 ms at a time: the host checks the clock rarely, and not much later than it should.
  const double one_ms = std::max(measure::summarize(answer.samples_ms).median, measure::min_sample_ms);
  const int batch = static_cast<int>(std::clamp(20 / one_ms, 1.0, 200.0));
  double launches = 0;
  while (spent_s * 1e3 < problem_.job.measure.energy_ms && budget.launches_left(one_ms * batch * 1e-3) > 0) {
    sampler.run_on(batch);
    launches += batch;
    spent_s = budget.spent_s() - start_s;
  }
  if (launches == 0) return;
  const double joules = problem_.device.state().energy_j.value_or(*before.energy_j) - *before.energy_j;
  answer.telemetry.energy_j = joules / launches;
  answer.telemetry.power_w = joules / spent_s;
}

bool Measurer::measure(Sampler& sampler, const run::BenchJob& job, const First& first, measure::Budget& budget,
                       run::BenchAnswer& answer) {
  const spec::MeasureSpec& measure = problem_.job.measure;
  const measure::StoppingRule rule{measure.min_rep, measure.rep, measure.min_time_ms, measure.max_time_ms,
                                   measure.noise};
  budget.extend(settle());
  const bool only_first = first.time_ms > 0 && !job.launch.call && budget.launches_left(first.wall_s) < 1;
  measure::Series series;
  if (only_first) {
    series.samples_ms = {first.time_ms};
  } else {
    // The first launch is on its own in any case, so its time is not that of a launch in a graph.
    const bool by_graph = measure.launch == spec::LaunchBy::graph;
    series = measure::measure_challenger(
        {[&] { return sampler.sample_ms(); }, [&](int launches) { sampler.warm_up(launches); }, measure.warmup,
         by_graph ? 0 : first.time_ms, first.wall_s},
        rule, budget, job.incumbent, roughness_);
  }
  answer.samples_ms = std::move(series.samples_ms);
  if (job.launch.call) report(*job.launch.call, sampler, answer);
  answer.telemetry = sampler.telemetry();
  answer.taints = watch(answer.telemetry);
  if (series.stopped_by == measure::Stop::beaten) {
    answer.outcome = Outcome::pruned;
    return false;
  }
  if (measure.energy_ms > 0) measure_energy(sampler, budget, answer);
  return !only_first;
}

}  // namespace xtune::worker
