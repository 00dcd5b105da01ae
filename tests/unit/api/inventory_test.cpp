// What this machine and this build offer, asked from code.
#include "xtune/inventory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "fakes/environment_variable.hpp"
#include "unit/api/tune_fixture.hpp"

namespace xtune {
namespace {

using namespace api_test;

TEST_CASE("every machine has the host's device and says why others are missing") {
  const std::vector<AvailableBackend> all = backends();
  const auto host =
      std::find_if(all.begin(), all.end(), [](const AvailableBackend& backend) { return backend.name == "host"; });
  REQUIRE(host != all.end());
  REQUIRE(host->devices.size() == 1);
  CHECK(host->devices[0].vendor == "cpu");
  CHECK(host->devices[0].compute_units > 0);
  CHECK_FALSE(host->devices[0].arch.empty());
  for (const AvailableBackend& backend : all) {
    CHECK(backend.devices.empty() != backend.device_reason.empty());
    CHECK(backend.compiler.empty() != backend.compiler_reason.empty());
  }
  const std::vector<AvailableDevice> of_host = devices("host");
  REQUIRE(of_host.size() == 1);
  CHECK(of_host[0].name == host->devices[0].name);
  CHECK(of_host[0].backend == "host");
  CHECK(has(refused(ErrorKind::invalid_argument, [] { devices("hots"); }), "hots"));
}

TEST_CASE("devices are listed without a search for compilers") {
  shared_store();
  const system::TemporaryDirectory folder;
  const std::filesystem::path script = folder.path() / "compiler", asked = folder.path() / "asked";
  std::ofstream(script) << "#!/bin/sh\ntouch " << asked.string() << "\nexit 1\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const Variable compiler("XTUNE_HOST_CXX", script.string());
  CHECK(devices("host").size() == 1);
  CHECK(devices().size() >= 1);
  CHECK_FALSE(std::filesystem::exists(asked));
  backends();
  CHECK(std::filesystem::exists(asked));
}

TEST_CASE("strategies are those that a run takes") {
  const std::vector<std::string> names = strategies();
  REQUIRE_FALSE(names.empty());
  CHECK(names.front() == "auto");
  for (const std::string& name : names) saxpy().search("strategy", name);
}

}  // namespace
}  // namespace xtune
