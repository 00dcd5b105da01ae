// Bundles and exports: a bundle gives the same answers as the store, damage is reported, and headers compile.
#include "core/store/bundle.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "core/build/cache.hpp"
#include "core/store/export.hpp"
#include "system/files.hpp"
#include "system/subprocess.hpp"
#include "unit/store/store_files.hpp"
#include "xtune/error.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::store;

using namespace xtune;
namespace fs = std::filesystem;

namespace {

Record stored_record(const fs::path& store, std::int64_t m, std::int64_t block, double time_ms,
                     const std::string& arch = "sm_90") {
  Record record = example_record(block, time_ms);
  record.problem = {{"M", m}};
  record.device.arch = arch;
  record.config["WIDE"] = block > 32;
  record.config["ORDER"] = std::string("row \"?\?=\xc3\xa4");
  record.config["new"] = block > 64 ? Value(0.5) : Value(std::int64_t{2});
  record.key = sha256(arch + std::to_string(m) + "x" + std::to_string(block));
  Artifact artifact;
  artifact.key = record.artifact_key = sha256("artifact" + record.key);
  artifact.backend = "cuda", artifact.arch = arch, artifact.format = "cubin", artifact.entry_symbol = "gemm";
  artifact.image = std::string("\0image\n", 7) + record.key;
  ArtifactCache(store).insert(artifact, {});
  return record;
}

void fill_two_archs(const fs::path& store) {
  for (const std::string arch : {"sm_90", "gfx90a"}) {
    std::vector<Record> records;
    for (const std::int64_t m : {1024, 4096})
      for (const std::int64_t block : {32, 64, 128})
        records.push_back(stored_record(
            store, m, block, m == 1024 ? 1.0 / static_cast<double>(block) : 1.0 * static_cast<double>(block), arch));
    write_records(store, records, "a1", arch);
  }
}

std::string error_of(const fs::path& path) {
  try {
    Bundle bundle(path);
  } catch (const Error& error) {
    return std::string(to_string(error.kind())) + ": " + error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a bundle gives the same answers as its store, from a read-only place") {
  const TemporaryDirectory store, shipped;
  fill_two_archs(store.path());
  const fs::path path = shipped.path() / "gemm.xtune";
  WinnerFilter filter;
  filter.archs = {"sm_90"};
  const BundleReport report = write_bundle(store.path(), path, filter);
  CHECK(report.records == 2);
  CHECK(report.artifacts == 2);
  CHECK(report.warnings.empty());
  CHECK(report.bytes == fs::file_size(path));
  fs::permissions(path, fs::perms::owner_read);
  const Bundle bundle(path);
  REQUIRE(bundle.parts().size() == 1);
  CHECK(bundle.parts()[0].arch == "sm_90");
  const StoreView packed = bundle.view("sm_90", "gemm"), whole = StoreView::load(store.path(), "sm_90", "gemm");
  CHECK(packed.warnings().empty());
  for (const std::int64_t m : {1024, 2000, 4096, 100000}) {
    const Bindings problem{{"M", m}};
    const LookupResult a = find(packed, problem, example_device()), b = find(whole, problem, example_device());
    REQUIRE(a.record);
    CHECK(a.match == b.match);
    CHECK(space::bindings_text(a.record->config) == space::bindings_text(b.record->config));
    const auto artifact = bundle.artifact((*a.record).artifact_key);
    REQUIRE(artifact);
    CHECK(artifact->image == ArtifactCache(store.path()).find(artifact->key)->image);
    CHECK(artifact->entry_symbol == "gemm");
  }
  CHECK_FALSE(bundle.artifact(sha256("none")));
  CHECK(bundle.view("gfx90a", "gemm").groups().empty());
}

TEST_CASE("a bundle with two entries of one kernel and architecture, or of one artifact, is refused") {
  const TemporaryDirectory store;
  fill_two_archs(store.path());
  const fs::path path = store.path() / "b";
  write_bundle(store.path(), path, {});
  const std::string text = read_file(path);
  const std::size_t begin = text.find('\n') + 1, end = text.find('\n', begin) + 1;
  for (const char* list : {"records", "artifacts"}) {
    nlohmann::json header = nlohmann::json::parse(text.substr(0, begin)),
                   index = nlohmann::json::parse(text.substr(begin, end - begin));
    index[list].push_back(index[list][0]);
    const std::string changed = index.dump() + "\n";
    header["index_bytes"] = changed.size();
    header["index_sha256"] = sha256(changed);
    write_text(path, header.dump() + "\n" + changed + text.substr(end));
    CHECK(error_of(path).find("twice") != std::string::npos);
  }
}

TEST_CASE("a bundle that is damaged, cut off, newer or no bundle is refused, and so is a wrong image") {
  const TemporaryDirectory store;
  fill_two_archs(store.path());
  const fs::path path = store.path() / "b";
  write_bundle(store.path(), path, {});
  const std::string text = read_file(path);
  write_text(path, text.substr(0, text.size() - 1));
  CHECK(error_of(path).find("cut off") != std::string::npos);
  write_text(path, text.substr(0, 300));
  CHECK(error_of(path).find("cut off") != std::string::npos);
  write_text(path, "{\"xtune_bundle\":9}\n");
  CHECK(error_of(path).find("unsupported") == 0);
  CHECK(error_of(path).find("version 9") != std::string::npos);
  for (const char* other :
       {"", "\n", "{}\n", "PK\x03\x04 zip", "[1]\n", "{\"xtune_bundle\":1,\"index_bytes\":99999999999}\n"}) {
    write_text(path, other);
    CHECK(error_of(path).find("io: ") == 0);
  }
  std::string changed = text;
  changed[text.find("\"offset\"") + 10] ^= 1;
  write_text(path, changed);
  CHECK(error_of(path).find("index") != std::string::npos);
  changed = text;
  changed.back() ^= 1;  // of the last image
  write_text(path, changed);
  const Bundle bundle(path);
  int refused = 0;
  for (const Winner& winner : [&] {
         std::vector<std::string> warnings;
         return winners_of(store.path(), {}, warnings);
       }()) {
    try {
      (void)bundle.artifact(winner.record.artifact_key);
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused == 1);
}

TEST_CASE("what the store lacks is said: an architecture, a kernel, an artifact, anything at all") {
  const TemporaryDirectory store, empty;
  fill_two_archs(store.path());
  const fs::path path = store.path() / "b";
  WinnerFilter filter;
  filter.archs = {"sm_9"};
  CHECK_THROWS_WITH_AS(write_bundle(store.path(), path, filter), doctest::Contains("did you mean 'sm_90'"), Error);
  filter = {};
  filter.kernels = {"conv"};
  CHECK_THROWS_WITH_AS(write_bundle(store.path(), path, filter), doctest::Contains("kernel 'conv'"), Error);
  CHECK_THROWS_WITH_AS(write_bundle(empty.path(), path, {}), doctest::Contains("xtune run"), Error);
  std::vector<std::string> warnings;
  const std::vector<Winner> winners = winners_of(store.path(), {}, warnings);
  REQUIRE(winners.size() == 4);
  fs::remove(ArtifactCache(store.path()).entry_path(winners[0].record.artifact_key, "json"));
  const BundleReport report = write_bundle(store.path(), path, {});
  CHECK(report.artifacts == 3);
  REQUIRE(report.warnings.size() == 1);
  CHECK(report.warnings[0].find("not in the bundle") != std::string::npos);
}

TEST_CASE("a winner holds by the newest measurements: of its configuration, and with what they were compared with") {
  const auto record = [](std::int64_t block, double time_ms, const char* reference, std::int64_t at) {
    Record made = example_record(block, time_ms);
    made.key = fmt::format("{} {} {}", block, reference, at);
    made.key_parts.emplace_back("reference", reference);
    made.unix_time_ms = at;
    return made;
  };
  Record repaired = record(64, 1, "none", 2);
  repaired.outcome = Outcome::wrong_result, repaired.samples_ms.clear(), repaired.time_ms = {};
  repaired.stage = "validate";
  std::vector<std::string> warnings;
  const auto winner = [&](const std::vector<Record>& records) -> std::int64_t {
    const TemporaryDirectory store;
    write_records(store.path(), records);
    const std::vector<Winner> winners = winners_of(store.path(), {}, warnings);
    return winners.empty() ? 0 : std::get<std::int64_t>(winners.front().record.config.at("BLOCK"));
  };
  CHECK(winner({record(64, 1, "none", 1), record(128, 2, "none", 1)}) == 64);
  CHECK(winner({record(64, 1, "none", 1), record(128, 2, "none", 1), repaired}) == 128);
  CHECK(winner({record(64, 1, "none", 1), record(128, 2, "builtin gemm", 2)}) == 128);
  CHECK(winner({record(64, 1, "none", 1), repaired}) == 0);
}

TEST_CASE("a winner of an earlier source is not one") {
  const TemporaryDirectory store;
  const auto stored = [&](std::int64_t block, double time_ms, const std::string& source, std::int64_t at) {
    Record record = example_record(block, time_ms);
    record.key = fmt::format("{} {}", block, source);
    record.unix_time_ms = at;
    Artifact artifact;
    artifact.key = record.artifact_key = sha256(record.key);
    artifact.backend = "cuda", artifact.arch = "sm_90", artifact.format = "cubin", artifact.image = "image";
    CompileRequest request;
    request.source_name = "k.cu";
    request.source = source;
    ArtifactCache(store.path()).insert(artifact, request);
    return record;
  };
  write_records(store.path(), {stored(64, 1, "old", 1), stored(128, 3, "new", 2), stored(256, 2, "new", 2)});
  std::vector<std::string> warnings;
  const std::vector<Winner> winners = winners_of(store.path(), {}, warnings);
  REQUIRE(winners.size() == 1);
  CHECK(std::get<std::int64_t>(winners[0].record.config.at("BLOCK")) == 256);
}

TEST_CASE("measured cases for trees: the configurations of a cover, with their times") {
  const TemporaryDirectory store;
  fill_two_archs(store.path());
  Record other = stored_record(store.path(), 9000, 32, 1);
  other.problem["N"] = std::int64_t{1};
  other.unix_time_ms = 1;
  write_records(store.path(), {other, stored_record(store.path(), 64, 256, 1)}, "a2");
  std::vector<std::string> warnings;
  const std::vector<Winner> cases = winners_of(store.path(), {}, warnings, SIZE_MAX);
  CHECK(cases.size() == 6);
  const auto groups = tree_groups(cases, 8, 0.05, warnings);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].at("arch") == "gfx90a");
  const auto& group = groups[1];
  REQUIRE(group.at("configs").size() == 3);
  REQUIRE(group.at("cases").size() == 3);
  std::map<std::int64_t, std::vector<std::string>> times;
  for (const auto& one : group.at("cases")) {
    CHECK(one.at("best_ms").get<double>() > 0);
    for (const auto& time : one.at("times_ms")) times[one.at("problem").at("M")].push_back(time.dump());
  }
  // The best of one problem is not measured for another one: infinite, which JSON writes as null.
  CHECK(times[64] == std::vector<std::string>{"null", "null", "1.0"});
  CHECK(times[4096] == std::vector<std::string>{"128.0", "32.0", "null"});
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("1 cases skipped") != std::string::npos);
  CHECK(tree_groups(cases, 1, 0.05, warnings)[1].at("configs").size() == 1);
}

TEST_CASE("exports as JSON: winners, and the records of one task") {
  const TemporaryDirectory store;
  fill_two_archs(store.path());
  std::vector<std::string> warnings;
  const auto winners = export_json(winners_of(store.path(), {}, warnings));
  REQUIRE(winners.size() == 4);
  CHECK(winners[0].at("arch") == "gfx90a");
  CHECK(winners[0].at("problem").at("M") == 1024);
  CHECK(winners[0].at("config").at("BLOCK") == 128);
  CHECK_THROWS_WITH_AS(records_of_task(store.path(), {}, warnings), doctest::Contains("M=4096"), Error);
  WinnerFilter filter;
  filter.archs = {"sm_90"};
  filter.problem = {{"M", "4096"}};
  CHECK(winners_of(store.path(), filter, warnings).size() == 1);
  const std::vector<Record> task = records_of_task(store.path(), filter, warnings);
  REQUIRE(task.size() == 3);
  CHECK(std::get<std::int64_t>(task[0].config.at("BLOCK")) == 32);
}

TEST_CASE("CSV has a line for each record in the order of time, failed and pruned ones too") {
  const TemporaryDirectory store;
  std::vector<Record> records;
  for (const Outcome outcome : {Outcome::ok, Outcome::pruned, Outcome::crashed}) {
    records.push_back(stored_record(store.path(), 1024, 32 << records.size(), 1));
    records.back().outcome = outcome;
    records.back().unix_time_ms -= static_cast<std::int64_t>(records.size());  // written last to first
    records.back().message = outcome == Outcome::crashed ? "killed, by \"signal 9\"" : "";
    if (outcome == Outcome::crashed) records.back().time_ms = {}, records.back().samples_ms.clear();
  }
  write_records(store.path(), records);
  std::vector<std::string> warnings;
  const auto csv_of = [&](const WinnerFilter& filter) {
    std::string csv;
    write_csv(Measurements(store.path(), filter, warnings), [&](std::string_view part) { csv += part; });
    return csv;
  };
  const std::string csv = csv_of({});
  CHECK(csv.find(",crashed,") < csv.find(",pruned,"));
  CHECK(csv.find(",pruned,") < csv.find(",ok,"));
  CHECK(csv.starts_with("kernel,backend,arch,device,problem.M,config."));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 4);
  CHECK(csv.find(",crashed,,,,,,,,0,") != std::string::npos);
  CHECK(csv.find("\"killed, by \"\"signal 9\"\"\"") != std::string::npos);
  CHECK(csv.find(",pruned,1.0,") != std::string::npos);
  CHECK(warnings.empty());
  WinnerFilter filter;
  filter.problem = {{"M", "7"}};
  CHECK_THROWS_AS(csv_of(filter), Error);
  filter.problem = {{"K", "7"}};
  CHECK_THROWS_WITH_AS(csv_of(filter), doctest::Contains("no stored problem"), Error);
}

TEST_CASE("CSV has the columns of all records before the first of them is read") {
  const TemporaryDirectory store;
  Record first = stored_record(store.path(), 1024, 32, 1), second = stored_record(store.path(), 1024, 64, 2);
  first.config = {{"BLOCK", std::int64_t{32}}};
  first.key_parts.clear();
  second.problem = {{"K", std::int64_t{3}}};
  second.config = {{"UNROLL", std::int64_t{4}}};
  second.key_parts.clear();
  second.unix_time_ms = first.unix_time_ms + 1;
  write_records(store.path(), {first, second});
  std::vector<std::string> warnings, parts;
  const Measurements measurements(store.path(), {}, warnings);
  CHECK(measurements.sizes() == std::vector<std::string>{"K", "M"});
  CHECK(measurements.parameters() == std::vector<std::string>{"UNROLL", "BLOCK"});
  std::string csv;
  write_csv(measurements, [&](std::string_view part) { csv += part; });
  CHECK(csv.starts_with("kernel,backend,arch,device,problem.K,problem.M,config.UNROLL,config.BLOCK,outcome,"));
  CHECK(csv.find(",,1024,,32,ok,1.0,") != std::string::npos);
  CHECK(csv.find(",3,,4,,ok,2.0,") != std::string::npos);
  // A record that has gone meanwhile is an error, not a line that is missing.
  for (const auto& file : std::filesystem::recursive_directory_iterator(store.path() / "records"))
    if (file.is_regular_file()) write_text(file.path(), "");
  CHECK_THROWS_AS(write_csv(measurements, [](std::string_view) {}), RecordsChanged);
}
