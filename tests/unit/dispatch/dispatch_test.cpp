// Calls from a program: the launched configuration, its problem, and its arguments.
#include <cstring>
#include <thread>

#include "core/store/bundle.hpp"
#include "unit/dispatch/shop.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::store;
using namespace xtune::spec;

namespace xtune {

namespace {
template <class T>
T read(const std::string& bytes) {
  T value{};
  REQUIRE(bytes.size() == sizeof value);
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}
}  // namespace

TEST_CASE("a call runs the stored best without a compiler, its own scalars filled in") {
  Shop shop;
  shop.measure(4096, 32, 3.0);
  shop.measure(4096, 128, 1.0, 2);
  const Kernel kernel = shop.kernel();
  int memory = 0;
  auto* const stream = reinterpret_cast<CUstream_st*>(&memory);
  kernel(stream, static_cast<const float*>(shop.x.data()), shop.y.data(), std::int32_t{4096}, 2.5F);
  const auto launch = shop.runtime->launches().back();
  CHECK(launch.image == "BLOCK=128 ");
  CHECK(launch.stream == stream);
  CHECK(launch.launch.grid[0] == 16);
  CHECK(launch.launch.block[0] == 128);
  CHECK(read<const void*>(launch.parameters[0]) == shop.x.data());
  CHECK(read<const void*>(launch.parameters[1]) == shop.y.data());
  CHECK(read<std::int32_t>(launch.parameters[2]) == 4096);
  CHECK(read<std::int32_t>(launch.parameters[3]) == 2);
  CHECK(read<float>(launch.parameters[4]) == 2.5F);
  CHECK(shop.compiled == 0);
  const Choice choice = kernel.choice({{"N", std::int64_t{4096}}});
  CHECK(choice.kind == Choice::Kind::exact);
  CHECK(choice.config == Bindings{{"BLOCK", std::int64_t{128}}, {"ITEMS", std::int64_t{2}}});
  CHECK(choice.time_ms == 1.0);
  CHECK(shop.messages.empty());
}

TEST_CASE("a known problem is neither chosen nor loaded again") {
  Shop shop;
  shop.measure(4096, 64, 1.0);
  const Kernel kernel = shop.kernel();
  for (int i = 0; i < 10; ++i) shop.call(kernel, 4096);
  CHECK(shop.runtime->loads == 1);
  shop.call(kernel, 2048);
  CHECK(shop.runtime->loads == 2);
  CHECK(shop.runtime->launches().back().launch.grid[0] == 32);
}

TEST_CASE("what answers is exact, of the bucket, the nearest, or the default, and says so") {
  Shop shop;
  shop.more = "[dispatch]\nkey = [\"pow2(N)\"]\n";
  const Bindings asked{{"N", std::int64_t{1000}}};
  CHECK(shop.kernel().choice(asked).kind == Choice::Kind::none);
  CHECK(shop.kernel().choice(asked).config == Bindings{{"BLOCK", std::int64_t{32}}, {"ITEMS", std::int64_t{1}}});
  shop.measure(1100, 128, 1.0);  // nearer, in the next bucket
  Choice choice = shop.kernel().choice(asked);
  CHECK(choice.kind == Choice::Kind::nearest);
  CHECK(choice.measured_for == Bindings{{"N", std::int64_t{1100}}});
  CHECK(choice.distance > 0);
  CHECK_FALSE(choice.reasons.empty());
  shop.measure(600, 64, 1.0);
  choice = shop.kernel().choice(asked);
  CHECK(choice.kind == Choice::Kind::bucket);
  CHECK(choice.config.at("BLOCK") == Value(std::int64_t{64}));
  shop.measure(1000, 32, 5.0);
  CHECK(shop.kernel().choice(asked).kind == Choice::Kind::exact);
  CHECK(to_string(Choice::Kind::none) == std::string("default"));
}

TEST_CASE("what another driver measured answers behind what this one measured, and says that it is stale") {
  Shop shop;
  const Bindings asked{{"N", std::int64_t{4096}}};
  shop.runtime->info.driver = "12.4";
  shop.measure(4096, 64, 1.0);
  CHECK(shop.kernel().choice(asked).stale.empty());
  shop.runtime->info.driver = "13.0";
  Choice choice = shop.kernel().choice(asked);
  CHECK(choice.kind == Choice::Kind::exact);
  CHECK(choice.config.at("BLOCK") == Value(std::int64_t{64}));
  CHECK(choice.stale == "driver 12.4 when it was measured, driver 13.0 now");
  shop.measure(4096, 128, 2.0);
  choice = shop.kernel().choice(asked);
  CHECK(choice.config.at("BLOCK") == Value(std::int64_t{128}));
  CHECK(choice.stale.empty());
  shop.runtime->info.driver = "12.4";
  CHECK(shop.kernel().choice(asked).config.at("BLOCK") == Value(std::int64_t{64}));
  // A driver that is not known is like any other: the fastest answers.
  shop.runtime->info.driver = "";
  choice = shop.kernel().choice(asked);
  CHECK(choice.config.at("BLOCK") == Value(std::int64_t{64}));
  CHECK(choice.stale.empty());
}

TEST_CASE("another architecture's best is compiled for this one when it was asked for") {
  Shop shop;
  shop.measure(4096, 128, 1.0, 1, "sm_80");
  const Bindings problem{{"N", std::int64_t{4096}}};
  CHECK(shop.kernel().choice(problem).kind == Choice::Kind::none);
  shop.settings.other_architectures = true;
  const Kernel kernel = shop.kernel();
  CHECK(kernel.choice(problem).kind == Choice::Kind::nearest);
  CHECK(shop.call(kernel, 4096).image == "BLOCK=128 ");
  CHECK(shop.compiled == 1);
}

TEST_CASE("simulated times of an emulator choose nothing for a GPU") {
  Shop shop;
  shop.measure(4096, 128, 1.0, 1, "sm_90-emulated");
  shop.settings.other_architectures = true;
  CHECK(shop.kernel().choice({{"N", std::int64_t{4096}}}).kind == Choice::Kind::none);
}

TEST_CASE("without a measurement the default configuration is compiled once and kept in the store") {
  Shop shop;
  CHECK(shop.call(shop.kernel(), 4096).image == "BLOCK=32 ");
  CHECK(shop.compiled == 1);
  CHECK(shop.call(shop.kernel(), 4096).image == "BLOCK=32 ");
  CHECK(shop.compiled == 1);
  shop.settings.default_config = {{"BLOCK", std::int64_t{64}}, {"ITEMS", std::int64_t{2}}};
  CHECK(shop.call(shop.kernel(), 4096).image == "BLOCK=64 ");
  shop.settings.default_config = {{"BLOCK", std::int64_t{65}}, {"ITEMS", std::int64_t{2}}};
  const Kernel kernel = shop.kernel();
  CHECK(holds(test::error_of([&] { shop.call(kernel, 4096); }, ErrorKind::invalid_argument), "BLOCK=65"));
}

TEST_CASE("an edited source is compiled again with the stored configuration") {
  Shop shop;
  shop.measure(4096, 128, 1.0);
  shop.write_source("__global__ void scale() { /* better */ }");
  CHECK(shop.call(shop.kernel(), 4096).image == "BLOCK=128 ");
  CHECK(shop.compiled == 1);
}

TEST_CASE("where nothing may be compiled, only what is stored runs") {
  Shop shop;
  shop.settings.compile = false;
  {
    const Kernel kernel = shop.kernel();
    const std::string error = test::error_of([&] { shop.call(kernel, 4096); }, ErrorKind::unavailable);
    CHECK(holds(error, "no compiled kernel"));
  }
  shop.measure(4096, 64, 1.0);
  CHECK(shop.call(shop.kernel(), 4096).image == "BLOCK=64 ");
}

TEST_CASE("a bundle answers beside an empty store, and the store before it") {
  Shop shop;
  shop.measure(4096, 128, 1.0);
  const std::filesystem::path bundle = shop.folder.path() / "winners.xtune";
  CHECK(write_bundle(shop.settings.store, bundle, {}).artifacts == 1);
  shop.settings.store = shop.folder.path() / "empty";
  shop.settings.bundle = bundle;
  shop.settings.compile = false;
  const Bindings problem{{"N", std::int64_t{4096}}};
  CHECK(shop.kernel().choice(problem).kind == Choice::Kind::exact);
  CHECK(shop.call(shop.kernel(), 4096).image == "BLOCK=128 ");
  CHECK(shop.call(shop.kernel(), 1024).image == "BLOCK=128 ");
  shop.measure(4096, 64, 2.0);
  CHECK(shop.call(shop.kernel(), 4096).image == "BLOCK=64 ");
  shop.settings.bundle = shop.folder.path() / "absent";
  CHECK(holds(test::error_of([&] { shop.kernel(); }, ErrorKind::io), "absent"));
}

TEST_CASE("a bundle is found from any working directory, and a changed one is reported") {
  Shop shop;
  shop.measure(4096, 128, 1.0);
  const std::filesystem::path here = std::filesystem::current_path();
  write_bundle(shop.settings.store, shop.folder.path() / "winners.xtune", {});
  std::filesystem::current_path(shop.folder.path());
  shop.settings.store = shop.folder.path() / "empty";
  shop.settings.bundle = "winners.xtune";
  const Kernel kernel = shop.kernel(), later = shop.kernel();
  std::filesystem::current_path(here);
  CHECK(shop.call(kernel, 4096).image == "BLOCK=128 ");
  CHECK(shop.messages.empty());
  std::filesystem::resize_file(shop.folder.path() / "winners.xtune", 10);
  CHECK(shop.call(later, 4096).image == "BLOCK=32 ");
  REQUIRE_FALSE(shop.messages.empty());
  CHECK(holds(shop.messages.front(), "winners.xtune"));
  CHECK(holds(shop.messages.front(), "it is shorter than it was"));
}

TEST_CASE("a bundle that holds other kernels says which") {
  Shop shop;
  shop.measure(4096, 128, 1.0);
  const std::filesystem::path bundle = shop.folder.path() / "winners.xtune";
  write_bundle(shop.settings.store, bundle, {});
  shop.settings.bundle = bundle;
  shop.name = "other";
  CHECK(holds(test::error_of([&] { shop.kernel(); }, ErrorKind::invalid_argument),
              "has nothing of the kernel 'other'; it has scale (sm_90)"));
  CHECK(holds(test::error_of([] { load_bundle(""); }, ErrorKind::invalid_argument), "load_bundle: the path is empty"));
  CHECK(holds(test::error_of([&] { load_bundle(bundle); }, ErrorKind::invalid_argument),
              "measurements of scale (sm_90)"));
}

TEST_CASE("an artifact of a shared store that its record did not measure is refused, reported, and compiled again") {
  Shop shop;
  shop.measure(4096, 128, 1.0);
  const ArtifactCache cache(shop.settings.store);
  const Record record = read_records(shop.settings.store, "sm_90", "scale").records.front();
  REQUIRE(record.artifact_sha256.size() == 64);
  const auto tamper = [&] {
    Artifact artifact = cache.read(record.artifact_key);
    artifact.image = "something else ";
    std::ofstream(cache.image_path(artifact)) << artifact.image;
    std::ofstream(cache.entry_path(artifact.key, "json")) << artifact_metadata(artifact);
    REQUIRE(cache.find(record.artifact_key));  // sound in itself
  };
  tamper();
  SUBCASE("compiled again, and kept") {
    CHECK(shop.call(shop.kernel(), 4096).image == "BLOCK=128 ");
    CHECK(shop.compiled == 1);
    REQUIRE(shop.messages.size() == 1);
    CHECK(holds(shop.messages.front(), record.artifact_key + " in the store is not the one that its record measured"));
    CHECK(shop.call(shop.kernel(), 4096).image == "BLOCK=128 ");
    CHECK(shop.compiled == 1);
  }
  SUBCASE("so is one in a format of another version") {
    shop.runtime->foreign_image = "something else";
    CHECK(shop.call(shop.kernel(), 4096).image == "BLOCK=128 ");
    CHECK(shop.messages.empty());
  }
  SUBCASE("never loaded where nothing may be compiled") {
    shop.settings.compile = false;
    CHECK(holds(test::error_of([&] { shop.call(shop.kernel(), 4096); }, ErrorKind::unavailable), "nothing to run"));
    CHECK(shop.runtime->launches().empty());
  }
  SUBCASE("a record of an earlier version does not say, and its artifact's metadata vouch") {
    for (const auto& file : std::filesystem::recursive_directory_iterator(shop.settings.store / "records")) {
      if (!file.is_regular_file()) continue;
      std::string text = read_file(file.path());
      const std::string member = "\"artifact_sha256\":\"" + record.artifact_sha256 + "\",";
      REQUIRE(text.find(member) != std::string::npos);
      text.erase(text.find(member), member.size());
      const std::string checksum = ",\"checksum\":\"12345678\"";
      for (std::size_t at; (at = text.find(",\"checksum\":")) != std::string::npos;) text.erase(at, checksum.size());
      std::ofstream(file.path()) << text;
    }
    CHECK(shop.call(shop.kernel(), 4096).image == "something else ");
    CHECK(shop.messages.empty());
  }
}

TEST_CASE("a configuration that does not run is replaced by a default one, with a message") {
  Shop shop;
  shop.measure(4096, 128, 1.0);
  shop.runtime->refused_image = "BLOCK=128";
  CHECK(shop.call(shop.kernel(), 4096).image == "BLOCK=32 ");
  REQUIRE(shop.messages.size() == 1);
  CHECK(holds(shop.messages.front(), "the driver refuses BLOCK=128"));
}

TEST_CASE("when no configuration runs the error says why") {
  Shop shop;
  shop.blocks = "[13]";
  const Kernel kernel = shop.kernel();
  CHECK(holds(test::error_of([&] { shop.call(kernel, 4096); }, ErrorKind::nothing_valid), "13 is bad luck"));
}

TEST_CASE("each context gets its own load") {
  Shop shop;
  shop.measure(4096, 64, 1.0);
  const Kernel kernel = shop.kernel();
  CHECK(shop.call(kernel, 4096).context == 1);
  std::thread([&] {
    fakes::FakeRuntime::context() = 2;
    CHECK(shop.call(kernel, 4096).context == 2);
    fakes::FakeRuntime::context() = 0;
    CHECK(holds(test::error_of([&] { shop.call(kernel, 4096); }, ErrorKind::unavailable), "make one first"));
    shop.runtime->knows_contexts = true;
    CHECK(shop.call(kernel, 4096).context == 1);
    CHECK(fakes::FakeRuntime::context() == 1);
  }).join();
  CHECK(shop.runtime->loads == 2);
}

TEST_CASE("a launch that fails is an error in the driver's words") {
  Shop shop;
  const Kernel kernel = shop.kernel();
  shop.runtime->status = 719;
  CHECK(test::error_of([&] { shop.call(kernel, 4096); }, ErrorKind::unavailable) == "launching scale: FAKE_719");
}

TEST_CASE("sizes come from scalars or from for_problem") {
  Shop shop;
  shop.more = "[[args]]\nname = \"z\"\ndtype = \"f32\"\nshape = [\"N\"]\n";
  const Kernel kernel = shop.kernel();
  CHECK(holds(test::error_of(
                  [&] {
                    kernel.for_problem({{"n", std::int64_t{1}}});
                  },
                  ErrorKind::invalid_argument),
              "no problem size 'n'"));
  const Kernel fixed = kernel.for_problem({{"N", std::int64_t{64}}});
  CHECK(fixed.choice().kind == Choice::Kind::none);
  const float* const in = shop.x.data();
  shop.runtime->parameter_bytes.push_back(8);
  CHECK(holds(test::error_of([&] { fixed(nullptr, in, shop.y.data(), 65, 2.0F, in); }, ErrorKind::invalid_argument),
              "says N = 65, and the problem of this kernel says 64"));
  fixed(nullptr, in, shop.y.data(), 64, 2.0F, in);
  CHECK(shop.runtime->launches().back().launch.grid[0] == 2);
}

TEST_CASE("a size of another type is refused where it is said") {
  Shop shop;
  const Kernel kernel = shop.kernel();
  const auto wrong = [&](const auto& call) { return test::error_of(call, ErrorKind::invalid_argument); };
  const std::string text = wrong([&] { kernel.for_problem({{"N", "4096"}}); });
  CHECK(holds(text, "scale: the problem size 'N' is the string '4096', and the spec has an integer"));
  CHECK(holds(wrong([&] { kernel.for_problem({{"N", 64.5}}); }), "'N' is the float '64.5'"));
  CHECK(holds(wrong([&] { kernel.for_problem({{"N", true}}); }), "'N' is the boolean 'true'"));
  CHECK(holds(wrong([&] { kernel.choice({{"N", "4096"}}); }), "'N' is the string"));
  CHECK(holds(wrong([&] { kernel.prepare({{"N", "4096"}}); }), "'N' is the string"));
}

TEST_CASE("a size that is a float takes an integer for one") {
  Shop shop;
  Spec spec = shop.spec();
  for (Bindings& each : spec.cases) each.emplace("SCALE", 2.0);
  dispatch::Parts parts;
  parts.spec = spec;
  parts.runtime = shop.runtime;
  parts.open_toolchain = [&](const std::string&) { return std::make_unique<FakeToolchain>(shop.compiled); };
  const Kernel kernel = dispatch::make_kernel(std::move(parts), shop.settings);
  kernel.for_problem({{"SCALE", std::int64_t{2}}}).prepare({{"N", std::int64_t{64}}});
  kernel.for_problem({{"SCALE", 2.0}}).prepare({{"N", std::int64_t{64}}});
  CHECK(shop.runtime->loads == 1);
}

TEST_CASE("a type that the problem decides on is the loaded spec's") {
  Shop shop;
  Spec spec = shop.spec();
  for (Bindings& each : spec.cases) each.emplace("TYPE", "f32");
  spec.args[0].dtype_text = Text{"{TYPE}", {"scale.toml", 9, 9}};
  dispatch::Parts parts;
  parts.spec = spec;
  parts.runtime = shop.runtime;
  parts.open_toolchain = [&](const std::string&) { return std::make_unique<FakeToolchain>(shop.compiled); };
  const Kernel kernel = dispatch::make_kernel(std::move(parts), shop.settings);
  CHECK(shop.call(kernel, 4096).launch.grid[0] == 128);
  CHECK(kernel.for_problem({{"TYPE", "f32"}}).choice({{"N", std::int64_t{64}}}).measured_for.empty());
  CHECK(holds(test::error_of(
                  [&] {
                    kernel.for_problem({{"TYPE", "f16"}});
                  },
                  ErrorKind::invalid_argument),
              "scale: for TYPE = f16 the argument 'x' is of f16, and the kernel was loaded with f32: load it with "
              "this TYPE among its defines"));
}

TEST_CASE("a size without a value is an error that names it") {
  Shop shop;
  Spec spec = shop.spec();
  for (ArgSpec& argument : spec.args)
    if (argument.name == "n") argument.value->text = "N + 1";
  dispatch::Parts parts;
  parts.spec = spec;
  parts.runtime = shop.runtime;
  parts.open_toolchain = [&](const std::string&) { return std::make_unique<FakeToolchain>(shop.compiled); };
  const Kernel kernel = dispatch::make_kernel(std::move(parts), shop.settings);
  CHECK(holds(test::error_of([&] { shop.call(kernel, 4096); }, ErrorKind::invalid_argument),
              "gives the problem size 'N': call what for_problem returns for it"));
  CHECK(shop.call(kernel.for_problem({{"N", std::int64_t{4096}}}), 4097).launch.grid[0] == 128);
}

TEST_CASE("records that change or go while the program runs cost no call") {
  Shop shop;
  shop.measure(4096, 128, 1.0);
  const Kernel kernel = shop.kernel();
  CHECK(shop.call(kernel, 4096).image == "BLOCK=128 ");
  SUBCASE("gone") {
    std::filesystem::remove_all(shop.settings.store);
    CHECK(shop.call(kernel, 2048).image == "BLOCK=32 ");
  }
  SUBCASE("shorter, then with other records") {
    for (const auto& file : std::filesystem::recursive_directory_iterator(shop.settings.store / "records"))
      if (file.is_regular_file()) std::filesystem::resize_file(file.path(), 20);
    shop.measure(4096, 64, 1.0);
    CHECK(shop.call(kernel, 2048).image == "BLOCK=64 ");
  }
  CHECK(shop.call(kernel, 4096).image == "BLOCK=128 ");
}

TEST_CASE("a callback about a damaged store may ask for a choice") {
  Shop shop;
  std::filesystem::create_directories(shop.settings.store);
  std::ofstream(shop.settings.store / "records") << "no folder";
  std::optional<Kernel> kernel;
  std::vector<Choice> choices;
  shop.settings.on_message = [&](const std::string&) { choices.push_back(kernel->choice({{"N", std::int64_t{64}}})); };
  kernel = shop.kernel();
  CHECK(shop.call(*kernel, 4096).image == "BLOCK=32 ");
  REQUIRE(!choices.empty());
  CHECK(choices.front().kind == Choice::Kind::none);
}

TEST_CASE("prepare does all but the launch") {
  Shop shop;
  const Kernel kernel = shop.kernel();
  kernel.prepare({{"N", std::int64_t{128}}});
  CHECK(shop.runtime->loads == 1);
  CHECK(shop.runtime->launches().empty());
  shop.call(kernel, 128);
  CHECK(shop.runtime->loads == 1);
  CHECK(holds(test::error_of([&] { kernel.prepare({}); }, ErrorKind::invalid_argument), "'N' is missing"));
  CHECK(holds(test::error_of(
                  [&] {
                    kernel.prepare({{"N", std::int64_t{1} << 40}});
                  },
                  ErrorKind::invalid_argument),
              "does not hold it"));
}

}  // namespace xtune
