// Finds the sanitizers' run-time libraries by asking the compiler.
#include "backends/host/sanitizer.hpp"

#include <cstdlib>

#include "backends/host/compiler.hpp"
#include "xtune/error.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define XTUNE_HAS_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define XTUNE_HAS_ADDRESS_SANITIZER
#endif
#endif

namespace xtune::host {

std::vector<std::pair<std::string, std::string>> sanitizer_environment() {
#if defined(XTUNE_HAS_ADDRESS_SANITIZER)
  return {};
#else
  const Compiler compiler = identify_compiler(find_compiler());
  // clang's library holds both sanitizers.
  const std::vector<std::string> names = compiler.is_clang ? std::vector<std::string> {
#if defined(__aarch64__)
    "libclang_rt.asan-aarch64.so"
#else
    "libclang_rt.asan-x86_64.so"
#endif
  }
                        : std::vector<std::string>{"libasan.so", "libubsan.so"};
                        std::string preload;
                        for (const std::string& name : names) {
                          const std::string path = runtime_library(compiler.path, name);
                          if (path.empty())
                            throw Error(ErrorKind::unavailable, compiler.path + " comes without " + name +
                                                                    ", which --sanitize needs: install it (Debian: the "
                                                                    "libasan8 and libubsan1 packages)");
                          preload += (preload.empty() ? "" : ":") + path;
                        }
                        if (const char* already = std::getenv("LD_PRELOAD"); already && *already)
                          preload += std::string(":") + already;
                        // Leaks are none of a kernel's business, and xtune's own buffers may be short of what a pool
                        // keeps.
                        return {
                            {"LD_PRELOAD", preload},
                            {"ASAN_OPTIONS",
                             "detect_leaks=0:exitcode=99:detect_stack_use_after_return=0:allocator_may_return_null=1"},
                            {"UBSAN_OPTIONS", "print_stacktrace=1:exitcode=99"}};
#endif
}

}  // namespace xtune::host
