// A child on a separate event loop, watched until it and everything that it started have ended. Failures are classified
// by the messages of shells and loaders.
#include "backends/process/run_program.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backends/process/device.hpp"
#include "base/text.hpp"
#include "system/clock.hpp"
#include "system/event_loop.hpp"
#include "system/machine.hpp"
#include "system/processes.hpp"
#include "xtune/error.hpp"

namespace xtune::process {
namespace {

namespace fs = std::filesystem;

void show_device_alone(const std::string& kind, int device, system::Environment& env) {
  const char* name = kind == "cuda" ? "CUDA_VISIBLE_DEVICES" : kind == "hip" ? "HIP_VISIBLE_DEVICES" : nullptr;
  if (name) env.emplace_back(name, visible_device(std::getenv(name), device));
}

constexpr std::size_t stdout_kept = std::size_t{16} << 20, stderr_kept = std::size_t{64} << 10;
// Processes that a program left behind may hold its pipes open: interval at which they are searched.
constexpr std::uint64_t look_ms = 100;
constexpr std::size_t shown_bytes = 1000, log_bytes = 8192;

}  // namespace

ProgramEnd run_program(const ProgramRun& run) {
  system::adopt_orphans();
  const std::vector<int> others = system::children_of(::getpid());
  ProgramEnd end;
  Tail out(end.stdout_text, stdout_kept), err(end.stderr_text, stderr_kept);
  bool ended = false;
  system::EventLoop loop;
  system::SubprocessOptions options;
  options.argv = run.argv;
  options.env = run.env;
  options.cwd = run.folder;
  options.own_group = false;
  options.on_stdout = [&](std::string_view bytes) { out.append(bytes); };
  options.on_stderr = [&](std::string_view bytes) { err.append(bytes); };
  options.on_exit = [&](int exit_code, int signal) {
    end.exit_code = exit_code;
    end.signal = signal;
    ended = true;
  };
  const std::uint64_t suspensions_before = system::suspensions();
  system::Subprocess child = system::start_patiently(loop, options);
  child.close_stdin();
  system::EventLoop::Watch look;
  system::Deadline timeout;
  if (run.timeout_s > 0)
    timeout = system::Deadline(loop, run.timeout_s, child.pid(), [&](system::Expiry why) {
      if (!child.running()) return;
      end.timed_out = true;
      end.expiry = why;
      system::kill_tree(child.pid());
    });
  const std::function<void()> look_for_strays = [&] {
    if (child.ended_ns() > 0)
      end.strays += system::kill_children_but(others);
    else if (!end.timed_out && system::is_stopped(child.pid()))
      end.suspended = true;
    look = loop.call_after(look_ms, look_for_strays);
  };
  look = loop.call_after(look_ms, look_for_strays);
  loop.run_until([&] { return ended; });
  end.strays += system::kill_children_but(others);
  end.wall_s = static_cast<double>(child.ended_ns() - child.started_ns()) * 1e-9;
  end.suspended = end.suspended || system::suspensions() != suspensions_before;
  out.cut();
  err.cut();
  end.output_cut = out.was_cut();
  return end;
}

ProgramEnd run_program(const ProgramRun& run, const char* what, Outcome if_not_started) {
  try {
    return run_program(run);
  } catch (const system::CannotStart& failure) {
    build::throw_start_failure(failure, what, run.argv[0], if_not_started);
  }
}

std::string visible_device(const char* now, int index) {
  if (!now || !*now) return std::to_string(index);
  std::string_view rest = now;
  for (int i = 0; i < index && !rest.empty(); ++i) rest.remove_prefix(std::min(rest.find(','), rest.size() - 1) + 1);
  return std::string(rest.substr(0, rest.find(',')));
}

ProgramFiles::ProgramFiles() : places_{(folder_.path() / "program").string(), (folder_.path() / "tmp").string()} {}

void ProgramFiles::install(const std::string& image) const {
  std::ofstream file(places_.out, std::ios::binary);
  file << image;
  file.close();
  std::error_code error;
  fs::permissions(places_.out, fs::perms::owner_all, error);
  if (!file || error)
    throw Error(
        ErrorKind::io,
        fmt::format("{} cannot be written: is the disk full? (XTUNE_TMP_DIR names another place)", places_.out));
}

void ProgramFiles::empty_tmp() const {
  std::error_code error;
  fs::remove_all(places_.tmp, error);
  fs::create_directory(places_.tmp, error);
  if (error) throw Error(ErrorKind::io, places_.tmp + ": " + error.message());
}

ProgramRun ProgramFiles::command_of(const device::ProgramCall& call, const std::vector<std::string>& call_texts,
                                    int device) const {
  ProgramRun run;
  run.argv = device::from_call_texts(call_texts, places_);
  run.folder = call.folder;
  run.timeout_s = call.timeout_s;
  run.env = {{"XTUNE_OUT", places_.out}, {"XTUNE_TMP", places_.tmp}};
  show_device_alone(call.device, device, run.env);
  for (const auto& [name, text] : call.environment) run.env.emplace_back(name, device::from_call_text(text, places_));
  return run;
}

std::string log_of(const ProgramEnd& end) { return base::end_of(end.stderr_text, log_bytes); }

std::string shown(const ProgramEnd& end) {
  const std::string& text = end.stdout_text.empty() ? end.stderr_text : end.stdout_text;
  if (text.empty()) return "nothing";
  const std::string tail = base::end_of(text, shown_bytes);
  return (end.stdout_text.empty() ? "(nothing on standard output; on standard error:)\n" : "") +
         (tail.size() < text.size() ? "...\n" + tail : tail);
}

bool says_a_lack(const ProgramEnd& end) {
  const build::Lack said = build::lack_in_line(base::last_line(end.stderr_text));
  return said == build::Lack::room || said == build::Lack::processes || said == build::Lack::killed ||
         said == build::Lack::unclear;
}

void refuse_output(const ProgramEnd& end, const std::string& message) {
  if (says_a_lack(end))
    throw build::ShortageFailure(build::Lack::unclear, Outcome::wrong_result,
                                 message + "\non standard error: " + base::last_line(end.stderr_text), log_of(end));
  throw build::CandidateFailure(Outcome::wrong_result, message, log_of(end));
}

build::Lack lack_behind(const ProgramEnd& end, const ProgramFiles& files) {
  if (system::comes_from_others(system::ending_signal(end.exit_code, end.signal))) return build::Lack::killed;
  const bool had_room = system::room_error(files.places().tmp) == 0;
  files.empty_tmp();
  build::throw_if_no_room("the program failed", files.folder());
  return !had_room || build::is_exit_of_missing_program(end.exit_code) || says_a_lack(end) ? build::Lack::unclear
                                                                                           : build::Lack::none;
}

void refuse(const ProgramEnd& end, Outcome outcome, const std::string& message, build::Lack lack) {
  if (lack != build::Lack::none)
    throw build::ShortageFailure(
        lack, outcome,
        message + (lack == build::Lack::killed ? system::not_from_xtune : "") + build::under(system::user_limits()),
        log_of(end));
  if (const std::string limits = system::user_limits(); !limits.empty())
    throw build::ShortageFailure(build::Lack::unclear, outcome, message + build::under(limits), log_of(end));
  throw build::CandidateFailure(outcome, message, log_of(end));
}

void throw_if_out_of_time(const ProgramEnd& end, const char* what, double timeout_s, const std::string& more) {
  if (end.expiry == system::Expiry::held_up)
    throw build::ShortageFailure(build::Lack::killed, Outcome::timed_out,
                                 fmt::format("{} was suspended, or got hardly any CPU time, and was killed", what),
                                 log_of(end));
  if (end.expiry == system::Expiry::stopped_itself)
    throw build::CandidateFailure(
        Outcome::crashed, fmt::format("{} stopped itself with a signal (SIGSTOP), and was killed", what), log_of(end));
  if (end.timed_out)
    throw build::CandidateFailure(Outcome::timed_out,
                                  fmt::format("{} ran longer than {} and was killed, with all that it had started "
                                              "([process] timeout_s){}",
                                              what, base::human_seconds(timeout_s), more),
                                  log_of(end));
}

}  // namespace xtune::process
