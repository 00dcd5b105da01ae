// Requests to servers, and the meaning of their answers and ends.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>
#include <utility>

#include "backends/process/device.hpp"
#include "backends/process/run_program.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "core/build/shortage.hpp"
#include "core/device/program_call.hpp"
#include "core/measure/statistics.hpp"
#include "system/clock.hpp"
#include "system/event_loop.hpp"
#include "system/machine.hpp"
#include "system/processes.hpp"
#include "system/subprocess.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::process {
namespace {

using Json = nlohmann::json;

constexpr std::size_t log_kept = std::size_t{64} << 10, shown_of_line = 200;
// Interval at which a request looks whether the server is stopped.
constexpr std::uint64_t stop_check_ms = 100;
// A process in a call of a driver can outlive its kill.
constexpr std::uint64_t death_ms = 5000;

std::string shown_line(std::string_view line) { return "'" + base::printable(line, shown_of_line) + "'"; }

// Longer lines are a violation of the protocol.
constexpr std::size_t longest_answer = std::size_t{16} << 20;

/// What came of a request. Exactly one holds: answer is set, violation is not empty, or the server ended or was killed
/// at its time limit (end).
struct ServerReply {
  std::shared_ptr<const nlohmann::json> answer;  ///< a JSON object; null: none came
  std::string violation;                         ///< why a line of its output is not an answer; it was killed
  /// stderr_text: standard error, and the texts of "log" members, since the request. For one that did not answer also
  /// how it ended; stdout_text: the line that it had begun.
  ProgramEnd end;
};

/// A running server: a program that answers requests, each by a line of JSON. Single-threaded; a request blocks. It
/// stays in this process's group, so killing the group also kills the server. Destruction kills it with everything that
/// it has started. Its event loop runs only during requests; what it writes in between stays in its pipes.
class Server {
 public:
  /// Throws system::CannotStart. The command's time limit is not used.
  explicit Server(const ProgramRun& command) {
    system::adopt_orphans();
    system::SubprocessOptions options;
    options.argv = command.argv;
    options.env = command.env;
    options.cwd = command.folder;
    options.own_group = false;
    options.on_stdout = [this](std::string_view bytes) { read(bytes); };
    options.on_stderr = [this](std::string_view bytes) { log_tail_.append(bytes); };
    options.on_exit = [this](int exit_code, int signal) {
      exit_code_ = exit_code;
      signal_ = signal;
      ended_ = true;
    };
    child_ = system::start_patiently(loop_, options);
  }
  ~Server() { kill(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Sends the request with an additional member "id", and waits for the line with this id. A server that has not
  /// answered is not running afterwards.
  ServerReply ask(nlohmann::ordered_json request, double timeout_s) {
    ServerReply reply;
    log_.clear();
    const std::uint64_t suspensions_before = system::suspensions();
    const std::int64_t id = next_id_++;
    request["id"] = id;
    // Lines that the server wrote after its last answer belong to no request.
    loop_.run_ready();
    take_lines(-1, reply);
    if (reply.violation.empty()) {
      child_.write(request.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
      wait(id, timeout_s, reply);
    }
    child_.read_pending_stderr();
    if (!reply.answer) kill();
    log_tail_.cut();
    reply.end.stderr_text = log_;
    reply.end.stdout_text = line_.substr(0, shown_of_line);
    reply.end.exit_code = exit_code_;
    reply.end.signal = signal_;
    reply.end.suspended = reply.end.suspended || system::suspensions() != suspensions_before;
    return reply;
  }
  /// False from its end on.
  bool running() const noexcept { return !ended_ && child_.running(); }
  /// Also of a process that has ended and was not reaped yet: only this object may reap it. 0: it was reaped.
  int pid() const noexcept { return child_.ended_ns() > 0 ? 0 : child_.pid(); }

 private:
  void read(std::string_view bytes) {
    if (too_long_) return;
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      line_.append(bytes.substr(0, end));
      if (line_.size() > longest_answer) {
        too_long_ = true;
        return;
      }
      if (end == std::string_view::npos) return;
      bytes.remove_prefix(end + 1);
      lines_.push_back(std::exchange(line_, {}));
    }
  }

  /// The answer, if one of the complete lines is it. A line that is neither answer nor log is a violation.
  void take_lines(std::int64_t id, ServerReply& reply) {
    while (!lines_.empty() && !reply.answer && reply.violation.empty()) {
      const std::string text = std::move(lines_.front());
      lines_.pop_front();
      ++lines_read_;
      if (text.find_first_not_of(" \t\r") != std::string::npos) take_line(text, id, reply);
    }
    if (too_long_ && !reply.answer && reply.violation.empty())
      reply.violation = fmt::format("line {} of the server's standard output is longer than 16 MiB: {}",
                                    lines_read_ + 1, shown_line(std::string_view(line_).substr(0, shown_of_line)));
  }

  void take_line(const std::string& text, std::int64_t id, ServerReply& reply) {
    Json json = base::read_json(text);
    if (!json.is_object()) {
      const bool number = text.find("NaN") != text.npos || text.find("Infinity") != text.npos;
      const bool deep =
          std::count_if(text.begin(), text.end(), [](char c) { return c == '[' || c == '{'; }) > base::max_json_levels;
      const std::string why = !json.is_discarded() ? ""
                              : deep               ? fmt::format(", or has more than {} levels", base::max_json_levels)
                              : number             ? ", which has neither NaN nor Infinity"
                                                   : "";
      reply.violation = fmt::format(
          "line {} of the server's standard output is not a JSON object{}: {} (only answers belong there; "
          "other output belongs on standard error)",
          lines_read_, why, shown_line(text));
      return;
    }
    const auto found = json.find("log");
    if (found != json.end() && found->is_string()) log_tail_.append(found->get_ref<const std::string&>() + "\n");
    const auto number = json.find("id");
    if (number == json.end() && found != json.end()) return;
    if (id >= 0 && number != json.end() && *number == id) {
      reply.answer = std::make_shared<const Json>(std::move(json));
      return;
    }
    reply.violation =
        fmt::format("line {} of the server's standard output {}, and {}: {}", lines_read_,
                    number == json.end()     ? "has no \"id\""
                    : number->is_primitive() ? "has the id " + base::printable(number->dump(), 40)
                                             : "has an id that is not a number",
                    id < 0 ? "no request was open" : fmt::format("the request has the id {}", id), shown_line(text));
  }

  void wait(std::int64_t id, double timeout_s, ServerReply& reply) {
    const system::Deadline timeout(loop_, timeout_s, child_.pid(), [&](system::Expiry why) {
      if (!child_.running()) return;
      reply.end.timed_out = true;
      reply.end.expiry = why;
    });
    system::EventLoop::Watch look;
    const std::function<void()> look_for_stop = [&] {
      if (system::is_stopped(child_.pid())) reply.end.suspended = true;
      look = loop_.call_after(stop_check_ms, look_for_stop);
    };
    look = loop_.call_after(stop_check_ms, look_for_stop);
    loop_.run_until([&] {
      take_lines(id, reply);
      return reply.answer || !reply.violation.empty() || ended_ || reply.end.timed_out;
    });
  }

  void kill() {
    if (ended_) return;
    if (child_.ended_ns() == 0) system::kill_tree(child_.pid());  // else its id may be another process's
    bool late = false;
    const system::EventLoop::Watch patience = loop_.call_after(death_ms, [&] { late = true; });
    loop_.run_until([&] { return ended_ || late; });
  }

  system::EventLoop loop_;
  system::Subprocess child_;
  std::string line_;  ///< the one that is not complete yet
  std::deque<std::string> lines_;
  std::uint64_t lines_read_ = 0;
  std::int64_t next_id_ = 0;
  bool too_long_ = false, ended_ = false;
  int exit_code_ = 0, signal_ = 0;
  std::string log_;
  Tail log_tail_{log_, log_kept};
};

// Failures in a row without any answer, after which the run ends: one may be the configuration's.
constexpr int max_failures = 3;

constexpr const char* kinds_of_errors[] = {"compile_failed", "rejected", "launch_failed",
                                           "wrong_result",   "crashed",  "timed_out"};

std::string text_in(const Json& answer, const char* name) {
  const auto found = answer.find(name);
  return found != answer.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string identity(const build::Artifact& artifact, const device::ProgramCall& call) {
  return Json{call.words, call.environment, call.folder, call.device, artifact.image.empty() ? "" : artifact.key}.dump(
      -1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace

/// A place for one server after the other, all with the same command.
class ServerSlot {
 public:
  ServerSlot(const build::Artifact& artifact, const device::ProgramCall& call, int device)
      : start_timeout_s_(call.start_timeout_s) {
    if (!artifact.image.empty()) files_.install(artifact.image);
    command_ = files_.command_of(call, call.words, device);
  }

  /// The answer to a request for a configuration. Throws the failure of a server that gives none.
  ServerReply ask(const device::ProgramCall& call, const nlohmann::ordered_json& request) {
    for (bool again = false;; again = true) {
      require_server();
      const bool served_others = !first_.empty() && (others_ || first_ != call.request);
      note(call.request);
      ServerReply reply = server_->ask(request, call.timeout_s);
      if (reply.answer) {
        failures_ = 0;
        answered_ = served_ = true;
        return reply;
      }
      server_.reset();
      // An earlier configuration may have damaged it, or it may have ended between two requests.
      const bool by_itself = reply.violation.empty() && !reply.end.timed_out &&
                             !system::comes_from_others(system::ending_signal(reply.end.exit_code, reply.end.signal));
      // It may also have ended between two requests of one configuration.
      const bool done = served_ && reply.end.exit_code == 0 && reply.end.signal == 0 && reply.end.stdout_text.empty();
      if (by_itself && (served_others || done) && !again) continue;
      refuse(reply, call.timeout_s);
    }
  }

  /// As Server::pid; 0: no server.
  int pid() const noexcept { return server_ ? server_->pid() : 0; }

 private:
  void note(const std::string& request) {
    if (first_.empty()) first_ = request;
    others_ = others_ || first_ != request;
  }

  void require_server() {
    if (server_ && server_->running()) return;
    server_.reset();
    first_.clear();
    others_ = served_ = false;
    files_.empty_tmp();
    try {
      server_ = std::make_unique<Server>(command_);
    } catch (const system::CannotStart& failure) {
      build::throw_start_failure(failure, "the server", command_.argv[0], Outcome::launch_failed);
    }
    const ServerReply reply = server_->ask(device::start_request(), start_timeout_s_);
    std::string why = reply.violation;
    if (reply.answer) {
      const auto protocol = reply.answer->find("protocol");
      if (protocol != reply.answer->end() && *protocol == device::server_protocol) return;
      why = fmt::format("its first answer must have \"protocol\": {}, the version that xtune speaks",
                        device::server_protocol);
    } else if (reply.end.timed_out) {
      why = fmt::format("no answer to the first request in {} ([process] start_timeout_s){}",
                        base::human_seconds(start_timeout_s_), begun_line(reply.end));
    } else if (why.empty()) {
      why = ended_text(reply.end, "it");
    }
    server_.reset();
    count_failure("the server did not start: " + why, reply.end);
  }

  /// An answer without a line break is none, and a server that waits for the next request does not know.
  static std::string begun_line(const ProgramEnd& end) {
    return end.stdout_text.empty() ? ""
                                   : ", in the middle of the line '" + base::printable(end.stdout_text) +
                                         "' (an answer ends with a line break)";
  }

  static std::string ended_text(const ProgramEnd& end, const char* subject) {
    const std::string words = base::last_line(end.stderr_text);
    return fmt::format("{} {} before it answered{}{}{}", subject, system::describe_end(end.exit_code, end.signal),
                       begun_line(end), words.empty() ? "" : ": ", words);
  }

  /// The configuration may be to blame, or the server, so the failure is not stored.
  [[noreturn]] void count_failure(const std::string& message, const ProgramEnd& end) {
    if (++failures_ >= max_failures && !answered_)
      throw Error(ErrorKind::unavailable,
                  fmt::format("{} ({} times in a row){}{}", message, failures_,
                              end.stderr_text.empty() ? "" : "; on standard error:\n",
                              base::printable_lines(base::end_of(end.stderr_text, shown_stderr))));
    throw build::ShortageFailure(build::Lack::unclear, Outcome::launch_failed, message, log_of(end));
  }

  [[noreturn]] void refuse(const ServerReply& reply, double timeout_s) {
    if (!reply.violation.empty()) count_failure(reply.violation, reply.end);
    throw_if_out_of_time(reply.end, "the server's work for this configuration", timeout_s, begun_line(reply.end));
    const build::Lack lack = lack_behind(reply.end, files_);
    process::refuse(reply.end, Outcome::crashed, ended_text(reply.end, "the server"), lack);
  }

  static constexpr std::size_t shown_stderr = 4000;

  ProgramFiles files_;
  ProgramRun command_;
  double start_timeout_s_;
  std::unique_ptr<Server> server_;
  std::string first_;      // the first configuration that the server was asked for
  bool others_ = false;    // it was asked for another one, too
  bool served_ = false;    // it has answered a request for a configuration
  bool answered_ = false;  // one of the slot's servers has
  int failures_ = 0;       // in a row
};

namespace {

class ServedProgram final : public measure::Program {
 public:
  ServedProgram(std::shared_ptr<ServerSlot> slot, device::ProgramCall call)
      : slot_(std::move(slot)), call_(std::move(call)) {}

  bool times_itself() const noexcept override { return true; }
  void check_last_run() override {
    if (call_.checks && unchecked_) ask(1, true);
  }
  measure::Sample run(const measure::RunOptions& options) override {
    return ask(1 + options.more.size(), call_.checks && !checked_);
  }

 private:
  measure::Sample ask(std::size_t samples, bool check) {
    const std::uint64_t kills_before = system::memory_kills();
    try {
      for (int more = max_retakes;; --more) {
        // The time of an answer during which it was suspended has no meaning.
        const ServerReply reply = slot_->ask(call_, device::measure_request(call_, samples, check));
        const measure::Sample sample = sample_in(reply, samples, check);
        if (!reply.end.suspended || more == 0) return sample;
      }
    } catch (const build::CandidateFailure& failure) {
      build::rethrow_counting_kills(failure, kills_before, build::Lack::memory);
    }
  }

  measure::Sample sample_in(const ServerReply& reply, std::size_t samples, bool check) {
    const Json& answer = *reply.answer;
    const std::string log = log_of(reply.end);
    if (const auto error = answer.find("error"); error != answer.end() && !error->is_null())
      throw_error(*error, answer, log);
    const bool judged = answer.value("validated", Json()) == true || answer.value("checked", Json()) == true;
    if (check && !judged)
      throw build::CandidateFailure(Outcome::wrong_result,
                                    "the server was asked to validate its results, and its answer does not have "
                                    "\"validated\": true",
                                    log);
    measure::Sample sample;
    sample.time_ms = mean_of(answer.value("times_ms", Json()), "\"times_ms\"", samples, log, true);
    for (const device::ProgramValue& metric : call_.metrics) sample.reported.push_back(metric_in(answer, metric, log));
    unchecked_ = !check;
    checked_ = checked_ || check;
    return sample;
  }

  /// The server's own verdict on the configuration.
  [[noreturn]] static void throw_error(const Json& error, const Json& answer, const std::string& log) {
    const std::string kind =
        error.is_string() ? error.get<std::string>() : error.dump(-1, ' ', false, Json::error_handler_t::replace);
    const std::string message = text_in(answer, "message");
    for (const char* known : kinds_of_errors)
      if (kind == known)
        throw build::CandidateFailure(*outcome_from_string(kind),
                                      message.empty() ? "the server gave no message" : base::printable_lines(message),
                                      log);
    throw build::ShortageFailure(
        build::Lack::unclear, Outcome::launch_failed,
        fmt::format("the server's answer has the unknown \"error\" '{}'{}: {}", base::printable(kind, 80),
                    base::did_you_mean(kind, {std::begin(kinds_of_errors), std::end(kinds_of_errors)}),
                    base::printable(message, 300)),
        log);
  }

  /// The mean of a list of `count` numbers.
  static double mean_of(const Json& list, const std::string& what, std::size_t count, const std::string& log,
                        bool are_times) {
    const auto refuse = [&](const std::string& why) {
      throw build::CandidateFailure(Outcome::wrong_result, fmt::format("the server's answer: {} {}", what, why), log);
    };
    if (list.is_null()) refuse("is missing");
    if (!list.is_array()) refuse(fmt::format("is of type {}, and a list of {} is expected", list.type_name(), count));
    if (list.size() != count) refuse(fmt::format("has {} numbers, and {} were asked for", list.size(), count));
    long double sum = 0;  // which no sum of numbers exceeds
    for (const Json& item : list) {
      if (!item.is_number()) refuse(fmt::format("has an item of type {}, and numbers are expected", item.type_name()));
      const double number = item.get<double>();
      if (!std::isfinite(number)) refuse("has a number that is not finite");
      if (are_times && !measure::is_time(number))
        refuse(fmt::format("has {}, and times are {}", number, measure::possible_times));
      sum += number;
    }
    return static_cast<double>(sum / static_cast<long double>(count));
  }

  static double metric_in(const Json& answer, const device::ProgramValue& metric, const std::string& log) {
    const std::string what = "the metric '" + metric.name + "'";
    const auto metrics = answer.find("metrics");
    const bool given = metrics != answer.end() && metrics->is_object();
    if (!given || !metrics->contains(metric.name))
      throw build::CandidateFailure(Outcome::wrong_result,
                                    fmt::format("the server's answer: {} is missing in \"metrics\"", what), log);
    const Json& value = metrics->at(metric.name);
    const Json list = value.is_array() ? value : Json::array({value});
    return mean_of(list, what, std::max<std::size_t>(list.size(), 1), log, false);
  }

  const std::shared_ptr<ServerSlot> slot_;
  const device::ProgramCall call_;
  bool checked_ = false;    ///< an answer has included a check of the results
  bool unchecked_ = false;  ///< the last answer did not include one
};

}  // namespace

std::unique_ptr<measure::Program> ServedPrograms::load(const build::Artifact& artifact,
                                                       const device::ProgramCall& call) {
  std::weak_ptr<ServerSlot>& known = slots_[identity(artifact, call)];
  std::shared_ptr<ServerSlot> slot = known.lock();
  if (!slot) known = slot = std::make_shared<ServerSlot>(artifact, call, device_);
  last_ = slot;
  std::erase_if(slots_, [](const auto& entry) { return entry.second.expired(); });
  return std::make_unique<ServedProgram>(std::move(slot), call);
}

std::vector<int> ServedPrograms::processes() const {
  std::vector<int> ids;
  for (const auto& [name, weak] : slots_)
    if (const auto slot = weak.lock(); slot && slot->pid() > 0) ids.push_back(slot->pid());
  return ids;
}

}  // namespace xtune::process
