// Built-in references, computed on the CPU in double precision.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/validate/inputs.hpp"
#include "core/validate/tolerance.hpp"

namespace xtune::validate {

/// An array for a builtin: bytes, which are not owned, and their layout.
struct ArrayView {
  const ArgumentLayout* layout = nullptr;
  std::span<const std::byte> data;
};

/// Inputs of a builtin by role ("a", "b", "x"), its scalars ("alpha", "beta"), and the layout of the output it fills.
struct BuiltinCall {
  std::map<std::string, ArrayView> arrays;
  std::map<std::string, Value> scalars;
  const ArgumentLayout* output = nullptr;
};

/// gemm: output[M, N] = alpha a b + beta c. Arrays a [M, K] ([K, M] with transpose_a), b [K, N] ([N, K] with
/// transpose_b), and c
///   [M, N] (needed when beta is not 0). Scalars alpha = 1, beta = 0, transpose_a = false, transpose_b = false.
/// reduction: op = "sum" (default), "min", "max" or "mean" of x, over all elements into one, or over `axis` (negative
/// counts from the
///   end) into x's shape without that axis (or with extent 1 there). Integers are summed exactly; a NaN makes min and
///   max NaN.
/// transpose: output[N, M] of x[M, N].
/// gemv, softmax, layernorm, conv2d, attention, stencil: docs/validation.md gives formulas, arrays and scalars.
std::vector<std::string> builtin_names();
/// The roles that a builtin needs and accepts, for checks of the spec: required and optional arrays, scalars, and for
/// scalars that take a word, the words.
struct BuiltinSignature {
  std::vector<std::string> required, optional, scalars;
  std::map<std::string, std::vector<std::string>> words;
};
const BuiltinSignature* builtin_signature(std::string_view name) noexcept;
/// The output's bytes, in its dtype: each element is computed in double precision and rounded once, with the same
/// result on any number of cores. Uses all cores. Throws Error(invalid_argument) with the names for shapes that do not
/// fit, missing roles and scalars of the wrong type.
std::vector<std::byte> run_builtin(std::string_view name, const BuiltinCall& call);
/// How many terms form one element of the output, and its magnitude for random terms. call: must be valid for
/// run_builtin.
ResultFacts builtin_facts(std::string_view name, const BuiltinCall& call);

}  // namespace xtune::validate
