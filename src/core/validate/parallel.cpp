// Threads made for one loop: the loops here take milliseconds at least, so a standing pool would gain nothing.
#include "core/validate/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace xtune {

void parallel_for(std::uint64_t count, std::uint64_t grain,
                  const std::function<void(std::uint64_t, std::uint64_t)>& body) {
  grain = std::max<std::uint64_t>(grain, 1);
  const std::uint64_t pieces = count / grain + (count % grain != 0);
  std::atomic<std::uint64_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&] {
    try {
      for (std::uint64_t piece = next++; piece < pieces; piece = next++)
        body(piece * grain, std::min(count, piece * grain + std::min(grain, count - piece * grain)));
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
      next = pieces;
    }
  };
  const std::uint64_t cores = std::clamp<std::uint64_t>(std::thread::hardware_concurrency(), 1, 64);
  std::vector<std::thread> threads;
  for (std::uint64_t i = 1; i < std::min(cores, pieces); ++i) {
    try {
      threads.emplace_back(work);
    } catch (const std::system_error&) {
      break;  // a limit on processes: the threads that did start, and this one, do the work
    }
  }
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace xtune
