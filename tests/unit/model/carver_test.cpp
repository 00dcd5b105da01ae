// The carver mode against what carver itself ranks.
#include <doctest/doctest.h>

#include "ranking.hpp"

using namespace xtune::device;
using namespace xtune::model;
using namespace xtune::space;
using namespace xtune::spec;

using namespace xtune;
using namespace xtune::test;

TEST_CASE("carver's golden ranking: 4096^3 in f16 on 132 SMs with 48 KB") {
  const std::string text = R"spec([kernel]
name = "gemm"
[problem]
M = 4096
N = 4096
K = 4096
[space.params]
BM = [32, 64, 128, 256]
BN = [32, 64, 128, 256]
[candidates]
template = "matmul"
rank = "carver"
dtype = "f16"
[candidates.map]
block_m = "BM"
block_n = "BN"
block_k = 32
stages = 2
)spec";
  const Spec spec = parsed(text);
  const DeviceModel device = model_of("sm_90");
  REQUIRE(device.info.compute_units == 132);
  REQUIRE(device.info.shared_per_block == 48 * 1024);
  const RankOptions options = rank_options(*spec.candidates);
  REQUIRE(options.mode == RankMode::carver);
  const Space space = make_space(spec, spec.cases.front(), device_facts(device.info));
  const Ranking ranking = rank_candidates(spec, space, spec.cases.front(), device, options);
  const auto cost = [&](std::int64_t m, std::int64_t n) {
    for (const RankedConfig& config : ranking.configs)
      if (value_of(spec, space, config.index, "BM") == m && value_of(spec, space, config.index, "BN") == n)
        return config.cost;
    return 0.0;  // looks like another one, or is not taken
  };
  // 64x128 and 128x64 cost the same and look the same: one of them stands first.
  REQUIRE(ranking.configs.size() >= 3);
  CHECK(cost(64, 128) + cost(128, 64) == ranking.configs[0].cost);
  CHECK(ranking.configs[0].cost == doctest::Approx((1589248.0 + 1) * 4));
  CHECK(cost(128, 128) == ranking.configs[1].cost);
  CHECK(ranking.configs[1].cost == doctest::Approx((2129920.0 + 1) * 3));
  CHECK(cost(128, 256) + cost(256, 128) == ranking.configs[2].cost);
  CHECK(ranking.configs[2].cost == doctest::Approx((3211264.0 + 1) * 2));
  CHECK(cost(256, 256) == 0);  // 64 KiB do not fit 48
}

TEST_CASE("carver keeps to what a block gets without opting in") {
  const Spec spec = parsed(edited("[candidates]\n", "[candidates]\nrank = \"carver\"\n"));
  const Ranking ranking = ranked(spec, model_of("sm_90"), rank_options(*spec.candidates));
  const Space space = make_space(spec, spec.cases.front(), device_facts(model_of("sm_90").info));
  for (const RankedConfig& config : ranking.configs) {
    const auto value = [&](const char* name) { return value_of(spec, space, config.index, name); };
    CHECK(value("STAGES") * (value("BM") + value("BN")) * value("BK") * 2 <= 48 * 1024);
    CHECK_FALSE(config.reason.empty());
  }
}
