// Audits: which repeats flip, what answers cost, and that each repeat begins with an empty store.
#include "core/run/audit.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "fakes/noisy_bench.hpp"
#include "tuner_fixture.hpp"

using namespace xtune::run;

namespace {

using namespace xtune;
using fakes::a_of;
using fakes::Noise;
using fakes::NoisyBench;
using fakes::Tuning;

Bindings config(std::int64_t a) { return {{"A", a}}; }

AuditedRepeat repeat(std::int64_t winner, const std::vector<std::int64_t>& ties = {}) {
  AuditedRepeat made;
  if (winner > 0) made.winner = config(winner);
  for (const std::int64_t tie : ties) made.ties.push_back(config(tie));
  return made;
}

AuditedCase audited(std::int64_t n, std::vector<AuditedRepeat> repeats) {
  AuditedCase made;
  made.problem = {{"N", n}};
  made.device.name = "Fake";
  made.repeats = std::move(repeats);
  return made;
}

ComparedConfig compared(std::int64_t a, double ratio, double low = 0) {
  return {config(a), measure::PairedRatio{ratio, low > 0 ? low : ratio, ratio, 20, true}, ""};
}

/// An audit over fake services and a noisy device.
struct Audited : Tuning {
  Noise noise;
  std::optional<NoisyBench> device;
  std::optional<Audit> audit;
  Audit::Settings settings;

  Audited() {
    parameters = "A = { min = 1, max = 20 }\n";
    finals = 8;
    settings.folder = folder.path() / "audit";
  }
  void begin(const std::function<double(int)>& time_ms) {
    device.emplace(bench, clock, noise, 1, [time_ms](const BenchJob& job) { return time_ms(a_of(job)); });
    spec = spec::parse_spec(spec_text(), "t.toml", folder.path());
    spec.measure.finals = finals;
    audit.emplace(spec, settings);
  }
  TuneServices services() { return {loop, compiler, benches(), clock, stop}; }
  bool tune(std::uint64_t number) {
    const bool kept = audit->tune(0, number, target, services(), observer);
    if (kept) audit->end_repeat();
    return kept;
  }
  bool compare() { return audit->compare(0, target, services(), observer); }
  const AuditedCase& only() { return audit->cases().front(); }
};

}  // namespace

TEST_CASE("A winner that is neither the usual one nor its declared tie is a flip") {
  const AuditedCase one = audited(1, {repeat(5), repeat(1, {2}), repeat(1, {7}), repeat(2), repeat(7), repeat(1)});
  REQUIRE(one.reference());
  // The first of those that name the most frequent winner: its ties count, and those of the other repeat.
  CHECK(one.reference() == &one.repeats[1]);
  CHECK(one.flips(one.repeats[0]));
  CHECK_FALSE(one.flips(one.repeats[3]));
  CHECK_FALSE(one.flips(repeat(9, {8, 1})));
  CHECK(one.flips(repeat(9, {8, 2})));
  CHECK(one.flips(one.repeats[4]));
  CHECK(one.flips() == 2);
  // 3 of 15 pairs name the same winner.
  CHECK(one.agreement() == doctest::Approx(3.0 / 15));
  const auto winners = one.winners();
  REQUIRE(winners.size() == 4);
  CHECK(winners.front() == std::pair(config(1), std::size_t{3}));
}

TEST_CASE("A repeat without a winner flips") {
  const AuditedCase one = audited(1, {repeat(0), repeat(3), repeat(0), repeat(0)});
  CHECK(one.flips() == 3);
  CHECK(one.agreement() == 0);
  const AuditedCase none = audited(1, {repeat(0), repeat(0)});
  CHECK_FALSE(none.reference());
  CHECK(none.flips() == 2);
  CHECK(configs_to_compare(none).empty());
  CHECK(findings_of({one, none}).without_winner == 5);
}

TEST_CASE("The neighbours are those that a call would use: of the bucket first, then by distance") {
  Tuning t;
  t.rest = "[dispatch]\nkey = [\"N > 100\"]\n";
  spec::Spec spec = spec::parse_spec(t.spec_text(), "t.toml", t.folder.path());
  std::vector<AuditedCase> cases{audited(64, {repeat(1)}), audited(128, {repeat(2)}), audited(1024, {repeat(3)}),
                                 audited(32, {repeat(0)})};
  find_neighbours(spec, cases);
  REQUIRE(cases[1].neighbours.size() == 2);
  CHECK(cases[1].neighbours[0].winner == config(3));
  CHECK(cases[1].neighbours[0].in_bucket);
  CHECK(cases[1].neighbours[0].distance == doctest::Approx(3));
  CHECK(cases[1].neighbours[1].winner == config(1));
  spec.dispatch.key.clear();
  find_neighbours(spec, cases);
  CHECK(cases[1].neighbours[0].winner == config(1));
  CHECK(cases[1].neighbours[0].in_reach);
  spec.dispatch.radius = 0.5;
  find_neighbours(spec, cases);
  CHECK_FALSE(cases[1].neighbours[0].in_reach);
}

TEST_CASE(
    "Where a call would follow a model of the hardware, its choice is what the neighbour's winner is replaced by") {
  const spec::Spec spec = spec::parse_spec(
      "[kernel]\nname = \"t\"\n[problem]\nN = 64\n[space.params]\nA = [32, 64, 256]\n[candidates]\n"
      "template = \"elementwise\"\ndtype = \"f32\"\n[candidates.map]\nn = \"N\"\nthreads = \"A\"\n",
      "t.toml", ".");
  std::vector<AuditedCase> cases{audited(1024, {repeat(32)}), audited(1 << 26, {repeat(256)})};
  for (AuditedCase& one : cases) one.device = *device::known_device("sm_90");
  find_neighbours(spec, cases);
  CHECK_FALSE(cases[0].preferred);
  REQUIRE(cases[1].preferred);
  CHECK(*cases[1].preferred != config(32));
  cases[1].preferred = config(64);
  CHECK(configs_to_compare(cases[1]) == std::vector<Bindings>{config(256), config(64), config(32)});
  cases[1].compared = {compared(256, 1), compared(64, 1.25), compared(32, 2)};
  CHECK(findings_of(cases).neighbour.value().regret == doctest::Approx(0.25));
}

TEST_CASE("Winners, default, neighbours' winners and ties are compared, each once") {
  AuditedCase one = audited(1, {repeat(1, {2, 3}), repeat(2), repeat(1)});
  one.default_config = config(9);
  one.neighbours = {{{{"N", std::int64_t{2}}}, config(4), 1, false}, {{{"N", std::int64_t{4}}}, config(1), 2, false}};
  const std::vector<Bindings> expected{config(1), config(2), config(9), config(4), config(3)};
  CHECK(configs_to_compare(one) == expected);
  for (std::int64_t a = 10; a < 100; ++a) one.repeats.push_back(repeat(a));
  CHECK(configs_to_compare(one).size() == 40);
}

TEST_CASE("The findings are the worst of all cases, and a regret within its interval is not proven") {
  std::vector<AuditedCase> cases{audited(1, {repeat(1, {3}), repeat(2)}), audited(2, {repeat(1), repeat(1)})};
  cases[0].compared = {compared(1, 1), compared(2, 1.05, 0.99), compared(3, 1.004, 1.001), compared(9, 3, 2.9)};
  cases[0].default_config = config(9);
  cases[1].compared = {compared(1, 1), {config(2), std::nullopt, "crashed: signal 11"}};
  cases[1].neighbours = {{{{"N", std::int64_t{1}}}, config(2), 1, false}};
  const AuditFindings found = findings_of(cases);
  CHECK(found.repeats == 4);
  CHECK(found.flips == 1);
  CHECK(found.flip_share() == 0.25);
  CHECK(found.agreement == doctest::Approx(0.5));
  REQUIRE(found.winner);
  CHECK(found.winner->regret == doctest::Approx(0.05));
  CHECK(found.winner->at == &cases[0]);
  CHECK_FALSE(found.winner->proven);
  CHECK(found.tie->regret == doctest::Approx(0.004));
  CHECK(found.tie->proven);
  CHECK(found.default_config->regret == doctest::Approx(2));
  CHECK(std::isinf(found.neighbour->regret));
  CHECK(found.neighbour->proven);
  CHECK(found.neighbour->neighbour == &cases[1].neighbours.front());
  CHECK(findings_of({}).agreement == 1);
}

TEST_CASE("Each repeat measures from scratch with its own seed, and compiled kernels are kept") {
  Audited t;
  t.rest = "[search]\nevals = 8\nstrategy = \"random\"\n";
  t.begin([](int a) { return 1 + 0.1 * a; });
  std::set<std::vector<std::string>> orders;
  for (std::uint64_t i = 0; i < 3; ++i) {
    t.bench.jobs.clear();
    REQUIRE(t.tune(i));
    CHECK(t.bench.jobs.size() >= 8);
    std::vector<std::string> order;
    for (const BenchJob& job : t.bench.jobs) order.push_back(std::to_string(a_of(job)));
    orders.insert(order);
    CHECK(t.only().repeats.back().seed == i + 1);
    CHECK(t.only().repeats.back().evaluated == 8);
    CHECK_FALSE(std::filesystem::exists(t.settings.folder / "store" / "records"));
  }
  CHECK(orders.size() == 3);
  // The user's store is not touched.
  CHECK_FALSE(std::filesystem::exists(t.options.store));
  REQUIRE(t.compare());
  for (const auto& [winner, count] : t.only().winners()) REQUIRE(t.only().find(winner));
  CHECK(t.only().find(t.only().winners().front().first)->ratio);
}

TEST_CASE("With one seed for all, the search is the same") {
  Audited t;
  t.settings.same_seed = true;
  t.rest = "[search]\nevals = 8\nstrategy = \"random\"\n";
  t.begin([](int a) { return 1 + 0.1 * a; });
  for (std::uint64_t i = 0; i < 3; ++i) REQUIRE(t.tune(i));
  CHECK(t.only().flips() == 0);
  CHECK(t.only().agreement() == 1);
  CHECK(t.only().repeats.back().seed == t.only().repeats.front().seed);
}

TEST_CASE("The regret is the true one, however late the winners were measured") {
  Audited t;
  t.noise.spread = 0.01;
  t.noise.drift = 0.02;
  t.begin([](int a) { return a == 20 ? 1 : a == 1 ? 2 : 1.03 + 0.02 * a; });
  for (std::uint64_t i = 0; i < 4; ++i) REQUIRE(t.tune(i));
  // A winner of a search that never came to the best one.
  t.audit->cases().front().repeats.push_back(repeat(2));
  REQUIRE(t.compare());
  const AuditedCase& one = t.only();
  REQUIRE(one.find(config(20)));
  CHECK(one.find(config(20))->regret() == doctest::Approx(0).epsilon(0.005));
  CHECK(one.find(config(2))->regret() == doctest::Approx(0.07).epsilon(0.02));
  CHECK(one.find(config(2))->ratio->low > 1.02);
  CHECK(one.find(config(1))->regret() == doctest::Approx(1).epsilon(0.05));  // the default
  CHECK(one.flips() == 1);
  CHECK(findings_of(t.audit->cases()).winner->proven);
}

TEST_CASE("On a noisy device at most 2 % of the repeats flip, and a winner costs less than 1 %") {
  // Three within 0.2 % of the best, others 3 % apart, as in the tests of the finals.
  Audited t;
  t.noise.spread = 0.01;
  t.noise.spike_rate = 0.01;
  t.noise.drift = 0.01;
  t.begin([](int a) { return a <= 3 ? 1 + 0.001 * (a - 1) : 1 + 0.03 * (a - 3); });
  for (std::uint64_t i = 0; i < 50; ++i) REQUIRE(t.tune(i));
  REQUIRE(t.compare());
  const AuditFindings found = findings_of(t.audit->cases());
  CHECK(found.flip_share() <= 0.02);
  CHECK(found.winner->regret <= 0.01);
}

TEST_CASE("What fails beside the others, or is not allowed, has no ratio but a reason") {
  Audited t;
  t.begin([](int a) { return 1 + 0.1 * a; });
  for (std::uint64_t i = 0; i < 2; ++i) REQUIRE(t.tune(i));
  AuditedCase& one = t.audit->cases().front();
  one.neighbours = {{{{"N", std::int64_t{16}}}, config(77), 1, false},
                    {{{"N", std::int64_t{32}}}, config(5), 2, false}};
  const auto respond = t.bench.respond;
  t.bench.respond = [&](const BenchJob& job) {
    BenchAnswer answer = respond(job);
    if (a_of(job) == 5) {
      answer = {};
      answer.outcome = Outcome::wrong_result;
      answer.message = "y[3] is 2 instead of 1";
    }
    return answer;
  };
  REQUIRE(t.compare());
  CHECK(one.find(config(77))->failure == "the spec does not allow it for this problem");
  CHECK(one.find(config(5))->failure == "wrong_result: y[3] is 2 instead of 1");
  CHECK(std::isinf(one.find(config(5))->regret()));
  CHECK(one.find(config(1))->regret() == 0);
}

TEST_CASE("A tuning that was stopped does not count") {
  Audited t;
  t.begin([](int a) { return 1 + 0.1 * a; });
  REQUIRE(t.tune(0));
  t.observer.also = [&](const store::Record&) { t.stop = true; };
  CHECK_FALSE(t.tune(1));
  CHECK(t.only().repeats.size() == 1);
  CHECK_FALSE(t.compare());
  CHECK(t.only().compared.empty());
}

TEST_CASE("An objective without times is compared by its values") {
  Audited t;
  t.rest = "[objective]\nminimize = \"A\"\n";
  t.begin([](int) { return 1.0; });
  for (std::uint64_t i = 0; i < 2; ++i) REQUIRE(t.tune(i));
  t.audit->cases().front().repeats.push_back(repeat(3));
  REQUIRE(t.compare());
  CHECK(t.only().find(config(1))->regret() == 0);
  CHECK(t.only().find(config(3))->regret() == doctest::Approx(2));
}
