// A compile and bench worker with the real protocol, whose actions are named by the artifact's key: "ok", "crash",
// "hang", ...
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "worker/ipc/protocol.hpp"

using namespace xtune::worker;
using namespace xtune::run;

namespace {

using nlohmann::json;

void misbehave(const std::string& what) {
  if (what == "crash") {
    std::fputs("dying words\n", stderr);
    std::fflush(stderr);
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer's own handler would turn it into an exit code
    raise(SIGSEGV);
  }
  if (what == "hang emulated") {
    std::fputs("xtune emulator: after 4 s: kernel 'a'\nxtune emulator: after 8 s: kernel 'k', 's_branch 1'\n", stderr);
    std::fflush(stderr);
  }
  if (what.starts_with("hang"))
    for (;;) pause();
  if (what == "kill") raise(SIGKILL);
}

/// "killed once": the first process to get it is killed, the next ones are not.
bool is_first_time(const std::string& marker) {
  if (std::ifstream(marker)) return false;
  std::ofstream(marker) << "seen";
  return true;
}

json compile(const json& message, const std::string& opened_file) {
  const xtune::run::CompileJob job = xtune::worker::compile_job_from_json(message);
  misbehave(job.key);
  if (job.key == "killed once" && is_first_time(opened_file + ".killed")) raise(SIGKILL);
  if (job.key == "error") return xtune::worker::error_to_json(xtune::ErrorKind::unsupported, "no such architecture");
  xtune::run::CompileAnswer answer;
  answer.artifact.key = job.key;
  answer.artifact.usage.registers = 42;
  answer.cpu_s = 0.5;
  if (job.key == "large") answer.peak_bytes = std::uint64_t{3} << 30;
  if (job.key == "no memory") {
    answer.outcome = xtune::Outcome::crashed;
    answer.lack = xtune::build::Lack::memory;
    answer.message = "the compiler ran out of memory";
  }
  if (job.key == "refuse") {
    answer.outcome = xtune::Outcome::compile_failed;
    answer.message = "expected ';'";
    answer.log = "the whole log";
  }
  return to_json(answer);
}

json bench(const json& message, const std::string& opened_file, std::string& reference) {
  static std::string aftermath;  // of an earlier kernel
  misbehave(aftermath);
  if (aftermath == "no files") return xtune::worker::error_to_json(xtune::worker::MissingArtifact("ok", "the store"));
  if (message.at("do") == "open") {
    const xtune::run::OpenJob job = xtune::worker::open_job_from_json(message);
    std::ofstream(opened_file, std::ios::app) << job.seed << "\n";
    misbehave(job.backend);
    if (job.backend == "error")
      return xtune::worker::error_to_json(xtune::ErrorKind::invalid_spec, "a.npy: wrong shape");
    reference = job.reference.name;
    return {{"opened", true}};
  }
  if (message.at("do") == "reference") {
    misbehave(reference);
    if (reference == "missing")
      return xtune::worker::error_to_json(xtune::worker::MissingArtifact(reference, "the store"));
    if (reference == "error")
      return xtune::worker::error_to_json(xtune::ErrorKind::invalid_spec, "k.toml:9:1: out of bounds");
    return {{"prepared", true}};
  }
  if (message.at("do") == "rounds") {
    const xtune::run::RoundsJob job = xtune::worker::rounds_job_from_json(message);
    xtune::run::RoundsAnswer answer;
    answer.samples_ms.resize(job.jobs.size());
    for (const auto& round : job.rounds)
      for (const std::size_t index : round) {
        const std::string& key = job.jobs[index].artifact.key;
        misbehave(key);
        if (key == "missing") return xtune::worker::error_to_json(xtune::worker::MissingArtifact(key, "the store"));
        if (aftermath == "error") return xtune::worker::error_to_json(xtune::ErrorKind::unavailable, "out of memory");
        if (key == "fault") answer.outcome = xtune::Outcome::crashed, answer.failed = index;
        answer.samples_ms[index].push_back(static_cast<double>(key.size()));
      }
    answer.taints = {"warm"};
    return to_json(answer);
  }
  const xtune::run::BenchJob job = xtune::worker::bench_job_from_json(message);
  if (aftermath == "error") return xtune::worker::error_to_json(xtune::ErrorKind::unavailable, "out of memory");
  misbehave(job.artifact.key);
  if (job.artifact.key == "killed once" && is_first_time(opened_file + ".killed")) raise(SIGKILL);
  if (job.artifact.key == "missing")
    return xtune::worker::error_to_json(xtune::worker::MissingArtifact("missing", "the store"));
  const std::string earlier = aftermath;
  for (const std::string word : {"then ", "leaves "})
    if (job.artifact.key.starts_with(word)) aftermath = job.artifact.key.substr(word.size());
  if (job.artifact.key == "error") return xtune::worker::error_to_json(xtune::ErrorKind::io, "artifact is damaged");
  xtune::run::BenchAnswer answer;
  answer.samples_ms = {1, 2, 3};
  answer.busy_s = 0.25;
  if (job.artifact.key == "fault" || job.artifact.key == "wrong" || job.artifact.key.starts_with("then ")) {
    std::fputs("on stderr\n", stderr);
    std::fflush(stderr);
    answer.outcome = job.artifact.key == "fault" ? xtune::Outcome::crashed : xtune::Outcome::wrong_result;
    answer.stage = "run";
  }
  if (job.artifact.key == "prints") std::fputs("\nhello 64\nhello 65\n", stderr);
  if (job.artifact.key == "assertion") {
    std::fputs("xtune: k.cu:32: void k(int*): Assertion `n == 3' failed.\n", stderr);
    std::abort();
  }
  if (job.artifact.key == "device assertion") {
    std::fputs("k.cu:5: void k(): block: [0,0,0], thread: [0,0,0] Assertion `x` failed.\n", stderr);
    answer.outcome = xtune::Outcome::crashed;
    answer.message = "device-side assert";
  }
  if (job.artifact.key == "program killed" ||
      (job.artifact.key == "program killed once" && is_first_time(opened_file + ".killed"))) {
    answer.outcome = xtune::Outcome::launch_failed;
    answer.lack = xtune::build::Lack::killed;
  }
  if (job.artifact.key == "program stopped")
    answer.outcome = xtune::Outcome::timed_out, answer.lack = xtune::build::Lack::killed;
  if (job.artifact.key == "refused" || earlier == "refused") answer.outcome = xtune::Outcome::launch_failed;
  json message_back = to_json(answer);
  if (answer.outcome == xtune::Outcome::launch_failed) message_back[xtune::worker::doubtful_member] = true;
  if (job.artifact.key == "leak") message_back[xtune::worker::worn_member] = true;
  return message_back;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string opened_file = argc > 1 ? argv[1] : "/dev/null";
  std::string reference;  // the opened problem's
  xtune::worker::write_message(STDOUT_FILENO, xtune::worker::worker_greeting());
  while (const auto message = xtune::worker::read_message(STDIN_FILENO)) {
    const json answer =
        message->contains("do") ? bench(*message, opened_file, reference) : compile(*message, opened_file);
    xtune::worker::write_message(STDOUT_FILENO, answer);
    // As a bench worker whose device is lost: it has answered, and takes its time to end.
    if (message->contains("do") && answer.value("outcome", "") == "crashed") {
      usleep(100000);
      return 0;
    }
  }
}
