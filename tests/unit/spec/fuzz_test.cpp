// Specs broken at random: never a crash, only xtune::Error.
#include <doctest/doctest.h>

#include <cstdlib>

#include "base/random.hpp"
#include "specs.hpp"

using namespace xtune::base;
using namespace xtune::spec;

using namespace xtune;
using namespace xtune::test;

namespace {

std::string mutated(Random& random) {
  static const std::vector<std::string> pieces{"[",
                                               "]",
                                               "{",
                                               "}",
                                               "\"",
                                               "'",
                                               "=",
                                               ".",
                                               ",",
                                               "\n",
                                               "#",
                                               "[[",
                                               "]]",
                                               "\"\"\"",
                                               "0",
                                               "-1",
                                               "1e999",
                                               "nan",
                                               "true",
                                               "9223372036854775807",
                                               "99999999999999999999",
                                               "M",
                                               "BLOCK_M",
                                               "device.",
                                               "time_s",
                                               "//",
                                               "**",
                                               "ceildiv(",
                                               "in [",
                                               "not ",
                                               "\\u0000",
                                               "\xff",
                                               std::string(1, '\0'),
                                               "[on.host.space.params]\n",
                                               "[[cases]]\n",
                                               "[space.params]\n",
                                               "\r"};
  std::string text = good;
  for (std::uint64_t edits = 1 + random.below(4); edits > 0; --edits) {
    const std::size_t at = random.below(text.size() + 1);
    switch (random.below(6)) {
      case 0:
        text.insert(at, pieces[random.below(pieces.size())]);
        break;
      case 1:
        text.erase(at, 1 + random.below(20));
        break;
      case 2:
        text.resize(at);
        break;
      case 3:
        text.insert(at, text.substr(random.below(text.size() + 1), random.below(60)));
        break;
      case 4:
        if (at < text.size()) text[at] = static_cast<char>(random.below(256));
        break;
      default:
        text.replace(at, random.below(10), pieces[random.below(pieces.size())]);
    }
  }
  return text;
}

}  // namespace

TEST_CASE("a broken spec is an Error, for any defect") {
  const char* const rounds_text = std::getenv("XTUNE_FUZZ_ROUNDS");
  const int rounds = rounds_text != nullptr ? std::atoi(rounds_text) : 400;
  Random random(2024);
  int refused = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::string text = mutated(random);
    CAPTURE(text);
    try {
      const Spec spec = parse(text, {{}, round % 2 == 0 ? "host" : ""});
      for (const Bindings& problem : spec.cases) make_space(spec, problem, facts());
    } catch (const Error& error) {
      ++refused;
      REQUIRE(std::string(error.what()).size() > 10);
    }
  }
  CHECK(refused > rounds / 2);
}
