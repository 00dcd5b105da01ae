// The parts of the CUDA driver API and of NVRTC that xtune uses: types, values and calls. Their libraries are opened at
// run time, so no CUDA header or library is needed to build.
//
// From NVIDIA's documentation: CUDA Driver API (CUresult, CUdevice_attribute, ...) and NVRTC, CUDA 13.0. Everything
// here is unchanged since CUDA 11.0, unless a newer version is stated. Calls have the names that the libraries export:
// cuMemAlloc is a macro for cuMemAlloc_v2 in cuda.h. tests/unit/backends/gpu/test_cuda_abi.cpp compares with NVIDIA's
// headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace xtune::cuda {

using CUdevice = int;                    // an ordinal
using CUdeviceptr = unsigned long long;  // on 64-bit platforms
using CUcontext = void*;
using CUmodule = void*;
using CUfunction = void*;
using CUstream = void*;
using CUevent = void*;
using CUgraph = void*;
using CUgraphExec = void*;

struct CUuuid {
  char bytes[16];
};

enum CUresult : int {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_DEINITIALIZED = 4,
  CUDA_ERROR_STUB_LIBRARY = 34,
  CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_ECC_UNCORRECTABLE = 214,
  CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
  CUDA_ERROR_ASSERT = 710,
  CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
  CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
  CUDA_ERROR_MISALIGNED_ADDRESS = 716,
  CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
  CUDA_ERROR_INVALID_PC = 718,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_SYSTEM_NOT_READY = 802,
  CUDA_ERROR_MPS_CONNECTION_FAILED = 805,
  CUDA_ERROR_MPS_CLIENT_TERMINATED = 810,
  CUDA_ERROR_UNKNOWN = 999,
};

enum CUdevice_attribute : int {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
  CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
  CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS = 88,
  CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
};

enum CUfunction_attribute : int {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
};

enum CUpointer_attribute : int {
  CU_POINTER_ATTRIBUTE_CONTEXT = 1,
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9
};
enum CUmemorytype : unsigned { CU_MEMORYTYPE_DEVICE = 2 };
enum CUstreamCaptureStatus : int { CU_STREAM_CAPTURE_STATUS_NONE = 0 };
enum CUstreamCaptureMode : int { CU_STREAM_CAPTURE_MODE_RELAXED = 2 };
enum CUtensorMapDataType : int {  // CUDA 12.0, as all of CUtensorMap*
  CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
  CU_TENSOR_MAP_DATA_TYPE_UINT16 = 1,
  CU_TENSOR_MAP_DATA_TYPE_UINT32 = 2,
  CU_TENSOR_MAP_DATA_TYPE_INT32 = 3,
  CU_TENSOR_MAP_DATA_TYPE_UINT64 = 4,
  CU_TENSOR_MAP_DATA_TYPE_INT64 = 5,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 6,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32 = 7,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT64 = 8,
  CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 = 9,
  CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 = 11,
};
enum CUtensorMapInterleave : int {
  CU_TENSOR_MAP_INTERLEAVE_NONE = 0,
  CU_TENSOR_MAP_INTERLEAVE_16B = 1,
  CU_TENSOR_MAP_INTERLEAVE_32B = 2,
};
enum CUtensorMapSwizzle : int {
  CU_TENSOR_MAP_SWIZZLE_NONE = 0,
  CU_TENSOR_MAP_SWIZZLE_32B = 1,
  CU_TENSOR_MAP_SWIZZLE_64B = 2,
  CU_TENSOR_MAP_SWIZZLE_128B = 3,
};
enum CUtensorMapL2promotion : int {
  CU_TENSOR_MAP_L2_PROMOTION_NONE = 0,
  CU_TENSOR_MAP_L2_PROMOTION_L2_64B = 1,
  CU_TENSOR_MAP_L2_PROMOTION_L2_128B = 2,
  CU_TENSOR_MAP_L2_PROMOTION_L2_256B = 3,
};
enum CUtensorMapFloatOOBfill : int {
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0,
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA = 1,
};
/// Aligned to 64 bytes before CUDA 13.0.
struct alignas(128) CUtensorMap {
  unsigned long long opaque[16];
};
enum CUlaunchAttributeID : int { CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4 };

// Flags. The last one's name is a macro in cuda.h.
constexpr unsigned CU_STREAM_DEFAULT = 0, CU_EVENT_DEFAULT = 0;
constexpr unsigned memory_seen_by_the_device = 2;  // CU_MEMHOSTALLOC_DEVICEMAP

/// CUDA 11.8. The values of other attributes share the 64 bytes.
union CUlaunchAttributeValue {
  alignas(8) char pad[64];
  struct {
    unsigned x, y, z;
  } clusterDim;
  int cooperative;
};
struct CUlaunchAttribute {
  CUlaunchAttributeID id;
  char pad[8 - sizeof(CUlaunchAttributeID)];
  CUlaunchAttributeValue value;
};
struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned numAttrs;
};

/// CALL(name, parameters); all return CUresult. Every driver since CUDA 11.0 has these.
#define XTUNE_CUDA_DRIVER_CALLS(CALL)                                                                      \
  CALL(cuInit, (unsigned flags))                                                                           \
  CALL(cuDriverGetVersion, (int* version))                                                                 \
  CALL(cuGetErrorName, (CUresult, const char** name))                                                      \
  CALL(cuGetErrorString, (CUresult, const char** words))                                                   \
  CALL(cuDeviceGetCount, (int* count))                                                                     \
  CALL(cuDeviceGet, (CUdevice*, int index))                                                                \
  CALL(cuDeviceGetName, (char* name, int size, CUdevice))                                                  \
  CALL(cuDeviceGetAttribute, (int* value, CUdevice_attribute, CUdevice))                                   \
  CALL(cuDeviceTotalMem_v2, (std::size_t * bytes, CUdevice))                                               \
  CALL(cuDeviceGetPCIBusId, (char* address, int size, CUdevice))                                           \
  CALL(cuDevicePrimaryCtxRetain, (CUcontext*, CUdevice))                                                   \
  CALL(cuDevicePrimaryCtxRelease_v2, (CUdevice))                                                           \
  CALL(cuCtxSetCurrent, (CUcontext))                                                                       \
  CALL(cuCtxGetCurrent, (CUcontext*))                                                                      \
  CALL(cuCtxGetDevice, (CUdevice*))                                                                        \
  CALL(cuCtxSynchronize, ())                                                                               \
  CALL(cuPointerGetAttribute, (void* value, CUpointer_attribute, CUdeviceptr))                             \
  CALL(cuMemGetAddressRange_v2, (CUdeviceptr * base, std::size_t * bytes, CUdeviceptr))                    \
  CALL(cuStreamIsCapturing, (CUstream, CUstreamCaptureStatus*))                                            \
  CALL(cuMemAlloc_v2, (CUdeviceptr*, std::size_t bytes))                                                   \
  CALL(cuMemFree_v2, (CUdeviceptr))                                                                        \
  CALL(cuMemHostAlloc, (void** host, std::size_t bytes, unsigned flags))                                   \
  CALL(cuMemHostGetDevicePointer_v2, (CUdeviceptr*, void* host, unsigned flags))                           \
  CALL(cuMemFreeHost, (void* host))                                                                        \
  CALL(cuMemcpyHtoD_v2, (CUdeviceptr, const void* host, std::size_t bytes))                                \
  CALL(cuMemcpyDtoH_v2, (void* host, CUdeviceptr, std::size_t bytes))                                      \
  CALL(cuMemsetD8Async, (CUdeviceptr, unsigned char value, std::size_t bytes, CUstream))                   \
  CALL(cuStreamCreate, (CUstream*, unsigned flags))                                                        \
  CALL(cuStreamDestroy_v2, (CUstream))                                                                     \
  CALL(cuStreamSynchronize, (CUstream))                                                                    \
  CALL(cuEventCreate, (CUevent*, unsigned flags))                                                          \
  CALL(cuEventDestroy_v2, (CUevent))                                                                       \
  CALL(cuEventRecord, (CUevent, CUstream))                                                                 \
  CALL(cuEventSynchronize, (CUevent))                                                                      \
  CALL(cuModuleLoadData, (CUmodule*, const void* image))                                                   \
  CALL(cuModuleUnload, (CUmodule))                                                                         \
  CALL(cuModuleGetFunction, (CUfunction*, CUmodule, const char* name))                                     \
  CALL(cuModuleGetGlobal_v2, (CUdeviceptr*, std::size_t * bytes, CUmodule, const char* name))              \
  CALL(cuFuncGetAttribute, (int* value, CUfunction_attribute, CUfunction))                                 \
  CALL(cuFuncSetAttribute, (CUfunction, CUfunction_attribute, int value))                                  \
  CALL(cuLaunchKernel,                                                                                     \
       (CUfunction, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
        unsigned block_z, unsigned shared_bytes, CUstream, void** parameters, void** extra))

/// Calls that a driver may lack: CALL(name, parameters, symbols...), of which the first that it has is taken. The
/// second version of cuEventElapsedTime also accepts events of other contexts, that of cuDeviceGetUuid returns the id
/// of a part of a partitioned GPU (MIG). The names are ours: some are macros in cuda.h.
#define XTUNE_CUDA_OPTIONAL_CALLS(CALL)                                                                             \
  CALL(event_elapsed_time, (float* ms, CUevent start, CUevent stop), "cuEventElapsedTime_v2", "cuEventElapsedTime") \
  CALL(device_get_uuid, (CUuuid*, CUdevice), "cuDeviceGetUuid_v2", "cuDeviceGetUuid")                               \
  CALL(context_id, (CUcontext, unsigned long long* id), "cuCtxGetId")                                               \
  CALL(get_parameter_info, (CUfunction, std::size_t index, std::size_t * offset, std::size_t * size),               \
       "cuFuncGetParamInfo")                                                                                        \
  CALL(launch_kernel_ex, (const CUlaunchConfig*, CUfunction, void** parameters, void** extra), "cuLaunchKernelEx")  \
  CALL(launch_cooperative,                                                                                          \
       (CUfunction, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,          \
        unsigned block_z, unsigned shared_bytes, CUstream, void** parameters),                                      \
       "cuLaunchCooperativeKernel")                                                                                 \
  CALL(max_active_blocks, (int* count, CUfunction, int threads, std::size_t shared_bytes),                          \
       "cuOccupancyMaxActiveBlocksPerMultiprocessor")                                                               \
  CALL(max_active_clusters, (int* count, CUfunction, const CUlaunchConfig*), "cuOccupancyMaxActiveClusters")        \
  CALL(allocate_ordered, (CUdeviceptr*, std::size_t bytes, CUstream), "cuMemAllocAsync")                            \
  CALL(capture_info, (CUstream, CUstreamCaptureStatus*, std::uint64_t * id), "cuStreamGetCaptureInfo")              \
  CALL(stream_get_context, (CUstream, CUcontext*), "cuStreamGetCtx")                                                \
  CALL(exchange_capture_mode, (CUstreamCaptureMode*), "cuThreadExchangeStreamCaptureMode")                          \
  CALL(stream_begin_capture, (CUstream, CUstreamCaptureMode), "cuStreamBeginCapture_v2")                            \
  CALL(stream_end_capture, (CUstream, CUgraph*), "cuStreamEndCapture")                                              \
  CALL(graph_instantiate, (CUgraphExec*, CUgraph, unsigned long long flags), "cuGraphInstantiateWithFlags")         \
  CALL(graph_upload, (CUgraphExec, CUstream), "cuGraphUpload")                                                      \
  CALL(graph_launch, (CUgraphExec, CUstream), "cuGraphLaunch")                                                      \
  CALL(graph_exec_destroy, (CUgraphExec), "cuGraphExecDestroy")                                                     \
  CALL(graph_destroy, (CUgraph), "cuGraphDestroy")                                                                  \
  CALL(encode_tensor_map,                                                                                           \
       (CUtensorMap*, CUtensorMapDataType, unsigned rank, void* address, const std::uint64_t* extent,               \
        const std::uint64_t* stride_bytes, const unsigned* box, const unsigned* element_strides,                    \
        CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill),                \
       "cuTensorMapEncodeTiled")

using nvrtcProgram = void*;

enum nvrtcResult : int {
  NVRTC_SUCCESS = 0,
  NVRTC_ERROR_OUT_OF_MEMORY = 1,
  NVRTC_ERROR_COMPILATION = 6,
  NVRTC_ERROR_INTERNAL_ERROR = 11,
};

/// CALL(name, result, parameters); all exist since NVRTC 11.2.
#define XTUNE_NVRTC_CALLS(CALL)                                                                     \
  CALL(nvrtcVersion, nvrtcResult, (int* major, int* minor))                                         \
  CALL(nvrtcGetErrorString, const char*, (nvrtcResult))                                             \
  CALL(nvrtcCreateProgram, nvrtcResult,                                                             \
       (nvrtcProgram*, const char* source, const char* name, int count, const char* const* headers, \
        const char* const* include_names))                                                          \
  CALL(nvrtcDestroyProgram, nvrtcResult, (nvrtcProgram*))                                           \
  CALL(nvrtcAddNameExpression, nvrtcResult, (nvrtcProgram, const char* expression))                 \
  CALL(nvrtcCompileProgram, nvrtcResult, (nvrtcProgram, int count, const char* const* options))     \
  CALL(nvrtcGetProgramLogSize, nvrtcResult, (nvrtcProgram, std::size_t * bytes))                    \
  CALL(nvrtcGetProgramLog, nvrtcResult, (nvrtcProgram, char* log))                                  \
  CALL(nvrtcGetLoweredName, nvrtcResult, (nvrtcProgram, const char* expression, const char** name)) \
  CALL(nvrtcGetPTXSize, nvrtcResult, (nvrtcProgram, std::size_t * bytes))                           \
  CALL(nvrtcGetPTX, nvrtcResult, (nvrtcProgram, char* text))                                        \
  CALL(nvrtcGetCUBINSize, nvrtcResult, (nvrtcProgram, std::size_t * bytes))                         \
  CALL(nvrtcGetCUBIN, nvrtcResult, (nvrtcProgram, char* code))                                      \
  CALL(nvrtcGetNumSupportedArchs, nvrtcResult, (int* count))                                        \
  CALL(nvrtcGetSupportedArchs, nvrtcResult, (int* archs))

}  // namespace xtune::cuda
