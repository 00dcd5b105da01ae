// HIP's declarations, without the macro __noinline__, which breaks attributes of the standard library (GCC 16's
// <format>).
#pragma once

#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

#undef __noinline__
