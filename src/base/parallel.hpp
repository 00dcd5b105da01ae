// The same piece of work for many indices, in several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace xtune {

/// Calls work(i) for each i below count, in whatever order, and returns when all is done. threads = 0: as many as the
/// machine has, 8 at most. work throws nothing.
template <class Work>
void for_each_index(std::size_t count, unsigned threads, const Work& work) {
  if (threads == 0) threads = std::min(8u, std::max(1u, std::thread::hardware_concurrency()));
  std::atomic<std::size_t> next{0};
  const auto loop = [&] {
    for (std::size_t i; (i = next++) < count;) work(i);
  };
  std::vector<std::jthread> others;
  try {
    for (std::size_t i = 1; i < std::min<std::size_t>(threads, count); ++i) others.emplace_back(loop);
  } catch (const std::system_error&) {  // no more threads for this process: those that there are do it
  }
  loop();
}

}  // namespace xtune
