// Tests of what a run says of its store.
#include <doctest/doctest.h>

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
