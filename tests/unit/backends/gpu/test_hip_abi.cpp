// What xtune takes from HIP's headers is the same in all releases, so a program that was built with one release's
// headers may use another's libraries. Compiled with the headers that are installed; tests/releases compiles it with
// others.
#include <doctest/doctest.h>

#include "backends/backend.hpp"

#if XTUNE_HAS_HIP && !XTUNE_HIP_NVIDIA

#include <hip/hiprtc.h>

#include <string>

#include "backends/hip/hip_calls.hpp"

namespace {

/// A value of the installed headers, and that of HIP 5.2.
struct HipConstant {
  const char* name;
  long long here, released;
};

#define HIP_VALUE(name, released) {#name, static_cast<long long>(name), released},
constexpr HipConstant hip_values[] = {
    HIP_VALUE(hipSuccess, 0)                                              //
    HIP_VALUE(hipErrorInvalidImage, 200)                                  //
    HIP_VALUE(hipErrorNoDevice, 100)                                      //
    HIP_VALUE(hipErrorIllegalAddress, 700)                                //
    HIP_VALUE(hipErrorLaunchTimeOut, 702)                                 //
    HIP_VALUE(hipErrorAssert, 710)                                        //
    HIP_VALUE(hipErrorLaunchFailure, 719)                                 //
    HIP_VALUE(hipErrorECCNotCorrectable, 214)                             //
    HIP_VALUE(hipErrorContextIsDestroyed, 709)                            //
    HIP_VALUE(hipErrorDeinitialized, 4)                                   //
    HIP_VALUE(hipErrorUnknown, 999)                                       //
    HIP_VALUE(hipErrorOutOfMemory, 2)                                     //
    HIP_VALUE(hipDeviceAttributeWarpSize, 87)                             //
    HIP_VALUE(hipDeviceAttributeMultiprocessorCount, 63)                  //
    HIP_VALUE(hipDeviceAttributeMaxSharedMemoryPerBlock, 74)              //
    HIP_VALUE(hipDeviceAttributeMaxRegistersPerBlock, 71)                 //
    HIP_VALUE(hipDeviceAttributeMaxThreadsPerBlock, 56)                   //
    HIP_VALUE(hipDeviceAttributeMaxThreadsPerMultiProcessor, 57)          //
    HIP_VALUE(hipDeviceAttributeMaxGridDimX, 29)                          //
    HIP_VALUE(hipDeviceAttributeMaxGridDimY, 30)                          //
    HIP_VALUE(hipDeviceAttributeMaxGridDimZ, 31)                          //
    HIP_VALUE(hipDeviceAttributeMaxBlockDimX, 26)                         //
    HIP_VALUE(hipDeviceAttributeMaxBlockDimY, 27)                         //
    HIP_VALUE(hipDeviceAttributeMaxBlockDimZ, 28)                         //
    HIP_VALUE(hipDeviceAttributeL2CacheSize, 19)                          //
    HIP_VALUE(hipDeviceAttributeClockRate, 5)                             //
    HIP_VALUE(hipDeviceAttributeMemoryClockRate, 60)                      //
    HIP_VALUE(hipDeviceAttributeMemoryBusWidth, 59)                       //
    HIP_VALUE(hipDeviceAttributeMaxSharedMemoryPerMultiprocessor, 10002)  //
    HIP_VALUE(hipDeviceAttributePageableMemoryAccess, 65)                 //
    HIP_VALUE(hipMemcpyHostToDevice, 1)                                   //
    HIP_VALUE(hipMemcpyDeviceToHost, 2)                                   //
    HIP_VALUE(hipHostMallocMapped, 2)                                     //
    HIP_VALUE(hipHostMallocCoherent, 1073741824)                          //
    HIP_VALUE(hipStreamDefault, 0)                                        //
    HIP_VALUE(hipEventDefault, 0)                                         //
    HIP_VALUE(hipStreamCaptureStatusNone, 0)                              //
    HIP_VALUE(HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)                //
    HIP_VALUE(HIP_FUNC_ATTRIBUTE_NUM_REGS, 4)                             //
    HIP_VALUE(HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1)                    //
    HIP_VALUE(HIPRTC_ERROR_OUT_OF_MEMORY, 1)                              //
    HIP_VALUE(HIPRTC_SUCCESS, 0)                                          //
    HIP_VALUE(HIPRTC_ERROR_COMPILATION, 6)                                //
    HIP_VALUE(HIPRTC_ERROR_INVALID_INPUT, 3)                              //
};

struct CalledSymbol {
  std::string name, symbol;
};

#define HIP_TEXT_OF(name) #name
#define HIP_TEXT(name) HIP_TEXT_OF(name)
#define HIP_CALLED(name, arguments) {#name, HIP_TEXT(name)},

}  // namespace

TEST_CASE("HIP's constants have the values of all releases") {
  for (const HipConstant& value : hip_values) {
    CAPTURE(std::string(value.name));
    CHECK(value.here == value.released);
  }
}

TEST_CASE("HIP's headers rename none of the calls in the table, which an older library would not have") {
  const CalledSymbol symbols[] = {XTUNE_HIP_CALLS(HIP_CALLED) XTUNE_HIP_OPTIONAL_CALLS(HIP_CALLED)};
  for (const CalledSymbol& each : symbols) CHECK(each.symbol == each.name);
}

TEST_CASE("HIP's types have the sizes of all releases") {
  CHECK(sizeof(hipError_t) == 4);
  CHECK(sizeof(hipDevice_t) == 4);
  CHECK(sizeof(hipDeviceAttribute_t) == 4);
  CHECK(sizeof(hipMemcpyKind) == 4);
  CHECK(sizeof(hipFunction_attribute) == 4);
  CHECK(sizeof(hipStreamCaptureStatus) == 4);
  CHECK(sizeof(hiprtcResult) == 4);
  CHECK(sizeof(hipDeviceptr_t) == 8);
}

#endif
