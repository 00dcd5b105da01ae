// Functions that the builtins share.
#pragma once

#include <string>
#include <vector>

#include "core/validate/builtin.hpp"

namespace xtune::validate::builtin {

/// Throws Error(invalid_argument) "reference builtin " + message.
[[noreturn]] void fail(const std::string& message);
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

/// Called with all required arrays, each as long as its layout requires.
#define BUILTIN(name, ...)                              \
  std::vector<std::byte> name(const BuiltinCall& call); \
  ResultFacts name##_facts(const BuiltinCall& call);
#include "core/validate/builtins.def"
#undef BUILTIN

}  // namespace xtune::validate::builtin
