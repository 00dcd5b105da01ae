// What a kernel's body shows of its arguments and its launch.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/init/expressions.hpp"

namespace xtune::init {

/// An index is below the product of the extents, and stays there with `slack` added.
struct Bound {
  std::vector<std::string> extents;  ///< as the spec writes them
  std::int64_t slack = 0;
};

/// What bounds the indices of a body: comparisons, and the products that rows and columns are made with. Names are
/// followed through definitions; control flow does not matter.
class IndexBounds {
 public:
  /// fixed: names of the spec that an extent may have.
  IndexBounds(const Tokens& tokens, const SpecExpressions& values, std::set<std::string> fixed);

  /// "blockIdx.x" is below the product of these from now on.
  void set(const std::string& place, const std::vector<std::string>& extents) { places_[place] = extents; }
  /// Of an index that is used at a token of the body; nullopt: nothing proves one.
  std::optional<Bound> of(const Tokens& index, std::size_t at) const {
    int steps = 0;
    return of(index, at, steps);
  }
  /// The limits of names that are made of this one.
  std::vector<std::vector<std::string>> limits_of(const std::string& place) const;
  /// The words of an expression, and of the definitions of these.
  std::set<std::string> words_behind(const Tokens& tokens) const;
  /// What a word is defined as, and nothing else; else the expression itself.
  Tokens resolved(Tokens expression) const;
  /// Whether the name counts up from this word.
  bool starts_at(const std::string& name, const std::string& word) const;

 private:
  std::optional<Bound> of(const Tokens& index, std::size_t at, int& steps) const;
  std::optional<Bound> of_product(const Tokens& product, std::size_t at, int& steps) const;
  std::optional<Bound> of_word(const std::string& word, std::size_t at, int& steps) const;
  /// Of a product of fixed names and numbers; none if anything else is in it.
  std::vector<std::string> factors_of(const Tokens& tokens) const;

  SpecExpressions values_;
  std::set<std::string> fixed_, changed_;
  std::map<std::string, std::vector<std::string>> places_;
  // By name or expression, and in the order of the body: where, and what.
  std::map<std::string, std::vector<std::pair<std::size_t, Tokens>>> definitions_;
  std::map<std::string, std::vector<std::pair<std::size_t, Bound>>> limits_;
};

struct PointerUse {
  std::vector<std::pair<std::size_t, Tokens>> indices;  ///< where it is used, and the index there
  std::set<std::string> data;                           ///< other arguments that hold its indices
  std::set<std::string> indexed_by;                     ///< those whose elements are such an index as they are
  bool passed = false;                                  ///< to a function: not all of its uses are seen
  bool read = false, written = false;
};

/// One axis of the launch.
struct AxisUse {
  bool thread = false, block = false, block_size = false;  ///< threadIdx, blockIdx, blockDim
  std::vector<Tokens> threads, strides;          ///< F in blockIdx.x * F + threadIdx.x; strides of loops over threads
  std::vector<Tokens> tile;                      ///< factors of blockIdx: what a block covers; empty: one
  std::vector<std::vector<std::string>> limits;  ///< the extents that limit an index made of blockIdx
};

struct BodyUse {
  std::optional<IndexBounds> indices;
  std::map<std::string, PointerUse> pointers;
  std::array<AxisUse, 3> axes;
  std::set<std::string> strides;  ///< single words by which loops go on: j += ROWS
  std::string shared_type;        ///< of extern __shared__; empty: there is none
};

/// values: the spec's names of integer arguments and macros. fixed: those that do not change between configurations.
BodyUse body_use(const Tokens& body, const SpecExpressions& values, const std::set<std::string>& fixed,
                 const std::set<std::string>& pointers);

}  // namespace xtune::init
