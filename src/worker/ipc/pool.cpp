// The life of one worker process: start, greeting, request, answer, and the failures of each step. The queue over
// several.
#include "worker/ipc/pool.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/device/device_info.hpp"
#include "system/machine.hpp"
#include "worker/ipc/protocol.hpp"
#include "xtune/error.hpp"

namespace xtune::worker {

namespace {

constexpr std::size_t stderr_tail_bytes = std::size_t{64} << 10;
// The tail begins with a whole line, unless that is longer.
constexpr std::size_t longest_cut_line = std::size_t{4} << 10;
constexpr double start_timeout_s = 60;
constexpr double death_timeout_s = 5;

std::uint64_t milliseconds(double seconds) noexcept {
  constexpr double longest = 1e15;
  return static_cast<std::uint64_t>(std::ceil(std::min(std::max(seconds, 0.0) * 1e3, longest)));
}

}  // namespace

const char* to_string(WorkerFailureKind kind) noexcept {
  return base::enum_words<WorkerFailureKind>("crashed", "timed_out", "could_not_start", "garbage").of(kind);
}

void ErrorTail::append(std::string_view bytes) {
  text_.append(bytes);
  // Trimmed only at twice the size, so that a flood costs no copy a read.
  if (text_.size() > 2 * stderr_tail_bytes) trim();
}

void ErrorTail::trim() {
  // A kernel may print more than is kept after the emulator's line, and its own line may be unfinished before it.
  constexpr std::string_view prefix = device::emulated_place_line;
  const std::size_t whole = text_.rfind('\n');
  if (const std::size_t at = whole == std::string::npos ? whole : text_.rfind(prefix, whole); at != std::string::npos) {
    const std::size_t begin = at + prefix.size();
    place_ = text_.substr(begin, text_.find('\n', at) - begin);
  }
  if (text_.size() <= stderr_tail_bytes) return;
  std::size_t begin = text_.size() - stderr_tail_bytes;
  if (const std::size_t line = text_.find('\n', begin); line < begin + longest_cut_line) begin = line + 1;
  text_.erase(0, begin);
}

void ErrorTail::clear() noexcept {
  text_.clear();
  place_.clear();
}

std::string ErrorTail::take() {
  trim();
  return std::exchange(text_, {});
}

std::string ErrorTail::take_place() { return std::exchange(place_, {}); }

WorkerProcess::WorkerProcess(system::EventLoop& loop, WorkerCommand command)
    : loop_(loop), command_(std::move(command)) {}

WorkerProcess::~WorkerProcess() { interrupt(); }

void WorkerProcess::request(const nlohmann::json& message, double timeout_s, Callback callback) {
  request_frame(encode_message(message), timeout_s, std::move(callback));
}

void WorkerProcess::request_frame(std::string frame, double timeout_s, Callback callback) {
  if (busy()) throw Error(ErrorKind::invalid_argument, "a worker process takes one request at a time");
  if (!callback) throw Error(ErrorKind::invalid_argument, "a request needs a callback");
  callback_ = std::move(callback);
  timeout_s_ = timeout_s;
  stderr_tail_.clear();
  sent_ms_.reset();
  if (!process_.running()) {
    try {
      start();
    } catch (const Error& error) {
      // The reply must not come from inside request(): its caller has not returned yet.
      ending_ = WorkerFailure{WorkerFailureKind::could_not_start, 0, 0, error.what()};
      wait_ = loop_.call_after(0, [this] { deliver({nullptr, *std::exchange(ending_, std::nullopt), {}, 0}); });
      return;
    }
  }
  process_.write(std::move(frame));
  if (greeted_) start_clock(timeout_s_, WorkerFailureKind::timed_out);
}

void WorkerProcess::start() {
  drop_process();
  system::SubprocessOptions options;
  options.argv = command_.argv;
  options.env = command_.env;
  options.cwd = command_.cwd;
  options.on_stdout = [this](std::string_view bytes) { on_stdout(bytes); };
  options.on_stderr = [this](std::string_view bytes) { stderr_tail_.append(bytes); };
  options.on_exit = [this](int exit_code, int signal) { on_exit(exit_code, signal); };
  process_ = system::Subprocess(loop_, std::move(options));
  decoder_ = std::make_unique<MessageDecoder>();
  ++generation_;
  start_clock(start_timeout_s, WorkerFailureKind::could_not_start);
}

void WorkerProcess::start_clock(double seconds, WorkerFailureKind kind) {
  if (kind == WorkerFailureKind::timed_out && !sent_ms_) sent_ms_ = loop_.now_ms();
  const auto expired = [this, seconds, kind](system::Expiry why) {
    process_.read_pending_stderr();
    if (why == system::Expiry::stopped_itself)
      return fail({WorkerFailureKind::crashed, 0, SIGKILL, "it stopped itself with a signal (SIGSTOP); killed"});
    const bool held_up = why == system::Expiry::held_up;
    const char* what = kind == WorkerFailureKind::timed_out ? "no answer in " : "it did not greet in ";
    fail({kind, 0, SIGKILL,
          held_up ? "its process was suspended, or got hardly any CPU time; killed"
                  : what + base::human_seconds(seconds) + "; killed",
          held_up});
  };
  // A program that a worker started has its own limit.
  clock_ = system::Deadline(loop_, seconds, process_.pid(), expired, system::Watched::process);
}

void WorkerProcess::on_stdout(std::string_view bytes) {
  if (ending_) return;
  std::optional<WorkerReply> reply;
  try {
    decoder_->feed(bytes);
    reply = take_answer();
  } catch (const Error& error) {
    fail({WorkerFailureKind::garbage, 0, SIGKILL, std::string(error.what()) + "; killed"});
  }
  // Outside of the try: exceptions of the callback are not failures of the worker, and the callback may destroy this
  // object.
  if (reply) deliver(std::move(*reply));
}

std::optional<WorkerReply> WorkerProcess::take_answer() {
  const auto refuse = [](const char* what) { throw Error(ErrorKind::io, what); };
  std::optional<nlohmann::json> message = decoder_->next();
  if (message && !greeted_) {
    if (*message != worker_greeting()) refuse("its first message is not the greeting of this version's worker");
    greeted_ = true;
    if (busy()) start_clock(timeout_s_, WorkerFailureKind::timed_out);
    message = decoder_->next();
  }
  for (; message && message->contains(waits_member); message = decoder_->next()) note_wait(message->at(waits_member));
  if (!message) return std::nullopt;
  if (!busy()) refuse("it answered without a request");
  process_.read_pending_stderr();
  WorkerReply reply{std::make_shared<nlohmann::json>(std::move(*message)), std::nullopt, stderr_tail_.take(),
                    generation_};
  // Bytes after an answer would be read as part of the next one.
  if (decoder_->pending_bytes() > 0) drop_process();
  return reply;
}

void WorkerProcess::note_wait(const std::string& directory) {
  if (!busy()) return;
  cancel_clocks();
  if (directory.empty()) return start_clock(timeout_s_, WorkerFailureKind::timed_out);
  if (waited_) wait_ = loop_.call_after(long_wait_ms_, [this, directory] { waited_(directory); });
}

void WorkerProcess::on_long_wait(std::uint64_t ms, std::function<void(const std::string&)> waited) {
  long_wait_ms_ = ms;
  waited_ = std::move(waited);
}

void WorkerProcess::on_exit(int exit_code, int signal) {
  std::optional<WorkerFailure> verdict = std::exchange(ending_, std::nullopt);
  const bool greeted = greeted_;
  std::string tail = stderr_tail_.take();
  drop_process();
  if (!busy()) return;
  if (!verdict) {
    std::string how = !greeted ? "it " + system::describe_end(exit_code, signal) + " before its greeting"
                      : signal ? system::describe_exit(exit_code, signal)
                               : "ended without an answer, " + system::describe_exit(exit_code, signal);
    const bool from_outside = system::comes_from_others(signal);
    if (from_outside) how += system::not_from_xtune;
    if (signal == SIGKILL) how += ": the machine or its limit ran out of memory, or a person sent it";
    verdict = WorkerFailure{greeted ? WorkerFailureKind::crashed : WorkerFailureKind::could_not_start, exit_code,
                            signal, how, from_outside};
  }
  deliver({nullptr, std::move(verdict), std::move(tail), generation_});
}

void WorkerProcess::fail(WorkerFailure failure) {
  if (!busy()) return drop_process();
  ending_ = std::move(failure);
  process_.kill_group(SIGKILL);
  // A process in a driver call can outlive its kill; the run continues without waiting for it.
  clock_.cancel();
  wait_ = loop_.call_after(milliseconds(death_timeout_s), [this] { on_exit(0, SIGKILL); });
}

void WorkerProcess::drop_process() noexcept {
  process_ = system::Subprocess();
  decoder_.reset();
  cancel_clocks();
  greeted_ = false;
}

void WorkerProcess::deliver(WorkerReply reply) {
  cancel_clocks();
  if (sent_ms_) reply.wall_s = static_cast<double>(loop_.now_ms() - *sent_ms_) * 1e-3;
  const Callback callback = std::exchange(callback_, nullptr);
  reply.emulated_place = stderr_tail_.take_place();
  callback(std::move(reply));
}

void WorkerProcess::interrupt() noexcept {
  drop_process();
  ending_.reset();
  stderr_tail_.clear();
  callback_ = nullptr;
}

namespace {

constexpr int start_attempts = 3;
constexpr std::uint64_t retry_ms = 50;  // gives the system time if it is short of processes for a moment

}  // namespace

bool WorkerPool::Slot::retired() const noexcept { return failed_starts >= start_attempts; }

WorkerPool::WorkerPool(system::EventLoop& loop, std::size_t size, const CommandFactory& factory, Admission admits)
    : loop_(loop), slots_(size), admits_(std::move(admits)) {
  if (size == 0) throw Error(ErrorKind::invalid_argument, "a pool needs at least one worker");
  for (std::size_t i = 0; i < size; ++i) slots_[i].worker = std::make_unique<WorkerProcess>(loop, factory(i));
}

WorkerPool::~WorkerPool() { cancel_all(); }

void WorkerPool::submit(const nlohmann::json& message, double timeout_s, Callback callback,
                        std::optional<double> expected_s) {
  add({encode_message(message), timeout_s, std::move(callback),
       expected_s.value_or(std::numeric_limits<double>::infinity())});
}

void WorkerPool::submit_alone(const nlohmann::json& message, double timeout_s, Callback callback) {
  add({encode_message(message), timeout_s, std::move(callback), 0, true});
}

void WorkerPool::add(Job job) {
  if (!job.callback) throw Error(ErrorKind::invalid_argument, "a job needs a callback");
  queue_.push_back(std::move(job));
  dispatch();
}

std::size_t WorkerPool::busy() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.job.has_value(); }));
}

WorkerPool::Slot* WorkerPool::idle_slot() noexcept {
  Slot* best = nullptr;
  for (Slot& slot : slots_) {
    if (slot.job || slot.retired()) continue;
    if (slot.worker->running()) return &slot;
    if (!best) best = &slot;
  }
  return best;
}

void WorkerPool::dispatch() {
  while (!queue_.empty()) {
    Slot* slot = idle_slot();
    if (!slot) break;
    // The next reply checks again.
    if (const std::size_t running = busy(); admits_ && running > 0 && !admits_(running)) break;
    const auto next = std::max_element(queue_.begin(), queue_.end(), [](const Job& a, const Job& b) {
      return std::pair(a.alone, a.expected_s) < std::pair(b.alone, b.expected_s);
    });
    const bool one_alone =
        std::any_of(slots_.begin(), slots_.end(), [](const Slot& each) { return each.job && each.job->alone; });
    if (busy() > 0 && (next->alone || one_alone)) break;
    slot->job = std::move(*next);
    queue_.erase(next);
    send(*slot);
  }
  if (!queue_.empty() && std::all_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.retired(); }))
    fail_next();
}

void WorkerPool::send(Slot& slot) {
  // A copy of the frame, because a second start needs it again.
  slot.worker->request_frame(slot.job->frame, slot.job->timeout_s,
                             [this, &slot](WorkerReply reply) { on_reply(slot, std::move(reply)); });
}

void WorkerPool::on_reply(Slot& slot, WorkerReply reply) {
  if (!reply.failure || reply.failure->kind != WorkerFailureKind::could_not_start) {
    slot.failed_starts = 0;
  } else if (++slot.failed_starts < start_attempts) {
    slot.retry = loop_.call_after(retry_ms, [this, &slot] { send(slot); });
    return;
  } else {
    last_reason_ = reply.failure->text;
  }
  const Job job = *std::exchange(slot.job, std::nullopt);
  // The worker gets its next job before the owner processes this one's answer, which may take long and may destroy the
  // pool.
  dispatch();
  job.callback(std::move(reply));
}

/// Fails the first job of the queue in the next turn of the loop, and then the others.
void WorkerPool::fail_next() {
  if (failing_.active()) return;
  failing_ = loop_.call_after(0, [this] {
    const Job job = std::move(queue_.front());
    queue_.pop_front();
    if (!queue_.empty()) fail_next();
    job.callback({nullptr, WorkerFailure{WorkerFailureKind::could_not_start, 0, 0, last_reason_}, {}, 0});
  });
}

void WorkerPool::cancel_all() noexcept {
  failing_.cancel();
  // Dropped last: destroying a callback's captures may call this object.
  const std::deque<Job> dropped = std::exchange(queue_, {});
  std::vector<std::optional<Job>> in_flight;
  for (Slot& slot : slots_) {
    if (!slot.job) continue;
    slot.retry.cancel();
    slot.worker->interrupt();
    in_flight.push_back(std::exchange(slot.job, std::nullopt));
  }
}

namespace {

constexpr double max_jobs = 4096, automatic = 0.9;

/// A number above 0, in digits and at most one point; nullopt: something else.
std::optional<double> positive(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size() || !(number > 0) || number > max_jobs) return {};
  return number;
}

bool is_fraction(std::string_view text) { return text.find('.') != std::string_view::npos; }

double usable_cores(int sharing) {
  const auto allowed = static_cast<double>(system::usable_cpus());
  return allowed < static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)) ? allowed : allowed / std::max(sharing, 1);
}

[[noreturn]] void refuse(const std::string& source, const std::string& text) {
  throw Error(ErrorKind::invalid_argument,
              fmt::format("{}='{}' is not a number of compilers: write a count up to {:.0f} (16), a fraction of the "
                          "cores with a point, at most 1.0 (0.5), a fraction with a maximum (0.9:32), or auto",
                          source, base::printable(text, 80), max_jobs));
}

}  // namespace

std::size_t job_count(const std::string& given, int sharing) {
  const char* const variable = std::getenv("XTUNE_JOBS");
  const std::string source = given.empty() ? "XTUNE_JOBS" : "--jobs";
  const std::string text = !given.empty() ? given : variable ? variable : "";
  const auto whole = [](double jobs) { return static_cast<std::size_t>(std::max(1.0, std::round(jobs))); };
  if (text.empty() || text == "auto" || text == "-1") return whole(automatic * usable_cores(sharing));
  const std::size_t colon = text.find(':');
  const std::string first = text.substr(0, colon);
  const std::optional<double> number = positive(first);
  if (!number || (colon != std::string::npos && !is_fraction(first))) refuse(source, text);
  if (!is_fraction(first)) return whole(*number);
  if (*number > 1) refuse(source, text);
  const double jobs = std::min(*number * usable_cores(sharing), max_jobs);
  if (colon == std::string::npos) return whole(jobs);
  const std::string last = text.substr(colon + 1);
  const std::optional<double> limit = positive(last);
  if (!limit || is_fraction(last)) refuse(source, text);
  return whole(std::min(jobs, *limit));
}

}  // namespace xtune::worker
