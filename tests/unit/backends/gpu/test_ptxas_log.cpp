// ptxas' report, as recorded from several toolkits.
#include <doctest/doctest.h>

#include <string>

#include "backends/gpu/runtime_compiler.hpp"

using namespace xtune::build;

using namespace xtune;
using gpu::parse_ptxas_log;

namespace {

// NVRTC 13.0, three kernels in one source.
const char* const cuda13 =
    R"(ptxas info    : Overriding maximum register limit 256 for '_Z4gemmILi64EEvPfPKfi' with  32 of maxrregcount option
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z4gemmILi64EEvPfPKfi' for 'sm_90'
ptxas info    : Function properties for _Z4gemmILi64EEvPfPKfi
ptxas         .     1104 bytes stack frame, 1404 bytes spill stores, 1856 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 1104 bytes cumulative stack size, 1024 bytes smem
ptxas info    : Compile time = 85.081 ms
ptxas info    : Compiling entry function '_Z5otherPf' for 'sm_90'
ptxas info    : Function properties for _Z5otherPf
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 0 barriers
ptxas info    : Compile time = 2.947 ms
)";

// NVRTC 13.0, a kernel that calls a function kept out of line.
const char* const with_callee = R"(ptxas info    : Compiling entry function 'e' for 'sm_80'
ptxas info    : Function properties for e
ptxas         .     160 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 160 bytes cumulative stack size, 360 bytes cmem[0]
ptxas info    : Compile time = 6.595 ms
ptxas info    : Function properties for _Z1ff
ptxas         .     0 bytes stack frame, 96 bytes spill stores, 0 bytes spill loads
)";

// nvcc 10.
const char* const cuda10 = R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z3sumPf' for 'sm_70'
ptxas info    : Function properties for _Z3sumPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 18 registers, 2048 bytes smem, 360 bytes cmem[0]
)";

}  // namespace

TEST_CASE("the entry's own numbers, out of several kernels") {
  const ResourceUsage gemm = parse_ptxas_log(cuda13, "_Z4gemmILi64EEvPfPKfi");
  CHECK(gemm.registers == 32);
  CHECK(gemm.spilled_bytes == 1404);
  CHECK(gemm.static_shared_bytes == 1024);
  const ResourceUsage other = parse_ptxas_log(cuda13, "_Z5otherPf");
  CHECK(other.registers == 10);
  CHECK(other.spilled_bytes == 0);
  CHECK(other.static_shared_bytes == 0);
}

TEST_CASE("a function the kernel calls does not count as the kernel") {
  const ResourceUsage usage = parse_ptxas_log(with_callee, "e");
  CHECK(usage.registers == 32);
  CHECK(usage.spilled_bytes == 8);
}

TEST_CASE("older toolkits") {
  const ResourceUsage usage = parse_ptxas_log(cuda10, "_Z3sumPf");
  CHECK(usage.registers == 18);
  CHECK(usage.static_shared_bytes == 2048);
  CHECK(usage.spilled_bytes == 0);
}

TEST_CASE("Windows line ends") {
  std::string text = cuda10;
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.insert(at, "\r");
  CHECK(parse_ptxas_log(text, "_Z3sumPf").spilled_bytes == 0);
  CHECK(parse_ptxas_log(text, "_Z3sumPf").registers == 18);
}

TEST_CASE("values that are not in the log stay unset") {
  for (const char* log : {"", "\n\n", "warning: nothing here", "ptxas info    : Used registers", "bytes smem"}) {
    const ResourceUsage usage = parse_ptxas_log(log, "e");
    CHECK_FALSE(usage.registers);
    CHECK_FALSE(usage.spilled_bytes);
  }
  CHECK_FALSE(parse_ptxas_log(cuda13, "_Z4gemm").registers);  // a prefix is another kernel
  CHECK_FALSE(parse_ptxas_log(cuda13, "").registers);
}

TEST_CASE("numbers too large to be true are not believed") {
  const std::string log =
      "ptxas info : Compiling entry function 'e' for 'sm_80'\nptxas info : Used 99999999999999999999999 registers, 1 "
      "bytes smem\n";
  const ResourceUsage usage = parse_ptxas_log(log, "e");
  CHECK_FALSE(usage.registers);
  CHECK(usage.static_shared_bytes == 1);
}

TEST_CASE("truncated anywhere, the log never misleads") {
  const std::string text = cuda13;
  for (std::size_t size = 0; size < text.size(); ++size) {
    const ResourceUsage usage = parse_ptxas_log(text.substr(0, size), "_Z5otherPf");
    if (usage.spilled_bytes) CHECK(*usage.spilled_bytes == 0);
    if (usage.registers) CHECK(*usage.registers == 10);
  }
}

TEST_CASE("the largest static shared memory of a log") {
  CHECK(gpu::largest_static_shared(cuda13) == std::pair<std::int64_t, std::string>(1024, "_Z4gemmILi64EEvPfPKfi"));
  CHECK(gpu::largest_static_shared(cuda10) == std::pair<std::int64_t, std::string>(2048, "_Z3sumPf"));
  CHECK(gpu::largest_static_shared("").first == 0);
}
