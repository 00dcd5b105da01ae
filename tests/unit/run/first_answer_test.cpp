// The order of first answers, and what records of other sizes say about a time.
#include "core/run/first_answer.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/model/rank.hpp"
#include "core/store/record_log.hpp"
#include "system/files.hpp"
#include "unit/record/example_record.hpp"

using namespace xtune;
using namespace xtune::run;

namespace {

Bindings of(const char* name, std::int64_t value) { return {{name, value}}; }

/// A kernel of N elements, and a store of its records.
struct ScaleStore {
  system::TemporaryDirectory folder;
  device::DeviceInfo device = *device::known_device("sm_90");
  spec::Spec spec;
  int written = 0;

  explicit ScaleStore(const std::string& more = "")
      : spec(spec::parse_spec(
            "[kernel]\nname = \"scale\"\n[problem]\nN = 4096\n[space.params]\nBLOCK = [32, 64, 256]\n" + more,
            "scale.toml", ".")) {}

  void store(std::int64_t n, std::int64_t block, double time_ms) {
    store::RecordWriter writer(folder.path(), device.arch, "scale", "a" + std::to_string(++written));
    store::Record record = example_record(block, time_ms, 1e-9);
    record.key += std::to_string(written);
    record.device = device;
    record.problem = of("N", n);
    writer.append(record);
  }
  std::optional<ExpectedTime> expected(std::int64_t n, std::int64_t block = 64) const {
    const store::StoreView view = store::StoreView::load(folder.path(), device.arch, "scale");
    const Bindings problem = of("N", n);
    Question asked{spec, problem, device};
    return expected_time(asked, of("BLOCK", block), {&view, 1});
  }
  FirstAnswer first(const Measured& found = {}, bool others = false, std::int64_t n = 1 << 26) const {
    const Bindings problem = of("N", n);
    Question asked{spec, problem, device};
    if (!others) return first_answer(asked, found);
    return first_answer(asked, found, [](const space::Space&) { return OthersAnswer({0, "others"}); });
  }
};

const char* const elementwise =
    "[candidates]\ntemplate = \"elementwise\"\ndtype = \"f32\"\n[candidates.map]\nn = \"N\"\nthreads = \"BLOCK\"\n";

double width(const std::optional<ExpectedTime>& time) { return std::log(time.value().high_ms / time.value().low_ms); }

}  // namespace

TEST_CASE("first answers have one order: measurements, other devices, [dispatch] default, the model, the first") {
  const Measured exact{store::Match::exact, 0, of("BLOCK", 64), "measured"};
  const ScaleStore plain;
  CHECK(plain.first().origin == "the first of the space");
  CHECK(plain.first().config == of("BLOCK", 32));
  CHECK(plain.first({}, true).origin == "others");
  const ScaleStore with_default("[dispatch]\ndefault = { BLOCK = 256 }\n" + std::string(elementwise));
  CHECK(with_default.first().origin == "the spec's [dispatch] default");
  CHECK(with_default.first().config == of("BLOCK", 256));
  CHECK(with_default.first({}, true).origin == "others");
  CHECK(with_default.first(exact, true).origin == "measured");
  const ScaleStore modelled(elementwise);
  const FirstAnswer model = modelled.first();
  CHECK(model.origin == "the elementwise model of the hardware");
  CHECK(model.config != of("BLOCK", 32));
  CHECK(model.instead.empty());
}

TEST_CASE("between sizes the model answers only where it expects much more of its best than of what was measured") {
  const ScaleStore study(elementwise);
  const Measured near{store::Match::nearest, 2, study.first().config, "measured"},
      slow{store::Match::nearest, 2, of("BLOCK", 32), "measured"};
  CHECK(study.first(near).origin == "measured");
  CHECK(study.first(slow).origin == "the elementwise model of the hardware");
  CHECK(study.first(slow).instead.find("expects") != std::string::npos);
  const Measured of_bucket{store::Match::bucket, 2, slow.config, "measured"},
      of_other_device{store::Match::nearest, 0, slow.config, "measured"};
  for (const Measured& kept : {of_bucket, of_other_device}) CHECK(study.first(kept).origin == "measured");
  ScaleStore limited(elementwise);
  limited.spec.dispatch.radius = 9;
  CHECK(limited.first(slow).origin == "measured");
}

TEST_CASE("without a model, times grow with the sizes as the records of other sizes say") {
  ScaleStore study;
  CHECK_FALSE(study.expected(2000));
  study.store(1000, 64, 1);
  study.store(1000, 32, 20);  // far from the best: it does not count
  const auto one = study.expected(2000);
  CHECK(one.value().time_ms == doctest::Approx(2).epsilon(0.05));
  CHECK(one->low_ms < 1.5);
  CHECK(one->high_ms > 3);
  study.store(4000, 64, 16);
  study.store(16000, 64, 256);
  study.store(500, 64, 0.25);
  const auto four = study.expected(2000);
  CHECK(four.value().time_ms == doctest::Approx(4).epsilon(0.1));
  CHECK(width(four) < width(one));
  CHECK(width(study.expected(1 << 24)) > width(four));  // far from all of them
  study.device.name = "another";
  CHECK_FALSE(study.expected(2000));
  study.device.name = device::known_device("sm_90")->name;
  study.spec.objective.goals.emplace_back();
  CHECK_FALSE(study.expected(2000));
}

TEST_CASE("without a model, a metric that is a rate says how the work grows") {
  ScaleStore study("[metrics]\nscale = \"N\"\nGFLOPS = \"2 * N ** 3 / time_s / 1e9\"\n");
  study.store(1000, 64, 1);
  CHECK(study.expected(2000).value().time_ms == doctest::Approx(8));
}

TEST_CASE("with a model, records correct it as far as they agree") {
  ScaleStore study(elementwise);
  const auto estimate = [&](std::int64_t n) {
    const Bindings problem = of("N", n);
    const space::Space space = spec::make_space(study.spec, problem, device::device_facts(study.device));
    return model::estimator(study.spec, space, problem, study.device)(1);
  };
  const std::int64_t asked = 3 << 24;
  const auto alone = study.expected(asked);
  CHECK(alone.value().time_ms == doctest::Approx(estimate(asked) + 0.002));
  CHECK(alone->high_ms > 2 * alone->time_ms);
  for (const std::int64_t n : {1 << 24, 1 << 25, 1 << 26, 1 << 27}) study.store(n, 64, 1.5 * estimate(n));
  const auto corrected = study.expected(asked);
  CHECK(corrected.value().time_ms == doctest::Approx(1.5 * estimate(asked)).epsilon(0.1));
  CHECK(width(corrected) < width(alone) / 2);
  ScaleStore mixed(elementwise);
  for (const std::int64_t n : {1 << 24, 1 << 25, 1 << 26, 1 << 27})
    mixed.store(n, 64, (n == 1 << 25 || n == 1 << 27 ? 4 : 1) * estimate(n));
  CHECK(width(mixed.expected(asked)) > 2 * width(corrected));
}
