// Records that earlier versions wrote: earlier/VERSION has those of a store, as `xtune run` of that version left them.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>

#include "core/store/best.hpp"
#include "core/store/record_log.hpp"

using namespace xtune::store;

using namespace xtune;

namespace {

void check_store(const std::filesystem::path& version, double best_ms) {
  CAPTURE(version);
  const auto store = std::filesystem::path(__FILE__).parent_path() / "earlier" / version;
  const RecordSet set = read_records(store, "x86_64_v4", "scale");
  CHECK(set.warnings.empty());
  std::map<Outcome, int> outcomes;
  std::size_t in_finals = 0;
  for (const Record& record : set.records) {
    ++outcomes[record.outcome];
    in_finals += !record.finals.empty();
    CHECK(record.host == "node1");
    CHECK(record.device.name == "AMD EPYC");
    CHECK(record.samples_ms.empty() == (record.outcome != Outcome::ok));
    CHECK(!record.key_parts.empty());
  }
  CHECK(outcomes == std::map<Outcome, int>{{Outcome::ok, 6}, {Outcome::compile_failed, 1}, {Outcome::wrong_result, 1}});
  CHECK(in_finals == 3);
  std::vector<const Record*> all;
  for (const Record& record : set.records) all.push_back(&record);
  const std::vector<const Record*> order = ranked(all);
  REQUIRE(order.size() == 3);
  CHECK(order.front()->time_ms.median == doctest::Approx(best_ms).epsilon(0.005));
}

}  // namespace

TEST_CASE("Stores of earlier versions are read whole") {
  check_store("0.1.0", 3.98);
  check_store("0.2.0", 2.08);
}
