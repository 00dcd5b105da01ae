// Stores that are there and cannot be read are never taken for empty ones.
#include <doctest/doctest.h>

#include <algorithm>

#include "core/store/bundle.hpp"
#include "core/store/upkeep.hpp"
#include "fakes/unprivileged.hpp"
#include "support/text.hpp"
#include "system/clock.hpp"
#include "unit/store/store_files.hpp"
#include "xtune/error.hpp"

using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::store;

using namespace xtune;
using namespace xtune::test;
namespace fs = std::filesystem;

namespace {

/// gemm on sm_90 and on gfx90a, readable by all users.
struct TwoArchs {
  TemporaryDirectory store;
  fs::path first, second;

  TwoArchs() {
    fs::permissions(store.path(), fs::perms(0755));
    first = write_records(store.path(), {sound_record("abc")});
    second = write_records(store.path(), {sound_record("abc")}, "a1", "gfx90a");
  }
};

}  // namespace

TEST_CASE("a store without permissions is not an empty store") {
  const TwoArchs two;
  const fs::path store = two.store.path();
  fs::path closed;
  SUBCASE("the store") { closed = store; }
  SUBCASE("its records") { closed = store / "records"; }
  const Forbidden forbidden(closed);
  const Unprivileged nobody;
  REQUIRE(nobody.ok());
  const std::string reason = "cannot read " + (closed == store ? store / "records" : closed).string();
  const StoreSummary summary = summary_of(store);
  CHECK(summary.nothing_read());
  CHECK(any_has(summary.warnings, reason));
  CHECK(any_has(summary.warnings, "Permission denied"));
  const VerifyReport report = verify_store(store, false);
  CHECK_FALSE(report.sound());
  CHECK(report.damage[0].what == "cannot be read: Permission denied");
  std::vector<std::string> warnings;
  CHECK_THROWS_WITH_AS(winners_of(store, {}, warnings), doctest::Contains(reason.c_str()), Error);
  CHECK(collect_garbage(store, {}, system_clock().unix_time_ms()).nothing_read);
  CHECK(any_has(read_records(store, "sm_90", "gemm").warnings, "Permission denied"));
}

TEST_CASE("what of a store can be read answers, and the rest is named") {
  const TwoArchs two;
  const fs::path store = two.store.path();
  fs::path closed;
  fs::perms left = fs::perms::none;
  SUBCASE("an architecture") { closed = two.first.parent_path().parent_path(); }
  SUBCASE("a file") { closed = two.first; }
  SUBCASE("a folder that can be listed, but not entered") {
    closed = two.first.parent_path();
    left = fs::perms(0444);
  }
  const Forbidden forbidden(closed, left);
  const Unprivileged nobody;
  REQUIRE(nobody.ok());
  const StoreSummary summary = summary_of(store);
  CHECK_FALSE(summary.nothing_read());
  CHECK(summary.unreadable == 1);
  CHECK(any_has(summary.warnings, "cannot read " + closed.string()));
  CHECK(summary.parts[0].records == 1);
  const VerifyReport report = verify_store(store, false);
  CHECK_FALSE(report.sound());
  REQUIRE(report.damage.size() == 1);
  CHECK(report.damage[0].where == closed.string());
  std::vector<std::string> warnings;
  CHECK(winners_of(store, {}, warnings).size() == 1);
  CHECK(any_has(warnings, closed.string()));
  WinnerFilter filter;
  filter.archs = {"sm_90"};
  CHECK_THROWS_WITH_AS(winners_of(store, filter, warnings), doctest::Contains(closed.c_str()), Error);
}

TEST_CASE("directories in place of files, files in place of directories, links in a circle") {
  const TwoArchs two;
  const fs::path store = two.store.path();
  fs::path wrong;
  SUBCASE("a folder") {
    wrong = two.first.parent_path() / "folder.jsonl";
    fs::create_directory(wrong);
  }
  SUBCASE("a file") {
    wrong = store / "artifacts";
    write_text(wrong, "no folder");
  }
  SUBCASE("a circle") {
    wrong = store / "records" / "circle";
    fs::create_symlink(wrong, wrong);
  }
  CHECK(any_has(summary_of(store).warnings, "cannot read " + wrong.string()));
  const VerifyReport report = verify_store(store, true);
  CHECK_FALSE(report.sound());
  REQUIRE(report.damage.size() == 1);
  CHECK(report.damage[0].where == wrong.string());
}

TEST_CASE("repair of a store that may not be written names the damage, then why it stays") {
  const TwoArchs two;
  const fs::path store = two.store.path();
  const Artifact artifact = put_artifact(store, "damaged");
  const fs::path image = ArtifactCache(store).image_path(artifact);
  write_text(image, "other bytes");
  const Forbidden forbidden(image.parent_path(), fs::perms(0555));
  const Unprivileged nobody;
  REQUIRE(nobody.ok());
  const VerifyReport report = verify_store(store, true);
  REQUIRE(report.damage.size() == 1);
  CHECK(report.damage[0].what.find("its image is not the one that was stored") != std::string::npos);
  CHECK_FALSE(report.sound());
  REQUIRE(report.not_repaired.size() == 1);
  CHECK(report.not_repaired[0].find("Permission denied") != std::string::npos);
  GcOptions options;
  options.max_bytes = 0;
  const GcReport collected = collect_garbage(store, options, system_clock().unix_time_ms());
  CHECK(collected.failed == 3);
  CHECK(collected.excess_bytes == collected.kept_bytes);
}

TEST_CASE("gc counts no artifact as unnamed where records cannot be read, but those of closed studies do not matter") {
  const TwoArchs two;
  const fs::path store = two.store.path();
  const Artifact artifact = put_artifact(store, "unnamed");
  write_text(store / "studies" / "slurm-1" / "one", "1");
  fs::path closed = store / "studies" / "slurm-1";
  bool goes = true;
  SUBCASE("studies") {}
  SUBCASE("records") {
    closed = two.first.parent_path();
    goes = false;
  }
  age_all(store, 3);
  const Forbidden forbidden(closed);
  const Unprivileged nobody;
  REQUIRE(nobody.ok());
  GcOptions options;
  options.dry_run = true;
  const GcReport report = collect_garbage(store, options, system_clock().unix_time_ms());
  CHECK(std::any_of(report.removed.begin(), report.removed.end(),
                    [](const GcReport::Removed& one) { return one.why == "named by no record"; }) == goes);
  CHECK(any_has(report.warnings, closed.string()));
}

TEST_CASE("gc reports how far it missed a size: files being written stay") {
  const TwoArchs two;
  const fs::path store = two.store.path();
  put_artifact(store, "whole");
  const Artifact begun = put_artifact(store, "begun");
  fs::remove(ArtifactCache(store).entry_path(begun.key, "json"));
  GcOptions options;
  options.max_bytes = 0;
  const GcReport report = collect_garbage(store, options, system_clock().unix_time_ms());
  CHECK(report.removed.size() == 3);
  CHECK(report.excess_bytes == report.kept_bytes);
  CHECK(report.excess_bytes == fs::file_size(ArtifactCache(store).image_path(begun)) +
                                   fs::file_size(ArtifactCache(store).source_path(begun.key)));
  CHECK(report.record_bytes == fs::file_size(two.first) + fs::file_size(two.second));
}
