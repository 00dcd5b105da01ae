#include "emulator/disassembler.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "base/dynamic_library.hpp"
#include "base/not_installed.hpp"
#include "base/trimmed.hpp"
#include "xtune/error.hpp"

namespace xtune::emulator {
namespace {

/// The functions of llvm-c/Disassembler.h and llvm-c/Target.h that are needed.
struct LlvmLibrary {
  base::DynamicLibrary library;
  void* (*create)(const char* triple, const char* cpu, const char* features, void* info, int tag, void* get_info,
                  void* look_up) = nullptr;
  void (*dispose)(void* context) = nullptr;
  std::size_t (*decode)(void* context, std::uint8_t* bytes, std::uint64_t size, std::uint64_t address, char* text,
                        std::size_t text_size) = nullptr;

  LlvmLibrary() {
    std::vector<std::string> names;
    for (int major = 22; major >= 17; --major) {
      names.push_back(fmt::format("libLLVM.so.{}.1", major));
      names.push_back(fmt::format("libLLVM-{}.so.1", major));
      names.push_back(fmt::format("libLLVM-{}.so", major));
    }
    try {
      library = base::DynamicLibrary::open(names);
    } catch (const Error& error) {
      base::throw_with_message(
          error, fmt::format("no LLVM of version 17 to 22 is installed, which decodes AMD's instructions (Debian: "
                             "libllvm19; {})",
                             error.what()));
    }
    for (const char* part :
         {"LLVMInitializeAMDGPUTargetInfo", "LLVMInitializeAMDGPUTargetMC", "LLVMInitializeAMDGPUDisassembler"}) {
      void (*initialise)() = nullptr;
      library.get(part, initialise);
      initialise();
    }
    library.get("LLVMCreateDisasmCPUFeatures", create);
    library.get("LLVMDisasmDispose", dispose);
    library.get("LLVMDisasmInstruction", decode);
    library.keep_resident();
  }
};

const LlvmLibrary& llvm() {
  static const LlvmLibrary library;
  return library;
}

}  // namespace

Disassembler::Disassembler(const std::string& arch, int wave_size) {
  const char* const features =
      wave_size == 64 ? "+wavefrontsize64,-wavefrontsize32" : "+wavefrontsize32,-wavefrontsize64";
  // CDNA has waves of 64 only, and does not know the feature.
  const bool fixed = arch.starts_with("gfx9");
  context_ = llvm().create("amdgcn-amd-amdhsa", arch.c_str(), fixed ? "" : features, nullptr, 0, nullptr, nullptr);
  if (context_ == nullptr)
    throw Error(ErrorKind::unavailable,
                fmt::format("{} cannot disassemble code for '{}'; install a newer LLVM", llvm().library.name(), arch));
}

Disassembler::~Disassembler() { llvm().dispose(context_); }

Disassembler::Line Disassembler::decode(const std::byte* code, std::size_t bytes, std::uint64_t address) const {
  std::array<char, 512> text{};
  auto* const begin = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(code));  // only read
  const std::size_t size = llvm().decode(context_, begin, bytes, address, text.data(), text.size());
  return {size, std::string(base::trimmed(text.data()))};
}

}  // namespace xtune::emulator
