// Speaks to the process that guards clocks: lines of JSON from it, and the end of its input to it.
#include "worker/ipc/locked_clocks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.hpp"
#include "worker/ipc/protocol.hpp"
#include "worker/ipc/target.hpp"
#include "xtune/error.hpp"

namespace xtune::worker {
namespace {

constexpr std::uint64_t patience_ms = 60'000;

}  // namespace

LockedClocks::LockedClocks(std::vector<std::string> argv) {
  system::SubprocessOptions options;
  options.argv = std::move(argv);
  options.on_stdout = [this](std::string_view bytes) { output_ += bytes; };
  options.on_stderr = [this](std::string_view bytes) { errors_ += bytes; };
  options.on_exit = [this](int, int) { ended_ = true; };
  process_ = system::start_patiently(loop_, options);
  const nlohmann::json answer = nlohmann::json::parse(next_line(), nullptr, false);
  if (answer.is_object()) throw_if_error(answer);
  if (!answer.is_object() || !answer.contains("locked_mhz")) {
    // It may have fixed some: the end of its input lets it restore them, before this object kills it.
    process_.close_stdin();
    next_line();
    throw Error(ErrorKind::unavailable,
                "--lock-clocks: the process that fixes clocks gave no answer: " + base::printable(errors_, 300));
  }
  answer.at("locked_mhz").get_to(mhz_);
  answer.at("undo").get_to(undo_);
}

LockedClocks::~LockedClocks() {
  try {
    restore();
  } catch (...) {  // a destructor never throws
  }
}

std::string LockedClocks::next_line() {
  bool late = false;
  const system::EventLoop::Watch limit = loop_.call_after(patience_ms, [&late] { late = true; });
  loop_.run_until([&] { return late || ended_ || output_.find('\n') != std::string::npos; });
  const std::size_t end = output_.find('\n');
  if (end == std::string::npos) return {};
  std::string line = output_.substr(0, end);
  output_.erase(0, end + 1);
  return line;
}

std::string LockedClocks::restore() {
  if (undo_.empty()) return {};
  const std::vector<std::string> undo = std::exchange(undo_, {});
  process_.close_stdin();
  const nlohmann::json end = nlohmann::json::parse(next_line(), nullptr, false);
  if (end.is_object() && end.value("restored", false)) return {};
  return fmt::format("the clocks are not restored ({}); this does it: {}",
                     end.is_object() ? end.value("message", "") : "the process that guards them is gone",
                     fmt::join(undo, "; "));
}

std::vector<std::string> clocks_worker_words(const std::string& backend, const std::vector<int>& devices, int mhz) {
  return {worker_program().string(),
          "worker",
          "clocks",
          "--backend",
          backend,
          "--devices",
          fmt::format("{}", fmt::join(devices, ",")),
          "--mhz",
          std::to_string(mhz)};
}

}  // namespace xtune::worker
