// In the place of CUDA's: xtune_cuda_types.h has the types that kernels' files name.
#pragma once
