// Reads /proc/self/task, and queries the system about each thread there.
#include "base/thread_state.hpp"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string>

namespace xtune::base {
namespace {

constexpr std::size_t cpu_bytes = 8192 / 8;  // maximum number of CPUs of Linux builds

std::vector<unsigned char> affinity_of(int thread) {
  std::array<unsigned char, cpu_bytes> bits{};
  if (sched_getaffinity(thread, bits.size(), reinterpret_cast<cpu_set_t*>(bits.data())) != 0) return {};
  const auto last = std::find_if(bits.rbegin(), bits.rend(), [](unsigned char byte) { return byte != 0; });
  return {bits.begin(), last.base()};
}

}  // namespace

ThreadStates thread_states() {
  ThreadStates states;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", failed)) {
    const std::string name = entry.path().filename().string();
    int thread = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), thread).ec != std::errc()) continue;
    errno = 0;
    const int nice = getpriority(PRIO_PROCESS, static_cast<id_t>(thread));
    if (errno != 0) continue;  // it has ended
    states[thread] = {nice, sched_getscheduler(thread), affinity_of(thread)};
  }
  return states;
}

bool any_rescheduled(const ThreadStates& before, const ThreadStates& now) {
  return std::any_of(before.begin(), before.end(), [&](const auto& thread) {
    const auto found = now.find(thread.first);
    return found != now.end() && found->second != thread.second;
  });
}

}  // namespace xtune::base
