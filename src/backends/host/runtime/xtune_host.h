// Everything that a kernel finds when it is compiled for a CPU; included before its first line.
#pragma once
#pragma GCC system_header

#include "xtune_host_entry.h"
#include "xtune_host_half.h"
