// Calls of the host by kernels, as ROCm's device libraries make them.
#include "emulator/host_calls.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

using xtune::emulator::HostCalls;

namespace {

/// What a lane does to the buffer of calls.
class Lane {
 public:
  explicit Lane(HostCalls& calls) : calls_(calls), buffer_(reinterpret_cast<std::uint64_t*>(calls.address())) {}

  /// Seven words and the first one of a packet; returns the first word of the answer.
  std::uint64_t call(std::uint64_t first, const std::vector<std::uint64_t>& words, std::uint32_t service = 2) {
    const std::uint64_t packet = buffer_[3], index = packet & buffer_[5];
    auto* const header = reinterpret_cast<std::uint64_t*>(buffer_[0] + 24 * index);
    auto* const slot = reinterpret_cast<std::uint64_t*>(buffer_[1] + 4096 * index) + 8 * lane_;
    buffer_[3] = header[0];
    header[1] = std::uint64_t{1} << lane_;
    header[2] = service | std::uint64_t{1} << 32;
    slot[0] = first | words.size() << 5;
    std::copy(words.begin(), words.end(), slot + 1);
    header[0] = buffer_[4];
    buffer_[4] = packet;
    unknown = calls_.serve();
    if (unknown != 0) return 0;
    CHECK(buffer_[4] == 0);
    CHECK((header[2] >> 32 & 1) == 0);
    header[0] = buffer_[3];
    buffer_[3] = packet;
    return slot[0];
  }

  /// The message of all these words, to standard error. Returns printf's result.
  int print(const std::vector<std::uint64_t>& words) {
    std::uint64_t first = call(1, {1});
    for (std::size_t done = 0; done < words.size(); done += 7) {
      const std::size_t end = std::min(done + 7, words.size());
      first = call((first & ~std::uint64_t{0xe0}) | (end == words.size() ? 2 : 0),
                   std::vector(words.begin() + static_cast<std::ptrdiff_t>(done),
                               words.begin() + static_cast<std::ptrdiff_t>(end)));
    }
    return static_cast<int>(first);
  }

  std::uint32_t unknown = 0;

 private:
  HostCalls& calls_;
  std::uint64_t* const buffer_;
  const int lane_ = 3;
};

std::vector<std::uint64_t> text_words(const std::string& text) {
  std::vector<std::uint64_t> words(text.size() / 8 + 1);
  std::memcpy(words.data(), text.data(), text.size());
  return words;
}

std::vector<std::uint64_t> joined(std::vector<std::uint64_t> first, const std::vector<std::uint64_t>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

TEST_CASE("A kernel's message comes in packets, and is printed as printf does") {
  HostCalls calls(3);
  Lane lane(calls);
  std::vector<std::uint64_t> words = text_words("%s:%u: Device-side assertion `%s' failed.\n");
  words = joined(joined(joined(words, text_words("a_kernel.cu")), {32}), text_words("x[i] == 3"));
  lane.print(words);
  CHECK(calls.error_line() == "a_kernel.cu:32: Device-side assertion `x[i] == 3' failed.");
  const int printed =
      lane.print(joined(text_words("%d %5.2f %-4c|%llx 100%% %*d %hhu"),
                        {0xffffffff, std::bit_cast<std::uint64_t>(1.5), 'c', 0x123456789a, 3, 7, 0x1ff}));
  CHECK(calls.error_line() == "-1  1.50 c   |123456789a 100%   7 255");
  CHECK(printed == static_cast<int>(calls.error_line().size()));
  CHECK(lane.print(text_words("")) == 0);
  CHECK(lane.print(text_words("%d and too few")) == 13);
  CHECK(calls.error_line() == "0 and too few");
}

TEST_CASE("A service of the host that is not known is named") {
  HostCalls calls(1);
  Lane lane(calls);
  lane.call(0, {}, 3);
  CHECK(lane.unknown == 3);
}
