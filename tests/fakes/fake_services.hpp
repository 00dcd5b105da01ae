// Compile and bench services that answer from functions, one event-loop turn later, and keep a journal of the order.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/run/services.hpp"
#include "system/event_loop.hpp"

namespace xtune::fakes {

/// What happened, in order: "compile KEY", "compiled KEY", "problem", "bench KEY", "benched KEY".
using Journal = std::vector<std::string>;

/// Calls `then` after this many turns of the loop.
inline void after_turns(system::EventLoop& loop, int turns, std::function<void()> then) {
  if (turns <= 1) return loop.post(std::move(then));
  loop.post([&loop, turns, then = std::move(then)]() mutable { after_turns(loop, turns - 1, std::move(then)); });
}

class FakeCompileService final : public run::CompileService {
 public:
  FakeCompileService(system::EventLoop& loop, Journal& journal, std::size_t parallel = 2)
      : loop_(loop), journal_(journal), parallel_(parallel) {}

  /// Default: ok, with the job's key.
  std::function<run::CompileAnswer(const run::CompileJob&)> respond;
  std::function<int(const run::CompileJob&)> turns_of;  ///< how long a job takes; default: turns
  std::vector<run::CompileJob> jobs;
  std::vector<double> timeouts_s;
  std::size_t outstanding = 0, max_outstanding = 0;
  int turns = 1;

  void compile(const run::CompileJob& job, double timeout_s, Callback callback) override {
    jobs.push_back(job);
    timeouts_s.push_back(timeout_s);
    journal_.push_back("compile " + job.key);
    max_outstanding = std::max(max_outstanding, ++outstanding);
    after_turns(loop_, turns_of ? turns_of(job) : turns,
                [this, job, callback = std::move(callback), asked_in = epoch_] {
                  if (asked_in != epoch_) return;
                  --outstanding;
                  journal_.push_back("compiled " + job.key);
                  run::CompileAnswer answer;
                  answer.artifact.key = job.key;
                  callback(respond ? respond(job) : answer);
                });
  }
  std::size_t parallel() const noexcept override { return parallel_; }
  void cancel_all() override {
    ++epoch_;
    outstanding = 0;
  }

 private:
  system::EventLoop& loop_;
  Journal& journal_;
  std::size_t parallel_;
  std::uint64_t epoch_ = 0;
};

class FakeBenchService final : public run::BenchService {
 public:
  FakeBenchService(system::EventLoop& loop, Journal& journal) : loop_(loop), journal_(journal) {}

  /// Default: ok, with three samples of 1 ms.
  std::function<run::BenchAnswer(const run::BenchJob&)> respond;
  /// Default: samples of 1 ms.
  std::function<run::RoundsAnswer(const run::RoundsJob&)> respond_rounds;
  std::vector<run::BenchJob> jobs;
  std::vector<run::RoundsJob> rounds;
  std::vector<run::Problem> problems;
  std::function<std::uint64_t(const run::BenchJob&)> ms_of;  ///< how long a job takes; default: turns
  bool busy = false, overlapped_itself = false;
  int turns = 1;

  void set_problem(run::Problem problem) override {
    journal_.push_back("problem");
    problems.push_back(std::move(problem));
  }
  void bench(const run::BenchJob& job, double /*timeout_s*/, Callback callback) override {
    overlapped_itself = overlapped_itself || busy;
    busy = true;
    jobs.push_back(job);
    journal_.push_back("bench " + job.artifact.key);
    auto ends = [this, job, callback = std::move(callback), asked_in = epoch_] {
      if (asked_in != epoch_) return;
      busy = false;
      journal_.push_back("benched " + job.artifact.key);
      run::BenchAnswer answer;
      answer.samples_ms = {1.0, 1.0, 1.0};
      callback(respond ? respond(job) : answer);
    };
    if (ms_of)
      end_ = loop_.call_after(ms_of(job), std::move(ends));
    else
      after_turns(loop_, turns, std::move(ends));
  }
  void measure_rounds(const run::RoundsJob& job, double /*timeout_s*/, RoundsCallback callback) override {
    overlapped_itself = overlapped_itself || busy;
    busy = true;
    rounds.push_back(job);
    journal_.push_back("rounds");
    after_turns(loop_, turns, [this, job, callback = std::move(callback), asked_in = epoch_] {
      if (asked_in != epoch_) return;
      busy = false;
      run::RoundsAnswer answer;
      answer.samples_ms.resize(job.jobs.size());
      for (const auto& round : job.rounds)
        for (const std::size_t index : round) answer.samples_ms[index].push_back(1.0);
      callback(respond_rounds ? respond_rounds(job) : answer);
    });
  }
  void cancel_all() override {
    ++epoch_;
    busy = false;
  }

 private:
  system::EventLoop& loop_;
  Journal& journal_;
  std::uint64_t epoch_ = 0;
  system::EventLoop::Watch end_;
};

}  // namespace xtune::fakes
