// Facts of devices: names, values, and architectures that are not present.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "core/device/backend_facts.hpp"
#include "core/device/device_info.hpp"

using namespace xtune::device;

using namespace xtune;

TEST_CASE("a compiler's name is its fingerprint without digests") {
  CHECK(compiler_name("nvrtc 13.0 65be0db342ad, parts 1323a40b5adb") == "nvrtc 13.0");
  CHECK(compiler_name("g++ (Debian 12.2.0-14) 12.2.0 (/usr/bin/g++), parts 00ff, runtime 3a") ==
        "g++ (Debian 12.2.0-14) 12.2.0 (/usr/bin/g++)");
  CHECK(compiler_name("hiprtc 5.2.0 1a2b") == "hiprtc 5.2.0 1a2b");
  CHECK(compiler_name("").empty());
}

TEST_CASE("a product in the place of an architecture is answered with its architecture") {
  const auto h100 = device::did_you_mean_arch("h100");
  CHECK(h100 == " (did you mean 'sm_90a', the architecture of NVIDIA H100 SXM?)");
  CHECK(device::did_you_mean_arch("mi300").starts_with(
      " (did you mean 'gfx942', the architecture of AMD Instinct MI300"));
  CHECK(device::did_you_mean_arch("RTX 2080 Ti").starts_with(" (did you mean 'sm_75'"));
  CHECK(device::did_you_mean_arch("sm_9") == " (did you mean 'sm_90'?)");
  CHECK(device::did_you_mean_arch("") == "");
  CHECK(device::did_you_mean_arch("zebra") == "");
}

TEST_CASE("code for a GPU that is here may use all that this chip has") {
  CHECK(code_arch(known_device("sm_90").value()) == "sm_90a");
  CHECK(code_arch(known_device("sm_90a").value()) == "sm_90a");
  CHECK(code_arch(known_device("sm_100").value()) == "sm_100a");
  CHECK(code_arch(known_device("sm_89").value()) == "sm_89");
  CHECK(code_arch(known_device("gfx90a").value()) == "gfx90a");
  CHECK(code_arch(DeviceInfo{}) == DeviceInfo{}.arch);
  DeviceInfo of_kokkos = known_device("sm_90").value();
  of_kokkos.backend = "kokkos";
  CHECK(code_arch(of_kokkos) == "sm_90");
}

TEST_CASE("every fact has a name under device., sorted and without twins") {
  const auto& names = device_fact_names();
  CHECK(std::is_sorted(names.begin(), names.end()));
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
  for (const std::string& name : names) CHECK(name.starts_with("device."));
  for (const char* name : {"vendor", "arch", "warp_size", "compute_units", "shared_per_block", "shared_per_block_optin",
                           "registers_per_block", "max_threads_per_block", "l2_bytes"})
    CHECK(std::binary_search(names.begin(), names.end(), "device." + std::string(name)));
  CHECK(device_facts(DeviceInfo{}).size() == names.size());
}

TEST_CASE("facts carry the device's own values") {
  DeviceInfo device;
  device.arch = "sm_90";
  device.warp_size = 64;
  device.shared_per_block_optin = 232448;
  const Bindings facts = device_facts(device);
  CHECK(std::get<std::string>(facts.at("device.arch")) == "sm_90");
  CHECK(std::get<std::int64_t>(facts.at("device.warp_size")) == 64);
  CHECK(std::get<std::int64_t>(facts.at("device.shared_per_block_optin")) == 232448);
}

TEST_CASE("which of two equal devices a run gets changes no fact") {
  DeviceInfo first, second;
  first.index = 0, first.uuid = "GPU-1", first.driver = "13.0";
  second.index = 7, second.uuid = "GPU-2", second.driver = "12.4";
  CHECK(device_facts(first) == device_facts(second));
}

TEST_CASE("known architectures") {
  const auto h100 = known_device("sm_90");
  REQUIRE(h100);
  CHECK(h100->vendor == "nvidia");
  CHECK(h100->backend == "cuda");
  CHECK(h100->compute_units == 132);
  CHECK(h100->shared_per_block_optin == 232448);
  CHECK(h100->memory_bytes == 0);

  const auto mi250x = known_device("gfx90a");
  REQUIRE(mi250x);
  CHECK(mi250x->backend == "hip");
  CHECK(mi250x->warp_size == 64);
  CHECK(mi250x->shared_per_block_optin == 65536);

  const auto cpu = known_device("x86_64_v3");
  REQUIRE(cpu);
  CHECK(cpu->backend == "host");
  CHECK(cpu->vendor == "cpu");
}

TEST_CASE("a variant has its base's facts and keeps its own name") {
  const auto base = known_device("sm_90");
  const auto variant = known_device("sm_90a");
  REQUIRE(variant);
  CHECK(variant->arch == "sm_90a");
  CHECK(variant->compute_units == base->compute_units);
  CHECK(known_device("sm_100f")->arch == "sm_100f");
  CHECK(known_device("gfx90a:sramecc+:xnack-")->arch == "gfx90a:sramecc+:xnack-");
}

TEST_CASE("unknown facts stay unknown") {
  for (const char* arch : {"", "sm_", "sm_9", "sm_90b", "sm_90aa", "sm_a", "gfx", "gfx90", "gfx9999", "SM_90", "90",
                           "x86", "sm_90 ", "gfx90a "})
    CHECK_FALSE(known_device(arch));
}

TEST_CASE("every known architecture is found and makes sense") {
  const auto archs = known_archs();
  CHECK(std::set<std::string>(archs.begin(), archs.end()).size() == archs.size());
  for (const std::string& arch : archs) {
    CAPTURE(arch);
    const auto device = known_device(arch);
    REQUIRE(device);
    CHECK(device->arch == arch);
    CHECK((device->warp_size == 32 || device->warp_size == 64));
    CHECK(device->shared_per_block > 0);
    CHECK(device->shared_per_block <= device->shared_per_block_optin);
    CHECK(device->shared_per_block_optin <= device->shared_per_compute_unit);
    CHECK(device->registers_per_block <= device->registers_per_compute_unit);
    CHECK(device->max_threads_per_block <= device->max_threads_per_compute_unit);
    CHECK(device->max_threads_per_compute_unit % device->warp_size == 0);
    CHECK(device->compute_units > 0);
  }
}

TEST_CASE("an emulated GPU has the facts and the code of its architecture, and another name and key") {
  CHECK_FALSE(is_emulated("gfx942"));
  CHECK_FALSE(is_emulated(""));
  const std::string arch = emulated_arch("gfx942");
  CHECK(arch == "gfx942-emulated");
  CHECK(is_emulated(arch));
  CHECK(base_arch(arch) == "gfx942");
  CHECK(code_arch(arch) == "gfx942");
  CHECK(code_arch(std::string_view("sm_90a")) == "sm_90a");
  const DeviceInfo real = known_device("gfx942").value(), emulated = known_device(arch).value();
  CHECK(emulated.arch == arch);
  CHECK(emulated.name == "emulated gfx942 (no hardware)");
  CHECK(code_arch(emulated) == "gfx942");
  CHECK(emulated.compute_units == real.compute_units);
  CHECK(device_facts(emulated).at("device.arch") == device_facts(real).at("device.arch"));
  CHECK_FALSE(may_be_same_hardware(emulated, real));
  CHECK_FALSE(product_of_device(emulated.name).has_value());
}

TEST_CASE("the features of an AMD target are checked, and are not those of the device") {
  for (const char* arch : {"gfx942", "gfx942:sramecc+:xnack-", "gfx90a:xnack+", "gfx90a:xnack-:sramecc-",
                           "gfx906:xnack-", "gfx1010:xnack-", "gfx1100", "sm_90a", "gfx942-emulated", ""})
    CHECK_MESSAGE(feature_complaint(arch).empty(), arch << ": " << feature_complaint(arch));
  for (const char* arch : {"gfx942:", "gfx942:foo", "gfx942:xnack", "gfx942:xnack*", "gfx942:xnack+-", "gfx942::xnack+",
                           "gfx942:xnack+:xnack-", "gfx1010:sramecc+", "gfx1030:xnack-", "gfx1201:xnack+"})
    CHECK_MESSAGE(!feature_complaint(arch).empty(), arch);
  CHECK(without_features("gfx90a:sramecc+:xnack-") == "gfx90a");
  CHECK(without_features("sm_90a") == "sm_90a");
  const DeviceInfo named = known_device("gfx942:sramecc+:xnack-").value();
  CHECK(device_facts(named).at("device.arch") == xtune::Value("gfx942"));
}
