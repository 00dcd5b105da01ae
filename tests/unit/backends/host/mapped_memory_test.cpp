// Facts about addresses that are found without accessing them.
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

#include "backends/host/backend.hpp"

namespace xtune::host {

TEST_CASE("memory is mapped as far as it goes") {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t pages = 10000;
  void* const mapping = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapping != MAP_FAILED);
  const auto* const start = static_cast<const char*>(mapping);
  const std::size_t kept = 7003;
  REQUIRE(munmap(static_cast<char*>(mapping) + kept * page, (pages - kept) * page) == 0);
  CHECK(mapped_bytes(start, 1) == 1);
  CHECK(mapped_bytes(start + 5, kept * page - 5) == kept * page - 5);
  CHECK(mapped_bytes(start + 5, kept * page) == kept * page - 5);
  CHECK(mapped_bytes(start, pages * page) == kept * page);
  CHECK(mapped_bytes(start + kept * page, 1) == 0);
  CHECK(mapped_bytes(start + kept * page - 3, 4) == 3);
  const auto beyond = mapped_bytes(start, SIZE_MAX);
  REQUIRE(beyond);
  CHECK(*beyond == kept * page);
  CHECK(mapped_bytes(nullptr, 8) == 0);
  REQUIRE(munmap(mapping, kept * page) == 0);
  CHECK(mapped_bytes(start, 1) == 0);
}

TEST_CASE("memory of the process is mapped") {
  const std::vector<float> values(100000);
  int local = 0;
  CHECK(mapped_bytes(values.data(), values.size() * sizeof(float)) == values.size() * sizeof(float));
  CHECK(mapped_bytes(&local, sizeof local) == sizeof local);
}

}  // namespace xtune::host
