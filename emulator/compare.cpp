// Comparisons of the vector unit: a bit for each lane, to a scalar register (v_cmp) or to the execution mask (v_cmpx).
#include <algorithm>

#include "emulator/arithmetic.hpp"
#include "emulator/lanes.hpp"
#include "emulator/operations.hpp"

namespace xtune::emulator {
namespace {

double number(Half value) { return to_double(value); }
template <class T>
T number(T value) {
  return value;
}

template <auto F>
void compare_to_exec(Wave& wave, const Instruction& in) {
  // gfx9 writes a scalar register too; from gfx10 on, the execution mask is the only target.
  Instruction to_mask;
  to_mask.operand = in.operand;
  to_mask.operands = in.operands;
  to_mask.modifiers = in.modifiers;
  if (in.operands == 2) {
    std::copy(in.operand.begin(), in.operand.begin() + 2, to_mask.operand.begin() + 1);
    to_mask.operands = 3;
    to_mask.operand[0].kind = OperandKind::scalar;
    to_mask.operand[0].index = scalar_register::exec;
  }
  each_lane<F>(wave, to_mask);
  const std::uint64_t bits = lane_bits(wave, to_mask.operand[0]);
  std::memcpy(&wave.scalar[scalar_register::exec], &bits, sizeof bits);
}

// Both forms of a comparison.
#define COMPARISON(name, type, expression)               \
  {"v_cmp_" name, each_lane<[](type x, type y) {         \
     const auto a = number(x), b = number(y);            \
     return (expression);                                \
   }>},                                                  \
  {                                                      \
    "v_cmpx_" name, compare_to_exec<[](type x, type y) { \
      const auto a = number(x), b = number(y);           \
      return (expression);                               \
    }>                                                   \
  }
#define INTEGER_COMPARISONS(suffix, type)                                            \
  COMPARISON("lt_" suffix, type, a < b), COMPARISON("eq_" suffix, type, a == b),     \
      COMPARISON("le_" suffix, type, a <= b), COMPARISON("gt_" suffix, type, a > b), \
      COMPARISON("ne_" suffix, type, a != b), COMPARISON("ge_" suffix, type, a >= b)
#define REAL_COMPARISONS(suffix, type)                                                                  \
  COMPARISON("lt_" suffix, type, a < b), COMPARISON("eq_" suffix, type, a == b),                        \
      COMPARISON("le_" suffix, type, a <= b), COMPARISON("gt_" suffix, type, a > b),                    \
      COMPARISON("lg_" suffix, type, a<b || a> b), COMPARISON("ge_" suffix, type, a >= b),              \
      COMPARISON("o_" suffix, type, a == a && b == b), COMPARISON("u_" suffix, type, a != a || b != b), \
      COMPARISON("nge_" suffix, type, !(a >= b)), COMPARISON("nlg_" suffix, type, !(a < b || a > b)),   \
      COMPARISON("ngt_" suffix, type, !(a > b)), COMPARISON("nle_" suffix, type, !(a <= b)),            \
      COMPARISON("neq_" suffix, type, !(a == b)), COMPARISON("nlt_" suffix, type, !(a < b))

// Both forms of a comparison with a set of classes.
#define CLASS_COMPARISON(suffix, type)                                                              \
  {"v_cmp_class_" suffix, each_lane<[](type x, U classes) { return in_class(x, classes); }>}, {     \
    "v_cmpx_class_" suffix, compare_to_exec<[](type x, U classes) { return in_class(x, classes); }> \
  }

constexpr Operation compare_table[] = {
    INTEGER_COMPARISONS("u16", U16), INTEGER_COMPARISONS("i16", I16), INTEGER_COMPARISONS("u32", U),
    INTEGER_COMPARISONS("i32", I),   INTEGER_COMPARISONS("u64", U64), INTEGER_COMPARISONS("i64", I64),
    REAL_COMPARISONS("f16", Half),   REAL_COMPARISONS("f32", float),  REAL_COMPARISONS("f64", double),
    CLASS_COMPARISON("f16", Half),   CLASS_COMPARISON("f32", float),  CLASS_COMPARISON("f64", double),
};

#undef COMPARISON
#undef INTEGER_COMPARISONS
#undef REAL_COMPARISONS
#undef CLASS_COMPARISON

}  // namespace

const OperationTable compare_operations{Kind::vector, compare_table};

}  // namespace xtune::emulator
