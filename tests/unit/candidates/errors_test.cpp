// Mistakes in [candidates], each told at its place.
#include <doctest/doctest.h>

#include "ranking.hpp"

using namespace xtune;
using namespace xtune::test;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string reading(const std::string& text) {
  try {
    parsed(text);
    return "no error";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("an unknown template names the nearest") {
  const std::string found = failure(edited("template = \"matmul\"", "template = \"matmal\""));
  CHECK(has(found, "invalid_spec: test.toml:17:12"));
  CHECK(has(found, "did you mean 'matmul'?"));
}

TEST_CASE("an unknown field names the nearest, at its key") {
  const std::string found = failure(edited("block_k = ", "blok_k = "));
  CHECK(has(found, "invalid_spec: test.toml:22:1"));
  CHECK(has(found, "did you mean 'block_k'?"));
}

TEST_CASE("a missing field says what it is") {
  const std::string found = failure(edited("block_n = \"BN\"\n", ""));
  CHECK(has(found, "test.toml:19:1"));
  CHECK(has(found, "columns of a block's tile"));
  CHECK(has(found, "block_n"));
  CHECK(has(failure(edited("K = 4096", "L = 4096")), "needs 'k'"));
}

TEST_CASE("an expression that fails or gives no number is told at its place") {
  const std::string zero = failure(edited("block_k = \"BK\"", "block_k = \"BK // (STAGES - STAGES)\""));
  CHECK(has(zero, "invalid_spec: test.toml:22:"));
  CHECK(has(zero, "zero"));
  CHECK(has(failure(edited("block_k = \"BK\"", "block_k = \"'wide'\"")), "needs a number"));
  CHECK(has(reading(edited("block_k = \"BK\"", "block_k = \"BQ\"")), "unknown name 'BQ'"));
  CHECK(has(reading(edited("block_k = \"BK\"", "block_k = \"BK +\"")), "test.toml:22:"));
}

TEST_CASE("the section's own keys") {
  CHECK(has(reading(edited("dtype = \"f16\"", "dtype = \"f61\"")), "no element type"));
  CHECK(has(reading(edited("dtype = \"f16\"", "rank = \"models\"")), "rank"));
  CHECK(has(reading(edited("dtype = \"f16\"", "top_k = 0")), "top_k"));
  CHECK(has(reading(edited("dtype = \"f16\"", "topk = 3")), "did you mean 'top_k'?"));
  CHECK(has(failure("[kernel]\nname = \"x\"\n[space.params]\nA = [1]\n"), "no table [candidates]"));
}

TEST_CASE("the element type comes from the section, else from the first input") {
  const Spec spec = parsed(matmul_spec);
  CHECK(spec.candidates->dtype == DType::f16);
  CHECK(spec.candidates->rank == "model");
  CHECK(spec.candidates->map.size() == 4);
  CHECK(spec.candidates->map[0].expression.text == "BM");
}
