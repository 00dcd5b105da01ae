// Links in a store: all commands read their targets, none changes them.
#include <doctest/doctest.h>

#include <algorithm>

#include "core/store/bundle.hpp"
#include "core/store/store_view.hpp"
#include "core/store/upkeep.hpp"
#include "support/text.hpp"
#include "system/clock.hpp"
#include "unit/store/store_files.hpp"

using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::store;

using namespace xtune;
using namespace xtune::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* left_alone = "is a link: what it leads to is left as it is";

/// Moves a part of a store elsewhere and leaves a link to it.
fs::path link_away(const fs::path& path, const fs::path& elsewhere) {
  fs::create_directories(elsewhere.parent_path());
  fs::rename(path, elsewhere);
  fs::create_symlink(elsewhere, path);
  return path;
}

/// A store whose one record names one of its artifacts, and the directory that links lead to.
struct Linked {
  TemporaryDirectory store, elsewhere;
  Artifact named;
  fs::path file;

  Linked() {
    named = put_artifact(store.path(), "named");
    file = write_records(store.path(), {sound_record(named.key)});
  }
  fs::path away(const fs::path& within) { return link_away(store.path() / within, elsewhere.path() / within); }
};

}  // namespace

TEST_CASE("readers, ls, verify and gc see the same records, whichever part of the way to them is a link") {
  Linked linked;
  SUBCASE("records") { linked.away("records"); }
  SUBCASE("an architecture") { linked.away("records/sm_90"); }
  SUBCASE("a kernel") { linked.away("records/sm_90/gemm"); }
  SUBCASE("a file") { linked.away(linked.file.lexically_relative(linked.store.path())); }
  SUBCASE("the store itself") { link_away(linked.store.path(), linked.elsewhere.path() / "store"); }
  const fs::path store = linked.store.path();
  CHECK(read_records(store, "sm_90", "gemm").records.size() == 1);
  CHECK(StoreView::load(store, "sm_90", "gemm").records() == 1);
  const StoreSummary summary = summary_of(store);
  REQUIRE(summary.parts.size() == 1);
  CHECK(summary.parts[0].records == 1);
  const VerifyReport verified = verify_store(store, false);
  CHECK(verified.records == 1);
  CHECK(verified.damage.empty());
  // Named through the link, the artifact stays however old it is.
  age_all(store, 3);
  const GcReport report = collect_garbage(store, {}, system_clock().unix_time_ms());
  CHECK(report.removed.empty());
  CHECK(ArtifactCache(store).find(linked.named.key));
}

TEST_CASE("a store is the same by a relative path") {
  Linked linked;
  linked.away("records/sm_90");
  const fs::path relative = fs::proximate(linked.store.path());
  REQUIRE(relative.is_relative());
  CHECK(summary_of(relative).parts.size() == 1);
  CHECK(verify_store(relative, false).artifacts == 1);
  const TemporaryDirectory into;
  CHECK(merge_store(into.path(), relative).artifacts == 1);
  age_all(linked.store.path(), 3);
  CHECK(collect_garbage(relative, {}, system_clock().unix_time_ms()).removed.empty());
}

TEST_CASE("gc removes nothing behind a link, and reports it once") {
  Linked linked;
  const fs::path store = linked.store.path();
  put_artifact(store, "unnamed");
  GcOptions options;
  options.older_than_ms = 0;
  SUBCASE("artifacts") { linked.away("artifacts"); }
  SUBCASE("records") {
    options.records = true;
    linked.away("records/sm_90");
  }
  age_all(store, 3);
  age_all(linked.elsewhere.path(), 3);
  const auto before = texts_in(linked.elsewhere.path());
  const GcReport report = collect_garbage(store, options, system_clock().unix_time_ms());
  CHECK(texts_in(linked.elsewhere.path()) == before);
  CHECK(any_has(report.warnings, left_alone));
  CHECK(std::count_if(report.warnings.begin(), report.warnings.end(),
                      [](const std::string& text) { return text.find(left_alone) != std::string::npos; }) == 1);
}

TEST_CASE("files behind a link do not count for a store's size") {
  Linked linked;
  linked.away("artifacts");
  GcOptions options;
  options.max_bytes = 1 << 20;
  const GcReport report = collect_garbage(linked.store.path(), options, system_clock().unix_time_ms());
  CHECK(report.kept_bytes == 0);
  CHECK(report.excess_bytes == 0);
  CHECK(report.removed.empty());
}

TEST_CASE("gc counts no artifact as unnamed where a link to records leads nowhere") {
  Linked linked;
  const fs::path link = linked.away("records/sm_90");
  fs::remove_all(linked.elsewhere.path() / "records");
  age_all(linked.store.path(), 3);
  const GcReport report = collect_garbage(linked.store.path(), {}, system_clock().unix_time_ms());
  CHECK(report.removed.empty());
  CHECK(any_has(report.warnings, link.string() + ": it is a link that leads nowhere"));
  CHECK(any_has(read_records(linked.store.path(), "sm_90", "gemm").warnings, "it is a link that leads nowhere"));
  CHECK_FALSE(verify_store(linked.store.path(), false).sound());
}

TEST_CASE("merge writes nothing behind a link of the store that it fills") {
  const TemporaryDirectory other;
  write_records(other.path(), random_records(5, 6), "other");
  put_artifact(other.path(), "new");
  Linked linked;
  const fs::path store = linked.store.path();
  fs::path link;
  std::uint64_t records = 0, refused = 0;
  SUBCASE("an architecture") {
    link = linked.away("records/sm_90");
    refused = 6;
  }
  SUBCASE("artifacts") {
    link = linked.away("artifacts");
    records = 6, refused = 1;
  }
  SUBCASE("sources") {
    link = linked.away("sources");
    records = 6, refused = 1;
  }
  const auto before = texts_in(linked.elsewhere.path());
  const MergeReport report = merge_store(store, other.path());
  CHECK(texts_in(linked.elsewhere.path()) == before);
  CHECK(report.records == records);
  CHECK(report.refused == refused);
  REQUIRE(report.warnings.size() == 1);
  CHECK(report.warnings[0].find(link.string() + " " + left_alone) != std::string::npos);
}

TEST_CASE("repair moves nothing behind a link, and names the damage all the same") {
  Linked linked;
  const fs::path store = linked.store.path();
  const ArtifactCache cache(store);
  fs::path link;
  SUBCASE("a line") {
    write_text(linked.file, read_file(linked.file) + "rubbish\n");
    age(linked.file);
    std::string text = read_file(linked.file);
    write_text(linked.file, "{\"xtune_records\":1}" + text.substr(text.find('\n')));
    age(linked.file);
    link = linked.away("records/sm_90");
  }
  SUBCASE("an image") {
    write_text(cache.image_path(linked.named), "other bytes");
    link = linked.away(cache.image_path(linked.named).lexically_relative(store));
  }
  SUBCASE("a source") {
    write_text(cache.source_path(linked.named.key), "another kernel");
    link = linked.away("sources");
  }
  const auto before = texts_in(linked.elsewhere.path());
  const VerifyReport report = verify_store(store, true);
  CHECK_FALSE(report.sound());
  REQUIRE(report.damage.size() == 1);
  CHECK_FALSE(report.damage[0].repaired);
  CHECK(report.not_repaired == std::vector<std::string>{link.string() + " " + left_alone});
  CHECK(texts_in(linked.elsewhere.path()) == before);
  CHECK(fs::is_symlink(link));
}
