// Decision trees: what grows, what is exported, and that header, JSON and xtune choose alike.
#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/subprocess.hpp"
#include "core/space/bindings_text.hpp"
#include "core/store/config_tree.hpp"
#include "core/store/export.hpp"
#include "unit/store/store_files.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr double none = std::numeric_limits<double>::infinity();

store::ConfigTree grown(const std::vector<std::pair<Bindings, std::vector<double>>>& cases, double limit = 1.05,
                        std::size_t depth = 16) {
  std::vector<store::TreeCase> rows;
  for (const auto& [problem, ratios] : cases) rows.push_back({&problem, ratios});
  return store::grow_tree(rows, limit, depth);
}

Bindings sizes(std::int64_t m, std::int64_t n) { return {{"M", m}, {"N", n}}; }

record::Record measured(const Bindings& problem, std::int64_t block, double time_ms, const std::string& arch = "sm_90",
                        const std::string& device = "NVIDIA H200") {
  record::Record record = example_record(block, time_ms, 0);
  record.problem = problem;
  record.device.arch = arch;
  record.device.name = device;
  record.config["MODE"] = std::string(block > 64 ? "wide \"x\"" : "narrow");
  record.key = base::sha256(arch + device + space::bindings_text(problem) + std::to_string(block));
  return record;
}

/// Small problems want BLOCK=32, wide ones 128, the rest 64; 256 wins one case that nothing else was measured for.
void fill(const fs::path& store) {
  std::vector<record::Record> records, amd;
  for (const std::int64_t m : {16, 64, 256, 1024, 4096, 16384})
    for (const std::int64_t n : {128, 1000, 8192}) {
      const std::int64_t best = m <= 64 ? 32 : n >= 8192 ? 128 : 64;
      for (const std::int64_t block : {32, 64, 128})
        records.push_back(measured(sizes(m, n), block, block == best ? 1.0 : block == 64 ? 1.2 : 1.5));
    }
  records.push_back(measured(sizes(1, 1), 256, 1.0));
  amd.push_back(measured(sizes(64, 64), 64, 1.0, "gfx90a", "AMD MI250X"));
  write_records(store, records);
  write_records(store, amd, "a1", "gfx90a");
}

/// The answer of a tree as JSON, by the documented rules only.
const ordered_json& evaluate(const ordered_json& tree, const ordered_json& problem) {
  const ordered_json* node = &tree["nodes"][0];
  while (!node->contains("config")) {
    const ordered_json& value = problem[(*node)["size"].get<std::string>()];
    const bool holds = node->contains("at_most") ? value <= (*node)["at_most"] : value == (*node)["equals"];
    node = &tree["nodes"][(*node)[holds ? "then" : "else"].get<std::size_t>()];
  }
  return tree["configs"][(*node)["config"].get<std::size_t>()];
}

}  // namespace

TEST_CASE("a tree has as many questions as the limit needs") {
  const std::vector<std::pair<Bindings, std::vector<double>>> cases = {{sizes(64, 64), {1.0, 1.04}},
                                                                       {sizes(4096, 64), {1.04, 1.0}}};
  CHECK(grown(cases).size() == 1);
  const store::ConfigTree exact = grown(cases, 1.0);
  REQUIRE(exact.size() == 3);
  CHECK(exact[0].size == "M");
  CHECK(exact[0].value == Value(512));  // the middle of the logarithms
  CHECK(store::choose(exact, sizes(512, 9)) == 0);
  CHECK(store::choose(exact, sizes(513, 9)) == 1);
  CHECK(grown(cases, 1.0, 0).size() == 1);
}

TEST_CASE("no first question helps, but two together do; words are compared for equality") {
  const auto cross = grown(
      {{sizes(1, 1), {1.0, 2.0}}, {sizes(1, 9), {2.0, 1.0}}, {sizes(9, 1), {2.0, 1.0}}, {sizes(9, 9), {1.0, 2.0}}});
  for (const std::int64_t m : {1, 9})
    for (const std::int64_t n : {1, 9}) CHECK(store::choose(cross, sizes(m, n)) == std::size_t{m != n});
  const auto words = grown({{{{"ORDER", "row"}}, {1.0, 2.0}}, {{{"ORDER", "col"}}, {2.0, 1.0}}});
  CHECK(store::choose(words, {{"ORDER", "row"}}) == 0);
  CHECK(store::choose(words, {{"ORDER", "col"}}) == 1);
}

TEST_CASE("an unmeasured configuration is taken only where no other can be") {
  const auto tree = grown({{sizes(64, 64), {none, 3.0}}, {sizes(4096, 64), {1.0, 2.0}}});
  CHECK(store::choose(tree, sizes(64, 64)) == 1);
  CHECK(store::choose(tree, sizes(4096, 64)) == 0);
  // Large whole numbers next to each other are told apart.
  const std::int64_t large = (std::int64_t{1} << 60) + 1;
  const auto close = grown({{sizes(large, 1), {1.0, 2.0}}, {sizes(large + 1, 1), {2.0, 1.0}}});
  CHECK(store::choose(close, sizes(large, 1)) == 0);
  CHECK(store::choose(close, sizes(large + 1, 1)) == 1);
}

TEST_CASE("the JSON of trees has the regret of each case, and says what was not measured") {
  const base::TemporaryDirectory store;
  fill(store.path());
  std::vector<std::string> warnings;
  const auto cases = store::measured_cases(store.path(), {}, warnings);
  CHECK(cases.size() == 20);
  const ordered_json all = store::export_tree_json(cases, {}, warnings);
  CHECK(warnings.empty());
  REQUIRE(all["trees"].size() == 2);
  const ordered_json& tree = all["trees"][1];
  CHECK(tree["arch"] == "sm_90");
  CHECK(tree["configs"].size() == 4);
  CHECK(tree["max_regret"] == 0);
  for (const ordered_json& one : tree["cases"]) CHECK(evaluate(tree, one["problem"]) == one["best"]);

  store::TreeOptions few;
  few.max_configs = 2;
  const ordered_json small = store::export_tree_json(cases, few, warnings)["trees"][1];
  CHECK(small["configs"].size() <= 2);
  REQUIRE_FALSE(warnings.empty());
  CHECK(warnings.back().find("raise --max-configs") != std::string::npos);
  std::size_t unmeasured = 0;
  for (const ordered_json& one : small["cases"]) {
    const bool known = !one["time_ms"].is_null();
    unmeasured += !known;
    if (known)
      CHECK(one["regret"].get<double>() ==
            doctest::Approx(one["time_ms"].get<double>() / one["best_ms"].get<double>() - 1));
    else
      CHECK(one["regret"].is_null());
  }
  CHECK(small["not_measured"] == unmeasured);
  CHECK(store::export_tree_json(cases, few, warnings)["trees"][1] == small);
  CHECK_THROWS_AS(store::export_tree_json({}, few, warnings), Error);
}

TEST_CASE("the header chooses as the JSON does, at the cases and between them") {
  const base::TemporaryDirectory store;
  fill(store.path());
  std::vector<std::string> warnings;
  const auto cases = store::measured_cases(store.path(), {}, warnings);
  const ordered_json tree = store::export_tree_json(cases, {}, warnings)["trees"][1];
  write_text(store.path() / "tree.hpp", store::export_tree_header(cases, {}, warnings));
  std::string asked;
  std::vector<ordered_json> expected;
  base::Random random(3);
  for (int i = 0; i < 400; ++i) {
    const std::int64_t m = std::int64_t{1} << random.below(16), n = 1 + static_cast<std::int64_t>(random.below(20000));
    asked += "{" + std::to_string(m) + ", " + std::to_string(n) + "},";
    expected.push_back(evaluate(tree, {{"M", m}, {"N", n}}));
  }
  write_text(store.path() / "use.cpp",
             "#include \"tree.hpp\"\n#include <cstdio>\nnamespace gemm = xtune_tree::gemm;\n"
             "static_assert(gemm::sm_90::select({16, 128}).BLOCK == 32);\n"
             "static_assert(gemm::select(\"gfx90a\", {1, 2})->BLOCK == 64);\n"
             "static_assert(gemm::select(\"sm_70\", {1, 2}) == nullptr);\n"
             "constexpr gemm::Problem asked[] = {" +
                 asked +
                 "};\n"
                 "int main() {\n"
                 "  for (const gemm::Case& one : gemm::sm_90::cases)\n"
                 "    if (&gemm::sm_90::select(one.problem) != &gemm::sm_90::configs[one.config]) return 1;\n"
                 "  for (const gemm::Problem& one : asked) std::printf(\"%lld\\n\", gemm::sm_90::select(one).BLOCK);\n"
                 "}\n");
  const auto compiled =
      base::run_command({"g++", "-std=c++17", "-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Werror",
                         (store.path() / "use.cpp").string(), "-o", (store.path() / "use").string()},
                        {});
  REQUIRE(compiled.stderr_text == "");
  const auto result = base::run_command({(store.path() / "use").string()}, {});
  REQUIRE(result.ok());
  std::istringstream lines(result.stdout_text);
  std::int64_t block = 0;
  for (const ordered_json& config : expected) {
    lines >> block;
    REQUIRE(lines.good());
    CHECK(config["BLOCK"] == block);
  }
}

TEST_CASE("vLLM's tables have its names, and lacks are named") {
  const base::TemporaryDirectory store;
  std::vector<record::Record> records;
  for (const std::int64_t m : {1, 64, 1024})
    for (const std::string device : {"NVIDIA H100 80GB HBM3", "NVIDIA H200 NVL"}) {
      record::Record record = measured({{"E", 8}, {"N", 7168}, {"M", m}}, 64, 1.0, "sm_90", device);
      record.config = {{"BM", m < 64 ? 16 : 64}, {"BLOCK_SIZE_N", 64}, {"BLOCK_SIZE_K", 32}, {"GROUP_SIZE_M", 1},
                       {"num_warps", 4},         {"num_stages", 3},    {"waves_per_eu", 2},  {"OTHER", 1}};
      records.push_back(record);
    }
  write_records(store.path(), records);
  std::vector<std::string> warnings;
  const auto winners = store::winners_of(store.path(), {}, warnings);
  store::VllmOptions options;
  CHECK_THROWS_WITH_AS(store::export_vllm_moe(winners, options, warnings), doctest::Contains("--map BLOCK_SIZE_M=NAME"),
                       Error);
  options.names = {{"BLOCK_SIZE_M", "BM"}};
  options.dtype = "fp8_w8a8";
  options.block_shape = {128, 128};
  const auto tables = store::export_vllm_moe(winners, options, warnings);
  REQUIRE(tables.size() == 2);
  const ordered_json& table =
      tables.at("E=8,N=7168,device_name=NVIDIA_H100_80GB_HBM3,dtype=fp8_w8a8,block_shape=[128,128].json");
  CHECK(tables.contains("E=8,N=7168,device_name=NVIDIA_H200,dtype=fp8_w8a8,block_shape=[128,128].json"));
  std::vector<std::string> keys;
  for (const auto& [key, config] : table.items()) keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"1", "64", "1024"});
  CHECK(table["1"].dump() ==
        R"({"BLOCK_SIZE_M":16,"BLOCK_SIZE_N":64,"BLOCK_SIZE_K":32,"GROUP_SIZE_M":1,"num_warps":4,"num_stages":3,)"
        R"("waves_per_eu":2})");
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("'OTHER'") != std::string::npos);
  options.names["NUM_WARPS"] = "w";
  CHECK_THROWS_WITH_AS(store::export_vllm_moe(winners, options, warnings), doctest::Contains("num_warps"), Error);
  CHECK_THROWS_AS(store::export_vllm_moe({}, {}, warnings), Error);
}

}  // namespace xtune
