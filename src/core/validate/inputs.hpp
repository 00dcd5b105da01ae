// Makes input data by fill rule, reproducibly, and poison for outputs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/spec/spec.hpp"
#include "xtune/value.hpp"

namespace xtune::validate {

/// An argument with its shape for one problem.
struct ArgumentLayout {
  std::string name;
  spec::ArgRole role = spec::ArgRole::in;
  DType dtype = DType::f32;
  std::vector<std::uint64_t> shape;
  Fill fill = Fill::automatic;
  std::filesystem::path file;           ///< absolute .npy, instead of fill
  std::string at{};                     ///< its place in the spec, "gemm.toml:21:1", for messages; may be empty
  std::vector<std::byte> value{};       ///< each element, or all, instead of fill and file; empty: none is given
  std::vector<std::int64_t> numbers{};  ///< of the fill
  std::vector<ArgumentLayout> like{};   ///< the argument with these contents; empty: it has its own
  std::vector<std::size_t> permute{};   ///< of `like`: the order of its dimensions here; empty: as they are
  std::string formula{};                ///< of Fill::formula: the expression
  Bindings names{};                     ///< of the formula, but those of an element's place
  std::string sum_of{};                 ///< the scratch buffer that is added up into this output; empty: none
  /// The product of the extents; 2^64 - 1 if it is larger than that. An empty shape is one element.
  std::uint64_t elements() const noexcept;
  std::uint64_t bytes() const noexcept;
};

/// layout.bytes(), if this machine can hold them. Throws Error(invalid_argument) with the argument and its shape if the
/// product of the extents exceeds 2^63 or limit_bytes (0: the machine's physical memory).
std::uint64_t layout_bytes(const ArgumentLayout& layout, std::uint64_t limit_bytes = 0);

/// "f32[64, 32]".
std::string describe(DType dtype, const std::vector<std::uint64_t>& shape);

/// Fills data (layout.bytes() long, else std::invalid_argument). The result depends only on seed, argument name, shape
/// and index of an element, so it is the same on any number of threads. automatic: unsigned integers [0,3), signed
/// [-2,3), floats uniform (-1,1), fp8 small integers [-2,3), bool 0/1. integer: the same small integers for every type,
/// including floats (unsigned and bool as above). uniform: floats in (-1,1); integers over the dtype's whole range.
/// normal, randn: mean 0, standard deviation 1 (Box and Muller 1958); integers truncate. range: 0, 1, 2, ..., from 0
/// again when the type can no longer represent every integer (after 2047 in f16, 127 in i8). The parts of complex
/// numbers are filled separately, but they are real for zero, one, range and the fills below.
///
/// integers: uniform from the first number to below the second. Of each row, which is the last dimension: sorted: one
/// random number of each of as many equal parts of the range of uniform, or of integers if it has numbers. permutation:
/// 0, 1, ... in random order (Fisher and Yates). one_hot: ones at as many random places as its number says (1), zeros
/// elsewhere (Knuth's algorithm S). offsets: 0, then random integers in ascending order whose differences are
/// distributed like those of sorted uniform numbers, then its number.
///
/// formula: each element by itself. A value that does not fit the type, or cannot be computed, throws
/// Error(invalid_argument) that names the element.
///
/// A file must have the layout's shape and dtype, else Error(invalid_argument) names both. bf16 and fp8 are read from
/// files of u16 and u8, as NumPy has no such types.
void fill_input(const ArgumentLayout& layout, std::uint64_t seed, std::span<std::byte> data);

/// Checks without reading data whether the numbers of its fill, or the header of its file, fit the argument. Throws
/// Error(invalid_argument); for a file as fill_input does.
void check_contents(const ArgumentLayout& layout);

/// The contents of outputs before a validated launch. A kernel that reads them must not be right by accident: the
/// maximum of a number and a NaN is the number, and so is that of a number and a small one.
enum class Poison {
  usual,  ///< FF for floats and complex numbers, which is a NaN; A5 for the rest, because FF is -1 or the maximum
          ///< there: usual results of a search that finds nothing
  high,   ///< 7B: a large positive number of every type
  low,    ///< FB, a large negative number, for floats and complex numbers; 01 for the rest, for which the usual poison
          ///< is negative
};
/// The byte that poisons outputs of this type.
std::byte poison_byte(DType type, Poison poison = Poison::usual) noexcept;
/// Whether each byte of an element is this poison.
bool holds_poison(DType type, const std::byte* element, Poison poison = Poison::usual) noexcept;
/// Whether all bytes of an element are the same poison.
bool holds_any_poison(DType type, const std::byte* element) noexcept;
/// The size of the guard zones before and after every buffer.
inline constexpr std::size_t guard_bytes = 4096;

}  // namespace xtune::validate
