// Buffers, validation and measuring of one problem, over the device interfaces.
#include "core/run/bench_session.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "core/measure/series.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

// Rotation keeps at most this share of the device's memory for argument sets.
constexpr double rotation_share = 0.4;
constexpr std::size_t most_sets = 64;

std::size_t flush_size(const DeviceInfo& device) {
  // Three times the cache: write-back caches with unusual replacement keep part of a smaller overwrite.
  return static_cast<std::size_t>(std::max<std::int64_t>(device.l2_bytes, 4 << 20)) * 3;
}

}  // namespace

void at_place(const std::string& at, const std::function<void()>& make) {
  try {
    make();
  } catch (const Error& error) {
    if (at.empty() || error.kind() == ErrorKind::unavailable) throw;  // memory ran out: not of the spec's making
    const bool argument = error.kind() == ErrorKind::invalid_argument;
    throw Error(argument ? ErrorKind::invalid_spec : error.kind(), at + ": " + error.what());
  }
}

BenchSession::BenchSession(Device& device, OpenJob job, Clock& clock)
    : device_(device),
      job_(std::move(job)),
      clock_(clock),
      cache_(job_.cache),
      guard_size_(job_.sanitize ? 0 : guard_bytes) {
  for (const ArgumentPlan& plan : job_.arguments) {
    if (!plan.buffer) continue;
    Argument argument{*plan.buffer, {}, {}};
    if (argument.layout.role != ArgRole::out) {
      argument.pristine = SealedMemory(argument.layout.bytes());
      at_place(argument.layout.at, [&] { fill_input(argument.layout, job_.seed, argument.pristine.writable()); });
      argument.pristine.seal();
    }
    in_place_ = in_place_ || argument.layout.role == ArgRole::inout;
    arguments_.push_back(std::move(argument));
  }
  allocate();
}

void BenchSession::allocate() {
  std::uint64_t set_bytes = 0;
  for (const Argument& argument : arguments_) set_bytes += argument.layout.bytes() + 2 * guard_size_;
  std::size_t count = 1;
  if (job_.measure.flush == Flush::l2) flush_bytes_ = flush_size(device_.info());
  if (job_.measure.flush == Flush::rotate) {
    const std::uint64_t wanted = flush_size(device_.info()) / std::max<std::uint64_t>(set_bytes, 1) + 2;
    const double memory = device_.info().memory_bytes > 0 ? static_cast<double>(device_.info().memory_bytes) : 1e9;
    const double affordable = memory * rotation_share / static_cast<double>(std::max<std::uint64_t>(set_bytes, 1));
    count = static_cast<std::size_t>(
        std::clamp(std::min<double>(static_cast<double>(wanted), affordable), 1.0, static_cast<double>(most_sets)));
    // Too few sets to push each other out of the cache: flush as well, rather than measure a warm cache and call it
    // cold.
    if (count < wanted) flush_bytes_ = flush_size(device_.info());
  }
  for (std::size_t i = 0; i < count; ++i) {
    BufferSet set;
    for (const Argument& argument : arguments_)
      set.push_back(std::make_unique<GuardedBuffer>(device_, argument.layout.bytes(), guard_size_));
    sets_.push_back(std::move(set));
  }
}

void BenchSession::reset(BufferSet& set) {
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const std::size_t bytes = arguments_[i].layout.bytes();
    if (arguments_[i].layout.role == ArgRole::out)
      set[i]->fill(0, bytes, poison_byte);
    else
      set[i]->write(0, arguments_[i].pristine.bytes());
    set[i]->renew_guards();
  }
}

void BenchSession::restore_in_place(BufferSet& set) {
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    if (arguments_[i].layout.role == ArgRole::inout) set[i]->write(0, arguments_[i].pristine.bytes());
}

std::optional<BenchSession::Damage> BenchSession::damaged_guard(BufferSet& set) {
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    if (const char* const where = set[i]->damage()) return Damage{arguments_[i].layout.name, where};
  return std::nullopt;
}

std::vector<KernelArgument> BenchSession::arguments_for(BufferSet& set,
                                                        const std::vector<ScalarArgument>& scalars) const {
  std::vector<KernelArgument> arguments;
  std::size_t buffer = 0, scalar = 0;
  for (const ArgumentPlan& plan : job_.arguments) {
    if (plan.buffer)
      arguments.emplace_back(set[buffer++].get());
    else
      arguments.emplace_back(scalars.at(scalar++));
  }
  return arguments;
}

Artifact BenchSession::with_image(const Artifact& artifact) const {
  if (auto found = cache_.find(artifact.key)) return *found;
  throw Error(ErrorKind::io, "artifact " + artifact.key + " is missing from or damaged in " + job_.cache.string() +
                                 "; run again to compile it anew");
}

BenchAnswer BenchSession::bench(const BenchJob& job) {
  prepare_reference();
  BenchAnswer answer;
  const std::int64_t start = clock_.now_ns();
  answer.stage = "load";
  try {
    const std::unique_ptr<Program> program = device_.load(with_image(job.artifact), job.launch);
    answer.stage = "run";
    bench_loaded(*program, job, answer);
  } catch (const CandidateFailure& failure) {
    answer.outcome = failure.outcome();
    answer.message = failure.what();
    answer.log = failure.log();
  }
  answer.busy_s = static_cast<double>(clock_.now_ns() - start) * 1e-9;
  return answer;
}

std::vector<std::vector<KernelArgument>> BenchSession::arguments_for_sets(const std::vector<ScalarArgument>& scalars) {
  std::vector<std::vector<KernelArgument>> arguments;
  for (BufferSet& set : sets_) arguments.push_back(arguments_for(set, scalars));
  return arguments;
}

double BenchSession::launch(Program& program, const std::vector<std::vector<KernelArgument>>& arguments, bool timed) {
  const std::size_t set = next_set_++ % sets_.size();
  if (in_place_) restore_in_place(sets_[set]);
  return program.run({arguments[set], timed, timed ? flush_bytes_ : 0}).time_ms;
}

void BenchSession::bench_loaded(Program& program, const BenchJob& job, BenchAnswer& answer) {
  for (BufferSet& set : sets_) reset(set);
  const std::vector<std::vector<KernelArgument>> arguments = arguments_for_sets(job.scalars);
  const Race race(job.incumbent);
  const double first_ms = program.run({arguments[0], race.on(), 0}).time_ms;
  answer.stage = "validate";
  if (!validate(answer)) return;

  answer.stage = "measure";
  const MeasureSpec& measure = job_.measure;
  next_set_ = 0;
  const auto sample = [&] { return launch(program, arguments, true); };
  const StoppingRule rule{measure.min_rep, measure.rep, measure.min_time_ms, measure.max_time_ms, measure.noise};
  std::optional<Series> series = lose_cold(sample, rule, clock_, race, first_ms);
  if (!series) {
    for (int i = 0; i < measure.warmup; ++i) launch(program, arguments, false);
    series = measure_series(sample, rule, clock_, race, first_ms);
  }
  answer.samples_ms = std::move(series->samples_ms);
  if (series->stopped_by == Stop::beaten) answer.outcome = Outcome::pruned;
}

bool BenchSession::validate(BenchAnswer& answer) {
  if (const auto damage = damaged_guard(sets_[0])) {
    answer.outcome = Outcome::wrong_result;
    answer.message = damage->argument + ": the kernel wrote " + damage->where + " this buffer";
    return false;
  }
  std::vector<std::byte> actual;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const Argument& argument = arguments_[i];
    if (argument.expected.bytes().empty()) continue;
    actual.resize(argument.layout.bytes());
    sets_[0][i]->read(0, actual);
    Tolerance tolerance = default_tolerance(argument.layout.dtype);
    for (const auto& [name, given] : job_.tolerances)
      if (name == argument.layout.name) tolerance = given;
    Comparison comparison = compare(argument.layout.name, argument.layout.dtype, actual, argument.expected.bytes(),
                                    argument.layout.shape, tolerance);
    const bool passed = comparison.passed;
    if (!passed) {
      answer.outcome = Outcome::wrong_result;
      answer.message = comparison.text();
    }
    // Several outputs: the record keeps the first that failed, else the last.
    answer.validation = std::move(comparison);
    if (!passed) return false;
  }
  return true;
}

}  // namespace xtune
