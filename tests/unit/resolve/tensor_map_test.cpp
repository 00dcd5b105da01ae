// Tensor maps of configurations: their values, the limits that reject them, and the keys that they are part of.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <fstream>

#include "core/resolve/measurement_keys.hpp"
#include "support/text.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

using namespace xtune;
using namespace xtune::resolve;
using test::has;

namespace {

/// A spec whose kernel takes a map of A. BOX is not a macro, so only the map depends on it.
struct MapJob {
  system::TemporaryDirectory folder;
  std::string map = "of = \"A\"\nbox = [\"BOX\", 64]", a = "shape = [\"M\", \"N\"]", more, kernel;
  device::DeviceInfo info = device::known_device("sm_90").value();

  MapJob() {
    info.backend = "cuda";
    std::ofstream(folder.path() / "k.cu") << "__global__ void k() {}\n__global__ void naive() {}\n";
  }
  spec::Spec spec() const {
    return spec::parse_spec("[kernel]\nname = \"k\"\nsource = \"k.cu\"\n" + kernel +
                                "[problem]\nM = 256\nN = 128\n"
                                "[space.params]\nBOX = { values = [32, 64, 512], compile_time = false }\n"
                                "[launch]\ngrid = [1]\nblock = [32]\n"
                                "[[args]]\nname = \"A\"\ndtype = \"f16\"\n" +
                                a + "\n[[args]]\nname = \"a_map\"\nkind = \"tensor_map\"\n" + map +
                                "\n[[args]]\nname = \"C\"\ndtype = \"f32\"\nshape = [\"M\"]\nrole = \"out\"\n" + more,
                            "k.toml", folder.path());
  }
  template <class Use>
  auto with(const Use& use) const {
    const spec::Spec own = spec();
    const space::Space space = spec::make_space(own, own.cases.front(), {});
    return use(CandidateResolver(own, space, own.cases.front(), info, "sm_90a", "nvrtc", false));
  }
  measure::TensorMap map_at(std::int64_t box = 32) const {
    return with([&](const auto& resolver) { return resolver.tensor_maps({box}).at(0); });
  }
  build::KeyParts parts(std::int64_t box = 32) const {
    return with([&](const auto& resolver) {
      const space::Config config{box};
      return resolver.measurement_key_parts(config, resolver.artifact_key(resolver.compile_request(config)));
    });
  }
  std::string key(std::int64_t box = 32) const { return build::key_of(parts(box)); }
  std::string rejection(std::int64_t box) const {
    try {
      with([&](const auto& resolver) { return resolver.launch({box}); });
    } catch (const build::CandidateFailure& failure) {
      CHECK(failure.outcome() == Outcome::rejected);
      return failure.what();
    }
    return "accepted";
  }
  std::string refusal() const {
    try {
      map_at();
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::invalid_spec);
      return error.what();
    }
    return "accepted";
  }
};

}  // namespace

TEST_CASE("a map has the buffer's shape, dense strides, and the configuration's box") {
  const measure::TensorMap map = MapJob().map_at(64);
  CHECK(map.dtype == DType::f16);
  CHECK(map.shape == std::vector<std::int64_t>{256, 128});
  CHECK(map.strides == std::vector<std::int64_t>{128});
  CHECK(map.box == std::vector<std::int64_t>{64, 64});
  CHECK(map.element_strides == std::vector<std::int64_t>{1, 1});
  CHECK(map.swizzle == 0);
  CHECK(map.l2_promotion == 128);
  CHECK(map.interleave == 0);
  CHECK_FALSE(map.nan_outside);
}

TEST_CASE("a view, and buffers of one configuration") {
  MapJob job;
  job.a = "role = \"scratch\"\nshape = [\"BOX * 8\", \"N\"]";
  CHECK(job.map_at(64).shape == std::vector<std::int64_t>{512, 128});
  job.map =
      "of = \"A\"\nbox = [2, 16, 8]\nshape = [\"M // 16\", 16, \"N\"]\nstrides = [\"BOX * 8\", 128]\n"
      "swizzle = \"BOX\"\nl2_promotion = 0\nelement_strides = [1, 2, 1]\noutside = \"nan\"";
  job.a = "shape = [\"M * 8\", \"N\"]";
  const measure::TensorMap map = job.map_at(64);
  CHECK(map.shape == std::vector<std::int64_t>{16, 16, 128});
  CHECK(map.strides == std::vector<std::int64_t>{512, 128});
  CHECK(map.swizzle == 64);
  CHECK(map.l2_promotion == 0);
  CHECK(map.element_strides == std::vector<std::int64_t>{1, 2, 1});
  CHECK(map.nan_outside);
}

TEST_CASE("a limit that a configuration exceeds rejects it, with the map and the values") {
  MapJob job;
  CHECK(job.rejection(64) == "accepted");
  CHECK(
      job.rejection(512) ==
      "k.toml:20:9: tensor map 'a_map': box [512, 64] has the value 512, and 1 to 256 are allowed (BOX = 512, M = 256, "
      "N = 128)");
  CHECK(job.key(512) != job.key(32));
  job.map = "of = \"A\"\nbox = [8, 64]\nshape = [\"BOX * 8\", \"N\"]";
  CHECK(job.rejection(32) == "accepted");
  CHECK(has(job.rejection(64),
            "tensor map 'a_map': its shape and strides end 131072 bytes behind the start of 'A', which has 65536 "
            "(f16[256, 128])"));
}

TEST_CASE("a limit that no configuration can keep is an error at its place") {
  MapJob job;
  job.map = "of = \"A\"\nbox = [8, 257]";
  CHECK(has(job.refusal(), "k.toml:20:8: tensor map 'a_map': box [8, 257] has the value 257"));
  job.map = "of = \"A\"\nbox = [8, \"N\"]\nswizzle = 128";
  CHECK(has(job.refusal(), "256 bytes of f16, and swizzle = 128 allows at most 128"));
}

TEST_CASE("a device without tensor maps rejects every configuration") {
  MapJob job;
  job.info = device::known_device("sm_80").value();
  CHECK(job.rejection(32) == "tensor map 'a_map': sm_80 has no tensor maps; they need an NVIDIA GPU of sm_90 or newer");
  job.info = device::known_device("gfx90a").value();
  CHECK(has(job.rejection(32), "gfx90a has no tensor maps"));
}

TEST_CASE("what a map says is part of the measurement's key, and of nothing else") {
  const MapJob job;
  const std::string key = job.key();
  CHECK(job.key(64) != key);
  for (const std::string change :
       {"\nswizzle = 128", "\nl2_promotion = 256", "\nelement_strides = [2, 1]", "\noutside = \"nan\"",
        "\nshape = [128, 128]", "\nstrides = [64]", "\ndtype = \"bf16\""}) {
    MapJob other;
    other.map += change;
    CAPTURE(change);
    CHECK(other.key() != key);
    CHECK(other.parts().front() == job.parts().front());  // the artifact
  }
  MapJob same;
  same.map += "\nswizzle = 0\nl2_promotion = 128\nshape = [\"M\", \"N\"]\nstrides = [\"N\"]\nelement_strides = [1, 1]";
  CHECK(same.key() == key);
}

TEST_CASE("many keys are those of one configuration each") {
  const MapJob job;
  job.with([&](const CandidateResolver& resolver) {
    MeasurementKeys keys(resolver);
    for (const std::int64_t box : {32, 64, 512, 32}) {
      const space::Config config{box};
      const std::string key = build::key_of(
          resolver.measurement_key_parts(config, resolver.artifact_key(resolver.compile_request(config))));
      std::string own;
      xtune::base::Sha256 bytes{};
      keys.any(config, [&](const xtune::base::Sha256& each) { return bytes = each, true; });
      for (const unsigned byte : bytes) own += fmt::format("{:02x}", byte);
      CHECK(own == key);
    }
    return 0;
  });
}

TEST_CASE("the arguments that a reference kernel takes are part of the key") {
  MapJob job;
  job.more = "[validate]\nreference = { kernel = \"naive\" }\n";
  const std::string all = job.key();
  job.more = "[validate]\nreference = { kernel = \"naive\", args = [\"A\", \"C\"] }\n";
  const std::string two = job.key();
  CHECK(two != all);
  job.more = "[validate]\nreference = { kernel = \"naive\", args = [\"C\", \"A\"] }\n";
  CHECK(job.key() != two);
}

TEST_CASE("the arguments that the kernel takes are part of the key") {
  MapJob job;
  const std::string all = job.key();
  job.kernel = "args = [\"a_map\", \"C\"]\n";
  const std::string two = job.key();
  CHECK(two != all);
  job.kernel = "args = [\"C\", \"a_map\"]\n";
  CHECK(job.key() != two);
}
