// An artifact is made in different ways for the problem (reference, check kernel) and for a configuration.
#include "core/run/rebuilding_bench.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::run {

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

}  // namespace xtune::run
