// The images of kernels and programs (ELF), which may be damaged: the metadata of kernels in an AMD code object, and
// symbols; and the vendor's library that this process has loaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/build/artifact.hpp"

namespace xtune::gpu {

/// A parameter that the launcher provides, such as "hidden_block_count_x".
struct HiddenParameter {
  std::string kind;
  std::size_t offset, bytes;  ///< in the kernel's arguments
};

struct KernelMetadata {
  build::ResourceUsage usage;
  std::vector<std::size_t> parameter_bytes;    ///< explicit parameters, in kernel order
  std::vector<std::size_t> parameter_offsets;  ///< of the same, in the kernel's arguments
  std::vector<HiddenParameter> hidden;
};

/// Reads the metadata note (NT_AMDGPU_METADATA, MessagePack) of an ELF code object for the kernel with this symbol
/// ("gemm", without ".kd"). nullopt: the image is not a code object, is damaged, or has no such kernel. Never reads
/// outside the image. Source: "Code Object V3 to V5 Metadata", LLVM AMDGPU backend guide.
std::optional<KernelMetadata> kernel_metadata(std::string_view image, std::string_view symbol);

/// The contents of the first note of this type and owner ("GNU\0") in a sequence of an ELF's notes; empty: there is
/// none.
std::string_view note(std::string_view notes, std::uint32_t type, std::string_view owner);

/// The architecture that the metadata of a code object names: "gfx90a" for "amdgcn-amd-amdhsa--gfx90a:xnack+". Empty:
/// the image has no such metadata.
std::string code_object_arch(std::string_view image);

/// The code object for `arch` in a clang offload bundle; an image that is not a bundle is returned as it is. Empty: the
/// bundle has none for that architecture, or is damaged. The result points into `image`. Source: "Bundled Binary File
/// Layout", Clang Offload Bundler.
std::string_view unbundle(std::string_view image, std::string_view arch);

/// Whether an image may be passed to a driver, which does not get its length and would read beyond a truncated one: a
/// 64-bit ELF whose headers are inside the image, or an offload bundle.
bool is_whole(std::string_view image);

struct Symbol {
  std::string_view name;      ///< in the image
  std::uint64_t address = 0;  ///< relative to where the image is loaded; 0: it is not defined
  std::uint64_t bytes = 0;
  bool is_thread_local = false;  ///< a variable that is defined here
};
/// Those in the tables of a 64-bit ELF of one kind: SHT_DYNSYM, or SHT_SYMTAB, which a stripped program does not have.
/// Never reads outside the image.
std::vector<Symbol> symbols_of(std::string_view image, std::uint32_t table);

/// The dynamic symbol whose address is the initial value of the dynamic symbol `pointer`, by its relocation. nullopt:
/// the image is not a 64-bit ELF, is damaged, has no such pointer, or no exported symbol has that address. Never reads
/// outside the image. Source: "Relocation Records", LLVM AMDGPU backend guide.
std::optional<std::string> symbol_pointed_to(std::string_view image, std::string_view pointer);

/// The value of the defined symbol with this name in the table for debuggers and linkers, which a stripped program does
/// not have: an address relative to where the image is loaded. nullopt: there is none, or the image is not a 64-bit
/// ELF.
std::optional<std::uint64_t> symbol_value(std::string_view image, std::string_view name);

/// Facts about the shared library that holds `symbol` (an address in this process); empty if they are unknown.

/// The dotted version after ".so." in its file name, symbolic links followed: "5.2.21153".
std::string library_version(const void* symbol);
/// Its path, symbolic links followed.
std::string library_path(const void* symbol);
/// The directory that contains it, symbolic links followed.
std::string library_folder(const void* symbol);
/// The first 12 hexadecimal digits of the linker's build id: distinguishes builds of one version, at no cost.
std::string library_build_id(const void* symbol);

}  // namespace xtune::gpu
