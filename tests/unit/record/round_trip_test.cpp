// Records and their parts survive JSON, for any contents.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/build/artifact.hpp"
#include "core/store/record.hpp"
#include "support/record_members.hpp"

namespace {

using namespace xtune;
using Json = nlohmann::json;

template <class T, class Read>
void check_round_trip(const T& value, const Json& json, Read read) {
  CAPTURE(json.dump());
  CHECK(test::same(read(json), value));
  CHECK(test::same(read(Json::parse(json.dump())), value));
  CHECK(test::same(read(Json::from_msgpack(Json::to_msgpack(json))), value));
}

}  // namespace

TEST_CASE("A record with random values comes back from JSON as it was") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    auto record = test::RandomValues(seed).make<store::Record>();
    test::settle(record);
    check_round_trip(record, store::to_json(record), store::record_from_json);
  }
}

TEST_CASE("Devices, telemetry, comparisons and bindings with random values come back from JSON as they were") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    test::RandomValues random(seed);
    const auto device = random.make<device::DeviceInfo>();
    check_round_trip(device, store::to_json(device), store::device_info_from_json);
    const auto telemetry = random.make<measure::Telemetry>();
    check_round_trip(telemetry, store::to_json(telemetry), store::telemetry_from_json);
    auto comparison = random.make<validate::Comparison>();
    test::settle(comparison);
    check_round_trip(comparison, store::to_json(comparison), store::comparison_from_json);
    const auto bindings = random.make<Bindings>();
    check_round_trip(bindings, store::to_json(bindings), store::bindings_from_json);
  }
}

TEST_CASE("Artifacts and their resource usage with random values come back from JSON as they were") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    test::RandomValues random(seed, true);
    const auto artifact = random.make<build::Artifact>();
    check_round_trip(artifact, build::to_json(artifact), build::artifact_from_json);
    const auto usage = random.make<build::ResourceUsage>();
    check_round_trip(usage, build::to_json(usage), build::resource_usage_from_json);
  }
}
