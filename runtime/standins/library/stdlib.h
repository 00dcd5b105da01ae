// For compilers without the C library (NVRTC, hipRTC), which have malloc and free without a header.
#pragma once
#include "stddef.h"

#undef EXIT_SUCCESS
#define EXIT_SUCCESS 0
#undef EXIT_FAILURE
#define EXIT_FAILURE 1
#undef RAND_MAX
#define RAND_MAX 2147483647
