// What the builtins share among their source files.
#pragma once

#include <string>
#include <vector>

#include "core/validate/builtin.hpp"

namespace xtune::validate::builtin {

/// Throws Error(invalid_argument) "reference builtin " + message.
[[noreturn]] void fail(const std::string& message);
/// nullptr: not given.
const ArrayView* find_array(const BuiltinCall& call, const std::string& role);
double number(const BuiltinCall& call, const std::string& name, double otherwise);
bool flag(const BuiltinCall& call, const std::string& name);
std::int64_t integer(const BuiltinCall& call, const std::string& name, std::int64_t otherwise);
/// One of the words that the builtin's signature lists for it.
std::string word(const BuiltinCall& call, const std::string& name, const std::string& otherwise);
/// The scalar "axis", where a negative one counts from the end.
std::size_t axis_of(const BuiltinCall& call, const char* builtin, std::size_t rank, std::int64_t otherwise);
/// The whole array in double precision.
std::vector<double> widen(const ArrayView& array);
/// The imaginary parts; zeros of an array of real numbers.
std::vector<double> widen_imaginary(const ArrayView& array);
double root_mean_square(const ArrayView& array);

/// Called with all required arrays present and every array as long as its layout says.
std::vector<std::byte> gemm(const BuiltinCall& call);
ResultFacts gemm_facts(const BuiltinCall& call);
std::vector<std::byte> reduction(const BuiltinCall& call);
ResultFacts reduction_facts(const BuiltinCall& call);
std::vector<std::byte> gemv(const BuiltinCall& call);
ResultFacts gemv_facts(const BuiltinCall& call);
std::vector<std::byte> softmax(const BuiltinCall& call);
ResultFacts softmax_facts(const BuiltinCall& call);
std::vector<std::byte> layernorm(const BuiltinCall& call);
ResultFacts layernorm_facts(const BuiltinCall& call);
std::vector<std::byte> conv2d(const BuiltinCall& call);
ResultFacts conv2d_facts(const BuiltinCall& call);
std::vector<std::byte> attention(const BuiltinCall& call);
ResultFacts attention_facts(const BuiltinCall& call);
std::vector<std::byte> stencil(const BuiltinCall& call);
ResultFacts stencil_facts(const BuiltinCall& call);
std::vector<std::byte> transpose(const BuiltinCall& call);
ResultFacts transpose_facts(const BuiltinCall& call);

}  // namespace xtune::validate::builtin
