// The ranked list: only configurations that fit, with different properties, always the same, in bounded time.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/model/template.hpp"
#include "ranking.hpp"

using namespace xtune::device;
using namespace xtune::model;
using namespace xtune::space;
using namespace xtune::spec;

using namespace xtune;
using namespace xtune::test;

TEST_CASE("candidates come by cost, differ to the model, and are explained") {
  const Spec spec = parsed(matmul_spec);
  const DeviceModel device = model_of("sm_90");
  const Space space = make_space(spec, spec.cases.front(), device_facts(device.info));
  const Ranking ranking = rank_candidates(spec, space, spec.cases.front(), device, {});
  CHECK(ranking.whole);
  CHECK(ranking.scored == space.size());
  REQUIRE(ranking.configs.size() == 20);
  std::set<std::vector<std::int64_t>> seen;
  std::map<std::pair<std::int64_t, std::int64_t>, int> families;
  for (std::size_t i = 0; i < ranking.configs.size(); ++i) {
    const RankedConfig& config = ranking.configs[i];
    if (i > 0) CHECK(config.cost >= ranking.configs[i - 1].cost);
    CHECK(config.reason.find("bound") != std::string::npos);
    REQUIRE(config.estimate);
    CHECK(config.estimate->time_ms == config.cost);
    CHECK(config.estimate->occupancy > 0);
    CHECK(config.estimate->occupancy <= 1);
    std::vector<std::int64_t> looks;
    for (const char* name : {"BM", "BN", "BK", "STAGES"}) looks.push_back(value_of(spec, space, config.index, name));
    CHECK(seen.insert(looks).second);  // no two that differ only in UNSEEN
    ++families[{looks[0], looks[1]}];
  }
  CHECK(std::all_of(families.begin(), families.end(), [](const auto& family) { return family.second <= 5; }));
}

TEST_CASE("the order has the cheapest, and each configuration's estimate is what the ranking says") {
  const Spec spec = parsed(edited("STAGES = [1, 2, 3]", "STAGES = [1, 2, 4, 8]"));
  const DeviceModel device = model_of("sm_90");
  const Space space = make_space(spec, spec.cases.front(), device_facts(device.info));
  const Ranking ranking = rank_candidates(spec, space, spec.cases.front(), device, {});
  const auto estimate = estimator(spec, space, spec.cases.front(), device.info);
  CHECK(ranking.order.front() == ranking.configs.front().index);
  for (const RankedConfig& config : ranking.configs) CHECK(estimate(config.index) == config.cost);
  for (std::size_t i = 1; i < ranking.order.size(); ++i)
    CHECK(estimate(ranking.order[i - 1]) <= estimate(ranking.order[i]));
  std::uint64_t unfit = 0;
  for (std::uint64_t index = 0; index < space.size(); ++index) unfit += std::isnan(estimate(index)) ? 1 : 0;
  CHECK(unfit == ranking.unfit);
}

TEST_CASE("configurations that exceed the device's shared memory or threads are never listed") {
  const std::string text = edited("STAGES = [1, 2, 3]", "STAGES = [1, 2, 4, 8]");
  for (const char* arch : {"sm_75", "sm_90", "gfx90a", "gfx1100"}) {
    CAPTURE(arch);
    const Spec spec = parsed(text);
    const DeviceModel device = model_of(arch);
    const Space space = make_space(spec, spec.cases.front(), device_facts(device.info));
    RankOptions options;
    options.top_k = 10'000;
    const Ranking ranking = rank_candidates(spec, space, spec.cases.front(), device, options);
    CHECK(ranking.unfit > 0);
    CHECK_FALSE(ranking.misfit.empty());
    for (const RankedConfig& config : ranking.configs) {
      const auto value = [&](const char* name) { return value_of(spec, space, config.index, name); };
      CHECK(value("STAGES") * (value("BM") + value("BN")) * value("BK") * 2 <= device.info.shared_per_block_optin);
    }
  }
  CHECK(failure(edited("stages = \"STAGES\"", "stages = \"STAGES\"\nthreads = 2048")).find("nothing_valid") == 0);
}

TEST_CASE("ways of working that come close each get their places") {
  const std::string text = edited("UNSEEN = [1, 2, 3]", "DIRECT = [0, 1]");
  const Spec spec = parsed(text + "shared_a = \"1 - DIRECT\"\n");
  const DeviceModel device = model_of("sm_80");
  const Space space = make_space(spec, spec.cases.front(), device_facts(device.info));
  const Ranking ranking = rank_candidates(spec, space, spec.cases.front(), device, {});
  int direct = 0;
  for (const RankedConfig& config : ranking.configs)
    direct += static_cast<int>(value_of(spec, space, config.index, "DIRECT"));
  CHECK(direct >= 5);
  CHECK(direct <= 15);
}

TEST_CASE("the same arguments give the same answer") {
  const Ranking first = ranked(matmul_spec, "gfx942"), second = ranked(matmul_spec, "gfx942");
  REQUIRE(first.configs.size() == second.configs.size());
  for (std::size_t i = 0; i < first.configs.size(); ++i) CHECK(first.configs[i].index == second.configs[i].index);
}

TEST_CASE("a huge space is sampled and improved, in bounded work") {
  std::string params;
  for (int i = 0; i < 12; ++i) params += "P" + std::to_string(i) + " = { min = 1, max = 12 }\n";
  const Spec spec = parsed(edited("UNSEEN = [1, 2, 3]\n", params));
  RankOptions options;
  options.sample = 5'000;
  const Ranking ranking = ranked(spec, model_of("sm_90"), options);
  CHECK_FALSE(ranking.whole);
  CHECK(ranking.configs.size() == 20);
  CHECK(ranking.scored < 200'000);
  // Combinations that are not in the sample of 96 are found through neighbours: as good as the whole small space.
  CHECK(ranking.configs.front().cost == doctest::Approx(ranked(matmul_spec, "sm_90").configs.front().cost));
}

TEST_CASE("a space of one configuration, and more asked for than there is") {
  const std::string one =
      edited("BM = [32, 64, 128, 256]\nBN = [32, 64, 128, 256]\nBK = [16, 32]\nSTAGES = [1, 2, 3]\nUNSEEN = [1, 2, 3]",
             "BM = [64]\nBN = [64]\nBK = [32]\nSTAGES = [2]");
  CHECK(ranked(one, "sm_90").configs.size() == 1);
  CHECK(ranked(one, "gfx906").configs.size() == 1);
}

TEST_CASE("invalid sizes give no candidates and no crash") {
  for (const char* size : {"0", "-1", "1e300", "BM - 32"}) {
    CAPTURE(size);
    const std::string found = failure(edited("block_m = \"BM\"", "block_m = \"" + std::string(size) + "\""));
    // A number that is too large is the model's limit, and no mistake of the spec.
    const std::string kind = std::string(size) == "1e300" ? "nothing_valid" : "invalid_spec";
    CHECK_MESSAGE((found == "no error" || found.find(kind + ": test.toml:20:") == 0), found);
  }
  CHECK(failure(edited("M = 4096", "M = 0")).find("invalid_spec") == 0);
}

TEST_CASE("suggestions: the spec's number or the given one, and reasons in place of errors") {
  const Spec spec = parsed(matmul_spec);
  const Bindings& problem = spec.cases.front();
  const DeviceInfo device = model_of("sm_90").info;
  const Space space = make_space(spec, problem, device_facts(device));
  const Ranking whole = rank_candidates(spec, space, problem, device_model(device), rank_options(*spec.candidates));
  REQUIRE(suggest(spec, space, problem, device).ranking);
  CHECK(suggest(spec, space, problem, device).ranking->configs.size() == whole.configs.size());
  REQUIRE(suggest(spec, space, problem, device, 2).ranking->configs.size() == 2);
  CHECK(suggest(spec, space, problem, device, 2).ranking->configs[0].index == whole.configs[0].index);

  DeviceInfo cpu;
  cpu.vendor = "cpu";
  CHECK_FALSE(suggest(spec, space, problem, cpu).ranking);
  CHECK(suggest(spec, space, problem, cpu).refused.empty());
  Spec plain = spec;
  plain.candidates.reset();
  CHECK_FALSE(suggest(plain, space, problem, device).ranking);
  DeviceInfo unknown = device;
  unknown.arch = "sm_1";
  unknown.name.clear();
  CHECK_FALSE(suggest(spec, space, problem, unknown).ranking);
  CHECK_FALSE(suggest(spec, space, problem, unknown).refused.empty());
  const Spec wrong = parsed(edited("block_m = \"BM\"", "block_m = \"BM - 1000\""));
  CHECK_THROWS_AS(suggest(wrong, space, problem, device), Error);
}

TEST_CASE("a bare template ranks its own space") {
  const DeviceModel device = model_of("sm_90");
  const Bindings problem{{"M", std::int64_t{4096}}, {"N", std::int64_t{4096}}, {"K", std::int64_t{4096}}};
  const Ranking ranking = ranked(template_spec("matmul", "f16", problem, device), device, {});
  CHECK(ranking.configs.size() == 20);
  CHECK_THROWS_AS(template_spec("matmul", "f17", problem, device), Error);
  CHECK_THROWS_AS(template_spec("matmull", "f16", problem, device), Error);
  try {
    template_spec("matmul", "f16", {{"M", std::int64_t{1}}}, device);
    FAIL("sizes are missing");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("-D n=") != std::string::npos);
    CHECK(std::string(error.what()).find("-D m=") == std::string::npos);
  }
}

TEST_CASE("absurd values of any field are harmless") {
  const Bindings sizes{{"m", std::int64_t{64}},
                       {"n", std::int64_t{64}},
                       {"k", std::int64_t{64}},
                       {"width", std::int64_t{64}},
                       {"height", std::int64_t{64}},
                       {"filter_width", std::int64_t{3}},
                       {"filter_height", std::int64_t{3}},
                       {"seq_q", std::int64_t{64}},
                       {"seq_k", std::int64_t{64}},
                       {"head_dim", std::int64_t{64}},
                       {"heads", std::int64_t{2}},
                       {"bins", std::int64_t{16}},
                       {"rows", std::int64_t{64}},
                       {"columns", std::int64_t{64}},
                       {"nnz", std::int64_t{320}}};
  const DeviceModel device = model_of("gfx1100");
  for (const CandidateTemplate& candidate : candidate_templates())
    for (std::size_t field = 0; field < candidate.fields.size(); ++field)
      for (const char* value : {"0", "-3", "0.001", "1e18", "1e300", "-1e300", "2 ** 62"}) {
        CAPTURE(candidate.name);
        CAPTURE(candidate.fields[field].name);
        CAPTURE(value);
        Spec spec = template_spec(candidate.name, "f32", sizes_of(candidate, sizes), device);
        const std::string name = candidate.fields[field].name;
        std::erase_if(spec.candidates->map, [&](const CandidateField& entry) { return entry.name == name; });
        spec.candidates->map.push_back({name, {}, {value, {}}});
        for (const RankMode mode : {RankMode::model, RankMode::carver}) {
          RankOptions options;
          options.mode = mode;
          options.top_k = 3;
          try {
            for (const RankedConfig& config : ranked(spec, device, options).configs) CHECK(config.cost >= 0);
          } catch (const Error& error) {
            CHECK((error.kind() == ErrorKind::nothing_valid || error.kind() == ErrorKind::invalid_spec));
          }
        }
      }
}

TEST_CASE("kernels/gemm is ranked first on matrix cores where the device has them for the type") {
  struct Expected {
    const char *name, *arch, *parameter;
    std::int64_t value;
  };
  for (const auto& [name, arch, parameter, value] : std::vector<Expected>{{"gemm_f16", "gfx90a", "TENSOR_CORES", 1},
                                                                          {"gemm_f16", "gfx942", "TENSOR_CORES", 1},
                                                                          {"gemm_f16", "gfx1100", "TENSOR_CORES", 1},
                                                                          {"gemm_f16", "gfx1201", "TENSOR_CORES", 1},
                                                                          {"gemm_f16", "gfx1030", "TENSOR_CORES", 0},
                                                                          {"gemm_f16", "sm_80", "TENSOR_CORES", 1},
                                                                          {"gemm", "gfx1100", "INSTRUCTION", 8},
                                                                          {"gemm", "sm_80", "INSTRUCTION", 8}}) {
    CAPTURE(name);
    CAPTURE(arch);
    const Spec spec = load_spec(std::string(XTUNE_SOURCE_DIR "/configs/") + name + ".toml");
    const DeviceModel device = model_of(arch);
    const Space space = make_space(spec, spec.cases.front(), device_facts(device.info));
    const Ranking ranking = rank_candidates(spec, space, spec.cases.front(), device, {});
    REQUIRE_FALSE(ranking.configs.empty());
    CHECK(value_of(spec, space, ranking.configs.front().index, parameter) == value);
  }
  // f32: CDNA2's matrix cores have twice the rate of its vector units.
  const Spec spec = load_spec(XTUNE_SOURCE_DIR "/configs/gemm.toml");
  const DeviceModel device = model_of("gfx90a");
  const Space space = make_space(spec, spec.cases.front(), device_facts(device.info));
  const Ranking ranking = rank_candidates(spec, space, spec.cases.front(), device, {});
  REQUIRE_FALSE(ranking.configs.empty());
  CHECK(value_of(spec, space, ranking.configs.front().index, "INSTRUCTION") > 8);
}
