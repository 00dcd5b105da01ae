// One job in a pool of one worker, whose artifact comes back through a cache of its own.
#include "api/worker_toolchain.hpp"

#include <optional>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "core/build/cache.hpp"
#include "core/target/target.hpp"
#include "ipc/services.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

class WorkerToolchain final : public Toolchain {
 public:
  WorkerToolchain(BackendState state, double timeout_s) : state_(std::move(state)), timeout_s_(timeout_s) {}

  std::string fingerprint() override { return state_.toolchain; }
  std::string default_arch() override { return state_.default_arch; }

  Artifact compile(const CompileRequest& request) override {
    const TemporaryDirectory temporaries, cache;
    const std::string key = sha256("this request");  // the only one in the cache
    std::optional<CompileAnswer> answer;
    EventLoop loop;
    PooledCompileService compiler(loop, 1, compile_worker_command(1, temporaries.path()));
    compiler.compile({state_.name, cache.path(), key, request}, timeout_s_,
                     [&](CompileAnswer given) { answer = std::move(given); });
    loop.run_until([&] { return answer.has_value(); });
    if (!answer) throw Error(ErrorKind::io, "the compile worker ended without an answer");
    if (answer->outcome != Outcome::ok) throw CandidateFailure(answer->outcome, answer->message);
    std::optional<Artifact> artifact = ArtifactCache(cache.path()).find(key);
    if (!artifact) throw Error(ErrorKind::io, "the compile worker left no artifact: is the temporary folder full?");
    artifact->key.clear();
    artifact->backend.clear();
    return std::move(*artifact);
  }

 private:
  const BackendState state_;
  const double timeout_s_;
};

}  // namespace

std::unique_ptr<Toolchain> make_worker_toolchain(const std::string& backend, double timeout_s) {
  BackendState state = find_backend(backend, false);
  if (state.toolchain.empty())
    throw Error(ErrorKind::unavailable, "backend " + backend + " has no compiler here: " + state.toolchain_reason);
  return std::make_unique<WorkerToolchain>(std::move(state), timeout_s);
}

}  // namespace xtune
