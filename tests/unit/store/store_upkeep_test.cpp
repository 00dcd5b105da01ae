// Verify, gc and merge: nothing sound is lost, nothing wrong comes in, and the order never matters.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "base/hash.hpp"
#include "core/build/cache.hpp"
#include "core/store/bundle.hpp"
#include "core/store/record_check.hpp"
#include "core/store/store_view.hpp"
#include "core/store/upkeep.hpp"
#include "system/clock.hpp"
#include "system/files.hpp"
#include "system/processes.hpp"
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

void of_another_host(const fs::path& path) {
  std::string text = read_file(path);
  const std::size_t end = text.find('\n');
  write_text(path, "{\"xtune_records\":1,\"host\":\"elsewhere\",\"pid\":1}" + text.substr(end));
  age(path);
}

}  // namespace

TEST_CASE("verify finds every kind of damage by its line, and repair keeps all that is sound") {
  const TemporaryDirectory store;
  std::vector<Record> records = random_records(3, 12);
  for (Record& record : records) record.key = key_of(record.key_parts);
  const fs::path path = write_records(store.path(), records);
  of_another_host(path);
  put_artifact(store.path(), "sound");
  CHECK(verify_store(store.path(), false).damage.empty());
  const std::set<std::string> sound = lines_in(store.path());

  std::string text = read_file(path), wrong_key = text.substr(text.find('\n') + 1);
  wrong_key.resize(wrong_key.find('\n') + 1);
  const std::size_t at = wrong_key.find("M=");
  REQUIRE(at != std::string::npos);
  wrong_key.replace(at, 2, "M:");
  // In the form of earlier versions, so that only the key is wrong.
  wrong_key.replace(wrong_key.find(",\"checksum\""), std::string::npos, "}\n");
  const std::size_t second = text.find('\n', text.find('\n') + 1) + 1;
  text.insert(second, std::string("\0\0\0", 3) + "{\"half\":\n" + wrong_key + "{\"schema\":1}\n");
  write_text(path, text + "{\"schema\":1,\"torn");
  age(path);
  const Artifact damaged = put_artifact(store.path(), "damaged");
  write_text(ArtifactCache(store.path()).image_path(damaged), "other bytes");

  VerifyReport report = verify_store(store.path(), false);
  CHECK_FALSE(report.sound());
  REQUIRE(report.damage.size() == 5);
  CHECK(report.damage[0].where == path.string() + ":3");
  CHECK(report.damage[0].what == "not JSON");
  CHECK(report.damage[1].where == path.string() + ":4");
  CHECK(report.damage[1].what == "its key is not the hash of its key_parts");
  CHECK(report.damage[2].what.find("record field 'kernel'") != std::string::npos);
  CHECK(report.damage[3].what.find("torn") != std::string::npos);
  CHECK(report.damage[4].where.find(damaged.key) != std::string::npos);
  CHECK(report.records == records.size());

  report = verify_store(store.path(), true);
  CHECK(report.sound());
  CHECK(report.damage.size() == 5);
  CHECK(verify_store(store.path(), false).damage.empty());
  CHECK(read_records(store.path(), "sm_90", "gemm").warnings.empty());
  std::set<std::string> left = lines_in(store.path());
  CHECK(std::includes(left.begin(), left.end(), sound.begin(), sound.end()));
  const std::string aside = read_file(path.string() + ".damaged");
  CHECK(aside.find("M:") != std::string::npos);
  CHECK(aside.find("torn\n") != std::string::npos);
  CHECK(ArtifactCache(store.path()).find(sha256("sound")));
  CHECK_FALSE(ArtifactCache(store.path()).find(damaged.key));
}

TEST_CASE("verify computes keys from a record's members, and compares images and sources with their hashes") {
  const TemporaryDirectory store;
  std::vector<Record> records = random_records(8, 4);
  const Artifact swapped = put_artifact(store.path(), "swapped"), edited = put_artifact(store.path(), "edited"),
                 bare = put_artifact(store.path(), "bare"), old = put_artifact(store.path(), "old");
  records[0].artifact_key = records[0].key_parts[0].second = swapped.key;
  records[1].artifact_key = edited.key;  // not the one of its key
  records[2].problem = {{"M", std::int64_t{7}}};
  records[3].device.compute_units = 1;
  for (Record& record : records) {
    record.key_parts.emplace_back("device", device_part(example_device()));
    record.device.name = example_device().name, record.device.backend = "cuda";
    record.key = key_of(record.key_parts);
  }
  const fs::path path = write_records(store.path(), records);
  const ArtifactCache cache(store.path());
  CHECK(read_records(store.path(), "sm_90", "gemm").records[0].artifact_sha256 == sha256(swapped.image));
  of_another_host(path);
  // Valid in itself, but not the measured one.
  Artifact other = swapped;
  other.image = "something else";
  write_text(cache.image_path(other), other.image);
  write_text(cache.entry_path(other.key, "json"), artifact_metadata(other));
  const auto append = [&](const std::string& key) {
    write_text(cache.source_path(key), read_file(cache.source_path(key)) + "// edited");
  };
  append(edited.key);
  fs::remove(cache.source_path(bare.key));
  write_text(cache.entry_path(old.key, "json"), artifact_metadata(old));  // as earlier versions wrote it
  append(old.key);

  const VerifyReport report = verify_store(store.path(), true);
  std::map<std::string, std::string> damage;
  for (const StoreDamage& one : report.damage) damage[one.where] = one.what;
  CHECK(damage.size() == 5);
  CHECK(damage[path.string() + ":3"] == "its artifact_key is not the one in its key_parts");
  CHECK(damage[path.string() + ":4"] == "its problem is not the one in its key_parts");
  CHECK(damage[path.string() + ":5"] == "its device is not the one in its key_parts");
  CHECK(damage[cache.entry_path(swapped.key, "json").string()].find("not one that its records measured") !=
        std::string::npos);
  CHECK(damage[cache.source_path(edited.key).string()].find("is not the source") != std::string::npos);
  REQUIRE(report.notes.size() == 1);
  CHECK(report.notes[0].find(bare.key + ".cu is missing") != std::string::npos);
  CHECK(verify_store(store.path(), false).damage.empty());
  CHECK_FALSE(cache.find(swapped.key));
  CHECK(cache.find(edited.key));
  CHECK(fs::exists(cache.source_path(edited.key).string() + ".damaged"));
  write_text(cache.source_path(old.key), "another kernel");
  CHECK_FALSE(verify_store(store.path(), false).sound());
}

TEST_CASE("repair does not touch files that may still be written, or that a newer xtune wrote") {
  const TemporaryDirectory store;
  const fs::path live = write_records(store.path(), random_records(4, 3));  // by this very process
  write_text(live, read_file(live) + "{\"schema\":1,\"half a li");
  const fs::path newer = live.parent_path() / "newer.jsonl";
  write_text(newer, "{\"xtune_records\":9}\nnot a record\n");
  const auto before = texts_in(store.path());
  const VerifyReport report = verify_store(store.path(), true);
  CHECK(report.damage.empty());
  CHECK(std::any_of(report.notes.begin(), report.notes.end(),
                    [](const std::string& note) { return note.find("record version 9") != std::string::npos; }));
  write_text(live, read_file(live) + "ne\n");
  CHECK_FALSE(verify_store(store.path(), true).sound());
  fs::remove(live.string());
  CHECK(texts_in(store.path()).at("records/sm_90/gemm/newer.jsonl") == before.at("records/sm_90/gemm/newer.jsonl"));
  CHECK_THROWS_AS(verify_store(store.path() / "nowhere", false), Error);
}

TEST_CASE("repair does not trust the number of a process of another container, nor lose what it appends meanwhile") {
  const TemporaryDirectory store;
  RecordWriter writer(store.path(), "sm_90", "gemm", "a1");
  for (int block = 1; block <= 3; ++block) writer.append(sound_record(std::string(64, static_cast<char>('0' + block))));
  const fs::path path = writer.path();
  // This machine's name, and a process id that does not exist here; the bytes stay in place, as the writer has the
  // file.
  std::string text = read_file(path);
  nlohmann::json header = nlohmann::json::parse(text.substr(0, text.find('\n')));
  REQUIRE(header.at("pid_scope") == pid_scope());
  header["pid_scope"] = "00000000";
  header.erase("checksum");
  text.replace(0, text.find('\n'), with_checksum(header.dump()));
  const std::size_t second = text.find('\n', text.find('\n') + 1) + 1;
  text[second] = '\0';
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out) << text;
  VerifyReport report = verify_store(store.path(), true);
  CHECK_FALSE(report.sound());
  CHECK(report.not_repaired.size() == 1);
  CHECK(read_file(path) == text);
  // Silent for long, it is taken for ended; that it was not costs nothing.
  age(path);
  report = verify_store(store.path(), true);
  CHECK(report.sound());
  CHECK(report.damage.size() == 1);
  writer.append(sound_record(std::string(64, '4')));
  writer.append(sound_record(std::string(64, '5')));
  CHECK(read_records(store.path(), "sm_90", "gemm").records.size() == 4);
}

TEST_CASE("verify notes records that are dated in the future") {
  const TemporaryDirectory store;
  Record record = sound_record(std::string(64, 'a'));
  record.unix_time_ms = system_clock().unix_time_ms() + 86'400'000;
  write_records(store.path(), {record});
  const VerifyReport report = verify_store(store.path(), false);
  CHECK(report.sound());
  REQUIRE(report.notes.size() == 1);
  CHECK(report.notes.front().find("1 record is dated in the future") != std::string::npos);
  CHECK(report.notes.front().find("'node1'") != std::string::npos);
}

TEST_CASE("gc removes what no record names once it is old, never a record unless told, and nothing on a dry run") {
  const TemporaryDirectory store;
  Record record = example_record(64, 1);
  record.artifact_key = put_artifact(store.path(), "named").key;
  const fs::path path = write_records(store.path(), {record});
  const Artifact unnamed = put_artifact(store.path(), "unnamed");
  write_text(store.path() / "artifacts" / "ab" / ".node-1-1.tmp", "half");
  const std::int64_t now = system_clock().unix_time_ms();
  const ArtifactCache cache(store.path());
  GcOptions options;
  CHECK(collect_garbage(store.path(), options, now).removed.empty());  // a run may still want them
  age_all(store.path(), 3);
  const auto before = texts_in(store.path());
  options.dry_run = true;
  const GcReport dry = collect_garbage(store.path(), options, now);
  CHECK(dry.removed.size() == 4);  // image, metadata, source, the temporary file
  CHECK(texts_in(store.path()) == before);
  options.dry_run = false;
  CHECK(collect_garbage(store.path(), options, now).bytes == dry.bytes);
  CHECK_FALSE(cache.find(unnamed.key));
  CHECK(cache.find(record.artifact_key));

  SUBCASE("a record that cannot be read may name anything") {
    const Artifact kept = put_artifact(store.path(), "kept");
    write_text(path.parent_path() / "newer.jsonl", "{\"xtune_records\":9}\n");
    age_all(store.path(), 3);
    const GcReport report = collect_garbage(store.path(), options, now);
    CHECK(report.removed.empty());
    CHECK_FALSE(report.warnings.empty());
    CHECK(cache.find(kept.key));
  }
  SUBCASE("by age and size, records as told") {
    options.older_than_ms = 86'400'000;
    CHECK(collect_garbage(store.path(), options, now).removed.size() == 3);
    CHECK_FALSE(cache.find(record.artifact_key));
    CHECK(fs::exists(path));
    options.records = true;
    collect_garbage(store.path(), options, now);
    CHECK_FALSE(fs::exists(path));
    options.older_than_ms.reset();
    CHECK_THROWS_AS(collect_garbage(store.path(), options, now), Error);
  }
  SUBCASE("the best configurations' artifacts go last") {
    Record slower = example_record(128, 2);
    slower.artifact_key = put_artifact(store.path(), "slower").key;
    write_records(store.path(), {slower}, "a2");
    const GcReport all = collect_garbage(store.path(), options, now);
    options.max_bytes = all.kept_bytes - 1;
    CHECK(collect_garbage(store.path(), options, now).removed.size() == 3);
    CHECK(cache.find(record.artifact_key));
    CHECK_FALSE(cache.find(slower.artifact_key));
    options.max_bytes = 0;
    CHECK(collect_garbage(store.path(), options, now).kept_bytes == 0);
  }
}

TEST_CASE("merging gives the same result in any order, and for any number of repetitions") {
  std::vector<TemporaryDirectory> stores(3);
  std::set<std::string> all;
  for (std::size_t i = 0; i < stores.size(); ++i) {
    std::vector<Record> records = random_records(20 + i, 40);
    records.push_back(example_record(64, 1));  // in all of them
    write_records(stores[i].path(), records, "a" + std::to_string(i));
    put_artifact(stores[i].path(), "own" + std::to_string(i));
    put_artifact(stores[i].path(), "shared", "image" + std::to_string(i));  // one key, three images
    const std::set<std::string> lines = lines_in(stores[i].path());
    all.insert(lines.begin(), lines.end());
  }
  std::vector<std::size_t> order{0, 1, 2};
  std::string artifacts, chosen;
  do {
    const TemporaryDirectory into;
    for (const std::size_t i : order) merge_store(into.path(), stores[i].path());
    const auto once = texts_in(into.path());
    for (const std::size_t i : {2, 0, 1, 1}) {
      const MergeReport again = merge_store(into.path(), stores[static_cast<std::size_t>(i)].path());
      CHECK(again.records == 0);
      CHECK(again.artifacts == 0);
      CHECK(again.warnings.empty());
    }
    CHECK(texts_in(into.path()) == once);
    CHECK(lines_in(into.path()) == all);
    CHECK(verify_store(into.path(), false).damage.empty());
    std::string these, choice;
    for (const auto& [name, text] : once)
      if (!name.starts_with("records/")) these += name + "\n" + text + "\n";
    const StoreView view = StoreView::load(into.path(), "sm_90", "gemm");
    for (const StoreView::Group& group : view.groups())
      for (const StoredConfig* config : view.order(group)) choice += to_json(read_record(*config)).dump() + "\n";
    if (artifacts.empty()) artifacts = these, chosen = choice;
    CHECK(these == artifacts);
    CHECK(choice == chosen);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("a foreign store brings nothing wrong and reaches nothing outside") {
  const TemporaryDirectory foreign, into, outside;
  const fs::path path = write_records(foreign.path(), {example_record(64, 1)});
  write_text(path.parent_path() / "z.jsonl", "{\"xtune_records\":1}\nrubbish\n");
  write_text(path.parent_path() / "newer.jsonl",
             "{\"xtune_records\":9}\n" + to_json(example_record(1, 1)).dump() + "\n");
  write_text(outside.path() / "secret.jsonl", "{\"xtune_records\":1}\n" + to_json(example_record(2, 1)).dump() + "\n");
  fs::create_symlink(outside.path() / "secret.jsonl", path.parent_path() / "link.jsonl");
  write_text(outside.path() / "kernel.jsonl", read_file(outside.path() / "secret.jsonl"));
  fs::create_directory_symlink(outside.path(), foreign.path() / "records" / "sm_90" / "linked");
  write_text(foreign.path() / "records" / "sm 90" / "gemm" / "a.jsonl", read_file(path));
  const Artifact good = put_artifact(foreign.path(), "good"), wrong = put_artifact(foreign.path(), "wrong");
  write_text(ArtifactCache(foreign.path()).image_path(wrong), "malice");
  const Artifact escaping = put_artifact(foreign.path(), "escaping");
  const fs::path metadata = ArtifactCache(foreign.path()).entry_path(escaping.key, "json");
  std::string text = read_file(metadata);
  text.replace(text.find("\"cubin\""), 7, "\"../../../escaped\"");
  write_text(metadata, text);

  const MergeReport report = merge_store(into.path(), foreign.path());
  CHECK(report.records == 1);
  CHECK(report.artifacts == 1);
  CHECK(report.warnings.size() == 6);
  for (const char* link : {"link.jsonl", "linked"})
    CHECK(std::count_if(report.warnings.begin(), report.warnings.end(), [&](const std::string& warning) {
            return warning.find(std::string(link) + " is a link, which merge does not follow") != std::string::npos;
          }) == 1);
  const auto files = texts_in(into.path());
  CHECK(files.size() == 4);  // one record file, and image, source and metadata of the good artifact
  CHECK(ArtifactCache(into.path()).find(good.key));
  CHECK_FALSE(ArtifactCache(into.path()).find(wrong.key));
  CHECK_THROWS_AS(merge_store(into.path(), into.path()), Error);
  CHECK_THROWS_AS(merge_store(into.path(), foreign.path() / "nowhere"), Error);
}

TEST_CASE("gc removes the claims of jobs that have ended, and leaves those of a job that runs") {
  const TemporaryDirectory store;
  const fs::path old = store.path() / "studies" / "slurm-1.0", live = store.path() / "studies" / "slurm-2.0";
  for (const fs::path& study : {old, live})
    write_text(study / "sm_90" / "gemm" / "p" / "claims" / "c.0", "one n1 7 0\n");
  const auto now =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch());
  // Two days later the one has stood still, the other's heart has just beaten.
  const fs::path heartbeat = live / "sm_90" / "gemm" / "p" / "ranks" / "one";
  write_text(heartbeat, "one n1 7 1\n");
  fs::last_write_time(heartbeat, fs::file_time_type::clock::now() + std::chrono::hours(48));
  GcReport report = collect_garbage(store.path(), {{}, {}, false, true}, now.count() + 172'800'000);
  REQUIRE(report.removed.size() == 1);
  CHECK(report.removed[0].path == old);
  CHECK(report.removed[0].bytes == 11);
  CHECK(fs::exists(old));
  collect_garbage(store.path(), {}, now.count() + 172'800'000);
  CHECK_FALSE(fs::exists(old));
  CHECK(fs::exists(heartbeat));
}
