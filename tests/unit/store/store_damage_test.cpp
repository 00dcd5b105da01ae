// Damage inside a record's line: neither reader serves it, verify names it, repair moves it, merge keeps it out.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "core/store/bundle.hpp"
#include "core/store/record.hpp"
#include "core/store/record_check.hpp"
#include "core/store/store_view.hpp"
#include "core/store/upkeep.hpp"
#include "system/files.hpp"
#include "unit/store/store_files.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::store;
using namespace xtune::resolve;

using namespace xtune;
namespace fs = std::filesystem;

namespace {

/// As a run writes them, but for a launch-only parameter: their keys are the hashes of their parts.
std::vector<Record> keyed_records() {
  std::vector<Record> records;
  for (const std::int64_t block : {16, 32, 64}) {
    Record record = example_record(block, 0.01 * static_cast<double>(block), 0.001);
    record.config["RASTER"] = std::int64_t{4};
    record.artifact_key = sha256(std::to_string(block));
    record.key_parts = {{"artifact", record.artifact_key},
                        {"runtime", problem_part({{"RASTER", std::int64_t{4}}})},
                        {"problem", problem_part(record.problem)},
                        {"device", device_part(record.device)}};
    record.key = key_of(record.key_parts);
    records.push_back(record);
  }
  return records;
}

/// A file of an earlier version: no line has a checksum.
fs::path write_old(const fs::path& store, const std::vector<Record>& records) {
  const fs::path path = store / "records" / "sm_90" / "gemm" / "old.jsonl";
  std::string text = "{\"xtune_records\":1,\"host\":\"elsewhere\",\"pid\":1}\n";
  for (const Record& record : records) text += to_json(record).dump() + "\n";
  write_text(path, text);
  age(path);
  return path;
}

void replace_in(const fs::path& path, const std::string& from, const std::string& to) {
  std::string text = read_file(path);
  REQUIRE(text.find(from) != std::string::npos);
  write_text(path, text.replace(text.find(from), from.size(), to));
  age(path);
}

}  // namespace

TEST_CASE("the index has the records that the reader of whole records returns, at every flipped bit") {
  const TemporaryDirectory store;
  fs::path path;
  std::size_t step = 11;
  SUBCASE("with checksums") { path = write_records(store.path(), {keyed_records()[0]}); }
  SUBCASE("without") { path = write_old(store.path(), {keyed_records()[0]}), step = 7; }
  const std::string whole = read_file(path);
  std::size_t damaged = 0, sound = 0;
  for (std::size_t bit = (whole.find('\n') + 1) * 8; bit < (whole.size() - 1) * 8; bit += step) {
    std::string text = whole;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
    if (text[bit / 8] == '\n') continue;
    const RecordSet expected = parse_records("file", text);
    write_text(path, text);
    const RowSet rows = read_rows({{path, 0, UINT64_MAX, "file"}});
    CAPTURE(text);
    ++(expected.records.empty() ? damaged : sound);
    REQUIRE(rows.records == expected.records.size());
    REQUIRE(rows.warnings == expected.warnings);
  }
  CHECK(damaged > 100);
  CHECK((step == 11 ? sound < 10 : sound > 10));
}

TEST_CASE("sound lines, old or new, imported or measured, are rows without a warning") {
  const TemporaryDirectory store;
  std::vector<Record> records = keyed_records();
  Record& imported = records[1];
  imported.config.erase("RASTER");
  imported.key_parts = {{"recorded by", "T4"},
                        {"kernel", "gemm"},
                        {"problem", to_json(imported.problem).dump()},
                        {"config", to_json(imported.config).dump()},
                        {"device", imported.device.name}};
  imported.key = key_of(imported.key_parts);
  write_old(store.path(), records);
  write_records(store.path(), records);
  CHECK(read_records(store.path(), "sm_90", "gemm").warnings.empty());
  const StoreView view = StoreView::load(store.path(), "sm_90", "gemm");
  CHECK(view.records() == 6);
  CHECK(view.warnings().empty());
  CHECK(verify_store(store.path(), false).damage.empty());
}

TEST_CASE("a damaged time wins nowhere: it is skipped, named, moved aside and kept out") {
  const TemporaryDirectory store, other;
  fs::path path;
  std::string what;
  SUBCASE("with checksums") {
    path = write_records(store.path(), keyed_records());
    replace_in(path, read_file(path).substr(0, read_file(path).find('\n')),
               with_checksum("{\"host\":\"elsewhere\",\"pid\":1,\"xtune_records\":1}"));
    what = "its checksum does not match: it was changed after it was written";
  }
  SUBCASE("without") {
    path = write_old(store.path(), keyed_records());
    what = "its time_ms does not follow from its samples_ms";
  }
  replace_in(path, "\"median\":0.64", "\"median\":0.14");
  const std::string skipped = path.string() + ":4: skipped: " + what;
  CHECK(read_records(store.path(), "sm_90", "gemm").warnings == std::vector{skipped});
  const StoreView view = StoreView::load(store.path(), "sm_90", "gemm");
  CHECK(view.warnings() == std::vector{skipped});
  const LookupResult found = find(view, keyed_records()[0].problem, example_device());
  REQUIRE(found.record);
  CHECK(space::bindings_text(found.record->config) == "BLOCK=16 RASTER=4");
  CHECK(view.order(view.groups().at(0)).size() == 2);

  CHECK(merge_store(other.path(), store.path()).records == 2);
  VerifyReport report = verify_store(store.path(), false);
  REQUIRE(report.damage.size() == 1);
  CHECK(report.damage[0].where == path.string() + ":4");
  CHECK(report.damage[0].what == what);
  CHECK(verify_store(store.path(), true).sound());
  CHECK(verify_store(store.path(), false).damage.empty());
  CHECK(read_file(path.string() + ".damaged").find("\"median\":0.14") != std::string::npos);
  const std::set<std::string> kept = lines_in(store.path()), merged = lines_in(other.path());
  CHECK(merged.size() == 2);  // byte for byte, checksums too
  CHECK(std::includes(kept.begin(), kept.end(), merged.begin(), merged.end()));
}
