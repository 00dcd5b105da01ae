// Parts of CUDA that HIP 5.2's NVIDIA headers need and CUDA 12 and 13 no longer have; include it before any HIP header.
//
// xtune calls none of this: it only has to compile. Texture references, cooperative launches over several devices and
// contexts with flags return "not supported".
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#if CUDART_VERSION >= 12000  // texture references were removed first

template <class... Arguments>
cudaError_t xtune_not_supported(Arguments...) {
  return cudaErrorNotSupported;
}
#define cudaBindTexture xtune_not_supported
#define cudaBindTexture2D xtune_not_supported
#define cudaBindTextureToArray xtune_not_supported
#define cudaGetTextureAlignmentOffset xtune_not_supported

#endif

#if CUDART_VERSION >= 13000

/// cudaDeviceProp with the members that CUDA 13 removed; they are 0.
struct XtuneDeviceProperties : cudaDeviceProp {
  int clockRate, memoryClockRate, computeMode, cooperativeMultiDeviceLaunch, kernelExecTimeoutEnabled;
};
#define cudaDeviceProp XtuneDeviceProperties

// The device parameter became a location; HIP's -1 is the host.
inline cudaMemLocation xtune_location(int device) {
  return cudaMemLocation{device < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice, device < 0 ? 0 : device};
}
#define cudaMemAdvise(address, bytes, advice, device) cudaMemAdvise(address, bytes, advice, xtune_location(device))
#define cudaMemPrefetchAsync(address, bytes, device, stream) \
  cudaMemPrefetchAsync(address, bytes, xtune_location(device), 0, stream)

#define cudaDevAttrCooperativeMultiDeviceLaunch static_cast<cudaDeviceAttr>(96)

#define cudaLaunchCooperativeKernelMultiDevice xtune_not_supported
#undef cuCtxCreate
#define cuCtxCreate(context, flags, device) \
  (static_cast<void>(context), static_cast<void>(flags), CUDA_ERROR_NOT_SUPPORTED)

#endif
