// The message loops of the compile and bench workers, the probe of a backend, and the guard of fixed clocks.
#include "worker/worker.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <type_traits>
#include <utility>

#include "backends/backend.hpp"
#include "backends/host/backend.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/build/cache.hpp"
#include "core/build/manifest.hpp"
#include "core/device/backend_facts.hpp"
#include "system/clock.hpp"
#include "system/directory_lock.hpp"
#include "system/dynamic_library.hpp"
#include "system/machine.hpp"
#include "system/processes.hpp"
#include "worker/bench_session.hpp"
#include "worker/ipc/protocol.hpp"
#include "worker/process_state.hpp"
#include "xtune/error.hpp"

namespace xtune::worker {
namespace {

// A worker that hangs in a compiler or a kernel does not read its pipe, so a separate thread watches for the driver's
// end. It kills the group, not only the process, because the host toolchain's compiler is in the group.
void die_with_driver(int in) {
  std::thread([in] {
    pollfd watched{in, 0, 0};
    for (;;) {
      watched.revents = 0;
      if (poll(&watched, 1, -1) < 0) continue;
      if (watched.revents & (POLLHUP | POLLERR | POLLNVAL)) {
        // The loop's own reader may be about to see the end of the pipe and end normally.
        std::this_thread::sleep_for(std::chrono::seconds(1));
        for (const int child : system::children_of(getpid())) system::kill_tree(child);
        if (getpgrp() == getpid()) kill(0, SIGKILL);
        _exit(1);
      }
    }
  }).detach();
}

// Wait for processes that a kernel has started, and that were killed.
constexpr double stray_wait_s = 5;

// Memory that kernels may leave allocated in a bench worker, in addition to a quarter of the arguments' bytes: caches
// of a runtime, a sanitizer's quarantine of freed memory (256 MiB), and its shadow (an eighth).
constexpr std::uint64_t left_behind_bytes = std::uint64_t{512} << 20;

struct Channel {
  int in, out;
};

Channel open_channel(int in, int out) {
  Channel channel{fcntl(in, F_DUPFD_CLOEXEC, 10), fcntl(out, F_DUPFD_CLOEXEC, 10)};
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  die_with_driver(channel.in);
  return channel;
}

double cpu_seconds() {
  double total = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& t : {usage.ru_utime, usage.ru_stime})
      total += static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  }
  return total;
}

/// Peak memory of this process and of its largest child, since they began.
std::uint64_t peak_bytes() {
  rusage children{};
  getrusage(RUSAGE_CHILDREN, &children);
  return system::peak_memory_bytes() + static_cast<std::uint64_t>(children.ru_maxrss) * 1024;
}

/// Answers every message with handle's result; an Error is sent back, and the loop continues. crash_ends: an answer
/// with outcome crashed is the last one, because this process is damaged.
template <class Handle>
int serve(const Channel& channel, Handle handle, bool crash_ends) {
  write_message(channel.out, worker_greeting());
  while (const auto message = read_message(channel.in)) {
    nlohmann::json answer;
    try {
      answer = handle(*message);
    } catch (const build::ToolchainChanged& error) {
      answer = error_to_json(error.kind(), error.what());
      answer["toolchain_changed"] = true;
    } catch (const MissingArtifact& error) {
      answer = error_to_json(error);
    } catch (const Error& error) {
      answer = error_to_json(error.kind(), error.what());
    } catch (const nlohmann::json::exception& error) {
      answer =
          error_to_json(ErrorKind::io, std::string("malformed message between driver and worker: ") + error.what());
    } catch (const std::bad_alloc&) {
      answer = error_to_json(ErrorKind::unavailable, "the worker ran out of memory");
    }
    write_message(channel.out, answer);
    // After a kernel fault the device is lost to this process, and cleaning up may block forever.
    if (crash_ends && answer.value("outcome", "") == to_string(Outcome::crashed)) _exit(0);
  }
  return 0;
}

class CompileHandler {
 public:
  nlohmann::json operator()(const nlohmann::json& message) {
    const run::CompileJob job = compile_job_from_json(message);
    run::CompileAnswer answer;
    build::ArtifactCache cache(job.cache);
    // The image too: an entry whose image is missing or damaged must not count as compiled.
    std::optional<build::Artifact> found;
    const auto look = [&](const std::string& key) {
      if (!found) found = cache.find(key, job.request.toolchain);
      if (!found && !job.scratch.empty())
        found = build::ArtifactCache(scratch_cache(job.scratch)).find(key, job.request.toolchain);
    };
    const std::string& base_key = job.request.base_key;
    for (const build::Manifest& manifest : job.request.known_manifests)
      if (!found) look(build::key_with_reads(base_key, build::contents_of(manifest, job.request.source_name).digest));
    if (!base_key.empty()) look(base_key);
    look(job.key);
    if (found) {
      cache.mark_used(found->key);
      if (job.keep_in_scratch)
        build::ArtifactCache(scratch_cache(job.scratch))
            .insert(*found,
                    build::with_reads(job.request, build::contents_of(found->manifest, job.request.source_name)));
      answer.artifact = std::move(*found);
      answer.image_sha256 = base::sha256(std::exchange(answer.artifact.image, {}));
      answer.cached = true;
      return to_json(answer);
    }
    const double start_s = cpu_seconds();
    const std::int64_t start_ns = system::system_clock().now_ns();
    build::CompileKey made;
    try {
      answer.artifact = compile(job, made);
      answer.artifact.key = made.key.empty() ? job.key : made.key;
      answer.artifact.backend = job.backend;
      insert(cache, job, made, answer);
      answer.log = answer.artifact.log;
      answer.image_sha256 = base::sha256(std::exchange(answer.artifact.image, {}));
    } catch (const build::CandidateFailure& failure) {
      answer.artifact.key = made.key;
      answer.outcome = failure.outcome();
      answer.lack = build::lack_of(failure);
      answer.message = failure.what();
      answer.log = failure.log();
    } catch (const std::bad_alloc&) {
      // Each worker has its own limit, so a configuration that reaches it affects no other. The driver can find out
      // whether it was the limit, or the machine had no more memory.
      answer.outcome = Outcome::crashed;
      answer.lack = build::Lack::memory;
      answer.message = "the compiler ran out of memory";
    }
    // A failed compilation takes time too, which its toolchain does not report.
    if (answer.outcome != Outcome::ok)
      answer.artifact.compile_s = static_cast<double>(system::system_clock().now_ns() - start_ns) * 1e-9;
    answer.artifact.manifest = made.reads.manifest;
    build::store_manifest(job.cache, job.backend, job.request.source_name, made.reads.manifest);
    answer.cpu_s = cpu_seconds() - start_s;
    answer.peak_bytes = peak_bytes();
    return to_json(answer);
  }

 private:
  /// If the store is full, read-only or owned by another user, the result is not cached, but the run continues.
  static void insert(build::ArtifactCache& cache, const run::CompileJob& job, const build::CompileKey& made,
                     run::CompileAnswer& answer) {
    const build::CompileRequest request = build::with_reads(job.request, made.reads);
    if (job.keep_in_scratch) build::ArtifactCache(scratch_cache(job.scratch)).insert(answer.artifact, request);
    try {
      cache.insert(answer.artifact, request);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::io || job.scratch.empty()) throw;
      build::ArtifactCache(scratch_cache(job.scratch)).insert(answer.artifact, request);
      answer.warning = error.what();
    }
  }

  build::Artifact compile(const run::CompileJob& job, build::CompileKey& made) {
    // Of several compilers, the one of the key; without one, the architecture decides.
    const std::string compiler = device::compiler_of(job.backend, job.request.toolchain);
    const bool decided = !compiler.empty() || device::compilers_of(job.backend).empty();
    auto& slot = toolchains_[{job.backend, compiler, decided ? "" : job.request.arch}];
    if (!slot) slot = backend::open_toolchain(*backend::make_backend(job.backend), compiler, job.request.arch);
    return build::compile_checked(*slot, job.request, &made);
  }
  std::map<std::array<std::string, 3>, std::unique_ptr<build::Toolchain>> toolchains_;  ///< backend, compiler, arch
};

class BenchHandler {
 public:
  explicit BenchHandler(int out) : out_(out) {
    system::tell_of_waits([out](const std::string& directory) { write_message(out, {{waits_member, directory}}); });
  }
  nlohmann::json operator()(const nlohmann::json& message) {
    if (message.at("do") == "open") {
      open(open_job_from_json(message));
      return {{"opened", true}};
    }
    if (!session_) throw Error(ErrorKind::io, "the bench worker was asked to measure before it was given a problem");
    if (message.at("do") == "reference") {
      session_->prepare_reference();
      return {{"prepared", true},
              {warnings_member, session_->reference_findings().warnings},
              {reference_times_member, session_->reference_findings().samples_ms}};
    }
    session_->prepare_reference();
    std::vector<int> spared = system::children_of(getpid());
    const bool used = std::exchange(used_, true);
    nlohmann::json answer =
        message.at("do") == "rounds" ? run<run::RoundsAnswer>(message) : run<run::BenchAnswer>(message);
    std::fflush(stdout);  // what the kernel printed belongs to this configuration
    for (const int kept : device_->kept_processes()) spared.push_back(kept);
    system::kill_children_but(spared,
                              stray_wait_s);  // processes of an earlier kernel, which would disturb the next one
    const std::string outcome = answer.at("outcome");
    if (watch_ && used && (outcome == to_string(Outcome::launch_failed) || outcome == to_string(Outcome::crashed)))
      answer[doubtful_member] = true;
    const std::uint64_t arguments = session_->host_bytes();
    if (watch_ && system::held_memory_bytes() > first_bytes_ + arguments + arguments / 4 + left_behind_bytes)
      answer[worn_member] = true;
    return answer;
  }

 private:
  /// Watches memory while kernels run. On a CPU they may use half of the free memory; on a GPU they cannot use this
  /// machine's.
  struct Watching {
    Watching(BenchHandler& service, bool rounds) : watch(service.watch_.get()) {
      if (!watch) return;
      service.rounds_ = rounds;
      service.limit_bytes_ = system::available_memory_bytes() / 2;
      service.before_bytes_ = system::held_memory_bytes();
      watch->begin(service.before_bytes_ + service.limit_bytes_);
    }
    ~Watching() {
      if (watch) watch->end();
    }
    MemoryWatch* watch;
  };

  /// If a kernel that runs in this process changes it, times are suspect, and what fails after that is the kernel's
  /// fault.
  template <class Answer>
  nlohmann::json run(const nlohmann::json& message) {
    constexpr bool rounds = std::is_same_v<Answer, run::RoundsAnswer>;
    const Watching watching(*this, rounds);
    const auto measure = [&]() -> Answer {
      if constexpr (rounds)
        return session_->measure_rounds(rounds_job_from_json(message));
      else {
        Answer answer = session_->bench(bench_job_from_json(message));
        session_->refuse_late(answer);
        return answer;
      }
    };
    if (!watch_) return to_json(measure());
    const ProcessState before = process_state();
    Answer answer;
    std::exception_ptr error;
    try {
      answer = measure();
    } catch (const std::exception& failure) {
      error = std::current_exception();
      answer.outcome = Outcome::crashed;
      answer.message = failure.what();
    }
    const ProcessChanges found = changes(before, process_state());
    if (found.faults.empty() && error) std::rethrow_exception(error);
    if (rounds && found.rescheduled)
      answer.taints.emplace_back("a kernel changed the priority or affinity of threads that ran others");
    if (!found.faults.empty()) {
      answer.taints.push_back((rounds ? "a kernel " : "the kernel ") + found.faults);
      if (error) answer.message = answer.taints.back() + "; after that: " + answer.message;
      if constexpr (!rounds) answer.changed = found.faults;
    }
    nlohmann::json json = to_json(answer);
    if (!found.faults.empty() || found.rescheduled || found.threads_running) json[worn_member] = true;
    return json;
  }

  /// Answers instead of the kernel, which may never return, and ends this process.
  void end_for_memory(std::uint64_t held_bytes) {
    const std::uint64_t taken = held_bytes - std::min(before_bytes_, held_bytes),
                        total = system::machine_memory_bytes();
    const build::Lack lack = build::lack_behind_memory_limit(taken, total);
    const std::string message =
        lack == build::Lack::none
            ? fmt::format(
                  "the kernel took {} of memory beside its arguments, more than half of all that the machine has ({}), "
                  "and was stopped",
                  base::human_bytes(taken), base::human_bytes(total))
            : fmt::format(
                  "the kernel took more than {} of memory beside its arguments, half of what was free then, and "
                  "was stopped",
                  base::human_bytes(limit_bytes_));
    run::BenchAnswer answer;
    run::RoundsAnswer of_rounds;
    answer.outcome = of_rounds.outcome = Outcome::crashed;
    answer.lack = of_rounds.lack = lack;
    answer.stage = "run";
    answer.message = of_rounds.message = message;
    write_message(out_, rounds_ ? to_json(of_rounds) : to_json(answer));
    for (const int child : system::children_of(getpid())) system::kill_tree(child);
    if (getpgrp() == getpid()) kill(0, SIGKILL);
    _exit(1);
  }

  void open(run::OpenJob job) {
    session_.reset();
    if (!device_) {
      device_ = backend::make_backend(job.backend)->open_device(job.device);
      first_bytes_ = system::held_memory_bytes();
      // Programs are other processes.
      if (device::is_cpu(device_->info()) &&
          device::find_backend_facts(device_->info().backend)->source != device::SourceKind::program)
        watch_ = std::make_unique<MemoryWatch>(system::held_memory_bytes,
                                               [this](std::uint64_t held) { end_for_memory(held); });
    }
    session_ = std::make_unique<BenchSession>(*device_, std::move(job), system::working_clock());
  }
  std::unique_ptr<measure::Device> device_;
  std::unique_ptr<BenchSession> session_;
  const int out_;
  std::uint64_t first_bytes_ = 0;   ///< in use before any problem was opened
  std::uint64_t limit_bytes_ = 0;   ///< for the running kernel
  std::uint64_t before_bytes_ = 0;  ///< in use before it ran
  bool rounds_ = false;             ///< the answer is a RoundsAnswer
  bool used_ = false;               ///< kernels have run in this process
  std::unique_ptr<MemoryWatch> watch_;
};

/// The sanitizers' libraries must be loaded when a process starts, so this one is restarted with them as a bench
/// worker. If that fails, the error is the answer to every request.
int sanitized_bench_worker(int in, int out) {
  ErrorKind kind = ErrorKind::unavailable;
  std::string reason;
  try {
    for (const auto& [name, value] : host::sanitizer_environment()) setenv(name.c_str(), value.c_str(), 1);
    execl("/proc/self/exe", "xtune", "worker", "bench", static_cast<char*>(nullptr));
    reason = std::string("the bench worker could not be started with sanitizers: ") + std::strerror(errno);
  } catch (const Error& error) {
    kind = error.kind();
    reason = error.what();
  }
  return serve(
      open_channel(in, out), [&](const nlohmann::json&) -> nlohmann::json { throw Error(kind, reason); }, false);
}

}  // namespace

int compile_worker_main(int in, int out, std::uint64_t memory_limit_bytes) {
  const Channel channel = open_channel(in, out);
#ifndef XTUNE_SANITIZED  // sanitizers map terabytes of shadow memory
  if (memory_limit_bytes > 0) system::limit_address_space(memory_limit_bytes);
#else
  (void)memory_limit_bytes;
#endif
  return serve(channel, CompileHandler(), false);
}

int bench_worker_main(int in, int out, bool sanitize) {
  if (sanitize) return sanitized_bench_worker(in, out);
  setenv(device::emulated_place_variable, device::emulated_place_ms, 1);
  const Channel channel = open_channel(in, out);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a kernel that crashes has printed
  system::adopt_orphans();
  const system::SuspensionWatch watch;
  system::count_continue_signals();
  return serve(channel, BenchHandler(channel.out), true);
}

namespace {

run::CompilerState probe_compiler(backend::Backend& backend, const std::string& name) {
  run::CompilerState state;
  state.name = name;
  try {
    const std::unique_ptr<build::Toolchain> toolchain = backend::open_toolchain(backend, name, "");
    state.toolchain = toolchain->fingerprint();
    state.default_arch = toolchain->default_arch();
    state.archs = toolchain->archs();
    state.parts = toolchain->parts();
  } catch (const system::NotInstalled& error) {
    state.reason = error.what();
  } catch (const Error& error) {
    state.reason = error.what();
    state.failed = true;
  }
  return state;
}

void probe_compilers(backend::Backend& backend, run::BackendState& state) {
  const std::vector<std::string> compilers = device::compilers_of(state.name);
  if (compilers.empty()) set_compiler(state, probe_compiler(backend, ""));
  for (const std::string& compiler : compilers) state.compilers.push_back(probe_compiler(backend, compiler));
  select_compiler(state, "", "");
}

}  // namespace

run::BackendState probe_backend(const std::string& name, Probe probe) {
  run::BackendState state;
  state.name = name;
  try {
    const std::unique_ptr<backend::Backend> backend = backend::make_backend(name);
    backend::DeviceList list = backend->list_devices();
    state.devices = std::move(list.devices);
    state.device_reason = std::move(list.reason);
    state.device_failed = list.failed;
    state.driver_absent = list.absent;
    if (probe == Probe::all) probe_compilers(*backend, state);
  } catch (const Error& error) {
    state.device_reason = state.toolchain_reason = error.what();
    // A backend that is not part of this build does not appear later; the cached state depends on the program.
    state.device_failed = state.toolchain_failed = error.kind() != ErrorKind::unsupported;
  }
  state.searches = system::searches();
  return state;
}

int probe_worker_main(const std::string& backend, Probe probe) {
  // On a separate line, after any output of a driver.
  const std::string line = "\n" + to_json(probe_backend(backend, probe)).dump() + "\n";
  return std::fwrite(line.data(), 1, line.size(), stdout) == line.size() && std::fflush(stdout) == 0 ? 0 : 1;
}

namespace {

// Nothing but clocks is in the process that guards them: it must live until they are restored.

/// A reader that is gone does not matter.
void write_line(int out, const nlohmann::json& json) {
  const std::string line = json.dump() + "\n";
  if (::write(out, line.data(), line.size()) < 0) return;
}

void wait_for_end(int in) {
  char bytes[64];
  for (;;) {
    const ssize_t count = ::read(in, bytes, sizeof bytes);
    if (count == 0 || (count < 0 && errno != EINTR)) return;
  }
}

/// What failed; empty: nothing did.
std::string restore(std::vector<std::unique_ptr<measure::ClockLock>>& locked) {
  std::string failures;
  for (const auto& lock : locked) try {
      lock->unlock();
    } catch (const Error& error) {
      failures += (failures.empty() ? "" : "; ") + std::string(error.what());
    }
  locked.clear();
  return failures;
}

}  // namespace

int guard_clocks(const std::vector<int>& devices, int mhz,
                 const std::function<std::unique_ptr<measure::ClockLock>(int device)>& open, int in, int out) {
  for (const int signum : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE}) std::signal(signum, SIG_IGN);
  std::vector<std::unique_ptr<measure::ClockLock>> locked;
  nlohmann::json answer{{"locked_mhz", nlohmann::json::array()}, {"undo", nlohmann::json::array()}};
  try {
    for (const int device : devices) {
      std::unique_ptr<measure::ClockLock> lock = open(device);
      answer["locked_mhz"].push_back(lock->lock(mhz));
      answer["undo"].push_back(lock->undo_command());
      locked.push_back(std::move(lock));
    }
  } catch (const std::exception& failure) {
    const auto* const error = dynamic_cast<const Error*>(&failure);
    std::string message = failure.what();
    if (const std::string failures = restore(locked); !failures.empty())
      message += fmt::format("; clocks fixed before that are not restored ({}); this does it: {}", failures,
                             fmt::join(answer["undo"].get<std::vector<std::string>>(), "; "));
    write_line(out, error_to_json(error ? error->kind() : ErrorKind::unavailable, message));
    return 1;
  }
  write_line(out, answer);
  wait_for_end(in);
  const std::string failures = restore(locked);
  nlohmann::json end{{"restored", failures.empty()}};
  if (!failures.empty()) end["message"] = failures;
  write_line(out, end);
  return failures.empty() ? 0 : 1;
}

int clocks_worker_main(const std::string& backend, const std::vector<int>& devices, int mhz) {
  const auto open = [&](int device) { return backend::make_backend(backend)->open_clocks(device); };
  return guard_clocks(devices, mhz, open, STDIN_FILENO, STDOUT_FILENO);
}

}  // namespace xtune::worker
