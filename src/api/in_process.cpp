// The bench session without a worker process.
#include "api/in_process.hpp"

#include <utility>

#include "backends/backend.hpp"
#include "system/clock.hpp"
#include "xtune/error.hpp"

namespace xtune {

std::optional<int> current_device(const std::string& backend) try {
  const std::shared_ptr<backend::Runtime> runtime = backend::make_backend(backend)->open_runtime();
  if (runtime->current() == 0) return std::nullopt;
  return runtime->device().index;
} catch (const Error&) {
  return std::nullopt;
}

CurrentContext::CurrentContext(const std::string& backend)
    : runtime_(backend::make_backend(backend)->open_runtime()), context_(runtime_->current()) {}

CurrentContext::~CurrentContext() {
  try {
    runtime_->adopt(context_);
  } catch (const Error&) {  // a kernel that faulted has invalidated the context
  }
}

InProcessBenchService::InProcessBenchService(system::EventLoop& loop, OpenDevice open_device)
    : loop_(loop), open_device_(std::move(open_device)), wanted_(std::make_shared<bool>(true)) {}

InProcessBenchService::~InProcessBenchService() { *wanted_ = false; }

void InProcessBenchService::cancel_all() {
  *wanted_ = false;
  wanted_ = std::make_shared<bool>(true);
}

void InProcessBenchService::set_problem(run::Problem problem) {
  session_.reset();
  problem_ = std::move(problem);
}

worker::BenchSession& InProcessBenchService::session() {
  if (lost_)
    throw Error(ErrorKind::unavailable,
                "a kernel faulted, and with it the device context of this process is lost; with isolation = process it "
                "would have cost only that configuration");
  if (!device_) device_ = open_device_(problem_.device);
  if (!session_) session_ = std::make_unique<worker::BenchSession>(*device_, problem_, system::system_clock());
  return *session_;
}

template <class Answer, class Job>
void InProcessBenchService::later(Answer (worker::BenchSession::*measure)(const Job&), const Job& job,
                                  std::function<void(Answer)> callback) {
  loop_.post([this, wanted = wanted_, measure, job, callback = std::move(callback)] {
    if (!*wanted) return;
    Answer answer;
    try {
      answer = (session().*measure)(job);
      lost_ = answer.outcome == Outcome::crashed;
    } catch (const worker::MissingArtifact& missing) {
      answer.outcome = Outcome::crashed;
      answer.missing_artifact = missing.key();
    }
    callback(std::move(answer));
  });
}

void InProcessBenchService::bench(const run::BenchJob& job, double /*timeout_s*/, Callback callback) {
  later<run::BenchAnswer>(&worker::BenchSession::bench, job, std::move(callback));
}

void InProcessBenchService::measure_rounds(const run::RoundsJob& job, double /*timeout_s*/, RoundsCallback callback) {
  later<run::RoundsAnswer>(&worker::BenchSession::measure_rounds, job, std::move(callback));
}

}  // namespace xtune
