// The child of a server on an event loop that runs only during requests; what it writes in between stays in its pipes.
#include "backends/process/server.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "system/clock.hpp"
#include "system/deadline.hpp"
#include "system/event_loop.hpp"
#include "system/processes.hpp"

namespace xtune::process {
namespace {

using Json = nlohmann::json;

constexpr std::size_t log_kept = std::size_t{64} << 10, shown_of_line = 200;
// Interval at which a request looks whether the server is stopped.
constexpr std::uint64_t stop_check_ms = 100;
// A process in a call of a driver can outlive its kill.
constexpr std::uint64_t death_ms = 5000;

std::string shown_line(std::string_view line) { return "'" + base::printable(line, shown_of_line) + "'"; }

}  // namespace

struct Server::State {
  system::EventLoop loop;
  system::Subprocess child;
  std::string line;  // the one that is not complete yet
  std::deque<std::string> lines;
  std::uint64_t lines_read = 0;
  std::int64_t next_id = 0;
  bool too_long = false, ended = false;
  int exit_code = 0, signal = 0;
  std::string log;
  Tail log_tail{log, log_kept};

  void read(std::string_view bytes);
  /// The answer, if one of the complete lines is it. A line that is neither answer nor log is a violation.
  void take_lines(std::int64_t id, ServerReply& reply);
  void take_line(const std::string& text, std::int64_t id, ServerReply& reply);
  void wait(std::int64_t id, double timeout_s, ServerReply& reply);
  void kill();
};

void Server::State::read(std::string_view bytes) {
  if (too_long) return;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    line.append(bytes.substr(0, end));
    if (line.size() > longest_answer) {
      too_long = true;
      return;
    }
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    lines.push_back(std::exchange(line, {}));
  }
}

void Server::State::take_line(const std::string& text, std::int64_t id, ServerReply& reply) {
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
        lines_read, why, shown_line(text));
    return;
  }
  const auto found = json.find("log");
  if (found != json.end() && found->is_string()) log_tail.append(found->get_ref<const std::string&>() + "\n");
  const auto number = json.find("id");
  if (number == json.end() && found != json.end()) return;
  if (id >= 0 && number != json.end() && *number == id) {
    reply.answer = std::make_shared<const Json>(std::move(json));
    return;
  }
  reply.violation =
      fmt::format("line {} of the server's standard output {}, and {}: {}", lines_read,
                  number == json.end()     ? "has no \"id\""
                  : number->is_primitive() ? "has the id " + base::printable(number->dump(), 40)
                                           : "has an id that is not a number",
                  id < 0 ? "no request was open" : fmt::format("the request has the id {}", id), shown_line(text));
}

void Server::State::take_lines(std::int64_t id, ServerReply& reply) {
  while (!lines.empty() && !reply.answer && reply.violation.empty()) {
    const std::string text = std::move(lines.front());
    lines.pop_front();
    ++lines_read;
    if (text.find_first_not_of(" \t\r") != std::string::npos) take_line(text, id, reply);
  }
  if (too_long && !reply.answer && reply.violation.empty())
    reply.violation = fmt::format("line {} of the server's standard output is longer than 16 MiB: {}", lines_read + 1,
                                  shown_line(std::string_view(line).substr(0, shown_of_line)));
}

void Server::State::wait(std::int64_t id, double timeout_s, ServerReply& reply) {
  const system::Deadline timeout(loop, timeout_s, child.pid(), [&](bool stopped) {
    if (!child.running()) return;
    reply.end.timed_out = true;
    reply.end.stopped = stopped;
  });
  system::EventLoop::Watch look;
  const std::function<void()> look_for_stop = [&] {
    if (system::is_stopped(child.pid())) reply.end.suspended = true;
    look = loop.call_after(stop_check_ms, look_for_stop);
  };
  look = loop.call_after(stop_check_ms, look_for_stop);
  loop.run_until([&] {
    take_lines(id, reply);
    return reply.answer || !reply.violation.empty() || ended || reply.end.timed_out;
  });
}

void Server::State::kill() {
  if (ended) return;
  if (child.ended_ns() == 0) system::kill_tree(child.pid());  // else its id may be another process's
  bool late = false;
  const system::EventLoop::Watch patience = loop.call_after(death_ms, [&] { late = true; });
  loop.run_until([&] { return ended || late; });
}

Server::Server(const ProgramRun& command) : state_(std::make_unique<State>()) {
  system::adopt_orphans();
  system::SubprocessOptions options;
  options.argv = command.argv;
  options.env = command.env;
  options.cwd = command.folder;
  options.own_group = false;
  State* const state = state_.get();
  options.on_stdout = [state](std::string_view bytes) { state->read(bytes); };
  options.on_stderr = [state](std::string_view bytes) { state->log_tail.append(bytes); };
  options.on_exit = [state](int exit_code, int signal) {
    state->exit_code = exit_code;
    state->signal = signal;
    state->ended = true;
  };
  state_->child = system::start_patiently(state_->loop, options);
}

Server::~Server() { state_->kill(); }

bool Server::running() const noexcept { return !state_->ended && state_->child.running(); }
int Server::pid() const noexcept { return state_->child.ended_ns() > 0 ? 0 : state_->child.pid(); }

ServerReply Server::ask(nlohmann::ordered_json request, double timeout_s) {
  State& state = *state_;
  ServerReply reply;
  state.log.clear();
  const std::uint64_t suspensions_before = system::suspensions();
  const std::int64_t id = state.next_id++;
  request["id"] = id;
  // Lines that the server wrote after its last answer belong to no request.
  state.loop.run_ready();
  state.take_lines(-1, reply);
  if (reply.violation.empty()) {
    state.child.write(request.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
    state.wait(id, timeout_s, reply);
  }
  state.child.read_pending_stderr();
  if (!reply.answer) state.kill();
  state.log_tail.cut();
  reply.end.stderr_text = state.log;
  reply.end.stdout_text = state.line.substr(0, shown_of_line);
  reply.end.exit_code = state.exit_code;
  reply.end.signal = state.signal;
  reply.end.suspended = reply.end.suspended || system::suspensions() != suspensions_before;
  return reply;
}

}  // namespace xtune::process
