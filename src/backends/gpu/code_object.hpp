// What an AMD code object says of its kernels.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/build/artifact.hpp"

namespace xtune::gpu {

struct KernelMetadata {
  build::ResourceUsage usage;
  std::vector<std::size_t> parameter_bytes;  ///< explicit parameters, in kernel order
};

/// Reads the metadata note (NT_AMDGPU_METADATA, MessagePack) of an ELF code object for the kernel with this symbol
/// ("gemm", without
/// ".kd"). nullopt: the image is no code object, is damaged, or has no such kernel. Never reads outside the image.
/// Source: "Code Object V3 to V5 Metadata", LLVM AMDGPU backend guide.
std::optional<KernelMetadata> kernel_metadata(std::string_view image, std::string_view symbol);

/// The code object for `arch` in a clang offload bundle; an image that is no bundle comes back whole. Empty: the bundle
/// holds none for that architecture, or is damaged. The result points into `image`. Source: "Bundled Binary File
/// Layout", Clang Offload Bundler.
std::string_view unbundle(std::string_view image, std::string_view arch);

/// Whether an image may be handed to a driver, which is told no length and would read on past a damaged one: a 64-bit
/// ELF whose headers lie inside the image, or an offload bundle.
bool is_whole(std::string_view image);

}  // namespace xtune::gpu
