// How an input without given data is filled.
#pragma once

namespace xtune {

/// A rule that fills an input, the same for every run with the same seed. docs/validation.md lists the values for each
/// type.
enum class Fill {
  automatic,    ///< small random numbers that suit the type ("auto" in a spec)
  integer,      ///< small random integers, also in floating-point types
  uniform,      ///< uniform random numbers: floating-point types in (-1, 1), integers over the whole range
  normal,       ///< normal random numbers: mean 0, deviation 1
  randn,        ///< the same as normal
  zero,         ///< all zero
  one,          ///< all one
  range,        ///< 0, 1, 2, ...
  sorted,       ///< random numbers of each row in ascending order; with two numbers: integers as of `integers`
  permutation,  ///< 0, 1, 2, ... of each row in random order
  one_hot,      ///< a one at a random place of each row, or as many as its number says, between zeros
  integers,     ///< random integers from its first number to below its second
  offsets,      ///< where the rows of a sparse matrix begin: from 0 in ascending order to its number
  formula       ///< the value of an expression, in which `index` is an element's number, and i0, i1, ... its places
};

}  // namespace xtune
