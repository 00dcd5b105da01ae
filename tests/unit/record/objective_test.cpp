// Objectives: values, what follows time, rankings by a score, and Pareto sets.
#include "core/store/objective.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "unit/record/example_record.hpp"

using namespace xtune::store;
using namespace xtune::spec;

using namespace xtune;

namespace {

Spec spec_of(const std::string& objective) {
  return parse_spec(
      "[kernel]\nname = \"k\"\n[problem]\nM = 64\nN = 64\n[space.params]\nBLOCK = [1, 2, 3, 4]\n"
      "[metrics]\nTFLOPS = \"2 * M * N / time_s / 1e12\"\nperblock = \"time_ms / BLOCK\"\n" +
          objective,
      "o.toml", ".");
}

Record record_of(std::int64_t block, double time_ms, double energy_j = 0) {
  Record record = example_record(block, time_ms);
  record.telemetry.energy_j = energy_j;
  return record;
}

bool follows_time(const std::string& objective) {
  const Spec spec = spec_of(objective);
  const Record record = record_of(1, 1);
  return Objective(spec).follows_time(record.problem, record.device);
}

std::vector<std::int64_t> order(const Spec& spec, const std::vector<Record>& records) {
  const Objective objective(spec);
  std::vector<std::int64_t> blocks;
  for (const Record* record : ranked(records, objective.criterion(records[0].problem, records[0].device)))
    blocks.push_back(std::get<std::int64_t>(record->config.at("BLOCK")));
  return blocks;
}

}  // namespace

TEST_CASE("A criterion needs the spec, and not the objective that made it") {
  const Spec spec = spec_of("[objective]\nminimize = \"BLOCK * time_ms\"\n");
  const Record record = record_of(3, 2);
  auto objective = std::make_unique<Objective>(spec);
  const Criterion criterion = objective->criterion(record.problem, record.device);
  objective.reset();
  CHECK(criterion.of(record) == doctest::Approx(6));
}

TEST_CASE("A metric in code may use the time, which a race cannot follow, and its label is part of the criterion") {
  Spec spec = spec_of("[objective]\nminimize = \"TFLOPS\"\n");
  spec.metrics[0].label = "3f";
  spec.metrics[0].code = [](const Bindings& names) {
    return std::get<double>(names.at("time_ms")) * static_cast<double>(std::get<std::int64_t>(names.at("BLOCK")));
  };
  const Record record = record_of(3, 2);
  const Objective objective(spec);
  CHECK(objective.values(record) == std::vector<double>{6});
  CHECK(metrics_of(spec, record)[0] == std::pair<std::string, double>{"TFLOPS", 6});
  CHECK(metrics_of(spec, record)[1].second == doctest::Approx(2.0 / 3));
  CHECK_FALSE(objective.follows_time(record.problem, record.device));
  CHECK(objective.names_time());
  CHECK(objective.criterion(record.problem, record.device).objective == "least TFLOPS (TFLOPS 3f)");
  spec.metrics[0].code = [](const Bindings&) { return std::nan(""); };
  CHECK(std::isnan(objective.values(record)[0]));
  spec.metrics[0].code = [](const Bindings&) -> double { throw std::runtime_error("on purpose"); };
  CHECK_THROWS_AS(objective.values(record), std::runtime_error);
}

TEST_CASE("Without an objective it is the time; with one its values are those of its goals") {
  const Spec plain = spec_of("");
  CHECK(Objective(plain).values(record_of(1, 2)) == std::vector<double>{2});
  CHECK(Objective(plain).names() == std::vector<std::string>{"time_ms"});
  const Spec spec = spec_of("[objective]\nmaximize = \"TFLOPS\"\nminimize = \"energy_j * time_s + BLOCK\"\n");
  const Objective objective(spec);
  CHECK(objective.names() == std::vector<std::string>{"TFLOPS", "energy_j * time_s + BLOCK"});
  const std::vector<double> values = objective.values(record_of(3, 2, 500.0));
  CHECK(values[0] == doctest::Approx(2 * 64 * 64 / 2e-3 / 1e12));
  CHECK(values[1] == doctest::Approx(4));
  CHECK(std::isnan(objective.values(record_of(3, 2))[1]));
}

TEST_CASE("The shared memory of several steps is that of the largest one") {
  Record record = record_of(1, 1, 0.5);
  CHECK_FALSE(shared_bytes(record));
  record.usage.static_shared_bytes = 100;  // the largest values, which need not be of one step
  record.dynamic_shared_bytes = 28;
  CHECK(shared_bytes(record) == 128);
  record.steps = {{"pack", {}, 28}, {"gemm", {}, 0}};
  record.steps[1].usage.static_shared_bytes = 100;
  CHECK(shared_bytes(record) == 100);
  CHECK(measured_names(record, 2).at("shared_bytes") == Value(std::int64_t{100}));
}

TEST_CASE("Measured quantities have names, unless the spec uses these itself") {
  Record record = record_of(1, 1, 0.5);
  record.usage.registers = 40;
  record.usage.static_shared_bytes = 100;
  record.dynamic_shared_bytes = 28;
  Bindings names = measured_names(record, 2);
  CHECK(names.at("registers") == Value(std::int64_t{40}));
  CHECK(names.at("shared_bytes") == Value(std::int64_t{128}));
  CHECK(names.at("energy_j") == Value(0.5));
  CHECK(names.at("time_s") == Value(0.002));
  CHECK_FALSE(names.contains("spilled_bytes"));
  record.config["registers"] = std::int64_t{7};
  CHECK(measured_names(record, 2).at("registers") == Value(std::int64_t{7}));
}

TEST_CASE(
    "Time decides alone where a goal rises or falls with it and names nothing that differs between configurations") {
  CHECK(follows_time(""));
  CHECK(follows_time("[objective]\nminimize = \"time_ms\"\n"));
  CHECK(follows_time("[objective]\nminimize = \"time_s * 2 + 1\"\n"));
  CHECK(follows_time("[objective]\nmaximize = \"TFLOPS\"\n"));
  CHECK(follows_time("[objective]\nmaximize = \"TFLOPS / device.compute_units\"\n"));
  CHECK_FALSE(follows_time("[objective]\nmaximize = \"time_ms\"\n"));
  CHECK_FALSE(follows_time("[objective]\nminimize = \"TFLOPS\"\n"));
  CHECK_FALSE(follows_time("[objective]\nminimize = \"abs(time_ms - 1)\"\n"));
  CHECK_FALSE(follows_time("[objective]\nminimize = \"max(time_ms, 1)\"\n"));
  CHECK_FALSE(follows_time("[objective]\nminimize = \"time_ms * BLOCK\"\n"));
  CHECK_FALSE(follows_time("[objective]\nminimize = \"perblock\"\n"));
  CHECK_FALSE(follows_time("[objective]\nminimize = \"registers\"\n"));
  CHECK_FALSE(follows_time("[objective]\nminimize = \"energy_j\"\n"));
  CHECK_FALSE(follows_time("[objective]\nminimize = [\"time_ms\", \"energy_j\"]\n"));
}

TEST_CASE("Finals have something to decide where time counts at all") {
  const auto criterion = [](const std::string& objective) {
    const Spec spec = spec_of(objective);
    const Record record = record_of(1, 1);
    const Criterion found = Objective(spec).criterion(record.problem, record.device);
    return std::pair(found.times, found.finals_by());
  };
  CHECK(criterion("") == std::pair(true, std::string()));
  CHECK(criterion("[objective]\nmaximize = \"TFLOPS\"\n") == std::pair(true, std::string()));
  CHECK(criterion("[measure]\nstatistic = \"min\"\n") == std::pair(true, std::string("min time_ms")));
  CHECK(criterion("[objective]\nmaximize = \"TFLOPS / BLOCK\"\n") ==
        std::pair(true, std::string("median most TFLOPS / BLOCK")));
  CHECK(criterion("[objective]\nminimize = [\"perblock\", \"energy_j\"]\n") ==
        std::pair(true, std::string("median least perblock, least energy_j")));
  CHECK_FALSE(criterion("[objective]\nminimize = \"energy_j\"\n").first);
  CHECK_FALSE(criterion("[objective]\nminimize = [\"energy_j\", \"registers\"]\n").first);
}

TEST_CASE("Records rank by the objective; without a value they do not") {
  const std::vector<Record> records{record_of(1, 1, 9.0), record_of(2, 2, 3.0), record_of(3, 3, 5.0),
                                    record_of(4, 0.5)};
  CHECK(order(spec_of(""), records) == std::vector<std::int64_t>{4, 1, 2, 3});
  CHECK(order(spec_of("[objective]\nmaximize = \"TFLOPS\"\n"), records) == std::vector<std::int64_t>{4, 1, 2, 3});
  CHECK(order(spec_of("[objective]\nminimize = \"energy_j\"\n"), records) == std::vector<std::int64_t>{2, 3, 1});
  CHECK(order(spec_of("[objective]\nmaximize = \"energy_j\"\n"), records) == std::vector<std::int64_t>{1, 3, 2});
  // 9, 6, 15: the geometric mean ranks as the product does.
  CHECK(order(spec_of("[objective]\nminimize = [\"time_ms\", \"energy_j\"]\n"), records) ==
        std::vector<std::int64_t>{2, 1, 3});
  CHECK(order(spec_of("[objective]\nminimize = \"BLOCK - 3\"\n"), records) == std::vector<std::int64_t>{1, 2, 3, 4});
}

TEST_CASE("Ties are those whose value is within the noise of the best's") {
  const std::vector<Record> records{record_of(1, 1.0), record_of(2, 1.999), record_of(3, 3.3)};
  const Spec spec = spec_of("[objective]\nminimize = \"perblock\"\n");
  const Objective objective(spec);
  const auto best = best_of(records, objective.criterion(records[0].problem, records[0].device));
  CHECK(std::get<std::int64_t>(best->record->config.at("BLOCK")) == 2);
  REQUIRE(best->ties.size() == 1);
  CHECK(std::get<std::int64_t>(best->ties[0]->config.at("BLOCK")) == 1);
}

TEST_CASE("Searches get positive numbers, less is better") {
  const Spec most = spec_of("[objective]\nmaximize = \"BLOCK - 1\"\n"),
             least = spec_of("[objective]\nminimize = \"BLOCK - 3\"\n");
  CHECK(Objective(most).search_score(record_of(3, 1)) == 0.5);
  CHECK(Objective(most).search_score(record_of(1, 1)) == doctest::Approx(1e30));
  CHECK(Objective(least).search_score(record_of(4, 1)) == 1);
  CHECK(Objective(least).search_score(record_of(1, 1)) == 1e-30);
  const Spec unknown = spec_of("[objective]\nminimize = \"energy_j\"\n");
  CHECK(std::isnan(Objective(unknown).search_score(record_of(1, 1))));
}

TEST_CASE("The Pareto set holds what nothing else beats in both goals") {
  const Spec spec = spec_of("[objective]\nminimize = \"time_ms\"\nmaximize = \"energy_j\"\n");
  const std::vector<Record> records{record_of(1, 1, 1.0), record_of(2, 2, 3.0), record_of(3, 3, 2.0),
                                    record_of(4, 4, 5.0), record_of(5, 1, 1.0), record_of(6, 0.1)};
  std::vector<const Record*> pointers;
  for (const Record& record : records) pointers.push_back(&record);
  std::vector<std::int64_t> blocks;
  for (const Record* record : Objective(spec).pareto(pointers))
    blocks.push_back(std::get<std::int64_t>(record->config.at("BLOCK")));
  CHECK(blocks == std::vector<std::int64_t>{1, 2, 4, 5});
}
