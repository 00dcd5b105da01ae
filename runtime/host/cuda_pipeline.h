// CUDA's header of this name, but only the primitives of asynchronous copies, not cuda::pipeline.
#pragma once
#pragma GCC system_header

#include "cuda_pipeline_primitives.h"
