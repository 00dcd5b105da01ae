// Tensor maps in calls: made from the buffers that the caller passes, once for each address.
#include <cstdlib>
#include <thread>

#include "unit/dispatch/shop.hpp"

namespace xtune {
namespace {

/// The shop's kernel, which takes a map of x at the end. y's map comes before.
struct MapShop : Shop {
  MapShop() {
    more =
        "[[args]]\nname = \"y_map\"\nkind = \"tensor_map\"\nof = \"y\"\nbox = [4]\n"
        "[[args]]\nname = \"x_map\"\nkind = \"tensor_map\"\nof = \"x\"\nbox = [\"BLOCK\"]\n";
    runtime->parameter_bytes = {8, 8, 4, 4, 4, 128, 128};
  }
};

const void* address_in(const std::string& bytes) {
  const void* address = nullptr;
  std::memcpy(&address, bytes.data(), sizeof address);
  return address;
}

}  // namespace

TEST_CASE("a call passes buffers, and xtune adds their maps") {
  MapShop shop;
  const Kernel kernel = shop.kernel();
  const fakes::FakeLaunchRecord launch = shop.call(kernel, 64);
  REQUIRE(launch.parameters.size() == 7);
  CHECK(address_in(launch.parameters[0]) == shop.x.data());
  CHECK(address_in(launch.parameters[5]) == shop.y.data());
  CHECK(address_in(launch.parameters[6]) == shop.x.data());
  CHECK(holds(test::error_of([&] { kernel(nullptr, shop.x.data()); }, ErrorKind::invalid_argument),
              "takes 4 arguments (x, y, n, factor)"));
}

TEST_CASE("a caller passes buffers that the kernel reads only through maps, and the kernel's order is its own") {
  MapShop shop;
  shop.kernel_keys = "args = [\"x_map\", \"items\", \"n\", \"y_map\", \"factor\"]\n";
  shop.runtime->parameter_bytes = {128, 4, 4, 128, 4};
  const Kernel kernel = shop.kernel();
  const fakes::FakeLaunchRecord launch = shop.call(kernel, 64, 3.0F);
  REQUIRE(launch.parameters.size() == 5);
  CHECK(address_in(launch.parameters[0]) == shop.x.data());
  CHECK(address_in(launch.parameters[3]) == shop.y.data());
  std::int32_t items = 0, n = 0;
  float factor = 0;
  std::memcpy(&items, launch.parameters[1].data(), 4);
  std::memcpy(&n, launch.parameters[2].data(), 4);
  std::memcpy(&factor, launch.parameters[4].data(), 4);
  CHECK(items == 1);
  CHECK(n == 64);
  CHECK(factor == 3.0F);
}

TEST_CASE("arguments of the reference only are not passed, and a plain order of its own is kept") {
  Shop shop;
  shop.kernel_keys = "args = [\"y\", \"x\", \"n\", \"items\"]\n";
  shop.more = "[validate]\nreference = { kernel = \"naive\", args = [\"x\", \"y\", \"factor\"] }\n";
  shop.runtime->parameter_bytes = {8, 8, 4, 4};
  const Kernel kernel = shop.kernel();
  kernel(nullptr, static_cast<const float*>(shop.x.data()), shop.y.data(), 64);
  const fakes::FakeLaunchRecord launch = shop.runtime->launches().back();
  CHECK(address_in(launch.parameters[0]) == shop.y.data());
  CHECK(address_in(launch.parameters[1]) == shop.x.data());
}

TEST_CASE("a kernel that takes an argument more often than a call has room for is refused") {
  Shop shop;
  std::string names;
  for (int i = 0; i < 65; ++i)
    names += (i ? ", " : "") + std::string(i == 0   ? "\"y\""
                                           : i == 1 ? "\"factor\""
                                           : i == 2 ? "\"items\""
                                           : i == 3 ? "\"n\""
                                                    : "\"x\"");
  shop.kernel_keys = "args = [" + names + "]\n";
  CHECK(holds(test::error_of([&] { shop.kernel(); }, ErrorKind::unsupported),
              "its kernel 'scale' takes 65 arguments, and a call at most 64"));
}

TEST_CASE("maps are encoded once for each problem and address") {
  MapShop shop;
  const Kernel kernel = shop.kernel();
  for (int i = 0; i < 3; ++i) shop.call(kernel, 64);
  CHECK(shop.runtime->encoded == 2);
  float* const other = shop.x.data() + 64;
  shop.runtime->memory[other] = 4096;
  for (int i = 0; i < 2; ++i) kernel(nullptr, static_cast<const float*>(other), shop.y.data(), 64, 2.0F);
  CHECK(shop.runtime->encoded == 3);
  CHECK(address_in(shop.runtime->launches().back().parameters[6]) == other);
  shop.call(kernel, 128);  // another shape
  CHECK(shop.runtime->encoded == 5);
}

TEST_CASE("many addresses do not fill the memory, and threads share the maps") {
  MapShop shop;
  shop.settings.checked = false;
  const Kernel kernel = shop.kernel();
  for (std::size_t i = 0; i < 600; ++i)
    kernel(nullptr, static_cast<const float*>(shop.x.data() + 4 * i), shop.y.data(), 64, 2.0F);
  CHECK(address_in(shop.runtime->launches().back().parameters[6]) == shop.x.data() + 4 * 599);
  CHECK(shop.runtime->encoded == 601);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      fakes::FakeRuntime::context() = 1;
      for (std::size_t i = 0; i < 100; ++i)
        kernel(nullptr, static_cast<const float*>(shop.x.data() + 4 * (500 + i % 100)), shop.y.data(), 64, 2.0F);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(shop.runtime->launches().size() == 1000);
}

TEST_CASE("a buffer that no map can describe is refused before the launch") {
  MapShop shop;
  const Kernel kernel = shop.kernel();
  shop.call(kernel, 64);
  const float* const odd = shop.x.data() + 1;
  shop.runtime->memory[odd] = 4096;
  CHECK(test::error_of([&] { kernel(nullptr, odd, shop.y.data(), 64, 2.0F); }, ErrorKind::invalid_argument) ==
        "scale: argument 1, 'x', cannot be read through the tensor map 'x_map': it describes memory 4 bytes beyond a "
        "multiple of 16, and a tensor map needs a multiple");
  CHECK(shop.runtime->launches().size() == 1);
}

TEST_CASE("a captured launch has the maps' descriptions, and the data of the buffers") {
  MapShop shop;
  shop.kernel_keys = "args = [\"x_map\", \"items\", \"n\", \"y_map\", \"factor\"]\n";
  shop.runtime->parameter_bytes = {128, 4, 4, 128, 4};
  setenv("XTUNE_CAPTURE", "scale", 1);
  setenv("XTUNE_CAPTURE_DIR", (shop.folder.path() / "captures").c_str(), 1);
  {
    const Kernel kernel = shop.kernel();
    shop.call(kernel, 64);
  }
  unsetenv("XTUNE_CAPTURE");
  unsetenv("XTUNE_CAPTURE_DIR");
  const spec::Spec captured = spec::load_spec(shop.folder.path() / "captures" / "scale-1" / "spec.toml");
  REQUIRE(captured.args.size() == 7);
  CHECK(captured.kernel.args->size() == 5);
  CHECK(captured.args[0].file.filename() == "x.npy");
  CHECK(captured.args[6].map->of == "x");
  const space::Space space = spec::make_space(captured, captured.cases.front(), {});
  const resolve::CandidateResolver resolver(captured, space, captured.cases.front(), shop.runtime->info, "sm_90", "",
                                            false);
  CHECK(resolver.tensor_maps(space.at(0)).at(1).shape == std::vector<std::int64_t>{64});
}

TEST_CASE("a kernel takes a limited number of maps") {
  MapShop shop;
  for (int i = 0; i < 15; ++i)
    shop.more += "[[args]]\nname = \"m" + std::to_string(i) + "\"\nkind = \"tensor_map\"\nof = \"x\"\nbox = [4]\n";
  CHECK(holds(test::error_of([&] { shop.kernel(); }, ErrorKind::unsupported),
              "it takes 17 tensor maps, and a call at most 16"));
}

}  // namespace xtune
