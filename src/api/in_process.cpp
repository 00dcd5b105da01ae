// The bench session without a worker process.
#include "api/in_process.hpp"

#include <utility>

#include "base/clock.hpp"
#include "xtune/error.hpp"

namespace xtune {

InProcessBenchService::InProcessBenchService(base::EventLoop& loop, OpenDevice open_device)
    : loop_(loop), open_device_(std::move(open_device)), wanted_(std::make_shared<bool>(true)) {}

InProcessBenchService::~InProcessBenchService() { *wanted_ = false; }

void InProcessBenchService::cancel_all() {
  *wanted_ = false;
  wanted_ = std::make_shared<bool>(true);
}

void InProcessBenchService::set_problem(ipc::Problem problem) {
  session_.reset();
  problem_ = std::move(problem);
}

worker::BenchSession& InProcessBenchService::session() {
  if (lost_)
    throw Error(ErrorKind::unavailable,
                "a kernel faulted, and with it the device context of this process is lost; with isolation = process it "
                "would have cost only that configuration");
  if (!device_) device_ = open_device_(problem_.device);
  if (!session_) session_ = std::make_unique<worker::BenchSession>(*device_, problem_, base::system_clock());
  return *session_;
}

void InProcessBenchService::later(std::function<void()> call) {
  loop_.post([wanted = wanted_, call = std::move(call)] {
    if (*wanted) call();
  });
}

void InProcessBenchService::bench(const ipc::BenchJob& job, double /*timeout_s*/, Callback callback) {
  later([this, job, callback = std::move(callback)] {
    ipc::BenchAnswer answer;
    try {
      answer = session().bench(job);
    } catch (const ipc::MissingArtifact& missing) {
      answer.outcome = Outcome::crashed;
      answer.missing_artifact = missing.key();
      return callback(std::move(answer));
    }
    lost_ = answer.outcome == Outcome::crashed;
    callback(std::move(answer));
  });
}

void InProcessBenchService::measure_rounds(const ipc::RoundsJob& job, double /*timeout_s*/, RoundsCallback callback) {
  later([this, job, callback = std::move(callback)] {
    ipc::RoundsAnswer answer;
    try {
      answer = session().measure_rounds(job);
    } catch (const ipc::MissingArtifact& missing) {
      answer.outcome = Outcome::crashed;
      answer.missing_artifact = missing.key();
      return callback(std::move(answer));
    }
    lost_ = answer.outcome == Outcome::crashed;
    callback(std::move(answer));
  });
}

}  // namespace xtune
