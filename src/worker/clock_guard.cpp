// Nothing but clocks is in this process: it must live until they are restored.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <nlohmann/json.hpp>

#include "backends/backend.hpp"
#include "worker/ipc/protocol.hpp"
#include "worker/worker.hpp"
#include "xtune/error.hpp"

namespace xtune::worker {
namespace {

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
