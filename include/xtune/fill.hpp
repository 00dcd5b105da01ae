// How an input without given data is filled.
#pragma once

namespace xtune {

/// A rule that fills an input, the same for every run with the same seed. docs/validation.md lists the values for each
/// type.
enum class Fill {
  automatic,  ///< small random numbers that suit the type ("auto" in a spec)
  integer,    ///< small random integers, also in floating-point types
  uniform,    ///< uniform random numbers: floating-point types in (-1, 1), integers over the whole range
  normal,     ///< normal random numbers: mean 0, deviation 1
  randn,      ///< the same as normal
  zero,       ///< all zero
  one,        ///< all one
  range       ///< 0, 1, 2, ...
};

}  // namespace xtune
