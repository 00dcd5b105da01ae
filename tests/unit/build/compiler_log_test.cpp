// Tests of what a compiler's log says of the machine, with lines that compilers really print.
#include "core/build/compiler_log.hpp"

#include <doctest/doctest.h>

#include <string>

#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace {

/// "io: text", "crashed: text", or empty.
std::string verdict(const std::string& log) {
  try {
    xtune::throw_if_not_the_source("g++", log);
  } catch (const xtune::Error& error) {
    return std::string(to_string(error.kind())) + ": " + error.what();
  } catch (const xtune::CandidateFailure& failure) {
    CHECK(failure.log() == log);
    return std::string(to_string(failure.outcome())) + ": " + failure.what();
  }
  return {};
}

}  // namespace

TEST_CASE("A full disk, a missing linker and a lack of memory are told from the source's errors") {
  for (const char* log :
       {"/usr/bin/ld: final link failed: No space left on device\ncollect2: error: ld returned 1 exit status\n",
        "k.cu:57:1: fatal error: error writing to /tmp/ccYQZ2Vd.s: No space left on device\n",
        "/tmp/cc.s: Fatal error: can't write 12 bytes to section .text of kernel.o: 'No space left on device'\n",
        "clang: error: unable to make temporary file: No space left on device\n",
        "k.cu:3: warning: unused\n/usr/bin/ld: final link failed: Disk quota exceeded\n"}) {
    CAPTURE(log);
    CHECK(verdict(log).starts_with("io: g++: "));
    CHECK(verdict(log).find("XTUNE_TMP_DIR") != std::string::npos);
  }
  for (const char* log : {"collect2: fatal error: cannot find 'ld'\ncompilation terminated.\n",
                          "g++: fatal error: cannot execute 'as': execvp: No such file or directory\n",
                          "clang: error: unable to execute command: Executable \"ld\" doesn't exist!\n"}) {
    CAPTURE(log);
    CHECK(verdict(log).starts_with("unavailable: g++: "));
  }
  for (const char* log : {"\ncc1plus: out of memory allocating 65536 bytes after a total of 8519680 bytes\n",
                          "virtual memory exhausted: Cannot allocate memory\n", "LLVM ERROR: out of memory\n",
                          "clang: error: unable to execute command: Killed\n",
                          "clang: error: unable to execute command: Segmentation fault (core dumped)\n",
                          "g++: fatal error: Killed signal terminated program cc1plus\n"}) {
    CAPTURE(log);
    CHECK(verdict(log).starts_with("crashed: g++: "));
  }
}

TEST_CASE("A source that only speaks of such things is refused as any other") {
  for (const char* log :
       {"", "\n\n", "k.cu:7:2: error: #error No space left on device\n",
        "k.cu:7:2: error: No space left on device\n#error No space left on device\n",
        "k.cu:1: error: static assertion failed: out of memory\n", "    7 | static_assert(false, \"out of memory\");\n",
        "k.cu:7:2: error: cannot execute this\n"}) {
    CAPTURE(log);
    CHECK(verdict(log) == "");
  }
}
