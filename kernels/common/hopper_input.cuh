// The element type of kernels for Hopper whose inputs have 16 bits: bf16 if INPUT_BF16 is 1, else f16.
#pragma once

#include <xtune/hopper.cuh>
#include <xtune/narrow.cuh>

namespace hopper = xtune::hopper;

#if INPUT_BF16
using Element = xtune::bf16;
#else
using Element = xtune::f16;
#endif
constexpr hopper::Type type = INPUT_BF16 ? hopper::Type::bf16 : hopper::Type::f16;
