// The same piece of work for many indices, in several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace xtune::base {

/// Calls work(i) for each i below count, in any order, and returns when all calls are done. threads = 0: as many as the
/// machine has, up to 8. `work` must not throw.
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
  } catch (const std::system_error&) {  // no more threads for this process: those that exist do the work
  }
  loop();
}

/// std::sort; large inputs are sorted in parts in several threads. threads: as above. The comparison must not throw.
template <class T>
void sort_in_threads(std::vector<T>& items, unsigned threads) {
  constexpr std::size_t parts = 8, worth_it = 10'000;
  if (items.size() < worth_it || threads == 1) return std::sort(items.begin(), items.end());
  const auto at = [&](std::size_t part) {
    return items.begin() + static_cast<std::ptrdiff_t>(items.size() * std::min(part, parts) / parts);
  };
  for_each_index(parts, threads, [&](std::size_t i) { std::sort(at(i), at(i + 1)); });
  for (std::size_t step = 1; step < parts; step *= 2)
    for_each_index(parts / (2 * step), threads, [&](std::size_t i) {
      std::inplace_merge(at(2 * i * step), at((2 * i + 1) * step), at((2 * i + 2) * step));
    });
}

}  // namespace xtune::base
