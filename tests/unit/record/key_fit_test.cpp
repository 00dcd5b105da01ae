// The driver in a key: which records are stale.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/resolve/resolve.hpp"
#include "core/store/lookup.hpp"
#include "unit/record/example_record.hpp"

using namespace xtune::build;
using namespace xtune::store;
using namespace xtune::resolve;

using namespace xtune;

TEST_CASE("a key that differs in the driver only is stale") {
  CHECK(key_fit({}) == KeyFit::holds);
  CHECK(key_fit({"driver: 12 -> 13"}) == KeyFit::stale);
  CHECK(key_fit({"driver: 12 -> 13", "artifact: a -> b"}) == KeyFit::differs);
  CHECK(key_fit({"artifact: a -> b"}) == KeyFit::differs);
}

TEST_CASE("warm and cold caches are distinguished by the key's part for the protocol") {
  CHECK(protocol_setting({{"protocol", "2: warmup 3 rep 7..50 timeout_s 30 flush l2"}}, "flush") == "l2");
  CHECK(protocol_setting({{"protocol", "2: warmup 3 flush none energy_ms 200"}}, "flush") == "none");
  CHECK(protocol_setting({{"launch", " flush l2"}}, "flush").empty());
  CHECK(protocol_setting({{"protocol", "2: warmup 3 flush none launch graph"}}, "launch") == "graph");
  CHECK(protocol_setting({{"protocol", "2: warmup 3 flush none"}}, "launch").empty());
}

TEST_CASE("a stale record answers behind one that holds and before one that differs, and says so") {
  std::vector<Record> records{example_record(1, 1), example_record(2, 2), example_record(3, 3)};
  records[1].device.driver = "12.4";
  LookupRules rules;
  rules.differences = [](const Record& record) {
    return record.key == "key-1"   ? std::vector<std::string>{"artifact: a -> b"}
           : record.key == "key-2" ? std::vector<std::string>{"driver: 12.4 -> 13.0"}
                                   : std::vector<std::string>();
  };
  LookupResult found = look_up(records, records[0].problem, example_device(), {}, rules);
  CHECK(found.record->key == "key-3");
  CHECK_FALSE(found.stale);
  records.pop_back();
  found = look_up(records, records[0].problem, example_device(), {}, rules);
  CHECK(found.record->key == "key-2");
  CHECK(found.stale);
  CHECK(found.reasons.back().find("stale: driver 12.4 when it was measured, driver 13.0 (580.65) now") !=
        std::string::npos);
  records.pop_back();
  found = look_up(records, records[0].problem, example_device(), {}, rules);
  CHECK(found.record->key == "key-1");
  CHECK_FALSE(found.stale);
}
