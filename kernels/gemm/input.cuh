// The element type of A and B, chosen by the spec: f32, or with INPUT_F16 = 1 f16, with INPUT_BF16 = 1 bf16, with
// INPUT_F8 = 1 f8e4m3.
#pragma once

#include <xtune/narrow.cuh>

#include "../common/portable.cuh"

#ifndef INPUT_F16
#define INPUT_F16 0
#endif
#ifndef INPUT_BF16
#define INPUT_BF16 0
#endif
#ifndef INPUT_F8
#define INPUT_F8 0
#endif

#if INPUT_F16
using Input = xtune::f16;
#elif INPUT_BF16
using Input = xtune::bf16;
#elif INPUT_F8
using Input = xtune::f8e4m3;
#else
using Input = float;
#endif
__device__ inline float to_float(Input value) { return static_cast<float>(value); }
