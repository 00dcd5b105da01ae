// Finds problems by their sizes: the same one by a hash, the nearest ones by a k-d tree over logarithms.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/space/value.hpp"

namespace xtune::store {

/// Knows problems by their place in a list. Immutable once made; any number of threads may ask it at once.
class ShapeIndex {
 public:
  /// threads as in for_each_index.
  explicit ShapeIndex(const std::vector<const Bindings*>& problems, unsigned threads = 1);
  ~ShapeIndex();

  /// What is asked for, worked out once for both questions.
  struct Asked {
    std::uint64_t kind = 0;   ///< hash of the names, and of the values that are no positive numbers
    std::uint64_t sizes = 0;  ///< of all
  };
  static Asked ask(const Bindings& problem);

  /// visit(i) of those that may have a shape_distance of 0 to this problem: all that do, and rarely another.
  template <class Visit>
  void each_same(const Asked& asked, const Visit& visit) const {
    if (slots_.empty()) return;
    for (std::size_t slot = slot_of(asked.sizes); slots_[slot].problem != none; slot = (slot + 1) & (slots_.size() - 1))
      if (slots_[slot].tag == tag_of(asked.sizes)) visit(slots_[slot].problem);
  }

  /// visit(i) of those whose shape_distance to this problem is the least, but for rounding, and perhaps others. None:
  /// every one is of another kind.
  template <class Visit>
  void each_nearest(const Asked& asked, const Bindings& problem, const Visit& visit) const {
    for (const std::uint32_t place : nearest(asked, problem)) visit(place);
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t problem = none;
  };
  /// Problems of the same names, and of the same values where these are no positive numbers.
  struct Kind;

  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }
  std::size_t slot_of(std::uint64_t hash) const { return hash & (slots_.size() - 1); }
  void add_slots(const std::vector<Asked>& asked);
  /// Valid until the thread asks again.
  const std::vector<std::uint32_t>& nearest(const Asked& asked, const Bindings& problem) const;

  std::vector<Slot> slots_;  ///< open addressing; a power of two of them
  std::unordered_map<std::uint64_t, std::unique_ptr<Kind>> kinds_;
};

}  // namespace xtune::store
