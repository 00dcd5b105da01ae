// Finds the sanitizers' run-time libraries by asking the compiler.
#include <cstdlib>

#include "backends/compiler/identity.hpp"
#include "backends/cpu/cpu.hpp"
#include "backends/host/backend.hpp"
#include "xtune/error.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define XTUNE_HAS_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define XTUNE_HAS_ADDRESS_SANITIZER
#endif
#endif

namespace xtune::host {
#ifndef XTUNE_HAS_ADDRESS_SANITIZER
namespace {

#if defined(__aarch64__)
constexpr const char* clang_library = "libclang_rt.asan-aarch64.so";
#else
constexpr const char* clang_library = "libclang_rt.asan-x86_64.so";
#endif

}  // namespace
#endif

std::vector<std::pair<std::string, std::string>> sanitizer_environment() {
  // Leaks are not errors of a kernel, and xtune itself reports a buffer that is too large.
  std::vector<std::pair<std::string, std::string>> environment = {
      {"ASAN_OPTIONS", "detect_leaks=0:exitcode=99:detect_stack_use_after_return=0:allocator_may_return_null=1"},
      {"UBSAN_OPTIONS", "print_stacktrace=1:exitcode=99"}};
#ifndef XTUNE_HAS_ADDRESS_SANITIZER
  const compiler::Compiler compiler = compiler::identify_compiler(cpu::find_compiler());
  // clang's library contains both sanitizers.
  const std::vector<std::string> names = compiler.is_clang ? std::vector<std::string>{clang_library}
                                                           : std::vector<std::string>{"libasan.so", "libubsan.so"};
  std::string preload;
  for (const std::string& name : names) {
    const std::string path = compiler::runtime_library(compiler.path, name);
    if (path.empty())
      throw Error(ErrorKind::unavailable,
                  compiler.path + " comes without " + name +
                      ", which --sanitize needs: install it (Debian: the libasan8 and libubsan1 packages)");
    preload += (preload.empty() ? "" : ":") + path;
  }
  if (const char* already = std::getenv("LD_PRELOAD"); already && *already) preload += std::string(":") + already;
  environment.emplace_back("LD_PRELOAD", preload);
#endif
  return environment;
}

}  // namespace xtune::host
