// Which stored records answer for a case, where one configuration is chosen for several.
#include "core/record/across.hpp"

#include <doctest/doctest.h>

#include "unit/record/example_record.hpp"

using namespace xtune;

TEST_CASE("A case is answered by records of its problem and device, which today's spec would measure so") {
  std::vector<Record> stored;
  for (std::int64_t block = 1; block <= 6; ++block) stored.push_back(example_record(block, 1));
  stored[1].problem["M"] = std::int64_t{65};
  stored[2].device.name = "another";
  stored[3].key_parts.emplace_back("sanitize", "true");
  LookupRules rules;
  rules.obstacle = [](const Record& record) { return record.key == "key-5" ? "not allowed" : ""; };
  rules.differences = [](const Record& record) {
    return record.key == "key-6" ? std::vector<std::string>{"artifact: a -> b"} : std::vector<std::string>();
  };
  const auto keys = [&](const LookupRules& with, bool any_key) {
    std::vector<std::string> found;
    for (const Record* record : answering(stored, stored[0].problem, stored[0].device, with, any_key))
      found.push_back(record->key);
    return found;
  };
  CHECK(keys(rules, false) == std::vector<std::string>{"key-1"});
  CHECK(keys(rules, true) == std::vector<std::string>{"key-1", "key-6"});
  CHECK(keys({}, false) == std::vector<std::string>{"key-1", "key-5", "key-6"});
}
