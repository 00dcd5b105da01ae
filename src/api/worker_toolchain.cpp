// One job in a pool of one worker, whose artifact is returned through a separate cache.
#include "api/worker_toolchain.hpp"

#include <optional>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "core/build/cache.hpp"
#include "core/run/job.hpp"
#include "core/target/target.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

class WorkerToolchain final : public build::Toolchain {
 public:
  WorkerToolchain(target::BackendState state, double timeout_s) : state_(std::move(state)), timeout_s_(timeout_s) {}

  std::string fingerprint() override { return state_.toolchain; }
  std::string default_arch() override { return state_.default_arch; }

  build::Artifact compile(const build::CompileRequest& request) override {
    const base::TemporaryDirectory cache;
    const std::string key = base::sha256("this request");  // the only key in the cache
    std::optional<ipc::CompileAnswer> answer;
    base::EventLoop loop;
    run::JobWorkers workers(loop, 1);
    workers.compiler().compile({state_.name, cache.path(), key, request}, timeout_s_,
                               [&](ipc::CompileAnswer given) { answer = std::move(given); });
    loop.run_until([&] { return answer.has_value(); });
    if (!answer) throw Error(ErrorKind::io, "the compile worker ended without an answer");
    if (answer->outcome != Outcome::ok) throw build::CandidateFailure(answer->outcome, answer->message);
    std::optional<build::Artifact> artifact = build::ArtifactCache(cache.path()).find(key);
    if (!artifact) throw Error(ErrorKind::io, "the compile worker left no artifact: is the temporary directory full?");
    artifact->key.clear();
    artifact->backend.clear();
    return std::move(*artifact);
  }

 private:
  const target::BackendState state_;
  const double timeout_s_;
};

}  // namespace

std::unique_ptr<build::Toolchain> make_worker_toolchain(target::BackendState backend, double timeout_s) {
  if (backend.toolchain.empty())
    throw Error(ErrorKind::unavailable,
                "backend " + backend.name + " has no compiler here: " + backend.toolchain_reason);
  return std::make_unique<WorkerToolchain>(std::move(backend), timeout_s);
}

}  // namespace xtune
