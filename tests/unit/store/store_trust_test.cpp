// A store that other users can change in parts: nothing of these parts is believed, and the rest answers.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "base/hash.hpp"
#include "core/build/cache.hpp"
#include "core/store/bundle.hpp"
#include "core/store/upkeep.hpp"
#include "fakes/environment_variable.hpp"
#include "fakes/io_error.hpp"
#include "support/text.hpp"
#include "system/clock.hpp"
#include "system/files.hpp"
#include "unit/store/store_files.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::store;

using namespace xtune;
using namespace xtune::test;
using fakes::io_error;
namespace fs = std::filesystem;

namespace {

void set_mode(const fs::path& path, mode_t mode) { REQUIRE(::chmod(path.c_str(), mode) == 0); }

RecordSet read(const fs::path& store) { return read_records(store, "sm_90", "gemm"); }

}  // namespace

TEST_CASE("records that every user may change are not read, and named") {
  const TemporaryDirectory store;
  const fs::path file = write_records(store.path(), random_records(1, 3), "a1");
  write_records(store.path(), random_records(2, 4), "a2");
  REQUIRE(read(store.path()).records.size() == 7);
  set_mode(file, 0666);
  RecordSet set = read(store.path());
  CHECK(set.records.size() == 4);
  REQUIRE(set.warnings.size() == 1);
  CHECK(has(set.warnings[0], file.string() + ": every user may write to it"));
  CHECK_FALSE(verify_store(store.path(), false).sound());
  set_mode(file, 0644);
  for (fs::path folder = file.parent_path(); folder != store.path(); folder = folder.parent_path()) {
    set_mode(folder, 0777);
    set = read(store.path());
    CHECK(set.records.empty());
    REQUIRE(set.warnings.size() == 1);
    CHECK(has(set.warnings[0], folder.string() + ": every user may write to it"));
    set_mode(folder, 0755);
  }
  CHECK(read(store.path()).records.size() == 7);
}

TEST_CASE("an artifact that every user may change counts as missing, and is made again") {
  const TemporaryDirectory store;
  ArtifactCache cache(store.path());
  const Artifact artifact = put_artifact(store.path(), "a");
  for (const fs::path& file : {cache.image_path(artifact), cache.entry_path(artifact.key, "json")}) {
    set_mode(file, 0666);
    CHECK_FALSE(cache.find(artifact.key));
    CHECK(has(io_error([&] { cache.read(artifact.key); }), "every user may write to it"));
    put_artifact(store.path(), "a");
    CHECK(cache.find(artifact.key));
  }
  for (const fs::path& folder : {cache.image_path(artifact).parent_path(), store.path() / "artifacts", store.path()}) {
    set_mode(folder, 0777);
    CHECK_FALSE(cache.find(artifact.key));
    CHECK(has(io_error([&] { put_artifact(store.path(), "a"); }), folder.string() + ": every user"));
    set_mode(folder, 0755);
    CHECK(cache.find(artifact.key));
  }
}

TEST_CASE("an artifact of another user is loaded only where that user is trusted") {
  const TemporaryDirectory store;
  const ArtifactCache cache(store.path());
  const Artifact artifact = put_artifact(store.path(), "a");
  if (::chown(cache.image_path(artifact).c_str(), 54321, 54322) != 0) {
    MESSAGE("skipped: only root can give files away");
    return;
  }
  {
    const Variable nobody("XTUNE_TRUST", std::nullopt);
    CHECK_FALSE(cache.find(artifact.key));
  }
  for (const char* trusted : {"54321", "group:54322"}) {
    const Variable trust("XTUNE_TRUST", trusted);
    CHECK(cache.find(artifact.key));
  }
}

TEST_CASE("what is merged or loaded from a file of the user's choice may be anybody's, but not everybody's") {
  const TemporaryDirectory folder;
  const fs::path from = folder.path() / "from", into = folder.path() / "into", bundle = folder.path() / "b.xtune";
  write_records(from, random_records(1, 3));
  put_artifact(from, "a");
  if (::geteuid() == 0)
    for (const auto& entry : fs::recursive_directory_iterator(from))
      REQUIRE(::chown(entry.path().c_str(), 54321, 0) == 0);
  CHECK(merge_store(into, from).records == 3);
  CHECK(ArtifactCache(into).find(sha256("a")));
  set_mode(from, 0777);
  CHECK(has(io_error([&] { merge_store(into, from); }), "every user may write to it"));
  write_bundle(into, bundle, {});
  CHECK_NOTHROW(Bundle{bundle});
  set_mode(bundle, 0666);
  CHECK(has(io_error([&] { Bundle{bundle}; }), "b.xtune: every user may write to it"));
  set_mode(bundle, 0644);
  set_mode(folder.path(), 0777);  // in which every user may replace it
  CHECK(has(io_error([&] { Bundle{bundle}; }), folder.path().string() + ": every user may write to it"));
  set_mode(folder.path(), 01777);
  CHECK_NOTHROW(Bundle{bundle});
}

TEST_CASE("gc removes the least recently used artifacts first") {
  const TemporaryDirectory store;
  const ArtifactCache cache(store.path());
  const Artifact old = put_artifact(store.path(), "older"), young = put_artifact(store.path(), "newer");
  const Artifact best = put_artifact(store.path(), "best");  // the winner is removed last, however old
  write_records(store.path(), {sound_record(old.key), sound_record(young.key), sound_record(best.key, 0.5)});
  age_all(store.path(), 9);
  for (const fs::path& file : {cache.image_path(young), cache.entry_path(young.key, "json")}) age(file, 5);
  cache.mark_used(old.key);
  GcOptions options;
  options.older_than_ms = std::int64_t{7} * 86'400'000;
  cache.mark_used(best.key);
  CHECK(collect_garbage(store.path(), options, system_clock().unix_time_ms()).removed.empty());
  options.older_than_ms.reset();
  options.max_bytes = 0;
  for (const Artifact& kept : {old, best})
    *options.max_bytes += fs::file_size(cache.image_path(kept)) + fs::file_size(cache.entry_path(kept.key, "json")) +
                          fs::file_size(cache.source_path(kept.key));
  collect_garbage(store.path(), options, system_clock().unix_time_ms());
  CHECK(cache.find(old.key));
  CHECK_FALSE(cache.find(young.key));
}

TEST_CASE("files that gc removes while verify reads are not damage") {
  const TemporaryDirectory store;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 200; ++i) put_artifact(store.path(), std::to_string(i));
    GcOptions options;
    options.older_than_ms = -1;
    std::thread gc([&] { collect_garbage(store.path(), options, system_clock().unix_time_ms()); });
    const VerifyReport report = verify_store(store.path(), false);
    gc.join();
    for (const StoreDamage& damage : report.damage) FAIL_CHECK(damage.where << ": " << damage.what);
  }
}
