// Tests of choosing devices by index.
#include "core/target/target.hpp"

#include <doctest/doctest.h>

#include <string>

#include "xtune/error.hpp"

using namespace xtune::device;
using namespace xtune::target;

namespace {

using namespace xtune;

/// Device i is of model names[i].
BackendState node(const std::vector<std::string>& names) {
  BackendState state;
  state.name = "cuda";
  for (const std::string& name : names) {
    DeviceInfo device = known_device("sm_90").value();
    device.index = static_cast<int>(state.devices.size());
    device.name = name;
    device.uuid = "GPU-" + std::to_string(device.index);
    state.devices.push_back(device);
  }
  return state;
}

std::vector<int> indices(const std::vector<DeviceInfo>& devices) {
  std::vector<int> list;
  for (const DeviceInfo& device : devices) list.push_back(device.index);
  return list;
}

std::string refusal(const BackendState& state, const std::vector<int>& asked) {
  try {
    choose_devices(state, asked);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::invalid_argument);
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("All devices are the first visible one and those like it") {
  CHECK(indices(choose_devices(node({"H200", "H200", "H100", "H200"}), {})) == std::vector<int>{0, 1, 3});
  CHECK(indices(choose_devices(node({"H100", "H200"}), {})) == std::vector<int>{0});
  BackendState partitioned = node({"H200", "H200"});
  partitioned.devices[1].compute_units = 16;
  CHECK(indices(choose_devices(partitioned, {})) == std::vector<int>{0});
}

TEST_CASE("Devices named come in the order named") {
  const BackendState state = node({"H200", "H200", "H100", "H200"});
  CHECK(indices(choose_devices(state, {2})) == std::vector<int>{2});
  CHECK(indices(choose_devices(state, {3, 0})) == std::vector<int>{3, 0});
}

TEST_CASE("Devices that are not there, named twice or unlike are refused") {
  const BackendState state = node({"H200", "H200", "H100"});
  CHECK(refusal(state, {3}).find("device 3: backend cuda has 3 devices (0 to 2)") == 0);
  CHECK(refusal(state, {-1}).find("device -1") == 0);
  CHECK(refusal(state, {1, 0, 1}) == "device 1 is named twice");
  CHECK(refusal(state, {0, 2}).find("device 2 (H100, sm_90") != std::string::npos);
}
