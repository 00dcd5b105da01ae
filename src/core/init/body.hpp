// What a kernel's body shows of its arguments and its launch, and C++ expressions as a spec writes them.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/init/source.hpp"

namespace xtune::init {

struct PointerUse {
  std::set<std::string> sizes;   ///< integer arguments that its indices come from
  std::set<std::size_t> blocks;  ///< axes (0: x) of blockIdx that its indices come from, without a limit
  bool rows = false;             ///< a size is a factor of an index, as in row * n + column
  bool data = false;             ///< its indices come from what another argument holds
  bool only_first = false;       ///< no index has a name
  bool passed = false;           ///< to a function: not all of its uses are seen
  bool read = false, written = false;
};

/// One axis of the launch.
struct AxisUse {
  bool thread = false, block = false, block_size = false;  ///< threadIdx, blockIdx, blockDim
  Tokens threads;               ///< of a block: F in blockIdx.x * F + threadIdx.x, or the stride of a loop over threads
  std::vector<Tokens> tile;     ///< factors of blockIdx: what a block covers; empty: one
  std::set<std::string> sizes;  ///< the arguments that limit an index made of blockIdx
};

struct BodyUse {
  std::map<std::string, PointerUse> pointers;
  std::array<AxisUse, 3> axes;
  std::set<std::string> strides;  ///< single words by which loops go on: j += ROWS
  std::string shared_type;        ///< of extern __shared__; empty: there is none
};

/// Names are followed through definitions and comparisons; control flow does not matter. sizes: the integer arguments.
BodyUse body_use(const Tokens& body, const std::set<std::string>& sizes, const std::set<std::string>& pointers);

class SpecExpressions {
 public:
  /// expressions: what macros and constants stand for; it outlives this.
  explicit SpecExpressions(const std::map<std::string, Tokens>& expressions) : expressions_(&expressions) {}

  /// A name of the source has this text in the spec: a parameter, a problem size, "blockDim.x".
  void set(const std::string& name, const std::string& text) { names_[name] = text; }
  bool has(const std::string& name) const { return names_.contains(name); }

  /// Integers, names and + - * / % ( ), with macros and constants replaced, and without brackets around all of it.
  /// nullopt: something else is in it.
  std::optional<std::string> text_of(const Tokens& tokens, int depth = 0) const;

 private:
  std::optional<std::string> operand(const std::string& name, int depth) const;

  const std::map<std::string, Tokens>* expressions_;
  std::map<std::string, std::string> names_;
};

}  // namespace xtune::init
