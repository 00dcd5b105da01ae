// A CUDA or HIP stream, without their headers.
#pragma once

#include <cstddef>

struct CUstream_st;
struct ihipStream_t;

namespace xtune {

/// The stream that a kernel is launched on: a cudaStream_t or CUstream, a hipStream_t, or nullptr for the default
/// stream (always nullptr for the host backend). Other pointers do not convert, so a call that forgets the stream does
/// not compile. Does not own the stream.
class Stream {
 public:
  /// The default stream.
  Stream(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)
  /// A cudaStream_t or CUstream.
  Stream(CUstream_st* stream) noexcept : handle_(stream) {}  // NOLINT(google-explicit-constructor)
  /// A hipStream_t.
  Stream(ihipStream_t* stream) noexcept : handle_(stream) {}  // NOLINT(google-explicit-constructor)

  /// The driver's handle; nullptr: the default stream.
  void* handle() const noexcept { return handle_; }

 private:
  void* handle_ = nullptr;
};

}  // namespace xtune
