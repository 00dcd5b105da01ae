// For compilers without the C library (NVRTC, hipRTC), which have clock without a header.
#pragma once
#include "stddef.h"

#if defined(__CUDACC__)
typedef long long time_t;  // as libcu++ has it
#else
typedef long time_t;
#endif
