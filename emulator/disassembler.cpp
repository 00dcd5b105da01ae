#include "emulator/disassembler.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "system/dynamic_library.hpp"
#include "xtune/error.hpp"

namespace xtune::emulator {
namespace {

constexpr const char* library_variable = "XTUNE_LLVM_LIBRARY";

/// The functions of llvm-c/Disassembler.h and llvm-c/Target.h that are needed.
struct LlvmLibrary {
  system::DynamicLibrary library = open_library();
  void* (*create)(const char* triple, const char* cpu, const char* features, void* info, int tag, void* get_info,
                  void* look_up) = nullptr;
  void (*dispose)(void* context) = nullptr;
  std::size_t (*decode)(void* context, std::uint8_t* bytes, std::uint64_t size, std::uint64_t address, char* text,
                        std::size_t text_size) = nullptr;

  LlvmLibrary() {
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

  static system::DynamicLibrary open_library() {
    if (const char* named = std::getenv(library_variable); named && *named) try {
        return system::DynamicLibrary::open({named});
      } catch (const Error& error) {
        system::throw_with_message(error, fmt::format("{}={}: {}", library_variable, named, error.what()));
      }
    std::vector<std::string> names;
    for (int major = 22; major >= 17; --major) {
      names.push_back(fmt::format("libLLVM.so.{}.1", major));
      names.push_back(fmt::format("libLLVM-{}.so.1", major));
      names.push_back(fmt::format("libLLVM-{}.so", major));
    }
    try {
      return system::DynamicLibrary::open(names);
    } catch (const Error& error) {
      system::throw_with_message(
          error, fmt::format("no LLVM of version 17 to 22 is installed, which decodes AMD's instructions (Debian: "
                             "libllvm19; {} names a library elsewhere; {})",
                             library_variable, error.what()));
    }
  }

  /// "LLVM 19.1.7 (libLLVM.so.19.1)"; LLVM 15 and older do not know their version.
  std::string described() const {
    void (*version)(unsigned* major, unsigned* minor, unsigned* patch) = nullptr;
    version = reinterpret_cast<decltype(version)>(library.find("LLVMGetVersion"));
    if (version == nullptr) return fmt::format("the LLVM in {}", library.name());
    std::array<unsigned, 3> number{};
    version(&number[0], &number[1], &number[2]);
    return fmt::format("LLVM {} ({})", fmt::join(number, "."), library.name());
  }

  void* open_context(const std::string& arch, const char* features) const {
    return create("amdgcn-amd-amdhsa", arch.c_str(), features, nullptr, 0, nullptr, nullptr);
  }

  /// A processor that LLVM does not know has no features. The constructor of the disassembler ends the process then,
  /// unless the features name an encoding. With one, it is constructed, and decodes nothing: not even s_nop, which all
  /// AMD GPUs encode in the same way.
  bool knows(const std::string& arch) const {
    void* const context = open_context(arch, "+gcn3-encoding");
    if (context == nullptr) return false;
    std::array<std::uint8_t, 4> s_nop = {0, 0, 0x80, 0xbf};
    std::array<char, 64> text{};
    const std::size_t size = decode(context, s_nop.data(), s_nop.size(), 0, text.data(), text.size());
    dispose(context);
    return size == s_nop.size() && base::trimmed(text.data()).starts_with("s_nop");
  }
};

const LlvmLibrary& llvm() {
  static const LlvmLibrary library;
  return library;
}

/// Tried with LLVM 14 to 19, 21 and 22.
const char* versions_that_know(std::string_view arch) {
  if (arch == "gfx940" || arch == "gfx941") return "17 to 19";
  return arch.starts_with("gfx12") ? "18 to 22" : "17 to 22";
}

void require_known(const std::string& arch) {
  static std::mutex mutex;
  static std::set<std::string> known;
  const std::lock_guard lock(mutex);
  if (known.contains(arch)) return;
  if (!llvm().knows(arch))
    throw Error(ErrorKind::unavailable,
                fmt::format("{} cannot decode the instructions of {}: it does not know this architecture. Install LLVM "
                            "{} (Debian: libllvm19); if several are installed, name its library by {}",
                            llvm().described(), arch, versions_that_know(arch), library_variable));
  known.insert(arch);
}

}  // namespace

Disassembler::Disassembler(const std::string& arch, int wave_size) {
  require_known(arch);
  const char* const features =
      wave_size == 64 ? "+wavefrontsize64,-wavefrontsize32" : "+wavefrontsize32,-wavefrontsize64";
  // CDNA has waves of 64 only, and does not know the feature.
  const bool fixed = arch.starts_with("gfx9");
  context_ = llvm().open_context(arch, fixed ? "" : features);
  if (context_ == nullptr)
    throw Error(ErrorKind::unavailable, fmt::format("{} makes no disassembler for {}", llvm().described(), arch));
}

Disassembler::~Disassembler() { llvm().dispose(context_); }

Disassembler::Line Disassembler::decode(const std::byte* code, std::size_t bytes, std::uint64_t address) const {
  std::array<char, 512> text{};
  auto* const begin = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(code));  // only read
  const std::size_t size = llvm().decode(context_, begin, bytes, address, text.data(), text.size());
  return {size, std::string(base::trimmed(text.data()))};
}

}  // namespace xtune::emulator
