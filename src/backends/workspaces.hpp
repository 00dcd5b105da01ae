// Memory for what launches compute on the way, which belongs to the library: one block for each queue of launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace xtune::backend {

/// Launches that run one after the other, and so may use the same memory.
struct Queue {
  std::uintptr_t context = 0;
  const void* order = nullptr;  ///< the stream, or what stands for the calling thread
  std::uint64_t capture = 0;    ///< the graph that the stream is captured into; 0: none
  auto operator<=>(const Queue&) const = default;
};

/// Thread-safe. Blocks grow at least twofold and stay until the end: a launch in flight, another thread, or a graph may
/// still use an older one.
class Workspaces {
 public:
  /// Owns the memory. captured: the stream is being captured. Throws Error(unavailable) if there is not enough.
  using Allocate = std::function<std::shared_ptr<void>(std::size_t bytes, void* stream, bool captured)>;
  explicit Workspaces(Allocate allocate);
  Workspaces(const Workspaces&) = delete;
  Workspaces& operator=(const Workspaces&) = delete;

  /// At least `bytes`, for launches in the stream, whose queue this is; without locks if the thread's last calls had
  /// the same queue. Throws what allocate throws.
  void* block(const Queue& queue, void* stream, std::size_t bytes);

 private:
  struct Block {
    void* address = nullptr;
    std::size_t bytes = 0;
  };
  /// What a thread remembers.
  struct Known {
    std::uint64_t owner = 0;
    Queue queue;
    Block block;
  };
  Block grown(const Queue& queue, void* stream, std::size_t bytes);

  const std::uint64_t id_;  ///< of this object only, in the process
  const Allocate allocate_;
  std::mutex mutex_;
  std::map<Queue, Block> blocks_;
  std::vector<std::shared_ptr<void>> kept_;
};

}  // namespace xtune::backend
