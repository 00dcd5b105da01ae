// Lines of JSON, each one write(2) to a file that is open for appending.
#include "dispatch/coverage.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "base/clock.hpp"
#include "base/host_name.hpp"
#include "base/text.hpp"
#include "core/record/record_json.hpp"
#include "xtune/error.hpp"

namespace xtune::dispatch {
namespace {

constexpr std::size_t max_problems = std::size_t{1} << 16;
constexpr std::int64_t flush_interval_ns = 1'000'000'000;

/// The logs of this process, flushed when it ends: a kernel that is never destroyed has calls, too. Never destroyed.
struct OpenLogs {
  std::mutex mutex;
  std::set<Coverage*> logs;
};
OpenLogs& open_logs() {
  static OpenLogs* const all = [] {
    auto* const created = new OpenLogs;
    std::atexit([] {
      const std::lock_guard lock(open_logs().mutex);
      for (Coverage* log : open_logs().logs) log->flush();
    });
    return created;
  }();
  return *all;
}

std::string dumped(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::unique_ptr<Coverage> Coverage::open(const std::filesystem::path& given, CoveredKernel kernel,
                                         std::function<void(const std::string&)> say) {
  std::filesystem::path file = given;
  if (file.empty())
    if (const char* const value = std::getenv("XTUNE_COVERAGE")) file = value;
  if (file.empty()) return nullptr;
  std::error_code failed;
  if (std::filesystem::path whole = std::filesystem::absolute(file, failed); !failed) file = std::move(whole);
  if (std::filesystem::is_directory(file, failed))
    file /= fmt::format("coverage-{}-{}.jsonl", base::host_name(), ::getpid());
  return std::unique_ptr<Coverage>(new Coverage(std::move(file), std::move(kernel), std::move(say)));
}

Coverage::Coverage(std::filesystem::path file, CoveredKernel kernel, std::function<void(const std::string&)> say)
    : file_(std::move(file)), kernel_(std::move(kernel)), say_(std::move(say)), pid_(::getpid()) {
  static std::atomic<int> number{0};
  process_ = fmt::format("{}-{}-{}-{}", base::host_name(), pid_, base::system_clock().unix_time_ms(), ++number);
  fd_ = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd_ < 0) {
    told_ = true;
    say_(fmt::format("{}: its problems are not logged: cannot open {}: {}", kernel_.name, file_.string(),
                     std::strerror(errno)));
  }
  const std::lock_guard lock(open_logs().mutex);
  open_logs().logs.insert(this);
}

Coverage::~Coverage() {
  {
    const std::lock_guard lock(open_logs().mutex);
    open_logs().logs.erase(this);
  }
  flush();
  if (fd_ >= 0) ::close(fd_);
}

void Coverage::write(const std::string& lines) noexcept {
  if (fd_ < 0 || lines.empty()) return;
  ssize_t written = 0;
  do {
    written = ::write(fd_, lines.data(), lines.size());
  } while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(lines.size()) || told_) return;
  told_ = true;
  try {
    say_(fmt::format("{}: the log of its problems is not whole: cannot write {}: {}", kernel_.name, file_.string(),
                     written < 0 ? std::strerror(errno) : "no space left"));
  } catch (...) {  // a log must not make a call fail
  }
}

Coverage::Counter* Coverage::add(const Bindings& problem, const device::DeviceInfo& device, const Choice& choice,
                                 const std::string& refusal) {
  const std::lock_guard lock(mutex_);
  const Key key{{device.arch, device.name}, problem};
  if (entries_.size() >= max_problems && !entries_.contains(key)) return nullptr;
  Entry& entry = entries_[key];
  nlohmann::json line = {{"xtune_coverage", 1},
                         {"process", process_},
                         {"kernel", kernel_.name},
                         {"spec", kernel_.spec.string()},
                         {"defines", record::to_json(kernel_.defines)},
                         {"backend", device.backend},
                         {"arch", device.arch},
                         {"device", device.name},
                         {"problem", record::to_json(problem)},
                         {"kind", to_string(choice.kind)},
                         {"config", record::to_json(choice.config)},
                         {"stale", !choice.stale.empty()}};
  if (!choice.measured_for.empty()) {
    line["measured_for"] = record::to_json(choice.measured_for);
    line["distance"] = choice.distance;
    line["time_ms"] = choice.time_ms;
  }
  if (!refusal.empty()) line["refusal"] = refusal;
  if (std::string answer = dumped(line); answer != entry.answer) {
    entry.answer = std::move(answer);
    line["unix_time_ms"] = base::system_clock().unix_time_ms();
    write(dumped(line) + "\n");
  }
  if (const std::int64_t now = base::system_clock().now_ns(); now - flushed_ns_ > flush_interval_ns) {
    flushed_ns_ = now;
    flush_locked();
  }
  return &entry.calls;
}

void Coverage::flush() noexcept try {
  const std::lock_guard lock(mutex_);
  flush_locked();
} catch (...) {  // no memory
}

void Coverage::flush_locked() {
  // A child of fork has its parent's counters, which the parent writes.
  if (::getpid() != pid_) return;
  for (auto& [key, entry] : entries_) {
    const std::uint64_t calls = entry.calls.load(std::memory_order_relaxed);
    if (calls == entry.written) continue;
    entry.written = calls;
    write(dumped({{"xtune_coverage", 1},
                  {"process", process_},
                  {"kernel", kernel_.name},
                  {"arch", key.first.first},
                  {"device", key.first.second},
                  {"problem", record::to_json(key.second)},
                  {"calls", calls}}) +
          "\n");
  }
}

}  // namespace xtune::dispatch
