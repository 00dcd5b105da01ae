// Searches for the xtune program in the places where a user of the library may have it.
#include "api/workers.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "core/build/cache.hpp"
#include "core/build/manifest.hpp"
#include "system/files.hpp"
#include "worker/ipc/services.hpp"
#include "worker/ipc/target.hpp"
#include "xtune/error.hpp"

namespace xtune {

namespace {

bool is_program(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

/// The directory of the shared library (or program) that contains this code.
std::filesystem::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&find_worker_program), &info) == 0 || !info.dli_fname) return {};
  std::error_code ignored;
  const std::filesystem::path file = std::filesystem::canonical(info.dli_fname, ignored);
  return file.parent_path();
}

}  // namespace

void find_worker_program() {
  if (const char* given = std::getenv("XTUNE_PROGRAM"); given && *given) {
    if (!is_program(given))
      throw Error(ErrorKind::unavailable,
                  std::string("XTUNE_PROGRAM=") + given +
                      ": is not an executable file; it names the xtune program, which the library "
                      "starts to compile and to measure");
    return worker::set_worker_program(system::absolute_path(given));
  }
  std::vector<std::filesystem::path> places;
  if (const std::filesystem::path folder = own_folder(); !folder.empty())
    places = {folder / XTUNE_PROGRAM_FROM_LIBRARY, folder / "xtune"};
  places.emplace_back(XTUNE_BUILT_PROGRAM);
  if (const std::string found = system::find_program("xtune"); !found.empty()) places.emplace_back(found);
  for (const std::filesystem::path& place : places)
    if (is_program(place)) return worker::set_worker_program(system::absolute_path(place).lexically_normal());
  throw Error(ErrorKind::unavailable,
              "the xtune program, which the library starts to compile and to measure, is not at " +
                  places.front().lexically_normal().string() +
                  " and not in PATH: install it beside the library, or set XTUNE_PROGRAM to where it is");
}

namespace {

class WorkerToolchain final : public build::Toolchain {
 public:
  WorkerToolchain(run::BackendState state, double timeout_s) : state_(std::move(state)), timeout_s_(timeout_s) {}

  std::string fingerprint() override { return state_.toolchain; }
  bool lists_files() override { return true; }
  std::string default_arch() override { return state_.default_arch; }

  build::Artifact compile(const build::CompileRequest& request) override {
    const system::TemporaryDirectory cache;
    const std::string key = base::sha256("this request");  // the only key in the cache
    std::optional<run::CompileAnswer> answer;
    system::EventLoop loop;
    worker::JobWorkers workers(loop, 1);
    workers.compiler().compile({state_.name, cache.path(), key, request}, timeout_s_,
                               [&](run::CompileAnswer given) { answer = std::move(given); });
    loop.run_until([&] { return answer.has_value(); });
    if (!answer) throw Error(ErrorKind::io, "the compile worker ended without an answer");
    const std::optional<build::FilesRead> read = read_by(request, *answer);
    if (answer->outcome != Outcome::ok) {
      build::CandidateFailure failure(answer->outcome, answer->message);
      failure.files_read = read;
      throw failure;
    }
    std::optional<build::Artifact> artifact = build::ArtifactCache(cache.path()).find(answer->artifact.key);
    if (!artifact) throw Error(ErrorKind::io, "the compile worker left no artifact: is the temporary directory full?");
    artifact->key.clear();
    artifact->backend.clear();
    artifact->files_read = read;
    return std::move(*artifact);
  }

 private:
  /// What the worker's compile read besides the request's files; unset: that is unknown, as its key shows.
  static std::optional<build::FilesRead> read_by(const build::CompileRequest& request,
                                                 const run::CompileAnswer& answer) {
    const build::ManifestNow now = build::contents_of(answer.artifact.manifest, request.source_name);
    if (!request.base_key.empty() && answer.artifact.key != build::key_with_reads(request.base_key, now.digest))
      return std::nullopt;
    build::FilesRead read{{}, now.keyed.absent};
    for (const build::KeyedFile& file : now.keyed.files) read.files.push_back(file.path);
    return read;
  }

  const run::BackendState state_;
  const double timeout_s_;
};

}  // namespace

std::unique_ptr<build::Toolchain> make_worker_toolchain(run::BackendState backend, double timeout_s) {
  if (backend.toolchain.empty())
    throw Error(ErrorKind::unavailable,
                "backend " + backend.name + " has no compiler here: " + backend.toolchain_reason);
  return std::make_unique<WorkerToolchain>(std::move(backend), timeout_s);
}

}  // namespace xtune
