// Tests of what a run says of its store.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tuner_fixture.hpp"

TEST_CASE("Damaged records are told once, with a count, and what is sound is kept") {
  xtune::fakes::Tuning t;
  t.run();
  REQUIRE(t.observer.warnings.empty());
  for (const auto& file : std::filesystem::recursive_directory_iterator(t.options.store / "records"))
    if (file.is_regular_file()) {
      std::ofstream records(file.path(), std::ios::app);
      for (int i = 0; i < 40; ++i) records << "{\"x\n";
    }
  const xtune::TuneResult again = t.run();
  CHECK(again.from_store == 6);
  REQUIRE(t.observer.warnings.size() == 1);
  CHECK(t.observer.warnings.front().find("(40 times)") != std::string::npos);
}

TEST_CASE("A store that takes no record is told once, and at the end how many it lacks") {
  xtune::fakes::Tuning t;
  t.options.store = "/dev/null/store";
  const xtune::TuneResult result = t.run();
  CHECK(result.records.size() == 6);
  const auto& warnings = t.observer.warnings;
  CHECK(std::count_if(warnings.begin(), warnings.end(),
                      [](const std::string& text) { return text.find(".jsonl") != std::string::npos; }) == 1);
  CHECK(warnings.back().rfind("6 records could not be stored", 0) == 0);
}
