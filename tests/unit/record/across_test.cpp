// Which stored records answer for a case, where one configuration is chosen for several.
#include <doctest/doctest.h>

#include "core/store/objective.hpp"
#include "unit/record/example_record.hpp"

using namespace xtune::store;

using namespace xtune;

TEST_CASE("A case is answered by records of its problem and device, which today's spec would measure so") {
  std::vector<Record> stored;
  for (std::int64_t block = 1; block <= 7; ++block) stored.push_back(example_record(block, 1));
  stored[1].problem["M"] = std::int64_t{65};
  stored[2].device.name = "another";
  stored[3].key_parts.emplace_back("sanitize", "true");
  LookupRules rules;
  rules.obstacle = [](const Record& record) { return record.key == "key-5" ? "not allowed" : ""; };
  rules.differences = [](const Record& record) {
    return record.key == "key-6"   ? std::vector<std::string>{"artifact: a -> b"}
           : record.key == "key-7" ? std::vector<std::string>{"driver: 12 -> 13"}
                                   : std::vector<std::string>();
  };
  const auto keys = [&](const LookupRules& with, KeyFit worst) {
    std::vector<std::string> found;
    for (const Record* record : answering(stored, stored[0].problem, stored[0].device, with, worst))
      found.push_back(record->key);
    return found;
  };
  CHECK(keys(rules, KeyFit::holds) == std::vector<std::string>{"key-1"});
  CHECK(keys(rules, KeyFit::stale) == std::vector<std::string>{"key-1", "key-7"});
  CHECK(keys(rules, KeyFit::differs) == std::vector<std::string>{"key-1", "key-6", "key-7"});
  CHECK(keys({}, KeyFit::holds) == std::vector<std::string>{"key-1", "key-5", "key-6", "key-7"});
}
