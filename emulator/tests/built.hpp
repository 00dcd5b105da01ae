// Code objects that tests build with clang and lld, and what a machine without them lacks.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "emulator/disassembler.hpp"
#include "emulator/half.hpp"
#include "emulator/program.hpp"
#include "system/files.hpp"
#include "system/subprocess.hpp"

namespace xtune::test {

/// Architectures whose code the tests execute.
inline const std::vector<std::string> emulated_archs = {"gfx90a", "gfx942", "gfx1100", "gfx1201"};

/// RDNA2 too, which has no matrix instructions.
inline const std::vector<std::string> archs_with_rdna2 = {"gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"};

inline bool has_waves_of_64(const std::string& arch) { return arch.starts_with("gfx9"); }

/// Whether code objects can be built and decoded here; prints a line if not.
inline bool can_emulate() {
  static const bool possible = [] {
    std::string missing;
    for (const char* program : {"clang-19", "ld.lld-19"})
      if (system::find_program(program).empty())
        missing = std::string(program) + " is not installed (Debian: clang-19 lld-19 libllvm19)";
    try {
      const emulator::Disassembler tried("gfx942", 64);
    } catch (const Error& error) {
      missing = error.what();
    }
    if (!missing.empty()) MESSAGE("skipped: " << missing);
    return missing.empty();
  }();
  return possible;
}

/// Runs clang on a text; fails the test with clang's messages.
inline std::string build(const std::string& text, const std::string& suffix, std::vector<std::string> options) {
  const system::TemporaryDirectory folder;
  const std::string source = (folder.path() / ("source" + suffix)).string(),
                    result = (folder.path() / "result").string();
  std::ofstream(source) << text;
  options.insert(options.begin(), "clang-19");
  options.insert(options.end(), {source, "-o", result});
  const system::CommandResult done = system::run_command(options);
  REQUIRE_MESSAGE(done.exit_code == 0, done.stderr_text);
  return system::read_file(result);
}

inline std::string assemble(const std::string& text, const std::string& arch) {
  return build(text, ".s",
               {"-x", "assembler", "--target=amdgcn-amd-amdhsa", "-mcpu=" + arch, "-mcode-object-version=5"});
}

/// What HIP's headers would define, for kernels that need no more.
inline const std::string small_hip = R"(
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define thread_x __builtin_amdgcn_workitem_id_x()
#define thread_y __builtin_amdgcn_workitem_id_y()
#define block_x __builtin_amdgcn_workgroup_id_x()
#define block_y __builtin_amdgcn_workgroup_id_y()
#define block_size_x __builtin_amdgcn_workgroup_size_x()
#define sync_threads() (__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"), __builtin_amdgcn_s_barrier(), __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"))
)";

inline std::string compile_hip(const std::string& text, const std::string& arch, std::vector<std::string> more = {}) {
  std::vector<std::string> options = {
      "-x",        "hip",       "--cuda-device-only",      "--offload-arch=" + arch, "-O3",
      "-nogpulib", "-nogpuinc", "-mcode-object-version=5", "--no-gpu-bundle-output", "-std=c++17"};
  options.insert(options.end(), more.begin(), more.end());
  return build(small_hip + text, ".hip", options);
}

/// Whether HIP's headers and device libraries are installed; prints a line if not.
inline bool has_hip() {
  static const bool found = std::filesystem::exists("/usr/include/hip/hip_runtime.h") &&
                            std::filesystem::exists("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode/hip.bc");
  if (!found)
    MESSAGE("skipped: HIP's headers or device libraries are not installed (Debian: libamdhip64-dev rocm-device-libs)");
  return found;
}

/// Compiles a source of kernels/ as xtune does for AMD GPUs. defines: "BLOCK_M=64 PAD=1".
inline emulator::Program compile_kernel(const std::string& source, const std::string& arch,
                                        const std::string& defines) {
  const std::string root = XTUNE_SOURCE_DIR, bitcode = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode/";
  std::vector<std::string> options = {"-x",
                                      "hip",
                                      "--cuda-device-only",
                                      "-O3",
                                      "-nogpulib",
                                      "-mcode-object-version=5",
                                      "--no-gpu-bundle-output",
                                      "-std=c++17",
                                      "--hip-path=/usr",
                                      "-include",
                                      "hip/hip_runtime.h",
                                      "-I" + root + "/runtime",
                                      "-Wno-unused-command-line-argument",
                                      "--offload-arch=" + arch};
  for (const char* file :
       {"hip.bc", "ockl.bc", "oclc_isa_version_90a.bc", "oclc_wavefrontsize64_on.bc", "oclc_abi_version_500.bc"})
    options.insert(options.end(), {"-Xclang", "-mlink-builtin-bitcode", "-Xclang", bitcode + file});
  std::istringstream words(defines);
  for (std::string word; words >> word;) options.push_back("-D" + word);
  const std::string text = "#include \"" + root + "/kernels/" + source + "\"\n";
  return emulator::Program::load(build(text, ".hip", options), arch);
}

/// Reproducible small integers as f32, whose sums are exact.
inline std::vector<float> small_integers(std::size_t count, unsigned seed) {
  std::vector<float> values(count);
  for (float& each : values) {
    seed = seed * 1664525 + 1013904223;
    each = static_cast<float>(static_cast<int>(seed >> 24) % 9 - 4);
  }
  return values;
}

inline std::vector<std::uint16_t> halves_of(const std::vector<float>& values) {
  std::vector<std::uint16_t> halves;
  for (const float each : values) halves.push_back(emulator::half_from(each).bits);
  return halves;
}

/// Arguments of a kernel: pointers and numbers, each at its alignment.
class Arguments {
 public:
  template <class T>
  Arguments& add(T value) {
    while (bytes_.size() % sizeof value != 0) bytes_.push_back(std::byte{0});
    const auto* const from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof value);
    return *this;
  }
  template <class T>
  Arguments& add(std::vector<T>& buffer) {
    memory_.add(buffer.data(), buffer.size() * sizeof(T));
    return add(buffer.data());
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }
  const emulator::Memory& memory() const { return memory_; }

 private:
  std::vector<std::byte> bytes_;
  emulator::Memory memory_;
};

inline emulator::Report run(const emulator::Program& program, emulator::Launch launch, const Arguments& arguments) {
  launch.arguments = arguments.bytes();
  return program.launch(launch, arguments.memory());
}

}  // namespace xtune::test
