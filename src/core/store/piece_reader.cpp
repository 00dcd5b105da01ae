// A line is scanned; if it does not have the plain form, the reader of whole records reads it.
#include "core/store/piece_reader.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "base/json_fields.hpp"
#include "core/build/artifact_json.hpp"
#include "core/record/key_fit.hpp"
#include "core/record/record_check.hpp"
#include "core/record/record_json.hpp"
#include "core/record/record_log.hpp"
#include "core/record/stored_shortage.hpp"
#include "core/resolve/resolve.hpp"
#include "core/space/bindings_text.hpp"
#include "core/store/json_walk.hpp"
#include "core/store/plain_values.hpp"
#include "core/store/record_scan.hpp"

namespace xtune::store {

/// The parts of a failure that a row keeps.
struct FailureFacts {
  bool shortage = false, explained = false, sanitizer_report = false;
};

namespace {

using Json = nlohmann::json;

FailureFacts failure_facts(const record::Record& record) {
  return {record::is_stored_shortage(record), !record.message.empty(), record::is_sanitizer_report(record.message)};
}

/// Whether the part "runtime" of a key, as JSON text, contains parameters of this configuration.
bool has_runtime(std::string_view config, std::string_view part) {
  const std::optional<PlainBindings> plain = plain_bindings(config);
  const Json text = Json::parse(part, nullptr, false);
  return plain && text.is_string() && record::runtime_matches(text.get<std::string>(), plain->values);
}

/// The key of a record from an earlier version, as record_from_json converts it (add_driver_part); empty: no change.
std::string completed_key(const ScannedRecord& record, const std::string& driver) {
  if (driver.empty() || record.key_parts.empty() || record.key_parts.find("[\"driver\",") != std::string_view::npos)
    return {};
  try {
    auto parts = Json::parse(record.key_parts).get<build::KeyParts>();
    std::string key(record.key);
    record::add_driver_part(parts, key, driver);
    return key;
  } catch (const Json::exception&) {  // the reader of whole records reports the error
    return {};
  }
}

/// Decodes a JSON string; false if it is not one.
bool read_json_text(std::string_view json, std::string& text) {
  if (json.empty()) return text.clear(), true;
  if (json.size() >= 2 && json.front() == '"' && is_plain(json)) return text = json.substr(1, json.size() - 2), true;
  const Json value = Json::parse(json, nullptr, false);
  return value.is_string() && (text = value.get<std::string>(), true);
}

/// The failure facts of a valid record; nullopt: the scan does not show them.
std::optional<FailureFacts> failure_of(const ScannedRecord& from) {
  if (from.message.empty() || from.outcome == Outcome::ok) return FailureFacts();
  record::Record record;
  record.outcome = from.outcome, record.compile_s = from.compile_s;
  if (!read_json_text(from.message, record.message) || !read_json_text(from.stage, record.stage)) return std::nullopt;
  return failure_facts(record);
}

std::uint32_t samples_of(std::string_view list) {
  if (list.size() <= 2) return 0;
  return static_cast<std::uint32_t>(std::count(list.begin(), list.end(), ',') + 1);
}

/// Whether the data for judging finals can be read.
bool is_sound(const ScannedRecord& from) {
  try {
    if (!from.samples_ms.empty() && !is_number_list(from.samples_ms))
      for (const Json& sample : Json::parse(from.samples_ms)) base::number_from_json(sample);
    if (!from.usage.empty() && !is_integer_object(from.usage)) build::resource_usage_from_json(Json::parse(from.usage));
    if (!from.repeatable.empty()) record::repeatability_from_json(Json::parse(from.repeatable));
  } catch (const std::exception&) {  // Json's, or Error
    return false;
  }
  return true;
}

/// The mean without outliers is not stored: it follows from the samples. They are read into `samples`.
double ranking_time_ms(const ScannedRecord& from, measure::Statistic statistic, std::vector<double>& samples) {
  if (statistic != measure::Statistic::inlier_mean) return measure::statistic(from.time_ms, statistic);
  samples.clear();
  const bool known = !from.samples_ms.empty() && plain_numbers(from.samples_ms, samples) && !samples.empty();
  return known ? measure::summarize(samples).inlier_mean / from.slowness : from.time_ms.mean;
}

}  // namespace

PieceReader::PieceReader(std::uint32_t source, bool is_first, const RowOptions& options, PieceRows& rows)
    : source_(source), is_first_(is_first), options_(options), rows_(rows) {
  rows_.texts = std::make_unique<TextArena>(64u << 10);
}

bool PieceReader::line(std::string_view line, std::uint64_t offset) {
  ++rows_.lines;
  offset_ = offset;
  bool header = false;
  if (!plain_record(line) && !unusual_line(line, header)) return false;
  if (rows_.lines == 1 && is_first_ && !header) rows_.warnings.emplace_back(0, "it has no header line");
  return true;
}

std::string_view PieceReader::keep(std::string_view text) {
  if (text.empty()) return {};
  auto* const place = static_cast<char*>(rows_.texts->allocate(text.size(), 1));
  std::memcpy(place, text.data(), text.size());
  return {place, text.size()};
}

const std::string_view* PieceReader::keep_shared(const std::string_view* last, std::string_view text) {
  if (last && *last == text) return last;
  void* const place = rows_.texts->allocate(sizeof(std::string_view), alignof(std::string_view));
  return new (place) std::string_view(keep(text));
}

const FinalsEvidence* PieceReader::evidence_of(const ScannedRecord& from) {
  if (from.finals.empty()) return nullptr;
  void* const place = rows_.texts->allocate(sizeof(FinalsEvidence), alignof(FinalsEvidence));
  return new (place) FinalsEvidence{keep(from.finals), keep(from.finals_by), keep(from.samples_ms), keep(from.usage),
                                    keep(from.repeatable)};
}

void PieceReader::keep_config(StoredConfig& row) {
  row.names = names_ = keep_shared(names_, names_text_);
  row.values = keep(values_text_);
}

bool PieceReader::find_problem(std::string_view json) {
  if (!last_problem_.empty() && json == last_problem_) return true;
  TextTable& known = rows_.problem_json;
  const std::size_t hash = TextTable::hash_of(json);
  const std::uint32_t found = known.find(json, hash);
  if (found == known.next()) {
    try {
      std::optional<PlainBindings> plain = plain_bindings(json);
      if (!plain) {
        plain.emplace(PlainBindings{record::bindings_from_json(Json::parse(json)), ""});
        plain->text = space::bindings_text(plain->values);
      }
      rows_.problems.push_back({std::move(plain->values), keep(plain->text)});
    } catch (const std::exception&) {  // from Json, or Error: the reader of whole records reports the error
      return false;
    }
    known.add(keep(json), hash);
  }
  last_problem_ = known.entries()[found].text;
  problem_ = found;
  return true;
}

bool PieceReader::find_device(std::string_view json) {
  if (!last_device_.empty() && json == last_device_) return true;
  TextTable& known = rows_.device_json;
  const std::size_t hash = TextTable::hash_of(json);
  const std::uint32_t found = known.find(json, hash);
  if (found == known.next()) {
    try {
      rows_.devices.push_back(record::device_info_from_json(Json::parse(json)));
    } catch (const std::exception&) {
      return false;
    }
    known.add(keep(json), hash);
  }
  last_device_ = known.entries()[found].text;
  device_ = found;
  return true;
}

// Whether a line without a checksum is certainly valid for read_record_line.
bool PieceReader::is_consistent(const ScannedRecord& record) {
  const bool timed = record.outcome == Outcome::ok || record.outcome == Outcome::pruned;
  if (timed && record.time_ms.count != 0 && !record.samples_ms.empty()) {
    samples_.clear();
    const measure::Summary taken = measure::scaled(record.time_ms, record.slowness);
    if (!plain_numbers(record.samples_ms, samples_) || !record::follows_from(taken, samples_)) return false;
  }
  if (record.key_parts.empty()) return true;
  // A text that was hashed in another form has another hash, and is left to the reader of whole records.
  if (record.key.size() != 64 || base::sha256(record.key_parts) != record.key) return false;
  const auto part = [&](std::vector<std::string>& known, std::uint32_t number, const auto& make) -> const std::string& {
    if (known.size() <= number) known.resize(number + 1);
    if (known[number].empty()) known[number] = Json(make()).dump();
    return known[number];
  };
  bool same = true, imported = false;
  const auto visit = [&](std::string_view name, std::string_view value) {
    const auto is = [&](const auto& text) { same = same && value == text; };
    if (name == "artifact")
      is('"' + std::string(record.artifact_key) + '"');
    else if (name == "recorded by")
      imported = true;
    else if (name == "config" || (imported && name == "problem"))
      is(Json(name == "config" ? record.config : record.problem).dump());
    else if (imported && name == "device")
      is(Json(rows_.devices[device_].name).dump());
    else if (name == "problem")
      is(part(problem_parts_, problem_, [&] { return resolve::problem_part(rows_.problems[problem_].sizes); }));
    else if (name == "device")
      is(part(device_parts_, device_, [&] { return resolve::device_part(rows_.devices[device_]); }));
    else if (name == "driver")
      is(Json(rows_.devices[device_].driver).dump());
    else if (name == "runtime" && value != R"("[]")")
      same = same && has_runtime(record.config, value);
  };
  return visit_pairs(record.key_parts, visit) && same;
}

// Reads the row's problem, device and configuration. False: the reader of whole records must read it.
bool PieceReader::resolve(const ScannedRecord& from) {
  if (!find_problem(from.problem) || !find_device(from.device)) return false;
  if (!split_plain(from.config, names_text_, values_text_)) return false;
  if (!from.has_checksum && !is_consistent(from)) return false;
  return from.finals.empty() || is_sound(from);
}

// Uses the result of resolve.
void PieceReader::add_row(const ScannedRecord& from, const FailureFacts& failure, std::string_view line) {
  ++rows_.records;
  rows_.sanitized += from.sanitized;
  rows_.newest_unix_ms = std::max(rows_.newest_unix_ms, from.unix_time_ms);
  if (!options_.all && (from.outcome == Outcome::pruned || from.drift || from.sanitized)) return;
  StoredConfig row;
  keep_config(row);
  row.outcome = from.outcome;
  row.tainted = from.tainted, row.drift = from.drift, row.sanitized = from.sanitized;
  row.median_ms = from.time_ms.median;
  row.low_ms = from.time_ms.low;
  if (from.outcome == Outcome::pruned) row.low_ms = from.time_ms.min, row.samples = samples_of(from.samples_ms);
  row.time_ms = from.time_ms.count == 0 ? HUGE_VAL : ranking_time_ms(from, options_.statistic, samples_);
  row.explained = failure.explained, row.sanitizer_report = failure.sanitizer_report;
  row.unix_time_ms = from.unix_time_ms;
  row.problem = problem_, row.device = device_;
  const std::string completed = completed_key(from, rows_.devices[device_].driver);
  row.key = KeyDigest(completed.empty() ? from.key : std::string_view(completed));
  row.artifact_key = KeyDigest(from.artifact_key);
  row.attempt = attempt_ = keep_shared(attempt_, from.attempt);
  row.finals = evidence_of(from);
  row.file = source_;
  row.offset = offset_, row.bytes = static_cast<std::uint32_t>(line.size());
  rows_.rows.push_back(row);
}

bool PieceReader::plain_record(std::string_view line) {
  ScannedRecord record;
  if (!scan_record(line, record, last_device_) || !resolve(record)) return false;
  const std::optional<FailureFacts> failure = failure_of(record);
  if (!failure) return false;
  if (!failure->shortage) add_row(record, *failure, line);
  return true;
}

bool PieceReader::unusual_line(std::string_view line, bool& header) {
  const record::RecordLine read = record::read_record_line(line);
  switch (read.kind) {
    case record::RecordLine::Kind::newer:
      rows_.warnings.emplace_back(0, read.why + "; not read");
      rows_.unread = rows_.ended = true;
      return false;
    case record::RecordLine::Kind::header:
      return header = true;
    case record::RecordLine::Kind::damaged:
      rows_.warnings.emplace_back(rows_.lines, "skipped: " + read.why);
      return true;
    case record::RecordLine::Kind::record:
      add(*read.record, line);
      return true;
  }
  return true;
}

// A valid record whose line is not plain.
void PieceReader::add(const record::Record& record, std::string_view line) {
  const FailureFacts failure = failure_facts(record);
  if (failure.shortage) return;
  const Json json = record::to_json(record);
  const auto dumped = [&](const char* name) { return json.contains(name) ? json[name].dump() : std::string(); };
  const std::string problem = dumped("problem"), device = dumped("device"), config = dumped("config"),
                    samples = dumped("samples_ms"), usage = dumped("usage"), repeatable = dumped("repeatable");
  ScannedRecord plain;
  plain.problem = problem, plain.device = device, plain.config = config;
  plain.samples_ms = samples, plain.usage = usage, plain.repeatable = repeatable;
  plain.key = record.key, plain.artifact_key = record.artifact_key;
  plain.attempt = record.attempt, plain.finals = record.finals, plain.finals_by = record.finals_by;
  plain.outcome = record.outcome;
  plain.tainted = !record.tainted.empty(), plain.drift = record.drift;
  plain.sanitized = record::is_sanitized(record);
  plain.time_ms = record.time_ms, plain.slowness = record.slowness;
  plain.has_checksum = true;  // it was checked as a whole
  plain.unix_time_ms = record.unix_time_ms;
  if (resolve(plain)) return add_row(plain, failure, line);
  // Only its configuration needs more than a scan.
  plain.config = "{}";
  const std::size_t rows = rows_.rows.size();
  if (!resolve(plain)) {
    ++rows_.records;
    return;
  }
  add_row(plain, failure, line);
  if (rows_.rows.size() == rows) return;
  rows_.rows.back().names = nullptr;
  rows_.rows.back().values = keep(config);
}

}  // namespace xtune::store
