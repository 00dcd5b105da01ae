// As CUDA's: of asynchronous copies the primitives alone, not cuda::pipeline.
#pragma once
#pragma GCC system_header

#include "cuda_pipeline_primitives.h"
