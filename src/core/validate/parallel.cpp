// Pieces of a range, in threads made for one loop: the loops here take at least milliseconds, so a permanent pool would
// gain nothing.
#include "core/validate/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "base/parallel.hpp"

namespace xtune::validate {

void parallel_for(std::uint64_t count, std::uint64_t grain,
                  const std::function<void(std::uint64_t, std::uint64_t)>& body) {
  grain = std::max<std::uint64_t>(grain, 1);
  std::exception_ptr failure;
  std::mutex failure_mutex;
  std::atomic<bool> failed{false};
  base::for_each_index(count / grain + (count % grain != 0), std::clamp(std::thread::hardware_concurrency(), 1u, 64u),
                       [&](std::uint64_t piece) {
                         if (failed) return;
                         try {
                           body(piece * grain, piece * grain + std::min(grain, count - piece * grain));
                         } catch (...) {
                           const std::lock_guard lock(failure_mutex);
                           if (!failure) failure = std::current_exception();
                           failed = true;
                         }
                       });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace xtune::validate
