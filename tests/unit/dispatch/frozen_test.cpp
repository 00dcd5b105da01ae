// Frozen kernels answer only from their bundle; digests prove what processes share.
#include <fstream>
#include <map>

#include "core/store/bundle.hpp"
#include "dispatch/spec_files.hpp"
#include "unit/dispatch/shop.hpp"
#include "xtune/lookup.hpp"

namespace xtune {
namespace {

namespace fs = std::filesystem;

/// A shop with two problems in a bundle, and later measurements that are only in the store.
struct FrozenShop : Shop {
  fs::path bundle = folder.path() / "scale.xtune";

  FrozenShop() {
    measure(1024, 64, 1.0);
    measure(4096, 128, 2.0);
    store::write_bundle(settings.store, bundle, {});
    measure(1024, 32, 0.5);
    settings.bundle = bundle;
    settings.frozen = true;
  }
};

}  // namespace

TEST_CASE("A spec with files of controls is not packed: a copy of it does not find them") {
  const system::TemporaryDirectory folder;
  std::ofstream(folder.path() / "k.toml")
      << "kernel = { name = \"k\", code = '''int k;''', controls = \"c/{C}\" }\n"
         "space.params.C = [\"\", \"a\"]\nlaunch = { grid = 1, block = 32 }\n"
         "args = [{ name = \"y\", dtype = \"f32\", shape = [32], role = \"out\" }]\n";
  CHECK_THROWS_WITH_AS(dispatch::pack_spec(folder.path() / "k.toml"),
                       doctest::Contains("a copy of the spec does not find the files of kernel.controls"), Error);
}

TEST_CASE("a frozen kernel chooses from the bundle and does not touch the store") {
  FrozenShop shop;
  const Kernel frozen = shop.kernel();
  CHECK(frozen.choice({{"N", 1024}}).config.at("BLOCK") == Value(64));
  CHECK(frozen.choice({{"N", 1024}}).kind == Choice::Kind::exact);
  CHECK(frozen.choice({{"N", 2000}}).kind == Choice::Kind::nearest);
  shop.call(frozen, 1024);
  CHECK(shop.compiled == 0);
  shop.settings.frozen = false;
  CHECK(shop.kernel().choice({{"N", 1024}}).config.at("BLOCK") == Value(32));
  // Nor does it create one.
  shop.settings.frozen = true;
  shop.settings.store = shop.folder.path() / "none";
  shop.call(shop.kernel(), 4096);
  CHECK_FALSE(fs::exists(shop.settings.store));
}

TEST_CASE("frozen needs a bundle and never tunes, and runs no other configuration than the chosen one") {
  FrozenShop shop;
  shop.settings.policy = Policy::tune_once;
  CHECK(holds(test::error_of([&] { shop.kernel(); }, ErrorKind::invalid_argument), "never tunes"));
  shop.settings.policy = Policy::lookup;
  shop.settings.bundle.clear();
  CHECK(holds(test::error_of([&] { shop.kernel(); }, ErrorKind::invalid_argument), "without a bundle"));
  shop.settings.bundle = shop.bundle;
  shop.settings.compile = false;
  shop.write_source("__global__ void scale() { /* changed */ }");
  const Kernel kernel = shop.kernel();
  CHECK(
      holds(test::error_of([&] { shop.call(kernel, 1024); }, ErrorKind::unavailable), "a frozen kernel runs no other"));
  LookupSettings lookup;
  lookup.arch = "sm_90";
  lookup.frozen = true;
  const Tunable tunable = Tunable::from_text(*shop.spec().text, shop.folder.path());
  CHECK(holds(test::error_of(
                  [&] {
                    best(tunable, {{"N", 1024}}, lookup);
                  },
                  ErrorKind::invalid_argument),
              "without a bundle"));
  lookup.bundle = shop.bundle;
  lookup.store = shop.settings.store;
  CHECK(best(tunable, {{"N", 1024}}, lookup).config.at("BLOCK") == Value(64));
}

TEST_CASE("equal bundles and choices have one digest, others another") {
  FrozenShop shop;
  const std::vector<Bindings> problems{{{"N", 1024}}, {{"N", 4096}}};
  const Kernel kernel = shop.kernel();
  const std::string digest = kernel.digest(problems);
  CHECK(digest.size() == 64);
  CHECK(kernel.digest(problems) == digest);
  CHECK(kernel.digest() != digest);
  CHECK(kernel.digest({{{"N", 1024}}}) != digest);
  fs::copy_file(shop.bundle, shop.folder.path() / "copy.xtune");
  fs::last_write_time(shop.folder.path() / "copy.xtune", fs::file_time_type::clock::now() - std::chrono::hours(99));
  shop.settings.bundle = shop.folder.path() / "copy.xtune";
  CHECK(shop.kernel().digest(problems) == digest);
  store::write_bundle(shop.settings.store, shop.folder.path() / "new.xtune", {});
  shop.settings.bundle = shop.folder.path() / "new.xtune";
  CHECK(shop.kernel().digest(problems) != digest);
  shop.settings.bundle.clear();
  shop.settings.frozen = false;
  CHECK(
      holds(test::error_of([&] { shop.kernel().digest(problems); }, ErrorKind::invalid_argument), "without a bundle"));
}

TEST_CASE("every changed byte of a bundle changes its digest or is refused") {
  const FrozenShop shop;
  const std::string text = system::read_file(shop.bundle), digest = store::Bundle(shop.bundle).digest();
  const fs::path changed = shop.folder.path() / "changed.xtune";
  const auto digest_of = [&](const std::string& bytes) -> std::string {
    std::ofstream(changed, std::ios::binary | std::ios::trunc) << bytes;
    try {
      return store::Bundle(changed).digest();
    } catch (const Error&) {
      return "refused";
    }
  };
  CHECK(digest_of(text) == digest);
  CHECK(digest_of(text + " ") == "refused");
  for (std::size_t i = 0; i < text.size(); i += i < 200 ? 1 : 13) {
    std::string other = text;
    other[i] = static_cast<char>(other[i] ^ 1);
    CAPTURE(i);
    CHECK(digest_of(other) != digest);
  }
}

}  // namespace xtune
