// best(): the answer of Kernel::choice without a driver.
#include "xtune/lookup.hpp"

#include "unit/dispatch/shop.hpp"

namespace xtune {
namespace {

/// A lookup for a device that is not here.
struct Asker {
  explicit Asker(const Shop& shop) : tunable(Tunable::from_text(*shop.spec().text, shop.folder.path())) {
    settings.arch = "sm_90";
    settings.store = shop.settings.store;
  }
  Choice operator()(std::int64_t n) const { return best(tunable, {{"N", n}}, settings); }

  Tunable tunable;
  LookupSettings settings;
};

}  // namespace

TEST_CASE("a store answers without a driver what a loaded kernel would choose") {
  Shop shop;
  shop.measure(1024, 64, 2.0);
  shop.measure(1024, 128, 1.0, 2);
  shop.measure(4096, 32, 3.0);
  const Asker ask(shop);
  const Kernel kernel = shop.kernel();
  for (const std::int64_t n : {1024, 1000, 3000, 4096}) {
    const Choice chosen = kernel.choice({{"N", n}}), answer = ask(n);
    CHECK(answer.kind == chosen.kind);
    CHECK(answer.config == chosen.config);
    CHECK(answer.measured_for == chosen.measured_for);
    CHECK(answer.time_ms == chosen.time_ms);
    CHECK(answer.distance == chosen.distance);
    REQUIRE(answer.expected.has_value() == (answer.kind != Choice::Kind::exact));
    REQUIRE(chosen.expected.has_value() == answer.expected.has_value());
    if (!answer.expected) continue;
    CHECK(chosen.expected->time_ms == answer.expected->time_ms);
    CHECK(answer.expected->low_ms < answer.expected->time_ms);
    CHECK(answer.expected->time_ms < answer.expected->high_ms);
  }
  CHECK(ask(1024).kind == Choice::Kind::exact);
  CHECK(ask(1000).kind == Choice::Kind::nearest);
  CHECK(ask(1024).config == Bindings{{"BLOCK", 128}, {"ITEMS", 2}});
  CHECK(shop.runtime->loads == 0);
}

TEST_CASE("outside of the radius the default configuration answers, and the reasons say so") {
  Shop shop;
  shop.more = "[dispatch]\nradius = 1\ndefault = { BLOCK = 128 }\n";
  shop.measure(1024, 64, 2.0);
  const Kernel kernel = shop.kernel();
  CHECK(kernel.choice({{"N", 2048}}).config == Bindings{{"BLOCK", 64}, {"ITEMS", 1}});
  const Choice far = kernel.choice({{"N", 4096}});
  CHECK(far.kind == Choice::Kind::none);
  CHECK(far.config == Bindings{{"BLOCK", 128}, {"ITEMS", 1}});
  CHECK(holds(far.reasons.front(), "N=1024, has distance 2, outside of [dispatch] radius = 1"));
  CHECK(holds(far.reasons.back(), "the spec's [dispatch] default"));
  CHECK(Asker(shop)(4096).kind == Choice::Kind::none);
  // The caller's own default counts more.
  shop.settings.default_config = {{"BLOCK", 32}, {"ITEMS", 2}};
  CHECK(shop.kernel().choice({{"N", 4096}}).config == shop.settings.default_config);
}

TEST_CASE("if no record can be used there is no configuration, but there are reasons") {
  Shop shop;
  shop.measure(1024, 64, 2.0, 1, "sm_80");
  Asker ask(shop);
  const Choice answer = ask(1024);
  CHECK(answer.kind == Choice::Kind::none);
  CHECK(answer.config.empty());
  CHECK_FALSE(answer.reasons.empty());
  ask.settings.other_architectures = true;
  CHECK(ask(1024).config == Bindings{{"BLOCK", 64}, {"ITEMS", 1}});
  ask.settings.arch = "sm_80";
  ask.settings.other_architectures = false;
  CHECK(ask(1024).kind != Choice::Kind::none);
}

TEST_CASE("a configuration that is known to fail does not answer") {
  Shop shop;
  shop.measure(2048, 64, 2.0);
  shop.fail(1024, 64);
  const Choice answer = Asker(shop)(1024);
  CHECK(answer.kind == Choice::Kind::none);
  CHECK(holds(answer.reasons.back(), "BLOCK=64 ITEMS=1 failed for N=1024"));
}

TEST_CASE("a model of the hardware answers where it expects much more of its best than of the nearest problem's") {
  Shop shop;
  const std::string model =
      "[candidates]\ntemplate = \"elementwise\"\n[candidates.map]\nn = \"N\"\nthreads = \"BLOCK\"\nitems = \"ITEMS\"\n";
  shop.more = model;
  shop.measure(1024, 32, 2.0);
  constexpr std::int64_t large = 1 << 26;
  const auto first_of_model = [&] {
    CandidateSettings settings;
    settings.arch = "sm_90";
    settings.problem = {{"N", large}};
    return candidates(Tunable::from_text(*shop.spec().text, shop.folder.path()), settings).front().config;
  };
  CHECK(Asker(shop)(1030).kind == Choice::Kind::nearest);
  const Choice answer = Asker(shop)(large), chosen = shop.kernel().choice({{"N", large}});
  CHECK(answer.kind == Choice::Kind::none);
  CHECK(answer.config == first_of_model());
  CHECK(chosen.config == answer.config);
  CHECK(holds(answer.reasons.back(), "not taken: the elementwise model of the hardware expects"));
  // Only where the answer can be compiled, and nothing else was asked for.
  const auto kind_with = [&](auto change) {
    Shop other;
    other.more = model;
    other.measure(1024, 32, 2.0);
    change(other);
    return other.kernel().choice({{"N", large}}).kind;
  };
  CHECK(kind_with([](Shop&) {}) == Choice::Kind::none);
  CHECK(kind_with([](Shop& other) { other.settings.compile = false; }) == Choice::Kind::nearest);
  CHECK(kind_with([&](Shop& other) { other.more = "[dispatch]\nradius = 99\n" + model; }) == Choice::Kind::nearest);
  CHECK(kind_with([&](Shop& other) { other.more = "[dispatch]\ndefault = { BLOCK = 128 }\n" + model; }) ==
        Choice::Kind::nearest);
}

TEST_CASE("lookups that make no sense are refused") {
  const Shop shop;
  const auto refused = [&](auto change) {
    Asker ask(shop);
    change(ask.settings);
    return test::error_of([&] { ask(64); }, ErrorKind::invalid_argument);
  };
  CHECK(holds(refused([](LookupSettings& s) { s.arch = "sm_9"; }), "unknown architecture 'sm_9'"));
  CHECK(holds(refused([](LookupSettings& s) { s.backend = "host"; }), "'sm_90' belongs to backend cuda, not to host"));
  CHECK(holds(refused([](LookupSettings& s) { s.backend = "cud"; }), "cud"));
  const Asker ask(shop);
  CHECK(holds(test::error_of(
                  [&] {
                    best(ask.tunable, {{"M", 1}}, ask.settings);
                  },
                  ErrorKind::invalid_argument),
              "'M' is not a name of the problem"));
  CHECK_THROWS_AS(best(shop.folder.path() / "no.toml", {}, ask.settings), Error);
}

TEST_CASE("the cost model suggests configurations for a device that is not here") {
  Shop shop;
  CandidateSettings settings;
  settings.arch = "sm_90";
  const Tunable plain = Tunable::from_text(*shop.spec().text, shop.folder.path());
  CHECK(holds(test::error_of([&] { candidates(plain, settings); }, ErrorKind::invalid_spec), "has no [candidates]"));
  shop.more =
      "[candidates]\ntemplate = \"elementwise\"\n[candidates.map]\nn = \"N\"\nthreads = \"BLOCK\"\nitems = \"ITEMS\"\n";
  const Tunable tunable = Tunable::from_text(*shop.spec().text, shop.folder.path());
  settings.count = 2;
  const std::vector<Candidate> suggested = candidates(tunable, settings);
  REQUIRE(suggested.size() == 2);
  CHECK(suggested[0].config.size() == 2);
  CHECK(suggested[0].estimated_ms > 0);
  CHECK(suggested[0].estimated_ms <= suggested[1].estimated_ms);
  CHECK_FALSE(suggested[0].reason.empty());
  settings.arch = "x86_64_v3";
  CHECK(holds(test::error_of([&] { candidates(tunable, settings); }, ErrorKind::invalid_argument), "GPU"));
}

}  // namespace xtune
