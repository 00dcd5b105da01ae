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
/// Throws as run_builtin for what the layouts and scalars determine; the arrays have no data yet.
void check_builtin(std::string_view name, BuiltinCall call);

}  // namespace xtune::validate

// For the builtins' own files.
namespace xtune::validate::builtin {

/// Throws Error(invalid_argument) "reference builtin " + message.
[[noreturn]] void fail(const std::string& message);
/// "f32[64, 32]".
inline std::string text_of(const ArgumentLayout& layout) { return describe(layout.dtype, layout.shape); }
/// nullptr if it is not given.
const ArrayView* find_array(const BuiltinCall& call, const std::string& role);
double number(const BuiltinCall& call, const std::string& name, double otherwise);
bool flag(const BuiltinCall& call, const std::string& name);
std::int64_t integer(const BuiltinCall& call, const std::string& name, std::int64_t otherwise);
/// One of the words that the builtin's signature lists for it.
std::string word(const BuiltinCall& call, const std::string& name, const std::string& otherwise);
/// The scalar "axis"; a negative one counts from the end.
std::size_t axis_of(const BuiltinCall& call, const char* builtin, std::size_t rank, std::int64_t otherwise);
/// The whole array in double precision.
std::vector<double> widen(const ArrayView& array);
/// The imaginary parts; zeros for an array of real numbers.
std::vector<double> widen_imaginary(const ArrayView& array);
/// The root mean square, up to twice the typical magnitude: a few large values do not change it.
double usual_size(const ArrayView& array);
/// Stores an element of a result: spec::encode, but 8-bit floats saturate, as the conversions of kernels do.
void encode_result(DType type, double value, std::byte* element) noexcept;
/// Stores elements of a call's result: encode_result, but what is made of integers only wraps, as in kernels. Throws as
/// fail() if a double cannot hold what wraps.
class ResultEncoder {
 public:
  explicit ResultEncoder(const BuiltinCall& call);
  void operator()(double value, std::byte* element) const;

 private:
  DType type_;
  bool wraps_;
};

/// Called with all required arrays, each as long as its layout requires.
#define BUILTIN(name, ...)                              \
  std::vector<std::byte> name(const BuiltinCall& call); \
  ResultFacts name##_facts(const BuiltinCall& call);
#include "core/validate/builtins.def"
#undef BUILTIN

}  // namespace xtune::validate::builtin
