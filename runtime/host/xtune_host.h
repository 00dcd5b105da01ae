// Everything that is available to a kernel that is compiled for a CPU; included before its first line.
#pragma once
#pragma GCC system_header

#include "xtune_host_entry.h"
#include "xtune_host_half.h"
// After what it builds on.
#include <xtune_cuda_types.h>
#include <xtune_functions.h>
#include <xtune_hip_types.h>
