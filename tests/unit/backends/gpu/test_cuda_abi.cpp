// What backends/cuda/abi.hpp declares, against NVIDIA's own headers of the version that is installed.
#include <cuda.h>
#include <doctest/doctest.h>
#include <nvrtc.h>

#include <cstddef>
#include <type_traits>

#include "backends/cuda/driver.hpp"
#include "backends/cuda/toolchain.hpp"

namespace {

namespace own = xtune::cuda;

/// Values of one size that are both pointers or both not. The targets of pointers must have one size too, if both sides
/// have it.
template <class Ours, class Theirs>
constexpr bool alike() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using To = std::remove_pointer_t<Theirs>;
    using From = std::remove_pointer_t<Ours>;
    if constexpr (std::is_void_v<From> || std::is_void_v<To> || std::is_function_v<To>)
      return true;
    else
      return sizeof(From) == sizeof(To);
  } else {
    return std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> && sizeof(Ours) == sizeof(Theirs);
  }
}

template <class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class R1, class... A1, class R2, class... A2>
requires(sizeof...(A1) == sizeof...(A2)) struct SameCall<R1 (*)(A1...), R2 (*)(A2...)>
    : std::bool_constant<alike<R1, R2>() && (alike<A1, A2>() && ...)> {
};

#define SAME_CALL(name, ...) \
  static_assert(SameCall<decltype(own::Driver::name), decltype(&::name)>::value, #name " takes other parameters");
XTUNE_CUDA_DRIVER_CALLS(SAME_CALL)
#define SAME_OPTIONAL(ours, theirs) \
  static_assert(SameCall<decltype(own::Driver::ours), decltype(&::theirs)>::value, #theirs " takes other parameters");
SAME_OPTIONAL(event_elapsed_time, cuEventElapsedTime)
SAME_OPTIONAL(device_get_uuid, cuDeviceGetUuid)
SAME_OPTIONAL(launch_kernel_ex, cuLaunchKernelEx)
SAME_OPTIONAL(launch_cooperative, cuLaunchCooperativeKernel)
SAME_OPTIONAL(max_active_blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor)
SAME_OPTIONAL(max_active_clusters, cuOccupancyMaxActiveClusters)
SAME_OPTIONAL(stream_begin_capture, cuStreamBeginCapture)
SAME_OPTIONAL(stream_end_capture, cuStreamEndCapture)
SAME_OPTIONAL(graph_instantiate, cuGraphInstantiateWithFlags)
SAME_OPTIONAL(graph_upload, cuGraphUpload)
SAME_OPTIONAL(graph_launch, cuGraphLaunch)
SAME_OPTIONAL(graph_exec_destroy, cuGraphExecDestroy)
SAME_OPTIONAL(graph_destroy, cuGraphDestroy)
#if CUDA_VERSION >= 12000
SAME_OPTIONAL(context_id, cuCtxGetId)
#endif
#if CUDA_VERSION >= 12000
SAME_OPTIONAL(encode_tensor_map, cuTensorMapEncodeTiled)
#endif
#if CUDA_VERSION >= 12040
SAME_OPTIONAL(get_parameter_info, cuFuncGetParamInfo)
#endif
#define SAME_NVRTC(name, ...) \
  static_assert(SameCall<decltype(own::Nvrtc::name), decltype(&::name)>::value, #name " takes other parameters");
XTUNE_NVRTC_CALLS(SAME_NVRTC)

#define SAME_SIZE(name) static_assert(sizeof(own::name) == sizeof(::name) && alignof(own::name) == alignof(::name));
SAME_SIZE(CUdevice)
SAME_SIZE(CUdeviceptr)
SAME_SIZE(CUcontext)
SAME_SIZE(CUmodule)
SAME_SIZE(CUfunction)
SAME_SIZE(CUstream)
SAME_SIZE(CUevent)
SAME_SIZE(CUgraph)
SAME_SIZE(CUgraphExec)
SAME_SIZE(CUuuid)
SAME_SIZE(CUresult)
SAME_SIZE(CUdevice_attribute)
SAME_SIZE(CUfunction_attribute)
SAME_SIZE(CUpointer_attribute)
SAME_SIZE(CUmemorytype)
SAME_SIZE(CUstreamCaptureStatus)
SAME_SIZE(CUstreamCaptureMode)
SAME_SIZE(CUlaunchAttributeID)
SAME_SIZE(CUlaunchAttributeValue)
SAME_SIZE(CUlaunchAttribute)
SAME_SIZE(CUlaunchConfig)
#if CUDA_VERSION >= 12000
static_assert(sizeof(own::CUtensorMap) == sizeof(::CUtensorMap) && alignof(own::CUtensorMap) >= alignof(::CUtensorMap));
SAME_SIZE(CUtensorMapDataType)
SAME_SIZE(CUtensorMapInterleave)
SAME_SIZE(CUtensorMapSwizzle)
SAME_SIZE(CUtensorMapL2promotion)
SAME_SIZE(CUtensorMapFloatOOBfill)
#endif
SAME_SIZE(nvrtcProgram)
SAME_SIZE(nvrtcResult)

#define SAME_PLACE(type, member) static_assert(offsetof(own::type, member) == offsetof(::type, member));
SAME_PLACE(CUlaunchAttribute, id)
SAME_PLACE(CUlaunchAttribute, value)
SAME_PLACE(CUlaunchAttributeValue, clusterDim.x)
SAME_PLACE(CUlaunchAttributeValue, cooperative)
SAME_PLACE(CUlaunchAttributeValue, clusterDim.y)
SAME_PLACE(CUlaunchAttributeValue, clusterDim.z)
SAME_PLACE(CUlaunchConfig, gridDimX)
SAME_PLACE(CUlaunchConfig, gridDimY)
SAME_PLACE(CUlaunchConfig, gridDimZ)
SAME_PLACE(CUlaunchConfig, blockDimX)
SAME_PLACE(CUlaunchConfig, blockDimY)
SAME_PLACE(CUlaunchConfig, blockDimZ)
SAME_PLACE(CUlaunchConfig, sharedMemBytes)
SAME_PLACE(CUlaunchConfig, hStream)
SAME_PLACE(CUlaunchConfig, attrs)
SAME_PLACE(CUlaunchConfig, numAttrs)

/// Values of ours and theirs.
struct Constant {
  const char* name;
  long long own, theirs;
};

#define VALUE(name) {#name, static_cast<long long>(own::name), static_cast<long long>(::name)},
constexpr Constant values[] = {
    VALUE(CUDA_SUCCESS)                                              //
    VALUE(CUDA_ERROR_INVALID_VALUE)                                  //
    VALUE(CUDA_ERROR_OUT_OF_MEMORY)                                  //
    VALUE(CUDA_ERROR_DEINITIALIZED)                                  //
    VALUE(CUDA_ERROR_STUB_LIBRARY)                                   //
    VALUE(CUDA_ERROR_DEVICE_UNAVAILABLE)                             //
    VALUE(CUDA_ERROR_NO_DEVICE)                                      //
    VALUE(CUDA_ERROR_INVALID_IMAGE)                                  //
    VALUE(CUDA_ERROR_ECC_UNCORRECTABLE)                              //
    VALUE(CUDA_ERROR_NVLINK_UNCORRECTABLE)                           //
    VALUE(CUDA_ERROR_ILLEGAL_ADDRESS)                                //
    VALUE(CUDA_ERROR_LAUNCH_TIMEOUT)                                 //
    VALUE(CUDA_ERROR_CONTEXT_IS_DESTROYED)                           //
    VALUE(CUDA_ERROR_ASSERT)                                         //
    VALUE(CUDA_ERROR_HARDWARE_STACK_ERROR)                           //
    VALUE(CUDA_ERROR_ILLEGAL_INSTRUCTION)                            //
    VALUE(CUDA_ERROR_MISALIGNED_ADDRESS)                             //
    VALUE(CUDA_ERROR_INVALID_ADDRESS_SPACE)                          //
    VALUE(CUDA_ERROR_INVALID_PC)                                     //
    VALUE(CUDA_ERROR_LAUNCH_FAILED)                                  //
    VALUE(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)                   //
    VALUE(CUDA_ERROR_SYSTEM_NOT_READY)                               //
    VALUE(CUDA_ERROR_MPS_CONNECTION_FAILED)                          //
    VALUE(CUDA_ERROR_MPS_CLIENT_TERMINATED)                          //
    VALUE(CUDA_ERROR_UNKNOWN)                                        //
    VALUE(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)                 //
    VALUE(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)                       //
    VALUE(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)                       //
    VALUE(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)                       //
    VALUE(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)                        //
    VALUE(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)                        //
    VALUE(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)                        //
    VALUE(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)           //
    VALUE(CU_DEVICE_ATTRIBUTE_WARP_SIZE)                             //
    VALUE(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK)               //
    VALUE(CU_DEVICE_ATTRIBUTE_CLOCK_RATE)                            //
    VALUE(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)                  //
    VALUE(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)                     //
    VALUE(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)               //
    VALUE(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)                         //
    VALUE(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)        //
    VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)              //
    VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)              //
    VALUE(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)  //
    VALUE(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)      //
    VALUE(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS)                //
    VALUE(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)                    //
    VALUE(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)     //
    VALUE(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)                   //
    VALUE(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)                       //
    VALUE(CU_FUNC_ATTRIBUTE_NUM_REGS)                                //
    VALUE(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)           //
    VALUE(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED)       //
    VALUE(CU_POINTER_ATTRIBUTE_CONTEXT)                              //
    VALUE(CU_POINTER_ATTRIBUTE_MEMORY_TYPE)                          //
    VALUE(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)                       //
    VALUE(CU_MEMORYTYPE_DEVICE)                                      //
    VALUE(CU_STREAM_CAPTURE_STATUS_NONE)                             //
    VALUE(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)                     //
    VALUE(CU_LAUNCH_ATTRIBUTE_COOPERATIVE)                           //
#if CUDA_VERSION >= 12000
    VALUE(CU_TENSOR_MAP_DATA_TYPE_UINT8)                      //
    VALUE(CU_TENSOR_MAP_DATA_TYPE_UINT16)                     //
    VALUE(CU_TENSOR_MAP_DATA_TYPE_UINT32)                     //
    VALUE(CU_TENSOR_MAP_DATA_TYPE_INT32)                      //
    VALUE(CU_TENSOR_MAP_DATA_TYPE_UINT64)                     //
    VALUE(CU_TENSOR_MAP_DATA_TYPE_INT64)                      //
    VALUE(CU_TENSOR_MAP_DATA_TYPE_FLOAT16)                    //
    VALUE(CU_TENSOR_MAP_DATA_TYPE_FLOAT32)                    //
    VALUE(CU_TENSOR_MAP_DATA_TYPE_FLOAT64)                    //
    VALUE(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16)                   //
    VALUE(CU_TENSOR_MAP_DATA_TYPE_TFLOAT32)                   //
    VALUE(CU_TENSOR_MAP_INTERLEAVE_NONE)                      //
    VALUE(CU_TENSOR_MAP_INTERLEAVE_16B)                       //
    VALUE(CU_TENSOR_MAP_INTERLEAVE_32B)                       //
    VALUE(CU_TENSOR_MAP_SWIZZLE_NONE)                         //
    VALUE(CU_TENSOR_MAP_SWIZZLE_32B)                          //
    VALUE(CU_TENSOR_MAP_SWIZZLE_64B)                          //
    VALUE(CU_TENSOR_MAP_SWIZZLE_128B)                         //
    VALUE(CU_TENSOR_MAP_L2_PROMOTION_NONE)                    //
    VALUE(CU_TENSOR_MAP_L2_PROMOTION_L2_64B)                  //
    VALUE(CU_TENSOR_MAP_L2_PROMOTION_L2_128B)                 //
    VALUE(CU_TENSOR_MAP_L2_PROMOTION_L2_256B)                 //
    VALUE(CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)                  //
    VALUE(CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)  //
#endif
    VALUE(CU_STREAM_DEFAULT)           //
    VALUE(CU_EVENT_DEFAULT)            //
    VALUE(NVRTC_SUCCESS)               //
    VALUE(NVRTC_ERROR_OUT_OF_MEMORY)   //
    VALUE(NVRTC_ERROR_COMPILATION)     //
    VALUE(NVRTC_ERROR_INTERNAL_ERROR)  //
    {"CU_MEMHOSTALLOC_DEVICEMAP", own::memory_seen_by_the_device, CU_MEMHOSTALLOC_DEVICEMAP},
};

}  // namespace

TEST_CASE("CUDA's values are those of NVIDIA's headers") {
  for (const Constant& value : values) {
    CAPTURE(value.name);
    CHECK(value.own == value.theirs);
  }
}
