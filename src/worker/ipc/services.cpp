// The services that use workers: send requests, return outcomes.
#include "worker/ipc/services.hpp"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "system/chosen_store.hpp"
#include "worker/ipc/target.hpp"

namespace xtune::worker {
namespace {

// Opening a problem may fill gigabytes of inputs.
constexpr double open_timeout_s = 600;
constexpr std::uint64_t long_wait_ms = 5000;

double reference_timeout_s(const run::OpenJob& problem) {
  return problem.measure.timeout_s * run::reference_timeout_factor(problem.reference.kind);
}

/// "; after 4 s: kernel 'loop', ..."; empty: the emulator wrote no place.
std::string emulated_place(const WorkerReply& reply) {
  return reply.emulated_place.empty() ? "" : "; " + base::printable(reply.emulated_place, 500);
}

/// The reference crashed its worker, or took too long.
[[noreturn]] void throw_reference_failure(const run::OpenJob& problem, const WorkerReply& reply) {
  const run::ReferencePlan& plan = problem.reference;
  const bool kernel = plan.kind == spec::ReferenceSpec::Kind::kernel;
  const std::string what =
      fmt::format("{}{}the {} '{}' ", plan.at, plan.at.empty() ? "" : ": ", kernel ? "reference kernel" : "reference",
                  plan.name.empty() ? plan.file.string() : plan.name);
  if (reply.failure->kind == WorkerFailureKind::timed_out && !reply.failure->from_outside)
    throw Error(ErrorKind::invalid_spec,
                fmt::format("{}took longer than {} and was stopped: does it end? A slow one gets more time with a "
                            "larger [measure] timeout_s (now {} s){}",
                            what, base::human_seconds(reference_timeout_s(problem)), problem.measure.timeout_s,
                            emulated_place(reply)));
  // If it was killed from outside, it may be right.
  const ErrorKind kind = reply.failure->from_outside ? ErrorKind::io
                         : kernel                    ? ErrorKind::invalid_spec
                                                     : ErrorKind::unavailable;
  const bool unclear = kernel && problem.backend == "host" && !problem.sanitize && !reply.failure->from_outside;
  throw Error(kind, fmt::format("{}died: {}{}{}{}", what, reply.failure->text,
                                unclear ? " (--sanitize names the line of an access outside of a buffer)" : "",
                                reply.stderr_tail.empty() ? "" : "\n", reply.stderr_tail));
}

[[noreturn]] void throw_open_failure(const run::OpenJob&, const WorkerReply& reply) {
  throw Error(ErrorKind::unavailable, "the bench worker failed while preparing inputs and buffers: " +
                                          reply.failure->text + "\n" + reply.stderr_tail);
}

Outcome outcome_of(WorkerFailureKind kind) {
  return kind == WorkerFailureKind::timed_out ? Outcome::timed_out : Outcome::crashed;
}

std::string ended_text(const WorkerReply& reply, const char* what, const char* how) {
  const bool lasts = reply.failure->kind == WorkerFailureKind::timed_out;
  return fmt::format("{} {}: {}", what, lasts ? "did not end" : how, reply.failure->text);
}

/// The error that a sanitizer found, with its place in the source; empty if the log has no such report. The first frame
/// of the first stack outside of the sanitizer's runtime, in which memset and similar functions are checked.
std::string kernel_frame(std::string_view log) {
  constexpr std::string_view runtime[] = {"__interceptor_", "__asan_",    "/libsanitizer/",
                                          "/compiler-rt/",  "libasan.so", "libclang_rt."};
  std::string first;
  for (std::size_t at = log.find("#0 "); at != std::string_view::npos;) {
    const std::size_t start = log.rfind('\n', at) + 1, end = std::min(log.find('\n', at), log.size());
    const std::string_view frame = log.substr(start, end - start);
    if (frame.find('#') == std::string_view::npos) break;  // an empty line ends the stack
    if (first.empty()) first = frame;
    if (std::none_of(std::begin(runtime), std::end(runtime),
                     [&](std::string_view word) { return frame.find(word) != std::string_view::npos; }))
      return std::string(frame);
    at = end + 1 < log.size() ? end + 1 : std::string_view::npos;
  }
  return first;
}

std::string sanitizer_finding(const std::string& log) {
  const auto line_with = [&](const char* words) {
    const std::size_t at = log.find(words);
    if (at == std::string::npos) return std::string();
    const std::size_t start = log.rfind('\n', at) + 1;
    return log.substr(start, std::min(log.find('\n', at), log.size()) - start);
  };
  if (std::string found = line_with("runtime error: "); !found.empty()) return found;
  std::string found = line_with("ERROR: AddressSanitizer: ");
  return found.empty() ? found : found.substr(found.find("AddressSanitizer")) + "\n" + kernel_frame(log);
}

/// "k.cu:32: void k(int*): Assertion `n == 3' failed.", as the C library and GPUs print it; empty: none failed.
std::string failed_assertion(const std::string& log) {
  const std::size_t at = log.find("Assertion `");
  if (at == std::string::npos) return {};
  const std::size_t start = log.rfind('\n', at) + 1;
  std::string line = log.substr(start, std::min(log.find('\n', at), log.size()) - start);
  // The C library begins with the program's name, which is that of the worker.
  if (const std::string own = "xtune: "; line.starts_with(own)) line.erase(0, own.size());
  return base::printable(line, 500);
}

/// Failures to start, or to answer at all, are failures of xtune: no configuration is to blame.
void throw_if_not_about_the_job(const WorkerReply& reply) {
  if (!reply.failure || reply.failure->kind != WorkerFailureKind::could_not_start) return;
  throw Error(ErrorKind::unavailable, "a worker process could not be started: " + reply.failure->text +
                                          (reply.stderr_tail.empty() ? "" : "\n" + reply.stderr_tail));
}

/// A worker that died may have reached a limit of its user.
void blame_limits(run::Ending& answer) {
  const std::string limits = system::user_limits();
  if (limits.empty() || answer.outcome != Outcome::crashed || answer.lack != build::Lack::none) return;
  answer.lack = build::Lack::unclear;
  answer.message += build::under(limits);
}

/// How a job ended whose worker ended. too_slow: the message for one that exceeded its time limit. what, how: the words
/// for any other end, such as "the kernel", "died".
run::Ending ending_of(const WorkerReply& reply, const std::string& too_slow, const char* what, const char* how) {
  const WorkerFailure& failure = *reply.failure;
  run::Ending ending{outcome_of(failure.kind), failure.from_outside ? build::Lack::killed : build::Lack::none,
                     ended_text(reply, what, how), reply.stderr_tail};
  if (ending.outcome == Outcome::timed_out && !failure.from_outside) ending.message = too_slow;
  return ending;
}

/// timeout_s: of the job; it allows for waits that do not count.
run::BenchEnding bench_ending_of(const WorkerReply& reply, const run::OpenJob& problem, double timeout_s) {
  const std::string too_slow = too_slow_text(problem) + ", so the worker was killed";
  run::BenchEnding answer{ending_of(reply, too_slow, "the kernel", "died"), {}, 0, {}};
  if (answer.outcome == Outcome::timed_out) {
    answer.busy_s = timeout_s;
    answer.message += emulated_place(reply);
  }
  if (const std::string found = sanitizer_finding(answer.log); !found.empty())
    answer.message = found;
  else if (const std::string assertion = failed_assertion(answer.log); !assertion.empty())
    answer.message = assertion;
  else
    blame_limits(answer);
  return answer;
}

template <class Answer, class Part>
Answer answer_with(Part ending) {
  Answer answer;
  static_cast<Part&>(answer) = std::move(ending);
  return answer;
}

/// Nothing was launched.
run::BenchEnding ending_of_missing(std::string key, std::string message) {
  return {{Outcome::crashed, build::Lack::none, std::move(message), {}}, {}, 0, std::move(key)};
}

/// False: the problem could not be opened for another reason.
template <class Answer>
bool answered_as_missing(const Error& error, const std::function<void(Answer)>& callback) {
  const auto* const missing = dynamic_cast<const MissingArtifact*>(&error);
  if (missing) callback(answer_with<Answer>(ending_of_missing(missing->key(), missing->what())));
  return missing != nullptr;
}

}  // namespace

PooledCompileService::PooledCompileService(system::EventLoop& loop, std::size_t jobs, WorkerCommand command,
                                           std::function<std::uint64_t()> available_bytes)
    : memory_(std::move(available_bytes)),
      limit_bytes_(command.memory_limit_bytes),
      pool_(
          loop, jobs, [command = std::move(command)](std::size_t) { return command; },
          [this](std::size_t running) { return memory_.admits(running); }) {}

run::CompileAnswer PooledCompileService::answer_of(const WorkerReply& reply, const std::string& backend,
                                                   double timeout_s) {
  throw_if_not_about_the_job(reply);
  if (!reply.failure) {
    if (reply.answer->value("toolchain_changed", false)) forget_backend(backend);
    throw_if_error(*reply.answer);
    run::CompileAnswer answer = compile_answer_from_json(*reply.answer);
    memory_.measured(answer.peak_bytes);
    return answer;
  }
  auto answer = answer_with<run::CompileAnswer>(
      ending_of(reply, fmt::format("the compiler did not end within {:g} s ([kernel] compile_timeout_s)", timeout_s),
                "the compiler", "crashed"));
  blame_limits(answer);
  answer.artifact.compile_s = reply.wall_s;
  return answer;
}

/// Whether a compiler that ran out of memory reached xtune's limit on its address space: then it always needs too much.
/// Else the machine, or a limit that xtune was started under, did not have enough. Its memory is free again by now.
bool PooledCompileService::is_own_limit() const {
  rlimit inherited{};
  const bool lower =
      getrlimit(RLIMIT_AS, &inherited) == 0 && inherited.rlim_cur != RLIM_INFINITY && inherited.rlim_cur < limit_bytes_;
  return limit_bytes_ > 0 && !lower && memory_.available_bytes() >= limit_bytes_;
}

void PooledCompileService::compile(const run::CompileJob& job, double timeout_s, Callback callback) {
  const nlohmann::json message = to_json(job);
  const auto take_second = [this, timeout_s, backend = job.backend, callback](const WorkerReply& reply) {
    run::CompileAnswer answer = answer_of(reply, backend, timeout_s);
    if (answer.lack == build::Lack::memory && is_own_limit()) answer.lack = build::Lack::none;
    if (answer.lack != build::Lack::none)
      answer.message += " (also with no other compiler beside it; not stored, so the next run tries it again)";
    callback(std::move(answer));
  };
  const auto take_first = [this, message, timeout_s, backend = job.backend, callback,
                           take_second](const WorkerReply& reply) {
    run::CompileAnswer answer = answer_of(reply, backend, timeout_s);
    const bool may_pass = answer.lack == build::Lack::memory || answer.lack == build::Lack::killed;
    if (may_pass && answer.outcome != Outcome::timed_out) return pool_.submit_alone(message, timeout_s, take_second);
    callback(std::move(answer));
  };
  pool_.submit(message, timeout_s, take_first, job.expected_s);
}

WorkerBenchService::WorkerBenchService(system::EventLoop& loop, WorkerCommand command, Role role)
    : worker_(loop, std::move(command)), role_(role) {
  worker_.on_long_wait(long_wait_ms, [this](const std::string& directory) {
    if (problem_.warn)
      problem_.warn(fmt::format("waiting for another run whose program writes the same files in {}: they take turns",
                                base::printable(directory)));
  });
}

void WorkerBenchService::set_problem(run::Problem problem) {
  if (refuted_) cancel_all();
  problem_ = std::move(problem);
  opened_generation_ = prepared_generation_ = 0;
}

void WorkerBenchService::cancel_all() {
  worker_.interrupt();
  after_prepare_ = nullptr;
}

void WorkerBenchService::prepare() {
  const bool knows = worker_.generation() == opened_generation_ || worker_.generation() == prepared_generation_;
  if (worker_.busy() || (worker_.running() && knows)) return;
  if (!worker_.running()) used_ = refuted_ = false;
  worker_.request(to_json(problem_), open_timeout_s, [this](const WorkerReply& reply) {
    // The next job opens the problem again and reports the error, if there was one.
    if (!reply.failure && !reply.answer->contains("error")) prepared_generation_ = reply.generation;
    if (const auto job = std::exchange(after_prepare_, nullptr)) job();
  });
}

void WorkerBenchService::bench(const run::BenchJob& job, double timeout_s, Callback callback) {
  const auto refused = [this, callback](const Error& error) {
    if (answered_as_missing(error, callback)) return;
    if (role_ == Role::first) throw error;
    worker_.interrupt();
    run::BenchAnswer answer;
    answer.no_device = true;
    answer.outcome = Outcome::crashed;
    answer.message = error.what();
    callback(std::move(answer));
  };
  const auto answered = [callback = std::move(callback)](run::BenchAnswer answer) {
    // The worker did not report its stage.
    if (answer.outcome != Outcome::ok && answer.stage.empty()) answer.stage = "run";
    callback(std::move(answer));
  };
  ask<run::BenchAnswer>(to_json(job), timeout_s, AskAgain::everything, bench_answer_from_json, answered, refused);
}

void WorkerBenchService::measure_rounds(const run::RoundsJob& job, double timeout_s, RoundsCallback callback) {
  const auto refused = [callback](const Error& error) {
    if (!answered_as_missing(error, callback)) throw error;
  };
  ask<run::RoundsAnswer>(to_json(job), timeout_s, AskAgain::unless_it_died, rounds_answer_from_json,
                         std::move(callback), refused);
}

/// Whether an earlier kernel may have caused this: it can overwrite memory of the process, or use up what a process may
/// have. Wrong results are not doubtful, since inputs and reference are compared or read-only. Repeating a hang costs
/// its whole time, so for a hang this requires a kernel that was found wrong. A missing artifact is compiled first.
bool WorkerBenchService::doubtful(const WorkerReply& reply, AskAgain again) const {
  if (again == AskAgain::nothing) return false;
  if (reply.failure && again == AskAgain::unless_it_died) return false;
  if (reply.failure && reply.failure->from_outside) return reply.failure->kind == WorkerFailureKind::crashed;
  // A separate program that the worker started.
  if (reply.answer && reply.answer->value("lack", "") == build::to_string(build::Lack::killed))
    return reply.answer->value("outcome", "") != to_string(Outcome::timed_out);
  if (!used_ || (reply.failure && reply.failure->kind == WorkerFailureKind::could_not_start)) return false;
  if (reply.failure) return refuted_ || reply.failure->kind != WorkerFailureKind::timed_out;
  return reply.answer->value(doubtful_member, false) ||
         (reply.answer->contains("error") && missing_artifact_in(*reply.answer).empty());
}

/// Ends a worker that has run kernels, so that a new one can try what failed. False: it has run none.
bool WorkerBenchService::drop_used() {
  if (used_) worker_.interrupt();
  return used_;
}

template <class Answer>
void WorkerBenchService::ask(nlohmann::json message, double timeout_s, AskAgain again,
                             Answer (*read)(const nlohmann::json&), std::function<void(Answer)> callback,
                             Refused refused) {
  if (worker_.busy()) {  // it is preparing
    after_prepare_ = [=, this] { ask(message, timeout_s, again, read, callback, refused); };
    return;
  }
  const auto send = [this, timeout_s, again, read, callback = std::move(callback), message = std::move(message),
                     refused] {
    worker_.request(message, timeout_s,
                    [this, message, timeout_s, again, read, callback, refused](const WorkerReply& reply) {
                      throw_if_not_about_the_job(reply);
                      if (doubtful(reply, again)) {
                        worker_.interrupt();
                        return ask(message, timeout_s, AskAgain::nothing, read, callback, refused);
                      }
                      used_ = true;
                      Answer answer;
                      if (reply.failure) {
                        answer = answer_with<Answer>(bench_ending_of(reply, problem_, timeout_s));
                      } else if (std::string key = missing_artifact_in(*reply.answer); !key.empty()) {
                        answer = answer_with<Answer>(ending_of_missing(std::move(key), reply.answer->at("message")));
                      } else {
                        throw_if_error(*reply.answer);
                        answer = read(*reply.answer);
                        refuted_ = refuted_ || (answer.outcome != Outcome::ok && answer.outcome != Outcome::pruned);
                        // Its device is lost and it is about to end: do not send it the next configuration.
                        if (answer.outcome == Outcome::crashed || reply.answer->value(worn_member, false))
                          worker_.interrupt();
                        if (answer.log.empty()) answer.log = reply.stderr_tail;
                        if (answer.outcome == Outcome::crashed)
                          if (const std::string assertion = failed_assertion(answer.log); !assertion.empty())
                            answer.message += ": " + assertion;
                        mention_printing(reply.stderr_tail, message.at("do") != "validate");
                      }
                      callback(std::move(answer));
                    });
  };
  if (worker_.running() && worker_.generation() == opened_generation_) return send();
  open(send, std::move(refused));
}

void WorkerBenchService::mention_printing(const std::string& text, bool measured) {
  if (!problem_.warn || problem_.backend == "process") return;  // a program may print what it likes
  constexpr std::string_view emulator = device::emulated_place_line, note = "note: ";
  for (std::string_view line : base::split_lines(text)) {
    const std::size_t at = line.find(emulator);
    if (at != line.npos && line.substr(at + emulator.size()).starts_with(note) && !std::exchange(mentioned_note_, true))
      problem_.warn(base::printable(line.substr(at + emulator.size() + note.size()), 500));
    line = base::trimmed(line.substr(0, at));
    if (!line.empty() && !std::exchange(mentioned_printing_, true))
      problem_.warn(fmt::format("a kernel prints, for example '{}': --log FILE keeps it{}", base::printable(line, 120),
                                measured ? ", and the times include it" : ""));
  }
}

/// A step before a job. A worker that has run kernels is replaced if it fails, and `then` waits for the new one.
void WorkerBenchService::take_step(const nlohmann::json& message, double timeout_s, std::function<void()> then,
                                   Refused refused, void (*throw_failure)(const run::OpenJob&, const WorkerReply&),
                                   std::function<void(const WorkerReply&)> done) {
  worker_.request(message, timeout_s, [=, this](const WorkerReply& reply) {
    if ((reply.failure || reply.answer->contains("error")) && drop_used()) return open(then, refused);
    try {
      throw_if_not_about_the_job(reply);
      if (reply.failure) throw_failure(problem_, reply);
      throw_if_error(*reply.answer);
    } catch (const Error& error) {
      return refused(error);
    }
    done(reply);
  });
}

void WorkerBenchService::open(std::function<void()> then, Refused refused) {
  if (worker_.running() && worker_.generation() == prepared_generation_)
    return prepare_reference(std::move(then), std::move(refused));
  if (!worker_.running()) used_ = refuted_ = false;
  take_step(to_json(problem_), open_timeout_s, then, refused, throw_open_failure,
            [this, then, refused](const WorkerReply&) { prepare_reference(then, refused); });
}

void WorkerBenchService::prepare_reference(std::function<void()> then, Refused refused) {
  if (problem_.reference.kind == spec::ReferenceSpec::Kind::none) {
    opened_generation_ = worker_.generation();
    return then();
  }
  take_step(reference_request(), reference_timeout_s(problem_), then, refused, throw_reference_failure,
            [this, then](const WorkerReply& reply) {
              for (const auto& text : reply.answer->value(warnings_member, std::vector<std::string>()))
                if (problem_.warn) problem_.warn(text);
              if (const auto times = reply.answer->value(reference_times_member, std::vector<double>());
                  !times.empty() && problem_.reference_timed)
                problem_.reference_timed(times);
              opened_generation_ = reply.generation;
              then();
            });
}

namespace {

system::Environment temporaries_in(const std::filesystem::path& folder) {
  system::Environment variables = system::shared_folder_variables();
  variables.insert(variables.end(), {{"TMPDIR", folder.string()}, {"XTUNE_TMP_DIR", folder.string()}});
  for (auto& variable : system::memory_variables()) variables.push_back(std::move(variable));
  return variables;
}

}  // namespace

WorkerCommand compile_worker_command(std::size_t jobs, const std::filesystem::path& temporaries) {
  const auto total =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  // The minimum is the address space that the vendors' compilers map; they use far less of it.
  const std::uint64_t limit_bytes = std::max<std::uint64_t>(total / (jobs + 1), std::uint64_t{8} << 30);
  return {{worker_program().string(), "worker", "compile", "--memory-limit", std::to_string(limit_bytes)},
          temporaries_in(temporaries),
          {},
          limit_bytes};
}

WorkerCommand bench_worker_command(bool sanitize, const std::filesystem::path& temporaries) {
  WorkerCommand command{{worker_program().string(), "worker", "bench"}, temporaries_in(temporaries), {}};
  if (sanitize) command.argv.emplace_back("--sanitize");
  return command;
}

JobWorkers::JobWorkers(system::EventLoop& loop, std::size_t jobs, Orphans orphans)
    : loop_(loop),
      descendants_(orphans == Orphans::kill ? std::make_unique<system::Descendants>() : nullptr),
      compiler_(loop, jobs, compile_worker_command(jobs, temporaries_.path())) {}

void JobWorkers::add_benches(const run::Target& target, bool sanitize) {
  using enum WorkerBenchService::Role;
  for (std::size_t i = 0; i <= target.further.size(); ++i)
    benches_.push_back(std::make_unique<WorkerBenchService>(loop_, bench_worker_command(sanitize, temporaries_.path()),
                                                            i == 0 ? first : further));
}

std::vector<run::BenchService*> JobWorkers::benches() const {
  std::vector<run::BenchService*> all;
  for (const auto& bench : benches_) all.push_back(bench.get());
  return all;
}

}  // namespace xtune::worker
