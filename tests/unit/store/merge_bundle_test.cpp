// Merging a bundle: its contents are added as from its store, and no name in it leads to another place.
#include <doctest/doctest.h>

#include <set>

#include "base/hash.hpp"
#include "core/build/cache.hpp"
#include "core/store/bundle.hpp"
#include "core/store/upkeep.hpp"
#include "system/files.hpp"
#include "unit/store/store_files.hpp"
#include "xtune/error.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::store;
using namespace xtune::resolve;

using namespace xtune;
namespace fs = std::filesystem;

namespace {

/// Two problems with a winner each.
void fill_two_problems(const fs::path& store) {
  std::vector<Record> records;
  for (const std::int64_t m : {64, 128}) {
    Record record = example_record(m, 1);
    record.problem = {{"M", m}};
    record.key_parts = {{"problem", problem_part(record.problem)}};
    record.key = key_of(record.key_parts);
    record.artifact_key = put_artifact(store, std::to_string(m)).key;
    records.push_back(record);
  }
  write_records(store, records);
}

std::set<std::string> files_in(const fs::path& folder) {
  std::set<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.insert(entry.path().lexically_relative(folder).string());
  return files;
}

using Json = nlohmann::json;

std::string bundle_text(const Json& index, const std::string& data) {
  const std::string text = index.dump() + "\n";
  return Json{{"xtune_bundle", 1}, {"index_bytes", text.size()}, {"index_sha256", sha256(text)}}.dump() + "\n" + text +
         data;
}

}  // namespace

TEST_CASE("a bundle is merged as the store that it was made of, as often as one likes") {
  const TemporaryDirectory store, into;
  fill_two_problems(store.path());
  const fs::path bundle = store.path() / "gemm.xtune";
  write_bundle(store.path(), bundle, {});
  MergeReport report = merge_store(into.path() / "new", bundle);
  CHECK(report.records == 2);
  CHECK(report.artifacts == 2);
  CHECK(report.warnings.empty());
  const std::set<std::string> once = files_in(into.path());
  report = merge_store(into.path() / "new", bundle);
  CHECK(report.known_records == 2);
  CHECK(report.known_artifacts == 2);
  CHECK(report.records + report.artifacts == 0);
  CHECK(files_in(into.path()) == once);
  CHECK(verify_store(into.path() / "new", false).damage.empty());
  const StoreView view = StoreView::load(into.path() / "new", "sm_90", "gemm");
  REQUIRE(view.groups().size() == 2);
  for (const StoreView::Group& group : view.groups())
    CHECK(ArtifactCache(into.path() / "new").find(read_record(*view.order(group).front()).artifact_key));
  // The store itself adds the sources.
  CHECK(merge_store(into.path() / "new", store.path()).warnings.empty());
}

TEST_CASE("a bundle whose names lead elsewhere writes nothing outside of the store") {
  const TemporaryDirectory place;
  Artifact artifact;
  artifact.key = "../../../../evil", artifact.backend = "cuda", artifact.arch = "sm_90", artifact.format = "cubin";
  artifact.image = "image";
  const std::string lines = "{\"xtune_records\":1}\n" + to_json(example_record(64, 1)).dump() + "\n";
  Json index = {{"records",
                 {{{"arch", "../../../up"},
                   {"kernel", "/root"},
                   {"offset", 0},
                   {"bytes", lines.size()},
                   {"sha256", sha256(lines)}},
                  {{"arch", ".."}, {"kernel", ""}, {"offset", 0}, {"bytes", lines.size()}, {"sha256", sha256(lines)}}}},
                {"artifacts", Json::array()}};
  const auto add = [&](const std::string& key, const std::string& format) {
    Artifact one = artifact;
    one.key = key, one.format = format;
    index["artifacts"].push_back({{"key", key},
                                  {"offset", lines.size()},
                                  {"bytes", one.image.size()},
                                  {"metadata", Json::parse(artifact_metadata(one))}});
  };
  add("../../../../evil", "cubin");
  add(sha256("good"), "cubin");
  add(sha256("format"), "../../so");
  write_text(place.path() / "in" / "foreign.xtune", bundle_text(index, lines + artifact.image));
  const MergeReport report = merge_store(place.path() / "a" / "store", place.path() / "in" / "foreign.xtune");
  CHECK(report.records == 2);
  CHECK(report.artifacts == 1);
  CHECK(report.warnings.size() == 2);
  for (const std::string& file : files_in(place.path())) {
    CAPTURE(file);
    CHECK(
        (file.starts_with("a/store/records/") || file.starts_with("a/store/artifacts/") || file == "in/foreign.xtune"));
    CHECK(file.find("evil") == std::string::npos);
    CHECK(file.find("../") == std::string::npos);
  }
}

TEST_CASE("bundles that are none, are damaged, or have images that their records did not measure are reported") {
  const TemporaryDirectory store, into;
  fill_two_problems(store.path());
  const fs::path path = store.path() / "gemm.xtune";
  write_text(path, "no bundle\n");
  CHECK_THROWS_WITH_AS(merge_store(into.path(), path), doctest::Contains("is not a bundle of xtune"), Error);
  CHECK_THROWS_WITH_AS(merge_store(into.path(), store.path() / "nowhere"), doctest::Contains("does not exist"), Error);
  write_bundle(store.path(), path, {});
  const std::string text = read_file(path);
  write_text(path, text.substr(0, text.size() - 1) + "!");
  MergeReport report = merge_store(into.path(), path);
  CHECK(report.records == 2);
  CHECK(report.artifacts == 1);
  REQUIRE(report.warnings.size() == 1);
  CHECK(report.warnings[0].find("not the one that was stored") != std::string::npos);

  // Whole in itself, but another image than the record's.
  const ArtifactCache cache(store.path());
  Artifact other = cache.read(sha256("64"));
  other.image = "something else";
  write_text(cache.image_path(other), other.image);
  write_text(cache.entry_path(other.key, "json"), artifact_metadata(other));
  const TemporaryDirectory again;
  report = merge_store(again.path(), store.path());
  CHECK(report.artifacts == 1);
  REQUIRE(report.warnings.size() == 1);
  CHECK(report.warnings[0].find("not one that its records measured") != std::string::npos);
  const BundleReport packed = write_bundle(store.path(), path, {});
  CHECK(packed.artifacts == 1);
  REQUIRE(packed.warnings.size() == 1);
  CHECK(packed.warnings[0].find("not the one that its record measured") != std::string::npos);
}
