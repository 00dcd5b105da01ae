// Problems of the machine in a compiler's log, with lines that compilers really print.
#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>

#include "core/build/compile_hint.hpp"
#include "core/build/shortage.hpp"
#include "fakes/limited_child.hpp"
#include "fakes/limited_directory.hpp"
#include "system/subprocess.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

using namespace xtune::build;

namespace {

/// "io: text", "crashed: text", or empty.
std::string verdict(const std::string& log) {
  try {
    xtune::build::throw_if_not_the_source({"g++", log});
  } catch (const xtune::Error& error) {
    return std::string(to_string(error.kind())) + ": " + error.what();
  } catch (const xtune::build::CandidateFailure& failure) {
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

namespace {

/// What throw_if_not_the_source makes of it: "io", "unavailable", "crashed memory", or empty.
std::string kind_of(const xtune::build::ToolEnd& end) {
  try {
    xtune::build::throw_if_not_the_source(end);
  } catch (const xtune::Error& error) {
    return to_string(error.kind());
  } catch (const xtune::build::CandidateFailure& failure) {
    return std::string(to_string(failure.outcome())) + " " + to_string(xtune::build::lack_of(failure));
  }
  return {};
}

std::string start_failure(int reason, const std::string& program = "sh") {
  try {
    xtune::build::throw_start_failure({reason, "cannot start it"}, "the build", program,
                                      xtune::Outcome::compile_failed);
  } catch (const xtune::Error& error) {
    return to_string(error.kind());
  } catch (const xtune::build::CandidateFailure& failure) {
    CHECK(std::string(failure.what()) == "the build: cannot start it");
    return std::string(to_string(failure.outcome())) + " " + to_string(xtune::build::lack_of(failure));
  }
  return {};
}

}  // namespace

TEST_CASE("Lacking resources of the machine are classified by kind") {
  for (const char* log : {"sh: 0: Cannot fork\n", "bash: fork: retry: Resource temporarily unavailable\n",
                          "g++: fatal error: cannot execute 'as': vfork: Resource temporarily unavailable\n",
                          "cc1plus: fatal error: k.cu: Too many open files\n"}) {
    CAPTURE(log);
    CHECK(kind_of({"g++", log, 1}) == "unavailable");
  }
  for (const char* log : {"collect2: fatal error: ld terminated with signal 25 [File size limit exceeded]\n",
                          "cp: error writing '/tmp/x/program': File too large\n",
                          "cannot create regular file 'a.o': Read-only file system\n"}) {
    CAPTURE(log);
    CHECK(kind_of({"g++", log, 1}) == "io");
  }
  for (const char* log :
       {"g++: fatal error: Killed signal terminated program cc1plus\n", "Killed\n",
        "collect2: fatal error: ld terminated with signal 9 [Killed]\n",
        "clang: error: unable to execute command: Killed\n", "make: *** [Makefile:3: program] Killed\n",
        "make: *** [Makefile:3: program] Terminated\n", "g++: fatal error: Hangup signal terminated program cc1plus\n",
        "b.sh: line 2:  4711 Terminated              g++ k.cpp\n", "Terminated\n",
        "collect2: fatal error: ld terminated with signal 15 [Terminated]\n"}) {
    CAPTURE(log);
    CHECK(kind_of({"g++", log, 1}) == "crashed killed");
  }
  CHECK(kind_of({"g++", "virtual memory exhausted: Cannot allocate memory\n", 1}) == "crashed memory");
  CHECK(kind_of({"g++", "collect2: fatal error: ld terminated with signal 11 [Segmentation fault]\n", 1}) ==
        "crashed none");
  CHECK(kind_of({"g++", "k.cu: In function 'void Killed()':\nk.cu:3:1: error: no\n", 1}) == "");
}

TEST_CASE("Signals and a shell's exit codes for them are told as the log's words are") {
  CHECK(kind_of({"make", "", -1, SIGKILL}) == "crashed killed");
  CHECK(kind_of({"sh", "", 128 + SIGKILL}) == "crashed killed");
  CHECK(kind_of({"sh", "", -1, SIGTERM}) == "crashed killed");
  CHECK(kind_of({"sh", "", 128 + SIGHUP}) == "crashed killed");
  CHECK(kind_of({"sh", "", 200}) == "");
  CHECK(kind_of({"sh", "", 128 + SIGXFSZ}) == "io");
  CHECK(kind_of({"sh", "", -1, SIGXCPU}) == "crashed killed");
  CHECK(kind_of({"sh", "", -1, SIGSEGV}) == "");
  CHECK(kind_of({"sh", "", 1}) == "");
}

TEST_CASE("A program that a script did not find is the machine's lack") {
  for (const char* log :
       {"b.sh: 1: mytool: not found\n", "b.sh: line 1: mytool: command not found\n",
        "zsh:1: command not found: mytool\n", "make: mytool: No such file or directory\nmake: *** [all] Error 127\n",
        "make: *** [Makefile:2: all] Error 126\n", "/usr/bin/env: 'mytool': No such file or directory\n",
        "bash: ./b: /opt/python: bad interpreter: No such file or directory\n",
        "timeout: failed to run command 'mytool': No such file or directory\n",
        "FileNotFoundError: [Errno 2] No such file or directory: 'mytool'\n"}) {
    CAPTURE(log);
    CHECK(kind_of({"sh", log, 1}) == "compile_failed unclear");
    CHECK(lack_in_line(std::string_view(log).substr(0, std::string_view(log).find('\n'))) ==
          (std::string_view(log).starts_with("make: mytool") ? Lack::none : Lack::unclear));
  }
  CHECK(kind_of({"sh", "", 127}) == "compile_failed unclear");
  CHECK(kind_of({"sh", "", 126}) == "compile_failed unclear");
  CHECK(kind_of({"sh", "the solution: not found\n", 1}) == "");
  CHECK(kind_of({"sh", "k.cpp:3:1: error: command not found: x\n", 1}) == "");
  CHECK(kind_of({"cat", "cat: in.dat: No such file or directory\n", 1}) == "");
}

TEST_CASE("A tool that failed without a word is not to blame where nothing can be written") {
  const xtune::fakes::LimitedDirectory full("size=64k"), roomy("size=8m");
  if (!full.mounted() || !roomy.mounted()) {
    MESSAGE("skipped: this user cannot mount");
    return;
  }
  CHECK(kind_of({"g++", "", 1, 0, full.path()}) == "io");
  CHECK(kind_of({"g++", "", -1, SIGBUS, full.path()}) == "io");
  CHECK(kind_of({"g++", "", 1, 0, roomy.path()}) == "");
  CHECK_THROWS_AS(xtune::build::throw_if_no_room("g++", full.path()), xtune::Error);
  CHECK_NOTHROW(xtune::build::throw_if_no_room("g++", roomy.path()));
}

TEST_CASE("A program that does not start is the machine's fault, unless it is not a program") {
  for (const int reason : {EAGAIN, ENOMEM, EMFILE, ENFILE}) CHECK(start_failure(reason) == "unavailable");
  CHECK(start_failure(ENOSPC) == "io");
  for (const int reason : {ENOENT, EPERM, EACCES, ETXTBSY}) CHECK(start_failure(reason) == "compile_failed unclear");
  for (const int reason : {ENOEXEC, E2BIG, ELOOP}) CHECK(start_failure(reason) == "compile_failed none");
}

TEST_CASE("A directory that allows no programs is named, with the variable to set") {
  const xtune::fakes::LimitedDirectory forbids("noexec,size=4m");
  if (!forbids.mounted()) {
    MESSAGE("skipped: this user cannot mount");
    return;
  }
  CHECK_THROWS_WITH_AS(xtune::build::require_programs_allowed(forbids.path()), doctest::Contains("XTUNE_TMP_DIR"),
                       xtune::Error);
  CHECK(start_failure(EACCES, (forbids.path() / "program").string()) == "io");
  CHECK_NOTHROW(xtune::build::require_programs_allowed(std::filesystem::temp_directory_path()));
}

TEST_CASE("The first error is the assembler's own, not the heading above it") {
  CHECK(xtune::build::first_error_or_first_line(
            "c.cu: Assembler messages:\nc.cu:3: Error: no such instruction: `bogus'\n") ==
        "c.cu:3: Error: no such instruction: `bogus'");
  CHECK(xtune::build::first_error_or_first_line(
            "k.cu: In function 'f':\nk.cu:7:2: error: expected ';'\nk.cu:9: Error: later\n") ==
        "k.cu:7:2: error: expected ';'");
  CHECK(xtune::build::first_error_or_first_line("\nno such words\nat all\n") == "no such words");
}

TEST_CASE("Under a limit of the user's, a tool's death or unexplained failure is not the source's for certain") {
  const auto limited = [](const xtune::build::ToolEnd& end) {
    return xtune::fakes::under_limit(RLIMIT_CPU, 1000, [&] { return kind_of(end); });
  };
  const std::string died = "collect2: fatal error: ld terminated with signal 11 [Segmentation fault]\n";
  CHECK(kind_of({"g++", died, 1}) == "crashed none");
  CHECK(limited({"g++", died, 1}) == "crashed unclear");
  CHECK(limited({"sh", "", -1, SIGSEGV}) == "crashed unclear");
  CHECK(limited({"make", "make: *** [Makefile:3: program] Error 1\n", 2}) == "compile_failed unclear");
  CHECK(limited({"g++", "k.cu:7:2: internal compiler error: no\n", 1}) == "compile_failed unclear");
  CHECK(limited({"g++", "k.cu:7:2: error: no\n", 1}).empty());
  CHECK(limited({"nvcc", "k.cu(7): error: no\n", 1}).empty());
  CHECK(limited({"g++", "virtual memory exhausted: Cannot allocate memory\n", 1}) == "crashed memory");
}

TEST_CASE("What ends at a limit that depends on what others use is the machine's lack, up to half of all memory") {
  using namespace xtune;
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;
  CHECK(lack_behind_memory_limit(1 * gib, 16 * gib) == Lack::memory);
  CHECK(lack_behind_memory_limit(8 * gib, 16 * gib) == Lack::memory);
  CHECK(lack_behind_memory_limit(8 * gib + 1, 16 * gib) == Lack::none);
}

namespace {

/// The file that the log's first line reports as missing may be installed later.
void check_missing(const std::string& log) {
  using namespace xtune;
  try {
    throw_if_not_the_source({"g++", log, 1, 0});
    FAIL("the source's");
  } catch (const ShortageFailure& failure) {
    CHECK(failure.lack() == Lack::unclear);
    CHECK(failure.outcome() == Outcome::compile_failed);
    CHECK(std::string(failure.what()) == log.substr(0, log.find('\n')));
  }
}

}  // namespace

TEST_CASE("A library that is missing may be installed later") {
  using namespace xtune;
  for (const char* log :
       {"/usr/bin/ld: cannot find -lv: No such file or directory\ncollect2: error: ld returned 1 exit status\n",
        "ld.lld: error: unable to find library -lv\nclang: error: linker command failed\n"})
    check_missing(log);
  CHECK(lack_in_line("libv.so.1: cannot open shared object file: No such file or directory") == Lack::unclear);
}

TEST_CASE("A header that is missing may be installed later") {
  using namespace xtune;
  for (const char* log : {"k.cu:1:10: fatal error: lib/x.h: No such file or directory\n    1 | #include <lib/x.h>\n",
                          "k.cu:1:10: fatal error: 'lib/x.h' file not found\n#include <lib/x.h>\n",
                          "k.cu(1): catastrophic error: cannot open source file \"lib/x.h\"\n  #include <lib/x.h>\n"})
    check_missing(log);
  CHECK_NOTHROW(throw_if_not_the_source({"g++", "k.cu:7:2: error: 'x' was not declared in this scope\n", 1, 0}));
}

TEST_CASE("an error in a header of xtune names that header and the line of the kernel") {
  const std::string header = "/tmp/xtune-1/xtune-2/portable/xtune/hopper.cuh";
  const std::string gcc = header +
                          ": In instantiation of 'int f() [with int N = 25]':\nk.cu:9:30:   required from here\n" +
                          header + ":48:35: error: static assertion failed: bad\n   48 | x\n";
  CHECK(error_in_header(header + ":48:35: error: static assertion failed: bad", gcc, "/tmp") ==
        "xtune/hopper.cuh:48:35: error: static assertion failed: bad (from k.cu:9:30)");
  const std::string nvrtc = header +
                            "(48): error: static assertion failed with \"bad\"\n  x\n  ^\n"
                            "          detected during:\n"
                            "            instantiation of \"int f<N>() [with N=26]\" at line 70 of " +
                            header +
                            "\n"
                            "            instantiation of \"int g<N>() [with N=26]\" at line 5 of k.cu\n\n" +
                            header +
                            "(99): error: other\n   detected during instantiation of \"h\" at line 7 of k.cu\n";
  CHECK(error_in_header(header + "(48): error: static assertion failed with \"bad\"", nvrtc, "/tmp") ==
        "xtune/hopper.cuh(48): error: static assertion failed with \"bad\" (from k.cu:5)");
  const std::string clang =
      header +
      ":48:35: error: static assertion failed: bad\n"
      "k.cu:9:17: note: in instantiation of function template specialization 'f<25>' requested here\n";
  CHECK(error_in_header(header + ":48:35: error: static assertion failed: bad", clang, "/tmp") ==
        "xtune/hopper.cuh:48:35: error: static assertion failed: bad (from k.cu:9:17)");
  CHECK(error_in_header("/tmp/xtune-1/xtune-2/xtune_host_hopper.h:1:2: error: bad", "", "/tmp") ==
        "xtune_host_hopper.h:1:2: error: bad");
  for (const char* other :
       {"k.cu:1:2: error: bad", "/tmp/k.cuh:1:2: error: bad", "/home/xtune-1/xtune/k.cuh:1: error: bad", ""})
    CHECK(error_in_header(other, gcc, "/tmp") == other);
}
