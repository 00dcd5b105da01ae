// For compilers without the C library (NVRTC, hipRTC), which have printf without a header.
#pragma once
#include "stddef.h"
