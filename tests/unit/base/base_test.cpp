// Hash, random numbers and the names of errors.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>

#include "base/hash.hpp"
#include "base/random.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

using namespace xtune::base;

using namespace xtune;

TEST_CASE("CRC-32C of texts of all lengths, by the definition and by RFC 3720") {
  const auto slow = [](std::string_view bytes) {
    std::uint32_t sum = 0xffffffff;
    for (const char c : bytes) {
      sum ^= static_cast<unsigned char>(c);
      for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? 0x82f63b78 : 0);
    }
    return ~sum;
  };
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(crc32c("123456789") == 0xe3069283);
  std::string text;
  for (std::size_t length = 0; length < 1200; ++length) {
    REQUIRE(crc32c(text) == slow(text));
    text += static_cast<char>(length * 151 + length / 256);
  }
  REQUIRE(crc32c(std::string_view(text).substr(3)) == slow(std::string_view(text).substr(3)));
}

TEST_CASE("SHA-256 of the standard's examples (FIPS 180-4)") {
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256(std::string(1000000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  CHECK(sha256(std::string("a\0b", 3)) != sha256("a"));
}

TEST_CASE("random numbers are the published SplitMix64 sequence") {
  // First outputs of SplitMix64 with seed 1234567, whose state grows by the same constant that mix64 adds.
  std::uint64_t state = 1234567;
  for (const std::uint64_t expected : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                       4593380528125082431u, 16408922859458223821u}) {
    CHECK(mix64(state) == expected);
    state += 0x9E3779B97F4A7C15u;
  }
}

TEST_CASE("one seed gives one sequence, another seed another") {
  Random a(1), b(1), c(2);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const auto value = a.next();
    CHECK(value == b.next());
    differs = differs || value != c.next();
  }
  CHECK(differs);
}

TEST_CASE("bounded numbers stay below the bound and favour none") {
  Random random(42);
  std::array<int, 6> counts{};
  constexpr int draws = 60000;
  for (int i = 0; i < draws; ++i) ++counts.at(random.below(6));
  // Chi-squared with 5 degrees of freedom: 20.5 has probability 0.001, and the seed is fixed.
  double chi_squared = 0;
  for (const int count : counts) chi_squared += (count - draws / 6.0) * (count - draws / 6.0) / (draws / 6.0);
  CHECK(chi_squared < 20.5);
  for (int i = 0; i < 100; ++i) CHECK(random.below(1) == 0);
}

TEST_CASE("a bound that does not divide 2^64 is unbiased") {
  // With bound 3 * 2^62 a plain product would give every third value twice as often as the others.
  Random random(7);
  constexpr std::uint64_t bound = std::uint64_t{3} << 62;
  std::array<int, 3> counts{};
  for (int i = 0; i < 30000; ++i) {
    const std::uint64_t value = random.below(bound);
    REQUIRE(value < bound);
    ++counts[value % 3];
  }
  for (const int count : counts) CHECK(std::abs(count - 10000) < 350);
}

TEST_CASE("uniform numbers are in [0, 1) with the right mean") {
  Random random(3);
  double sum = 0;
  for (int i = 0; i < 100000; ++i) {
    const double value = random.uniform();
    REQUIRE(value >= 0);
    REQUIRE(value < 1);
    sum += value;
  }
  CHECK(std::abs(sum / 100000 - 0.5) < 0.005);
}

TEST_CASE("errors and outcomes have names that read back") {
  CHECK(std::string(to_string(ErrorKind::nothing_valid)) == "nothing_valid");
  for (const Outcome outcome : {Outcome::ok, Outcome::rejected, Outcome::pruned, Outcome::crashed})
    CHECK(outcome_from_string(to_string(outcome)) == outcome);
  CHECK_FALSE(outcome_from_string("nonsense").has_value());
}
