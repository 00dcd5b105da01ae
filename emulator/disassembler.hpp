// Machine code of AMD GPUs as text, by LLVM's disassembler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace xtune::emulator {

/// LLVM's library is opened at run time (the one that XTUNE_LLVM_LIBRARY names, else libLLVM.so.22.1 and older ones)
/// and stays open until the process ends.
class Disassembler {
 public:
  /// arch: "gfx90a". Throws Error(unavailable) if no LLVM with the AMDGPU target is installed, or if it does not know
  /// the architecture.
  Disassembler(const std::string& arch, int wave_size);
  ~Disassembler();
  Disassembler(const Disassembler&) = delete;
  Disassembler& operator=(const Disassembler&) = delete;

  struct Line {
    std::size_t bytes = 0;  ///< 0: not an instruction
    std::string text;
  };
  /// The instruction at `code`, which is followed by `bytes` bytes.
  Line decode(const std::byte* code, std::size_t bytes, std::uint64_t address) const;

 private:
  void* context_;
};

}  // namespace xtune::emulator
