// Configurations as numbers that a model can learn from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/space/space.hpp"

namespace xtune::search {

/// Turns value indices into features, using only the parameters; each is 0 .. 1 over the values of its parameter.
///
/// A positive number becomes its logarithm, since sizes of tiles and blocks act by their ratios. If the exponent of two
/// in it differs from that, it is another feature, since warps, banks and vectors come in powers of two. A zero among
/// the values (usually "off") is placed half a range below the smallest positive value. Numbers of both signs stay as
/// they are. Strings become one feature for each value. Parameters with one value have no features.
class Features {
 public:
  explicit Features(const space::Space& space);

  /// Number of features for models that use distances.
  std::size_t plain_count() const noexcept { return columns_.size(); }
  void plain(std::span<const std::uint32_t> value_indices, float* features) const;

  /// Number of features for models that split: the plain ones, then unscaled logarithms of products and quotients of
  /// pairs of positive parameters. Threads of a block, elements of a tile and elements per thread are such products and
  /// quotients.
  std::size_t all_count() const noexcept { return columns_.size() + 2 * pairs_.size(); }
  void all(std::span<const std::uint32_t> value_indices, float* features) const;

 private:
  struct Column {
    std::size_t parameter = 0;
    std::vector<float> values;  // by value index
  };
  struct Pair {
    std::size_t left = 0, right = 0;  // in logarithms_
  };
  void add_numbers(std::size_t parameter, const std::vector<double>& numbers);
  void add_words(std::size_t parameter, std::size_t count);

  std::vector<Column> columns_;
  std::vector<Column> logarithms_;  // to base two, of parameters that are always positive
  std::vector<Pair> pairs_;
};

}  // namespace xtune::search
