// Mistakes in [candidates]: each is reported at its place.
#include <doctest/doctest.h>

#include "ranking.hpp"
#include "support/text.hpp"

using namespace xtune::device;
using namespace xtune::model;
using namespace xtune::space;
using namespace xtune::spec;

using namespace xtune;
using namespace xtune::test;

namespace {

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

TEST_CASE("an expression that fails or gives no number is reported at its place") {
  const std::string zero = failure(edited("block_k = \"BK\"", "block_k = \"BK // (STAGES - STAGES)\""));
  CHECK(has(zero, "invalid_spec: test.toml:22:"));
  CHECK(has(zero, "zero"));
  CHECK(has(failure(edited("block_k = \"BK\"", "block_k = \"'wide'\"")), "needs a number"));
  CHECK(has(reading(edited("block_k = \"BK\"", "block_k = \"BQ\"")), "unknown name 'BQ'"));
  CHECK(has(reading(edited("block_k = \"BK\"", "block_k = \"BK +\"")), "test.toml:22:"));
}

TEST_CASE("the section's own keys") {
  CHECK(has(reading(edited("dtype = \"f16\"", "dtype = \"f61\"")), "dtype: unknown word 'f61' (did you mean 'f64'?)"));
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

TEST_CASE("a value that no field can have is reported at its place, if every configuration has it") {
  for (const char* value : {"\"0\"", "\"-BM\"", "\"1e300*1e300\"", "\"1e300*1e300 - 1e300*1e300\"", "0"}) {
    const std::string found = failure(edited("block_m = \"BM\"", std::string("block_m = ") + value));
    CHECK_MESSAGE(has(found, "invalid_spec: test.toml:20:"), found);
    CHECK_MESSAGE(has(found, "the field block_m (rows of a block's tile of C) is "), found);
    CHECK(has(found, "must be a number from 1 to below 1e12"));
  }
  CHECK(has(failure(edited("stages = \"STAGES\"", "stages = \"STAGES\"\nsplit_k = \"0\"")), "the field split_k"));
  CHECK(has(failure(edited("stages = \"STAGES\"", "stages = \"STAGES\"\nk = \"0\"")), "the field k (length"));
  CHECK(has(failure(edited("M = 4096", "M = 0")), "invalid_spec: test.toml:17:12: the field m (rows of C) is 0"));
  // That is the model's limit, and no mistake of the spec.
  CHECK(has(failure(edited("M = 4096", "M = 1000000000000")),
            "nothing_valid: test.toml:17:12: the field m (rows of C) is 1e+12"));
}

TEST_CASE("a value that no field can have in some configurations leaves out those") {
  const Ranking ranking = ranked(edited("stages = \"STAGES\"", "stages = \"STAGES - 1\""), "sm_90");
  CHECK(ranking.unfit >= ranking.scored / 3);
  CHECK(ranking.unfit < ranking.scored);
  CHECK(ranked(edited("stages = \"STAGES\"", "pad = \"0\""), "sm_90").configs.size() > 0);
}

TEST_CASE("the sizes of a bare template are its own, once, and in range") {
  const auto refusal = [](const Bindings& sizes) {
    try {
      template_spec("matmul", "f16", sizes, model_of("sm_90"));
      return std::string("no error");
    } catch (const Error& error) {
      return std::string(to_string(error.kind())) + ": " + error.what();
    }
  };
  const std::int64_t n = 4096;
  CHECK(refusal({{"M", n}, {"n", n}, {"K", n}}) == "no error");
  CHECK(refusal({{"M", std::int64_t{0}}, {"N", n}, {"K", n}}) ==
        "invalid_argument: -D M=0: m (rows of C) must be a number from 1 to below 1e12");
  CHECK(has(refusal({{"M", n}, {"N", std::int64_t{-5}}, {"K", n}}), "-D N=-5: n (columns of C)"));
  CHECK(has(refusal({{"M", n}, {"N", n}, {"K", std::int64_t{1'000'000'000'000}}}), "-D K=1000000000000: k"));
  CHECK(has(refusal({{"M", n}, {"N", n}, {"K", n}, {"FOO", n}}), "has no such size; it takes m, n, k"));
  CHECK(has(refusal({{"M", n}, {"m", n}, {"N", n}, {"K", n}}), "the size m is given twice"));
}

TEST_CASE("checks find what is wrong with a map without a device") {
  const auto checked = [](const std::string& text) {
    try {
      const Spec spec = parsed(text);
      check_candidates(spec);
      const Space space = make_space(spec, spec.cases.front(), {});
      check_fields(spec, space, spec.cases.front(), device_facts(known_device("sm_80").value()));
      return std::string("no error");
    } catch (const Error& error) {
      return std::string(to_string(error.kind())) + ": " + error.what();
    }
  };
  CHECK(checked(matmul_spec) == "no error");
  CHECK(has(checked(edited("block_n = \"BN\"\n", "")),
            "invalid_spec: test.toml:19:1: the template matmul needs 'block_n'"));
  CHECK(has(checked(edited("K = 4096", "L = 4096")), "needs 'k'"));
  const std::string words = edited("UNSEEN = [1, 2, 3]", "UNSEEN = [\"row\", \"col\"]");
  const std::string text = checked(edited("stages = \"STAGES\"", "stages = \"UNSEEN\"", words));
  CHECK_MESSAGE(has(text, "invalid_spec: test.toml:23:"), text);
  CHECK(has(text, "needs a number"));
  CHECK(has(checked(edited("block_k = \"BK\"", "block_k = \"BK // (STAGES - 3)\"")), "zero"));
  CHECK(has(checked(edited("block_m = \"BM\"", "block_m = \"BM - 1000\"")), "the field block_m"));
  CHECK(checked(edited("block_m = \"BM\"", "block_m = \"BM * device.warp_size // 32\"")) == "no error");
  CHECK(checked(edited("M = 4096", "M = 9223372036854775807")) == "no error");
}
