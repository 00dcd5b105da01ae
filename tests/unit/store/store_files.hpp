// Stores on disk for the store tests: random records of several problems, devices and finals.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "base/random.hpp"
#include "core/build/cache.hpp"
#include "core/resolve/resolve.hpp"
#include "core/store/lookup.hpp"
#include "core/store/record_log.hpp"
#include "core/store/store_view.hpp"
#include "system/files.hpp"
#include "unit/record/example_record.hpp"

namespace xtune {

inline std::int64_t pick(base::Random& random, std::initializer_list<std::int64_t> values) {
  return *(values.begin() + random.below(values.size()));
}

/// Few configurations, problems and times, so that keys repeat, times tie and finals meet.
inline store::Record random_record(base::Random& random) {
  const std::int64_t block = pick(random, {16, 32, 64, 128, 256});
  store::Record record = example_record(block, static_cast<double>(pick(random, {1, 2, 3, 4})) * 0.25, 0.01);
  record.problem = {{"M", pick(random, {1000, 1024, 2048, 4096, 6000})}, {"N", pick(random, {64, 100, 128})}};
  record.config["SPLIT"] = 0.5 * static_cast<double>(pick(random, {1, 2, 3}));
  record.config["ORDER"] = std::string(random.below(2) ? "row" : "col \"x\"\xc3\xa4");
  if (random.below(2)) record.config["ORDER"] = std::string("row");
  if (random.below(3) == 0) record.device.name = "NVIDIA H100";
  if (random.below(5) == 0) record.device.backend = "hip";
  if (random.below(9) == 0) record.device.index = 1;
  if (random.below(5) == 0) record.outcome = Outcome::wrong_result;
  if (random.below(9) == 0) record.outcome = Outcome::pruned;
  if (random.below(9) == 0) record.drift = true;
  if (random.below(5) == 0) record.tainted = {"throttled"};
  if (random.below(9) == 0) record.key_parts.emplace_back("sanitize", "true");
  if (random.below(3) == 0) record.finals = "f" + std::to_string(random.below(3));
  if (random.below(3) == 0) record.usage.registers = static_cast<int>(random.below(3));
  record.key = "";
  for (const Bindings* bindings : {&record.problem, &record.config})
    for (const auto& [name, value] : *bindings) record.key += name + to_text(value);
  record.key += record.device.name + record.device.backend;
  record.key_parts[1].second = resolve::problem_part(record.problem);
  record.unix_time_ms += static_cast<std::int64_t>(random.below(4));
  record.attempt = "a" + std::to_string(random.below(3));
  record.artifact_key = std::string(64, static_cast<char>('a' + random.below(6)));
  record.key_parts[0].second = record.artifact_key;
  return record;
}

inline std::vector<store::Record> random_records(std::uint64_t seed, std::size_t count) {
  base::Random random(seed);
  std::vector<store::Record> records;
  for (std::size_t i = 0; i < count; ++i) records.push_back(random_record(random));
  return records;
}

/// One whose key is what its parts make of it.
inline store::Record sound_record(const std::string& artifact_key, double time_ms = 1) {
  store::Record record = example_record(64, time_ms);
  record.artifact_key = artifact_key;
  record.key_parts = {{"artifact", artifact_key}, {"problem", resolve::problem_part(record.problem)}};
  record.key = build::key_of(record.key_parts);
  return record;
}

/// One record file, for records of any kernel.
inline std::filesystem::path write_records(const std::filesystem::path& store,
                                           const std::vector<store::Record>& records, const std::string& attempt = "a1",
                                           const std::string& arch = "sm_90", const std::string& kernel = "gemm") {
  store::RecordWriter writer(store, arch, kernel, attempt);
  for (const store::Record& record : records) writer.append(record);
  return writer.path();
}

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

inline build::Artifact put_artifact(const std::filesystem::path& store, const std::string& name,
                                    const std::string& image = "image") {
  build::Artifact artifact;
  artifact.key = base::sha256(name);
  artifact.backend = "cuda", artifact.arch = "sm_90", artifact.format = "cubin", artifact.entry_symbol = "gemm";
  artifact.image = image + name;
  build::CompileRequest request;
  request.source = "source of " + name;
  build::ArtifactCache(store).insert(artifact, request);
  return artifact;
}

/// Every file under a directory, by its path in it.
inline std::map<std::string, std::string> texts_in(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files[entry.path().lexically_relative(folder).string()] = system::read_file(entry.path());
  return files;
}

inline std::set<std::string> lines_in(const std::filesystem::path& store) {
  std::set<std::string> lines;
  for (const auto& [name, text] : texts_in(store)) {
    if (!name.starts_with("records/")) continue;
    for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
      if (const std::string line = text.substr(at, end - at); line.find("xtune_records") == std::string::npos)
        lines.insert(line);
  }
  return lines;
}

/// As if its writer had ended long ago, on another machine.
inline void age(const std::filesystem::path& path, int days = 2) {
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * days));
}

inline void age_all(const std::filesystem::path& store, int days) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(store))
    if (entry.is_regular_file()) age(entry.path(), days);
}

/// As a dispatch looks up.
inline store::LookupResult find(const store::StoreView& view, const Bindings& problem, const device::DeviceInfo& device,
                                store::LookupRules rules = {}) {
  rules.count_obstacles = false;
  return view.look_up(problem, device, rules);
}

}  // namespace xtune
