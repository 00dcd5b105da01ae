// Queries the system: before and after a kernel, and regularly for the memory while it runs.
#include "worker/process_state.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/cpu/native_kernel.hpp"
#include "backends/host/block/fiber.hpp"
#include "backends/host/engine.hpp"
#include "base/text.hpp"
#include "system/event_loop.hpp"
#include "system/files.hpp"

namespace xtune::worker {
namespace {

namespace fs = std::filesystem;

// A system allows 65,530 mappings by default. A thread that allocates may need an arena with a few.
constexpr std::size_t few_mappings = 1024, mappings_a_thread = 4;

/// A runtime may keep a pool with a thread for each CPU.
std::size_t few_threads() { return 2 * std::size_t{std::thread::hardware_concurrency()} + 8; }

/// Lines of /proc/PID/task/TID/status.
constexpr std::pair<std::string_view, const char*> status_lines[] = {{"Umask:", "umask"},
                                                                     {"Uid:", "user"},
                                                                     {"Gid:", "group"},
                                                                     {"Groups:", "groups"},
                                                                     {"SigBlk:", "signal mask"},
                                                                     {"SigIgn:", "signal handlers"},
                                                                     {"SigCgt:", "signal handlers"},
                                                                     {"CapEff:", "privileges"},
                                                                     {"NoNewPrivs:", "privileges"},
                                                                     {"Seccomp:", "system call filter"}};

std::string limits() {
  std::string text;
  for (int resource = 0; resource < RLIM_NLIMITS; ++resource) {
    rlimit limit{};
    getrlimit(static_cast<decltype(RLIMIT_CPU)>(resource), &limit);
    text += fmt::format("{}:{} ", limit.rlim_cur, limit.rlim_max);
  }
  return text;
}

std::string identity(const struct stat& file) { return fmt::format("{}:{}", file.st_dev, file.st_ino); }

std::string identity_of(const char* path) {
  struct stat found {};
  return stat(path, &found) == 0 ? identity(found) : "unknown";
}

std::string armed_timers() {
  std::string text;
  for (const auto timer : {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF}) {
    itimerval now{};
    getitimer(timer, &now);
    text += now.it_value.tv_sec != 0 || now.it_value.tv_usec != 0 ? '1' : '0';
  }
  return text;
}

std::string environment() {
  std::string text;
  for (char** variable = environ; variable && *variable; ++variable) text.append(*variable) += '\n';
  return text;
}

/// The numbers by which a directory's entries are called; nullopt: it cannot be read, see `failed`.
std::optional<std::vector<int>> numbers_in(const char* directory, std::error_code& failed) {
  std::vector<int> numbers;
  for (fs::directory_iterator entry(directory, failed), end; !failed && entry != end; entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    int number = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), number).ec == std::errc()) numbers.push_back(number);
  }
  return failed ? std::nullopt : std::optional(std::move(numbers));
}

/// A mask without the two signals that the C library keeps for its own work on threads.
std::string signals_in(std::string_view mask) {
  constexpr std::uint64_t of_the_library = std::uint64_t{3} << 31;
  mask.remove_prefix(std::min(mask.find_first_not_of(" \t"), mask.size()));
  std::uint64_t bits = 0;
  std::from_chars(mask.data(), mask.data() + mask.size(), bits, 16);
  return fmt::format("{:x} ", bits & ~of_the_library);
}

// A thread begins with all signals blocked, so only the mask of the first one, which calls this, is compared.
void read_threads(ProcessState& state) {
  std::error_code failed;
  for (const int id : numbers_in("/proc/self/task", failed).value_or(std::vector<int>())) {
    const std::string status = system::read_if_there(fmt::format("/proc/self/task/{}/status", id));
    for (const std::string_view line : base::split_lines(status)) {
      if (line.starts_with("State:")) state.threads[id].running = line.find("R (") != line.npos;
      if (line.starts_with("Cpus_allowed:"))
        state.threads[id].schedule =
            fmt::format("{} {} {}", getpriority(PRIO_PROCESS, static_cast<id_t>(id)), sched_getscheduler(id), line);
      for (const auto& [name, meaning] : status_lines)
        if (id == getpid() && line.starts_with(name))
          state.facts[meaning] += line.starts_with("Sig") ? signals_in(line.substr(name.size())) : std::string(line);
    }
  }
}

void read_descriptors(ProcessState& state) {
  std::error_code failed;
  const auto numbers = numbers_in("/proc/self/fd", failed);
  state.full = failed.value() == EMFILE || failed.value() == ENFILE;
  if (!numbers) return;
  state.descriptors.emplace();
  for (const int number : *numbers) {
    std::error_code closed;  // the one that was open on the directory
    const std::string path = fs::read_symlink(fmt::format("/proc/self/fd/{}", number), closed).string();
    struct stat file {};
    // A thread of the worker that watches the machine may be reading there.
    const bool watching = path.starts_with("/proc/") || path.starts_with("/sys/");
    if (!closed && !watching && !path.starts_with(std::string("/memfd:") + cpu::image_file_name) &&
        fstat(number, &file) == 0)
      state.descriptors->emplace(number, identity(file));
  }
}

}  // namespace

ProcessState process_state() {
  // libuv keeps a pipe from the first loop on, which a check's command may need.
  [[maybe_unused]] static const bool begun = (system::EventLoop(), true);
  ProcessState state;
  state.facts = {{"limits", limits()},
                 {"root directory", identity_of("/")},
                 {"working directory", identity_of(".")},
                 {"timers", armed_timers()},
                 {"environment", environment()}};
  read_threads(state);
  state.own_threads = std::min(host::Engine::cooperative_threads(), state.threads.size());
  read_descriptors(state);
  const std::string maps = system::read_if_there("/proc/self/maps");
  const auto mappings = static_cast<std::size_t>(std::count(maps.begin(), maps.end(), '\n'));
  state.mappings = mappings - std::min(mappings, host::Stacks::guard_mappings());
  return state;
}

ProcessChanges changes(const ProcessState& before, const ProcessState& now) {
  ProcessChanges found;
  std::vector<std::string> faults;
  const auto add = [&](std::size_t count, std::size_t allowed, const char* words) {
    if (count > allowed) faults.push_back(fmt::format(fmt::runtime(words), count, count == 1 ? "" : "s"));
  };
  std::vector<std::string> names;
  for (const auto& [name, value] : before.facts)
    if (const auto same = now.facts.find(name); same != now.facts.end() && same->second != value) names.push_back(name);
  for (const auto& [id, thread] : now.threads) {
    const auto known = before.threads.find(id);
    if (known == before.threads.end())
      found.threads_running = found.threads_running || thread.running;
    else
      found.rescheduled = found.rescheduled || known->second.schedule != thread.schedule;
  }
  std::size_t opened = 0, replaced = 0;
  if (before.descriptors && now.descriptors) {
    for (const auto& [number, file] : *now.descriptors) opened += !before.descriptors->contains(number);
    for (const auto& [number, file] : *before.descriptors) {
      const auto same = now.descriptors->find(number);
      replaced += same == now.descriptors->end() || same->second != file;
    }
  }
  add(opened, 0, "left {} descriptor{} open");
  add(replaced, 0, "closed or replaced {} descriptor{}");
  if (now.full && !before.full && std::find(names.begin(), names.end(), "limits") == names.end())
    faults.emplace_back("left no descriptor free");
  const std::size_t kept = now.threads.size() - now.own_threads, known = before.threads.size() - before.own_threads;
  const std::size_t threads = kept - std::min(kept, known);
  add(threads, few_threads(), "left {} thread{}");
  const std::size_t mappings = now.mappings - std::min(now.mappings, before.mappings);
  if (before.mappings > 0) add(mappings, few_mappings + mappings_a_thread * now.threads.size(), "left {} mapping{}");
  if (!names.empty()) faults.push_back(fmt::format("changed the {}", fmt::join(names, ", the ")));
  found.faults = fmt::format("{}", fmt::join(faults, ", "));
  return found;
}

namespace {

// A thread touches new memory at about 3 GB/s. A query takes about 20 us, less than a thousandth of this.
constexpr std::chrono::milliseconds interval{50};

}  // namespace

MemoryWatch::MemoryWatch(std::function<std::uint64_t()> held, std::function<void(std::uint64_t)> exceeded)
    : held_(std::move(held)),
      exceeded_(std::move(exceeded)),
      thread_([this](const std::stop_token& over) { look(over); }) {}

void MemoryWatch::begin(std::uint64_t limit_bytes) {
  {
    const std::lock_guard lock(mutex_);
    limit_bytes_ = limit_bytes;
  }
  changed_.notify_all();
}

void MemoryWatch::end() {
  const std::lock_guard lock(mutex_);
  limit_bytes_.reset();
}

void MemoryWatch::look(const std::stop_token& over) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, over, [this] { return limit_bytes_.has_value(); })) {
    changed_.wait_for(lock, over, interval, [] { return false; });
    // With the lock held: end() waits, and the code that took the memory cannot send an answer.
    if (limit_bytes_ && !over.stop_requested())
      if (const std::uint64_t bytes = held_(); bytes > *limit_bytes_) return exceeded_(bytes);
    if (over.stop_requested()) return;
  }
}

}  // namespace xtune::worker
