// A code object in memory: its segments with relocations applied, and its kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/gpu/code_object.hpp"
#include "emulator/source_lines.hpp"

namespace xtune::emulator {

/// What the launcher has to know of a kernel. Source: "Kernel Descriptor", LLVM AMDGPU backend guide.
struct KernelDescriptor {
  std::uint32_t lds_bytes = 0, scratch_bytes = 0, argument_bytes = 0;
  std::uint32_t resources1 = 0, resources2 = 0;
  std::uint16_t properties = 0, preload = 0;
  std::uint64_t entry = 0;  ///< address of the first instruction
  std::vector<gpu::HiddenParameter> hidden;

  int wave_size() const { return properties >> 10 & 1 ? 32 : 64; }
};

/// A variable or function of a code object that others may find by its name.
struct Variable {
  std::byte* address = nullptr;
  std::size_t bytes = 0;
};

class Image {
 public:
  /// Throws Error(invalid_argument) if the bytes are not a whole code object, or have a relocation that is not known.
  explicit Image(std::string_view bytes);

  const std::map<std::string, KernelDescriptor>& kernels() const noexcept { return kernels_; }
  const std::map<std::string, Variable>& variables() const noexcept { return variables_; }
  /// Kernels and what else of the code has a name.
  const std::map<std::string, Variable>& functions() const noexcept { return functions_; }
  /// The instructions.
  const std::byte* text() const noexcept { return base_ + text_offset_; }
  std::size_t text_bytes() const noexcept { return text_bytes_; }
  const std::shared_ptr<const SourceLines>& lines() const noexcept { return lines_; }
  /// All segments, as an allocation.
  std::byte* base() const noexcept { return base_; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  void map_segments(std::string_view bytes);
  void relocate(std::string_view bytes);
  void read_symbols(std::string_view bytes);
  void add_kernel(std::string_view bytes, const std::string& name, std::uint64_t descriptor);

  std::vector<std::byte> storage_;
  std::byte* base_ = nullptr;  // aligned to a page, in storage_
  std::size_t bytes_ = 0, text_offset_ = 0, text_bytes_ = 0;
  std::map<std::string, KernelDescriptor> kernels_;
  std::map<std::string, Variable> variables_, functions_;
  std::shared_ptr<const SourceLines> lines_;
};

}  // namespace xtune::emulator
