// Devices and their bench services, and one configuration's times on all of them.
#include "core/run/device_pool.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.hpp"
#include "core/space/value.hpp"
#include "xtune/error.hpp"

namespace xtune::run {

// An artifact is made in different ways for the problem (reference, check kernel) and for a configuration.

RebuildingBench::RebuildingBench(BenchService& bench, CompileService& compiler, double compile_timeout_s)
    : bench_(bench), compiler_(compiler), compile_timeout_s_(compile_timeout_s) {}

void RebuildingBench::set_problem(Problem problem) {
  reference_ = problem.reference_job;
  check_kernel_ = problem.check_kernel_job;
  compile_job_ = problem.compile_job;
  bench_.set_problem(std::move(problem));
}

void RebuildingBench::bench(const BenchJob& job, double timeout_s, Callback callback) {
  bench_again(job, timeout_s, std::move(callback), {});
}

void RebuildingBench::measure_rounds(const RoundsJob& job, double timeout_s, RoundsCallback callback) {
  rounds_again(job, timeout_s, std::move(callback), {});
}

void RebuildingBench::bench_again(const BenchJob& job, double timeout_s, Callback callback, Misses misses) {
  bench_.bench(job, timeout_s, [=, this](BenchAnswer answer) {
    if (answer.missing_artifact.empty()) return callback(std::move(answer));
    supply(answer.missing_artifact, {&job}, misses,
           [=, this](const Misses& now) { bench_again(job, timeout_s, callback, now); });
  });
}

void RebuildingBench::rounds_again(const RoundsJob& job, double timeout_s, RoundsCallback callback, Misses misses) {
  bench_.measure_rounds(job, timeout_s, [=, this](RoundsAnswer answer) {
    if (answer.missing_artifact.empty()) return callback(std::move(answer));
    Jobs jobs;
    for (const BenchJob& each : job.jobs) jobs.push_back(&each);
    supply(answer.missing_artifact, jobs, misses,
           [=, this](const Misses& now) { rounds_again(job, timeout_s, callback, now); });
  });
}

/// The first time it is compiled into the scratch directory. If it is missing after that, a kernel may have changed the
/// worker so that it cannot read files; so a new worker is asked.
void RebuildingBench::supply(const std::string& key, const Jobs& jobs, Misses misses,
                             const std::function<void(const Misses&)>& then) {
  CompileJob missing = job_of(key, jobs);
  const int times = ++misses[key];
  if (times == 1) return rebuild(std::move(missing), [then, misses] { then(misses); });
  if (times > 2)
    throw Error(ErrorKind::io, fmt::format("artifact {} was compiled again and is still missing from {}; run again",
                                           missing.key, base::printable(missing.scratch.string())));
  bench_.cancel_all();
  then(misses);
}

CompileJob RebuildingBench::job_of(const std::string& key, const Jobs& jobs) const {
  for (const auto& own : {reference_, check_kernel_})
    if (own && own->key == key) return *own;
  for (const BenchJob* job : jobs)
    if (job->artifact.key == key && compile_job_) return compile_job_(job->config);
  throw Error(ErrorKind::io,
              "artifact " + base::printable(key, 80) + " is missing from the store, and no job of this run makes it");
}

void RebuildingBench::rebuild(CompileJob job, std::function<void()> then) {
  job.keep_in_scratch = true;
  pending_ = std::make_shared<Pending>(Pending{std::move(job), std::move(then)});
  compile();
}

void RebuildingBench::compile() {
  compiler_.compile(pending_->job, compile_timeout_s_, [this, asked = pending_](const CompileAnswer& answer) {
    if (asked != pending_) return;
    pending_.reset();
    if (answer.outcome != Outcome::ok)
      throw Error(ErrorKind::io,
                  fmt::format("artifact {} was removed from the store during the run and does not compile again ({}): "
                              "{}; run again",
                              asked->job.key, to_string(answer.outcome), base::printable(answer.message, 500)));
    asked->then();
  });
}

void RebuildingBench::compile_after_all() {
  if (!pending_) return;
  // A new one, so that an answer that was on its way does not count twice.
  pending_ = std::make_shared<Pending>(*pending_);
  compile();
}

void RebuildingBench::cancel_all() {
  pending_.reset();
  bench_.cancel_all();
}

std::string name_of(const device::DeviceInfo& device) {
  return fmt::format("device {} ({}{}{})", device.index, device.name, device.uuid.empty() ? "" : ", ", device.uuid);
}

DevicePool::DevicePool(const run::Target& target, const std::vector<BenchService*>& benches, CompileService& compiler,
                       double compile_timeout_s, TuneObserver& observer)
    : observer_(observer) {
  for (std::size_t i = 0; i < benches.size() && i <= target.further.size(); ++i) {
    benches_.push_back(std::make_unique<RebuildingBench>(*benches[i], compiler, compile_timeout_s));
    devices_.push_back({benches_.back().get(), i == 0 ? target.device : target.further[i - 1]});
  }
}

std::size_t DevicePool::busy() const {
  return static_cast<std::size_t>(
      std::count_if(devices_.begin(), devices_.end(), [](const PooledDevice& device) { return device.busy; }));
}

bool DevicePool::any_uncompared() const {
  return std::any_of(devices_.begin() + 1, devices_.end(),
                     [](const PooledDevice& device) { return device.state == PooledDevice::State::uncompared; });
}

double DevicePool::slowness_of(const device::DeviceInfo& device) const {
  for (const PooledDevice& each : devices_)
    if (each.device.uuid == device.uuid && each.device.index == device.index) return each.slowness;
  return 1;
}

void DevicePool::exclude(PooledDevice& device, const std::string& why) {
  device.state = PooledDevice::State::excluded;
  observer_.on_warning(fmt::format("{} measures nothing in this run: {}", name_of(device.device), why));
}

void DevicePool::exclude_further(const std::string& why) {
  for (PooledDevice& device : devices_)
    if (!is_first(device)) exclude(device, why);
}

void DevicePool::set_problem(Problem problem) {
  for (const PooledDevice& device : devices_) {
    problem.device = device.device.index;
    device.bench->set_problem(problem);
  }
}

void DevicePool::prepare_further() {
  if (std::exchange(prepared_, true)) return;
  for (const PooledDevice& device : devices_)
    if (!is_first(device) && device.state == PooledDevice::State::uncompared) device.bench->prepare();
}

void DevicePool::compile_after_all() {
  for (const auto& bench : benches_) bench->compile_after_all();
}

void DevicePool::cancel_all() {
  for (const auto& bench : benches_) bench->cancel_all();
}

namespace {

constexpr double max_difference = 0.02;
constexpr int max_failures = 3;

/// Whether they certainly differ, by the intervals of both medians.
bool differ(const measure::Summary& a, const measure::Summary& b) {
  return a.low > (1 + max_difference) * b.high || b.low > (1 + max_difference) * a.high;
}

}  // namespace

std::optional<Calibration::Wanted> Calibration::take_wanted() {
  if (asked_ || !offered_ || !devices_.any_uncompared()) return std::nullopt;
  asked_ = true;
  return offered_;
}

void Calibration::compiled(TrialPtr trial, bool ok) {
  trial_ = std::move(trial);
  if (!ok) try_another();
}

TrialPtr Calibration::wanted_of(const PooledDevice& device) const {
  if (device.state != PooledDevice::State::uncompared) return nullptr;
  for (const auto& [other, record] : waiting_)
    if (other == &device) return nullptr;
  return trial_;
}

/// Tries the next configuration that passes.
void Calibration::try_another() {
  offered_.reset();
  asked_ = false;
  trial_.reset();
  waiting_.clear();
  if (++failures_ == max_failures)
    devices_.exclude_further("no configuration passes twice on " + name_of(devices_.first().device));
}

void Calibration::take(PooledDevice& device, const TrialPtr& trial, const store::Record& record) {
  if (trial != trial_) return;  // it has failed on the first device meanwhile
  if (!devices_.is_first(device)) {
    if (time_ms_) return judge(device, record);
    waiting_.emplace_back(&device, record);
    return;
  }
  if (record.outcome != Outcome::ok) return try_another();
  device.state = PooledDevice::State::in_use;
  time_ms_ = record.time_ms;
  for (const auto& [other, measured] : std::exchange(waiting_, {})) judge(*other, measured);
}

/// Judges a device other than the first.
void Calibration::judge(PooledDevice& device, const store::Record& record) {
  const std::string config = space::shown_text(record.config), first = name_of(devices_.first().device);
  if (record.outcome != Outcome::ok)
    return devices_.exclude(device, fmt::format("{}, ok on {}, is {} here: {}", config, first,
                                                to_string(record.outcome), base::printable(record.message, 500)));
  const double slowness = record.time_ms.median / time_ms_->median;
  if (differ(record.time_ms, *time_ms_))
    return devices_.exclude(
        device,
        fmt::format("{} takes {} here, {:.1f} % {} than on {}{}", config, base::human_time_ms(record.time_ms.median),
                    100 * (slowness > 1 ? slowness - 1 : 1 - slowness), slowness > 1 ? "more" : "less", first,
                    record.tainted.empty() ? "" : "; " + record.tainted[0]));
  device.state = PooledDevice::State::in_use;
  device.slowness = slowness;
}

}  // namespace xtune::run
