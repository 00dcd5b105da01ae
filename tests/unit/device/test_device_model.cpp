// Device models: plausible figures, overrides by a device's own facts, products, and unknown architectures.
#include <doctest/doctest.h>

#include <set>

#include "core/device/device_info.hpp"
#include "xtune/error.hpp"

using namespace xtune::device;

using namespace xtune;

namespace {

DeviceModel model_of(const char* arch) { return device_model(known_device(arch).value()); }

}  // namespace

TEST_CASE("every GPU of the table has a model that makes sense") {
  for (const std::string& arch : known_archs()) {
    CAPTURE(arch);
    const DeviceInfo info = known_device(arch).value();
    if (info.vendor == "cpu") {
      CHECK_THROWS_AS(device_model(info), Error);
      continue;
    }
    const DeviceModel model = device_model(info);
    CHECK(model.registers_per_thread >= 255);
    CHECK(model.register_granule > 0);
    CHECK(model.schedulers > 0);
    CHECK(model.shared_bytes_per_clock >= 128);
    CHECK(model.fma_per_clock >= 64);
    // A data sheet's f32 peak is that of the units at its clock, or twice that if they pair operations.
    if (model.clock_mhz > 0 && model.peak(Rate::f32) > 0) {
      const double computed = 2e-6 * model.fma_per_clock * info.compute_units * model.clock_mhz;
      const double ratio = model.peak(Rate::f32) / computed;
      CHECK(ratio > 0.97);
      CHECK(ratio < 1.03);
    }
    if (model.peak(Rate::matrix_f16) > 0) {
      CHECK(model.has_matrix("f16"));
      CHECK(model.peak(Rate::matrix_f16) > model.peak(Rate::f32));
    }
    for (const MatrixInstruction& instruction : model.matrix_instructions) {
      CHECK(instruction.m >= 8);
      CHECK(instruction.n >= 8);
      CHECK(instruction.k >= 2);
    }
  }
}

TEST_CASE("figures of data sheets") {
  const DeviceModel a100 = model_of("sm_80");
  CHECK(a100.memory_GB_s == 1555);
  CHECK(a100.peak(Rate::matrix_f16) == 312);
  CHECK(a100.peak(Rate::matrix_f8) == 0);
  CHECK(a100.blocks_per_compute_unit == 32);
  CHECK(a100.has_matrix("bf16"));
  CHECK_FALSE(a100.has_matrix("f8"));
  const DeviceModel mi300x = model_of("gfx942");
  CHECK(mi300x.peak(Rate::matrix_f16) == doctest::Approx(1307.4));
  CHECK(mi300x.peak(Rate::matrix_f32) == doctest::Approx(163.4));
  CHECK(a100.peak(Rate::matrix_f32) == 0);
  CHECK(mi300x.registers_per_thread == 512);
  CHECK(model_of("gfx942:sramecc+:xnack-").memory_GB_s == mi300x.memory_GB_s);
  CHECK(model_of("sm_90a").peak(Rate::f32) == model_of("sm_90").peak(Rate::f32));
  CHECK_FALSE(model_of("gfx1030").has_matrix("f16"));
}

TEST_CASE("facts that the device reports override the table") {
  DeviceInfo info = known_device("sm_80").value();
  info.compute_units = 54;
  info.clock_khz = 705'000;
  info.memory_clock_khz = 1'000'000, info.memory_bus_bits = 4096;
  const DeviceModel model = device_model(info);
  CHECK(model.peak(Rate::f32) == doctest::Approx(19.5 / 4));
  CHECK(model.clock_mhz == 705);
  CHECK(model.memory_GB_s == doctest::Approx(1024));
  // AMD's driver counts GDDR6's clock otherwise: the table stands.
  DeviceInfo rdna = known_device("gfx1030").value();
  rdna.memory_clock_khz = 1'000'000, rdna.memory_bus_bits = 256;
  CHECK(device_model(rdna).memory_GB_s == 512);
}

TEST_CASE("a part of a name that is not its last words, or that several end in, is not a product") {
  for (const char* name : {"0", "RTX 2080", "X", "GeForce", "600 XT", "XT"})
    CHECK_FALSE_MESSAGE(known_product(name), name);
  CHECK(products_called("RTX 2080").empty());
  CHECK(products_called("xt").size() > 2);
  CHECK(products_called("nvidia a40") == std::vector<std::string>{"NVIDIA A40"});
  CHECK(known_product("H100")->name == "NVIDIA H100 SXM");
}

TEST_CASE("what drivers and recordings call a product") {
  const auto name_of = [](const char* device) {
    const auto product = product_of_device(device);
    return product ? product->name : "";
  };
  CHECK(name_of("NVIDIA A100-PCIE-40GB") == "NVIDIA A100");
  CHECK(name_of("NVIDIA A100-SXM4-80GB") == "NVIDIA A100");
  CHECK(name_of("Tesla V100-SXM2-32GB") == "NVIDIA V100");
  CHECK(name_of("NVIDIA GeForce RTX 2080 Ti") == "NVIDIA GeForce RTX 2080 Ti");
  CHECK(name_of("NVIDIA H100 80GB HBM3") == "NVIDIA H100 SXM");
  CHECK(name_of("AMD Instinct MI250X") == "AMD Instinct MI250X (one GCD)");
  for (const char* other : {"NVIDIA A4000", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 2080", "",
                            "unknown", "NVIDIA", "NVIDIA A100-"})
    CHECK_MESSAGE(name_of(other) == "", other);
}

TEST_CASE("a device of which only the name is told has the model of its product") {
  DeviceInfo told;
  told.backend = "replay";
  told.name = "NVIDIA GeForce RTX 2080 Ti";
  for (const char* arch : {"unknown", "", "sm_75"}) {
    told.arch = arch;
    const DeviceModel model = device_model(told);
    CHECK(model.info.arch == "sm_75");
    CHECK(model.info.compute_units == 68);
    CHECK(model.info.backend == "replay");
    CHECK(model.memory_GB_s == 616);
  }
  told.name = "RTX A9000";
  CHECK(device_model(told).info.compute_units == known_device("sm_75")->compute_units);
  told.arch = "unknown";
  try {
    device_model(told);
    FAIL("RTX A9000 is not known");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("no device 'RTX A9000'") != std::string::npos);
  }
}

TEST_CASE("products are found by name or its last words") {
  const auto ti = known_product("rtx 2080 ti");
  REQUIRE(ti);
  CHECK(ti->arch == "sm_75");
  CHECK(ti->compute_units == 68);
  CHECK(device_model(*ti).memory_GB_s == 616);
  CHECK(known_product("MI250X")->arch == "gfx90a");
  CHECK_FALSE(known_product("no such card"));
  CHECK_FALSE(known_product(""));
  const auto names = known_products();
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
  for (const std::string& name : names) {
    CAPTURE(name);
    const auto product = known_product(name);
    REQUIRE(product);
    CHECK(product->name == name);
    CHECK(product->compute_units > 0);
  }
}

TEST_CASE("devices of 2025 and 2026 are found by the names that drivers report") {
  const auto product = [](const char* name) { return product_of_device(name).value(); };
  CHECK(product("NVIDIA B200").compute_units == 148);
  CHECK(product("NVIDIA B300 SXM6 AC").arch == "sm_103");
  CHECK(product("NVIDIA GB300").compute_units == 152);
  CHECK(product("NVIDIA RTX PRO 6000 Blackwell Workstation Edition").compute_units == 188);
  CHECK(product("AMD Instinct MI325X").arch == "gfx942");
  CHECK(product("AMD Instinct MI350X").arch == "gfx950");
  CHECK(device_model(product("AMD Instinct MI325X")).memory_GB_s == 6000);
  // The rates of a part with a lower clock.
  const DeviceModel slow = device_model(product("AMD Instinct MI350X")),
                    fast = device_model(known_device("gfx950").value());
  CHECK(slow.peak(Rate::matrix_f16) / fast.peak(Rate::matrix_f16) == doctest::Approx(2200.0 / 2400).epsilon(1e-3));
}

TEST_CASE("the first product of an architecture is the one that its facts are of") {
  for (const std::string& arch : known_archs()) {
    const DeviceInfo info = known_device(arch).value();
    if (const auto product = known_product(info.name); product && product->arch == arch) {
      CAPTURE(arch);
      CHECK(product->compute_units == info.compute_units);
      CHECK(product->l2_bytes == info.l2_bytes);
    }
  }
}

TEST_CASE("an unknown architecture names the nearest") {
  DeviceInfo info;
  info.arch = "gfx943";
  try {
    device_model(info);
    FAIL("gfx943 is not known");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::invalid_argument);
    CHECK(std::string(error.what()).find("did you mean 'gfx9") != std::string::npos);
  }
}
