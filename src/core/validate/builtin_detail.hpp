// What the builtins share among their source files.
#pragma once

#include <string>
#include <vector>

#include "core/validate/builtin.hpp"

namespace xtune::builtin {

/// Throws Error(invalid_argument) "reference builtin " + message.
[[noreturn]] void fail(const std::string& message);
/// nullptr: not given.
const ArrayView* find_array(const BuiltinCall& call, const std::string& role);
double number(const BuiltinCall& call, const std::string& name, double otherwise);
bool flag(const BuiltinCall& call, const std::string& name);
/// The whole array in double precision.
std::vector<double> widen(const ArrayView& array);
double root_mean_square(const ArrayView& array);

/// Called with all required arrays present and every array as long as its layout says.
std::vector<std::byte> gemm(const BuiltinCall& call);
ResultFacts gemm_facts(const BuiltinCall& call);
std::vector<std::byte> reduction(const BuiltinCall& call);
ResultFacts reduction_facts(const BuiltinCall& call);
std::vector<std::byte> transpose(const BuiltinCall& call);
ResultFacts transpose_facts(const BuiltinCall& call);

}  // namespace xtune::builtin
