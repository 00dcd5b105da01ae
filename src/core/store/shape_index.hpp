// Finds problems by their sizes: the same one by a hash, the nearest ones by a k-d tree over logarithms.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/space/value.hpp"

namespace xtune::store {

/// Refers to problems by their position in a list. Immutable once made; any number of threads may use it at once.
class ShapeIndex {
 public:
  /// threads as in for_each_index.
  explicit ShapeIndex(const std::vector<const Bindings*>& problems, unsigned threads = 1);
  ~ShapeIndex();

  /// The wanted problem, prepared once for both lookups.
  struct Asked {
    std::uint64_t kind = 0;   ///< hash of the names, and of the values that are not positive numbers
    std::uint64_t sizes = 0;  ///< hash of all sizes
  };
  static Asked ask(const Bindings& problem);

  /// Calls visit(i) for problems that may have a shape_distance of 0 to this one: all that do, and rarely another.
  template <class Visit>
  void each_same(const Asked& asked, const Visit& visit) const {
    if (slots_.empty()) return;
    for (std::size_t slot = slot_of(asked.sizes); slots_[slot].problem != none; slot = (slot + 1) & (slots_.size() - 1))
      if (slots_[slot].tag == tag_of(asked.sizes)) visit(slots_[slot].problem);
  }

  /// Calls visit(i) for the problems with the minimum shape_distance to this one, up to rounding, and perhaps others.
  /// No call: all problems are of another kind.
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
  /// Problems with the same names, and the same values for those that are not positive numbers.
  struct Kind;

  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }
  std::size_t slot_of(std::uint64_t hash) const { return hash & (slots_.size() - 1); }
  void add_slots(const std::vector<Asked>& asked);
  /// Valid until the next call on this thread.
  const std::vector<std::uint32_t>& nearest(const Asked& asked, const Bindings& problem) const;

  std::vector<Slot> slots_;  ///< open addressing; the size is a power of two
  std::unordered_map<std::uint64_t, std::unique_ptr<Kind>> kinds_;
};

}  // namespace xtune::store
