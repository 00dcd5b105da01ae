// Tests of memory that is read-only once sealed.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "worker/arguments.hpp"
#include "xtune/error.hpp"

using xtune::worker::SealedMemory;

TEST_CASE("Sealed memory keeps its bytes, and a write to it ends the process") {
  SealedMemory memory(5000);
  CHECK(std::all_of(memory.bytes().begin(), memory.bytes().end(), [](std::byte b) { return b == std::byte{0}; }));
  memory.writable()[4999] = std::byte{9};
  memory.seal();
  CHECK(memory.bytes()[4999] == std::byte{9});
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer's or the test framework's handler would turn it into an exit code
    const_cast<volatile std::byte*>(memory.bytes().data())[0] = std::byte{1};
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
}

TEST_CASE("Sealed memory moves, may be empty, and refuses what no machine has") {
  SealedMemory a(16);
  a.writable()[0] = std::byte{1};
  SealedMemory b = std::move(a);
  CHECK(b.bytes().size() == 16);
  CHECK(b.bytes()[0] == std::byte{1});
  b = SealedMemory(0);
  CHECK(b.bytes().empty());
  b.seal();
  CHECK(SealedMemory().bytes().empty());
  CHECK_THROWS_AS(SealedMemory(std::size_t{1} << 62), xtune::Error);
}
