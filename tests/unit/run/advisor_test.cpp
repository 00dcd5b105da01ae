// The program of [search] advisor: what it is asked, what comes of its answers, and its share.
#include "core/run/advisor.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/text.hpp"
#include "tuner_fixture.hpp"

using namespace xtune;
using namespace xtune::run;
using namespace xtune::test;
using nlohmann::json;

namespace {

/// An advisor that is asked by the test, in a run that does not take place.
struct Asked {
  fakes::Tuning tuning;
  std::uint64_t evaluated = 0;
  std::vector<store::Record> records;
  const TuneServices services{tuning.loop, tuning.compiler, tuning.benches(), tuning.clock, tuning.stop};
  std::unique_ptr<RunContext> run;
  std::unique_ptr<Advisor> advisor;

  /// answer: shell commands that print it; the question is in the file "question".
  explicit Asked(const std::string& answer, const std::string& search = "advisor_every = 8\n") {
    tuning.parameters = "A = [1, 2, 3, 4, 5, 6, 7, 8]\nB = { values = [10, 20], compile_time = false }\n";
    tuning.rest = "[space]\nconstraints = [\"A * B <= 120\"]\n[search]\nevals = 12\nstrategy = \"local\"\n" + search +
                  "advisor = [\"sh\", \"-c\", \"\"\"cat > question; " + answer + "\"\"\"]\n";
    tuning.spec = spec::parse_spec(tuning.spec_text(), "t.toml", tuning.folder.path());
    run = std::make_unique<RunContext>(tuning.spec, tuning.spec.cases.front(), tuning.target, tuning.options, services,
                                       tuning.observer, nullptr);
    advisor = make_advisor(*run, tuning.loop, true,
                           {[this] {
      return evaluated; }, [this]() -> const auto& { return records;
  }});
}  // namespace
/// Asks, and waits for the answer; the question.
json ask() {
  const std::uint64_t questions = advisor->result().questions;
  const auto early = advisor->next();
  CHECK_FALSE(early.has_value());
  REQUIRE(advisor->result().questions == questions + 1);
  tuning.loop.run();
  return json::parse(system::read_file(tuning.folder.path() / "question"));
}
/// The configuration that it wants next, as "A B".
std::string next() {
  const auto index = advisor->next();
  if (!index) return "none";
  const Bindings config = run->space.named(run->space.at(*index));
  return to_text(config.at("A")) + " " + to_text(config.at("B"));
}
/// The strategy makes this number of proposals without the advisor.
void others(int count) {
  for (int i = 0; i < count; ++i) CHECK_FALSE(advisor->proposed(1'000'000));
}
}
;

}  // namespace

TEST_CASE("a question has the spec, the device, the space and the budget") {
  Asked asked("echo '[]'");
  const json question = asked.ask();
  CHECK(question["protocol"] == 1);
  CHECK(question["question"] == 1);
  CHECK(question["kernel"] == "k");
  CHECK(has(question["spec"]["text"].get<std::string>(), "[search]"));
  CHECK(question["problem"] == json{{"N", 8}});
  CHECK(question["device"]["arch"] == "sm_90");
  CHECK(question["objective"] == "minimize time_ms");
  CHECK(question["parameters"]["B"] == json{10, 20});
  CHECK(question["constraints"] == json{"A * B <= 120"});
  CHECK(question["space_size"] == 14);
  CHECK(question["wanted"] == 2);  // a quarter of eight evaluations
  CHECK(question["evaluations"] == json{{"done", 0}, {"planned", 12}});
  CHECK(question["records"].empty());
  CHECK(question["refused"].empty());
}

TEST_CASE("valid proposals are offered one by one, and never more than the share of all so far") {
  Asked asked(R"(echo '[{\"A\": 3, \"B\": 20}, {\"A\": 4.0, \"B\": 10}]')");
  asked.ask();
  CHECK(asked.next() == "3 20");
  // One is open until the strategy proposes it.
  CHECK(asked.next() == "none");
  CHECK(asked.advisor->proposed(*asked.run->space.index_of(Bindings{{"A", 3}, {"B", 20}})));
  asked.others(3);
  CHECK(asked.next() == "4 10");  // as the fifth: two of eight are a quarter
  CHECK(asked.advisor->proposed(*asked.run->space.index_of(Bindings{{"A", 4}, {"B", 10}})));
  CHECK(asked.next() == "none");
  CHECK(asked.advisor->result().tried == 2);
  CHECK(asked.advisor->result().proposed == 2);
  CHECK(asked.advisor->result().refused == 0);
}

TEST_CASE("what cannot be tried is refused, and the next question has the reasons and the records") {
  Asked asked(R"(echo '[{\"A\": 1, \"C\": 2}, {\"A\": 9, \"B\": 10}, {\"A\": 8, \"B\": 20}, {\"A\": 1}, [[1]],
 {\"A\": 1, \"B\": \"10\"}, {\"A\": 1, \"B\": 10}, {\"A\": 1, \"B\": 10}, {\"A\": 2, \"B\": 10}]')",
              "advisor_every = 8\nadvisor_share = 1\n");
  CHECK(asked.ask()["wanted"] == 8);
  CHECK(asked.advisor->result().proposed == 9);
  CHECK(asked.advisor->result().refused == 8);
  CHECK(asked.next() == "1 10");
  // The search knows it by now.
  asked.advisor->refuse(*asked.run->space.index_of(Bindings{{"A", 1}, {"B", 10}}));
  asked.evaluated = 8;
  store::Record record;
  record.config = {{"A", 5}, {"B", 10}};
  record.samples_ms = {3};
  record.time_ms = measure::summarize(record.samples_ms);
  record.proposed_by = "advisor";
  asked.records.push_back(record);
  record.outcome = Outcome::crashed;
  record.message = "it burns";
  record.proposed_by.clear();
  asked.records.push_back(record);
  const json question = asked.ask();
  CHECK(question["question"] == 2);
  CHECK(question["evaluations"]["done"] == 8);
  REQUIRE(question["records"].size() == 2);
  CHECK(question["records"][0] ==
        json{{"config", {{"A", 5}, {"B", 10}}}, {"outcome", "ok"}, {"time_ms", 3.0}, {"proposed_by", "advisor"}});
  CHECK(question["records"][1]["message"] == "it burns");
  std::vector<std::string> reasons;
  for (const json& refused : question["refused"]) reasons.push_back(refused["reason"]);
  CHECK(reasons == std::vector<std::string>{
                       "unknown parameter 'C'", "A = 9 is not one of its values: 1, 2, 3, 4, 5, 6, 7, 8",
                       "the constraint \"A * B <= 120\" is not satisfied", "the parameter 'B' is missing",
                       "it is not an object of parameters and their values",
                       "B = \"10\" is not one of its values: 10, 20", "it was proposed before",
                       "only the first 8 of an answer are tried (\"wanted\")", "the search has tried it already"});
  CHECK(question["refused"][0]["config"] == json{{"A", 1}, {"C", 2}});
  CHECK(question["refused"][4]["config"] == nullptr);
}

TEST_CASE("it is asked again after so many evaluations, not before") {
  Asked asked("echo '[]'");
  asked.ask();
  asked.evaluated = 7;
  CHECK(asked.next() == "none");
  CHECK(asked.advisor->result().questions == 1);
  asked.evaluated = 8;
  asked.ask();
  CHECK(asked.advisor->result().questions == 2);
}

TEST_CASE("an advisor that fails is warned of once, and not asked again") {
  for (const auto& [answer, words] :
       {std::pair<std::string, std::string>{"echo 'no key' >&2; exit 3", "it ended with exit code 3: no key"},
        {"echo try 7", "its answer is not a JSON list of configurations: 'try 7"},
        {"echo '{}'", "its answer is not a JSON list of configurations: '{}"},
        {"head -c 5000000 /dev/zero", "its answer is longer than 4 MiB"},
        {"sleep 60", "it did not answer in 300 ms ([search] advisor_timeout_s)"}}) {
    const bool hangs = answer == "sleep 60";
    Asked asked(answer, std::string("advisor_every = 8\nadvisor_timeout_s = ") + (hangs ? "0.3\n" : "30\n"));
    asked.ask();
    const std::vector<std::string> warnings = asked.tuning.observer.warnings;
    REQUIRE(warnings.size() == 1);
    CHECK(has(warnings[0], "the advisor sh -c "));
    CHECK(has(warnings[0], words + (words.back() == ')' ? "; the search" : "")));
    asked.evaluated = 100;
    CHECK(asked.next() == "none");
    CHECK(asked.advisor->result().questions == 1);
  }
}

TEST_CASE("a run without a strategy that learns, or with listed configurations, has no advisor") {
  Asked asked("echo '[]'");
  CHECK(make_advisor(*asked.run, asked.tuning.loop, false, {}) == nullptr);
  CHECK(any_has(asked.tuning.observer.notes, "the advisor is not asked: the proposals of strategy 'local'"));
  asked.tuning.options.only = {Bindings{{"A", 1}, {"B", 10}}};
  CHECK(make_advisor(*asked.run, asked.tuning.loop, true, {}) == nullptr);
}

TEST_CASE("the search tries what the advisor proposes, and its records say so") {
  fakes::Tuning tuning;
  tuning.parameters = "A = [1, 2, 3, 4, 5, 6, 7, 8]\nB = { values = [10, 20], compile_time = false }\n";
  tuning.rest =
      "[search]\nevals = 15\nstrategy = \"local\"\nadvisor_share = 1\nadvisor_every = 100\n"
      "advisor = [\"echo\", '[{\"A\": 7, \"B\": 20}]']\n";
  const TuneResult result = tuning.run();
  REQUIRE(result.advisor);
  CHECK(result.advisor->questions == 1);
  std::uint64_t advised = 0;
  for (const store::Record& record : result.records) advised += record.proposed_by == "advisor";
  CHECK(advised == result.advisor->tried);
  CHECK(result.records.size() == 15);
}
