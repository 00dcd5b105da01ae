// Built-in references, computed on the CPU in double precision.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/validate/inputs.hpp"

namespace xtune {

/// An array given to a builtin: borrowed bytes with their layout.
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

/// Names: gemm (c = alpha a b + beta c; roles a, b, optional c; alpha, beta, transpose_a, transpose_b), reduction (roles x; op =
/// sum | min | max | mean over all elements, or over axis), transpose (role x, 2-D).
std::vector<std::string> builtin_names();
/// The roles a builtin needs and accepts, for checks of the spec.
struct BuiltinSignature {
  std::vector<std::string> required, optional;
};
const BuiltinSignature* builtin_signature(std::string_view name) noexcept;
/// The output's bytes, in its dtype. Uses all cores. Shapes that do not fit throw Error(invalid_argument) naming them.
std::vector<std::byte> run_builtin(std::string_view name, const BuiltinCall& call);

}  // namespace xtune
