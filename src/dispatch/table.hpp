// Prepared launches by context and problem: found without locks while others are added.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/runtime.hpp"
#include "core/device/launch.hpp"
#include "core/measure/device.hpp"
#include "dispatch/arguments.hpp"

namespace xtune::dispatch {

/// Storage for the maps of one launch.
using LaunchMaps = std::array<measure::EncodedTensorMap, max_tensor_maps>;

/// The maps of one prepared problem in one context. Thread-safe.
class EncodedMaps {
 public:
  explicit EncodedMaps(std::vector<measure::TensorMap> maps) : maps_(std::move(maps)), known_(maps_.size()) {}

  /// The maps of a call's arguments. Throws Error(invalid_argument) with the argument for a buffer that the device
  /// cannot read through its map.
  void fill(LaunchMaps& launch, const ArgumentPlan& plan, const void* const* values, backend::Launcher& launcher);

 private:
  const std::vector<measure::TensorMap> maps_;
  std::mutex mutex_;
  std::vector<std::unordered_map<void*, measure::EncodedTensorMap>> known_;  ///< for each map, by address
};

/// Context, fixed part of the problem, and the sizes from the call.
struct Key {
  std::array<std::uint64_t, max_sizes + 2> words;
  std::size_t count = 0;

  std::uint64_t hash() const noexcept {
    std::uint64_t hash = 0x9e3779b97f4a7c15u;
    for (std::size_t i = 0; i < count; ++i) {
      hash = (hash ^ words[i]) * 0xff51afd7ed558ccdu;  // the constant of MurmurHash3's finalizer
      hash ^= hash >> 32;
    }
    return hash;
  }
  bool operator==(const Key& other) const noexcept {
    if (count != other.count) return false;
    for (std::size_t i = 0; i < count; ++i)
      if (words[i] != other.words[i]) return false;
    return true;
  }
};

/// One of the kernels that a call launches.
struct PreparedStep {
  void* handle = nullptr;
  device::Launch launch{};
  std::optional<std::vector<std::size_t>> arguments{};  ///< as device::Step
  std::string name{};                                   ///< as device::Step
};

/// All data that a call needs; immutable, but for a cache.
struct Prepared {
  Key key;
  std::uint64_t hash = 0;
  std::vector<PreparedStep> steps;                   ///< launched one after the other
  bool as_passed = true;                             ///< there is one step, which takes exactly the caller's arguments
  std::vector<measure::ScalarArgument> filled;       ///< added by xtune, in the order of ArgumentPlan::filled_scalars
  std::vector<measure::ScalarArgument> replacing{};  ///< values of some launches, whose positions follow the routes
  std::vector<std::uint64_t> bytes;             ///< minimum size of each passed buffer, for checks; empty: no checks
  std::vector<std::size_t> scratch{};           ///< where the library's memory has each of Omissible::scratch
  std::size_t scratch_bytes = 0;                ///< of all of it
  std::size_t zeroed_bytes = 0;                 ///< of these, from the first on, those that each call zeroes
  std::shared_ptr<EncodedMaps> maps;            ///< of the passed buffers; null: the kernel takes none
  std::string refusal;                          ///< not empty: there are no steps, for this reason
  std::atomic<std::uint64_t>* calls = nullptr;  ///< counter of a log; null: calls are not counted
};

/// Any number of threads may look up while one adds. Entries stay until the end, since a thread that found one may
/// still be using it.
class Table {
 public:
  Table() { publish(16); }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  /// nullptr if it is not in the table.
  const Prepared* find(const Key& key, std::uint64_t hash) const noexcept {
    const Slots* const slots = current_.load(std::memory_order_acquire);
    for (std::uint64_t at = hash & slots->mask;; at = (at + 1) & slots->mask) {
      const Prepared* const entry = slots->entries[at].load(std::memory_order_acquire);
      if (!entry) return nullptr;
      if (entry->hash == hash && entry->key == key) return entry;
    }
  }

  /// Adds it, or replaces the entry with its key.
  const Prepared* put(Prepared entry) {
    const std::lock_guard lock(mutex_);
    entry.hash = entry.key.hash();
    const Prepared* const added = kept_.emplace_back(std::make_unique<const Prepared>(std::move(entry))).get();
    if ((count_ + 1) * 2 > all_.back()->mask + 1) publish((all_.back()->mask + 1) * 2);
    if (place(*all_.back(), added)) ++count_;
    return added;
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  struct Slots {
    explicit Slots(std::uint64_t size) : mask(size - 1), entries(size) {}
    std::uint64_t mask;  ///< size - 1, a power of two
    std::vector<std::atomic<const Prepared*>> entries;
  };

  /// Returns whether its key is new.
  static bool place(Slots& slots, const Prepared* entry) {
    for (std::uint64_t at = entry->hash & slots.mask;; at = (at + 1) & slots.mask) {
      const Prepared* const there = slots.entries[at].load(std::memory_order_relaxed);
      if (there && !(there->hash == entry->hash && there->key == entry->key)) continue;
      slots.entries[at].store(entry, std::memory_order_release);
      return there == nullptr;
    }
  }

  void publish(std::uint64_t size) {
    auto larger = std::make_unique<Slots>(size);
    if (!all_.empty())
      for (const auto& slot : all_.back()->entries)
        if (const Prepared* const entry = slot.load(std::memory_order_relaxed)) place(*larger, entry);
    all_.push_back(std::move(larger));
    current_.store(all_.back().get(), std::memory_order_release);
  }

  std::atomic<const Slots*> current_{nullptr};
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Slots>> all_;  ///< the last one is current
  std::vector<std::unique_ptr<const Prepared>> kept_;
  std::size_t count_ = 0;
};

}  // namespace xtune::dispatch
