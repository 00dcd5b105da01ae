// For compilers without the C library (NVRTC, hipRTC), which have memcpy and memset without a header.
#pragma once
#include "stddef.h"
