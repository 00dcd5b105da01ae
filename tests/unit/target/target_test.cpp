// Tests of choosing devices by index.
#include "worker/ipc/target.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/device/backend_facts.hpp"
#include "xtune/error.hpp"

using namespace xtune::device;
using namespace xtune::run;
using namespace xtune::worker;

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

TEST_CASE("Of several compilers, the first that is here and knows the architecture is selected, or the one named") {
  BackendState state;
  state.name = "hip";
  state.compilers.resize(2);
  state.compilers[0].name = "hiprtc";
  state.compilers[0].toolchain = "hiprtc 5.2, parts 1";
  state.compilers[0].archs = {"gfx90a", "gfx1030"};
  state.compilers[1].name = "clang";
  state.compilers[1].toolchain = "clang 19.1, parts 2";
  state.compilers[1].archs = {"gfx90a", "gfx942"};
  state.compilers[1].default_arch = "gfx90a";
  const auto selected = [&](const std::string& name, const std::string& arch) {
    select_compiler(state, name, arch);
    return state.toolchain;
  };
  CHECK(selected("", "") == "hiprtc 5.2, parts 1");
  CHECK(selected("auto", "gfx90a:xnack-") == "hiprtc 5.2, parts 1");
  CHECK(selected("auto", "gfx942") == "clang 19.1, parts 2");
  CHECK(state.default_arch == "gfx90a");
  CHECK(selected("auto", "gfx9999") == "hiprtc 5.2, parts 1");  // its error lists what it knows
  CHECK(selected("clang", "gfx90a") == "clang 19.1, parts 2");
  CHECK(selected("hiprtc", "gfx942") == "hiprtc 5.2, parts 1");
  state.compilers[0].toolchain.clear();
  state.compilers[0].reason = "no library";
  CHECK(selected("auto", "gfx1030") == "clang 19.1, parts 2");
  CHECK(selected("hiprtc", "").empty());
  CHECK(state.toolchain_reason == "hiprtc: no library");
  state.compilers[1].toolchain.clear();
  state.compilers[1].reason = "no clang";
  state.compilers[1].failed = true;
  CHECK(selected("", "").empty());
  CHECK(state.toolchain_reason == "hiprtc: no library; clang: no clang");
  CHECK(state.toolchain_failed);
  CHECK(backend_state_from_json(to_json(state)).compilers.size() == 2);
  CHECK(to_json(backend_state_from_json(to_json(state))) == to_json(state));
}

TEST_CASE("auto and gpu are choices among the backends of kernels; anything else is a name") {
  const std::vector<std::string> all = backends_for("auto"), gpus = backends_for("gpu");
  CHECK(all == backend_names());
  CHECK(all.back() == "host");
  CHECK(gpus == std::vector<std::string>(all.begin(), all.end() - 1));
  CHECK(backends_for("kokkos") == std::vector<std::string>{"kokkos"});
  CHECK(is_choice("gpu"));
  CHECK_FALSE(is_choice("cuda"));
  CHECK_THROWS_AS(backends_for("gpus"), const Error&);
}

TEST_CASE("A compiler is one of the backend's") {
  CHECK(compilers_of("hip") == std::vector<std::string>{"hiprtc", "clang"});
  CHECK(compilers_of("cuda") == std::vector<std::string>{"nvrtc", "nvcc", "clang"});
  CHECK(compilers_of("host").empty());
  CHECK(takes_programs("cuda", "nvcc 13.0.88 (/usr/local/cuda/bin/nvcc), parts 00"));
  CHECK_FALSE(takes_programs("cuda", "nvrtc 13.0, parts 00"));
  CHECK_FALSE(takes_programs("hip", "clang 19.1.7 (x), parts 00"));
  CHECK(compiler_of("hip", "clang 19.1.7 (...), parts 0") == "clang");
  CHECK(compiler_of("hip", "hiprtc on nvrtc 13.0") == "hiprtc");
  CHECK(compiler_of("host", "clang version 14").empty());
  CHECK_NOTHROW(require_compiler("auto", "clang"));
  CHECK_NOTHROW(require_compiler("gpu", "clang"));
  CHECK_NOTHROW(require_compiler("hip", "hiprtc"));
  CHECK_NOTHROW(require_compiler("cuda", "clang"));
  CHECK_NOTHROW(require_compiler("cuda", "auto"));
  const auto refused = [](const char* backend, const char* compiler) {
    try {
      require_compiler(backend, compiler);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::invalid_argument);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(
      refused("cuda", "hiprtc") ==
      "compiler 'hiprtc' is not one of backend cuda; known: nvrtc (backend cuda), nvcc (backend cuda), clang (backend "
      "cuda), hiprtc (backend hip), clang (backend hip), auto");
  CHECK(refused("hip", "clan").find("did you mean 'clang'?") != std::string::npos);
}
