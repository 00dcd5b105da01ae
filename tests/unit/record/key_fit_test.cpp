// The driver in a key: which records are stale, and how records of earlier versions are read.
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

TEST_CASE("a record of an earlier version is read with its driver in its key") {
  Record record = example_record(1, 1);
  record.key_parts = {{"artifact", "a"}, {"device", device_part(record.device)}, {"sanitize", "true"}};
  record.key = key_of(record.key_parts);
  const Record read = record_from_json(to_json(record));
  CHECK(read.key_parts == KeyParts{{"artifact", "a"},
                                   {"device", device_part(record.device)},
                                   {"driver", "13.0 (580.65)"},
                                   {"sanitize", "true"}});
  CHECK(read.key == key_of(read.key_parts));
  const Record again = record_from_json(to_json(read));
  CHECK(again.key == read.key);
  CHECK(again.key_parts == read.key_parts);
  // A CPU has no driver; and a key that is not the hash of its parts is not changed, so that `verify` finds it.
  record.device.driver = "";
  CHECK(record_from_json(to_json(record)).key == record.key);
  record.device.driver = "13.0 (580.65)";
  record.key = std::string(64, 'a');
  CHECK(record_from_json(to_json(record)).key == record.key);
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
