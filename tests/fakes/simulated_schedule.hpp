// Compilers and devices that take simulated seconds: the cost of a run's schedule, without waiting for it.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/run/services.hpp"
#include "fakes/fake_clock.hpp"
#include "system/event_loop.hpp"

namespace xtune::fakes {

/// Events in the order of their times. One of them happens in each turn of the loop, so that the program under test
/// reacts to it before the clock moves on.
class SimulatedTime {
 public:
  SimulatedTime(system::EventLoop& loop, FakeClock& clock) : loop_(loop), clock_(clock) {}
  double now_s() const { return now_s_; }
  void after(double seconds, std::function<void()> then) {
    events_.emplace(now_s_ + seconds, std::move(then));
    if (!std::exchange(stepping_, true)) loop_.post([this] { step(); });
  }

 private:
  void step() {
    auto event = events_.extract(events_.begin());
    clock_.advance_s(event.key() - now_s_);
    now_s_ = event.key();
    event.mapped()();
    stepping_ = !events_.empty();
    if (stepping_) loop_.post([this] { step(); });
  }
  system::EventLoop& loop_;
  FakeClock& clock_;
  double now_s_ = 0;
  std::multimap<double, std::function<void()>> events_;
  bool stepping_ = false;
};

/// Some compilers and one queue in front of them, in order of arrival, as a pool works where the lengths are unknown.
class SimulatedCompilers final : public run::CompileService {
 public:
  double compile_s = 1, from_cache_s = 0.02;
  SimulatedCompilers(SimulatedTime& time, std::size_t parallel) : time_(time), parallel_(parallel) {}
  void compile(const run::CompileJob& job, double /*timeout_s*/, Callback callback) override {
    queue_.emplace_back(job.key, std::move(callback));
    start();
  }
  std::size_t parallel() const noexcept override { return parallel_; }
  void cancel_all() override { queue_.clear(), ++epoch_, busy_ = 0; }

 private:
  void start() {
    if (busy_ == parallel_ || queue_.empty()) return;
    ++busy_;
    auto [key, callback] = std::move(queue_.front());
    queue_.pop_front();
    const bool cached = !known_.insert(key).second;
    time_.after(cached ? from_cache_s : compile_s, [this, cached, key = key, callback = callback, epoch = epoch_] {
      if (epoch != epoch_) return;
      --busy_;
      run::CompileAnswer answer;
      answer.artifact.key = key;
      answer.cached = cached;
      answer.cpu_s = cached ? 0 : compile_s;
      start();
      callback(answer);
    });
  }
  SimulatedTime& time_;
  const std::size_t parallel_;
  std::size_t busy_ = 0;
  std::uint64_t epoch_ = 0;
  std::deque<std::pair<std::string, Callback>> queue_;
  std::set<std::string> known_;
};

/// How long the steps of a bench worker take.
struct SimulatedSteps {
  double open_s = 1;         ///< the device, inputs and buffers
  double reference_s = 0.5;  ///< to compute it
  double hand_on_s = 0.2;    ///< to read one that another worker has left
  double configuration_s = 0.1;
  double launch_s = 0.025;  ///< of a finalist, in a round
};

/// A bench worker. The first to be asked computes the reference, which the others read once it is there.
class SimulatedBench final : public run::BenchService {
 public:
  std::vector<double> begun_s;  ///< when it began to measure a configuration
  std::size_t finals_rounds = 0;

  SimulatedBench(SimulatedTime& time, const SimulatedSteps& steps, bool& has_reference)
      : time_(time), steps_(steps), has_reference_(has_reference) {}
  void set_problem(run::Problem /*problem*/) override {}
  void prepare() override {
    if (open_at_s_ < 0) open_at_s_ = time_.now_s() + steps_.open_s;
  }
  void bench(const run::BenchJob& /*job*/, double /*timeout_s*/, Callback callback) override {
    after_opening([this, callback = std::move(callback)] {
      begun_s.push_back(time_.now_s());
      after(steps_.configuration_s, [this, callback] {
        run::BenchAnswer answer;
        answer.samples_ms.assign(7, 1e3 * steps_.launch_s);
        answer.busy_s = steps_.configuration_s;
        callback(answer);
      });
    });
  }
  void measure_rounds(const run::RoundsJob& job, double /*timeout_s*/, RoundsCallback callback) override {
    if (job.jobs.size() > 1) finals_rounds += job.rounds.size();
    run::RoundsAnswer answer;
    answer.samples_ms.resize(job.jobs.size());
    for (const auto& round : job.rounds)
      for (const std::size_t i : round) answer.samples_ms[i].push_back(1e3 * steps_.launch_s);
    std::size_t launches = 2 * job.jobs.size();  // each is warmed up, and launched again for the check
    for (const auto& round : job.rounds) launches += round.size();
    answer.busy_s = steps_.launch_s * static_cast<double>(launches);
    after(answer.busy_s, [answer, callback = std::move(callback)] { callback(answer); });
  }
  void cancel_all() override { ++epoch_; }

 private:
  void after_opening(std::function<void()> then) {
    if (ready_) return then();
    prepare();
    const double left_s = open_at_s_ - time_.now_s();
    after(left_s > 0 ? left_s : 0, [this, then = std::move(then)] {
      after(has_reference_ ? steps_.hand_on_s : steps_.reference_s, [this, then] {
        ready_ = has_reference_ = true;
        then();
      });
    });
  }
  void after(double seconds, std::function<void()> then) {
    time_.after(seconds, [this, then = std::move(then), epoch = epoch_] {
      if (epoch == epoch_) then();
    });
  }
  SimulatedTime& time_;
  const SimulatedSteps& steps_;
  bool& has_reference_;
  double open_at_s_ = -1;
  bool ready_ = false;
  std::uint64_t epoch_ = 0;
};

}  // namespace xtune::fakes
