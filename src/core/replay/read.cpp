// Distinguishes caches, record files and stores.
#include "core/replay/read.hpp"

#include <algorithm>

#include "base/files.hpp"
#include "base/gzip.hpp"
#include "base/text.hpp"
#include "core/record/record_log.hpp"
#include "core/replay/kernel_tuner.hpp"
#include "core/replay/records.hpp"
#include "xtune/error.hpp"

namespace xtune::replay {
namespace {

namespace fs = std::filesystem;

bool holds_records(const fs::path& path, std::string_view text) {
  const std::string_view first = text.substr(0, std::min(text.find('\n'), text.size()));
  if (first.find("\"xtune_records\"") != std::string_view::npos) return true;
  const std::string name = path.filename().string();
  return name.ends_with(".jsonl") || name.ends_with(".jsonl.gz");
}

record::RecordSet records_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  const fs::path inner = folder / "records";
  const fs::path start = fs::is_directory(inner, error) ? inner : folder;
  fs::recursive_directory_iterator entry(start, fs::directory_options::skip_permission_denied, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().extension() == ".jsonl" && entry->is_regular_file(ignored)) files.push_back(entry->path());
  }
  if (error) throw Error(ErrorKind::io, base::printable(folder.string()) + ": cannot be listed: " + error.message());
  std::sort(files.begin(), files.end());
  record::RecordSet all;
  for (const fs::path& file : files) {
    record::RecordSet set = record::parse_records(base::printable(file.string()), base::read_file_gunzipped(file));
    std::move(set.records.begin(), set.records.end(), std::back_inserter(all.records));
    std::move(set.warnings.begin(), set.warnings.end(), std::back_inserter(all.warnings));
  }
  return all;
}

void rank_by(Recording& recording, spec::Statistic ranking) {
  for (RecordedConfig& config : recording.configs)
    if (config.outcome == Outcome::ok)
      config.time_ms = measure::statistic(measure::summarize(config.samples_ms), ranking);
}

}  // namespace

std::string recording_name(const fs::path& path) {
  std::string name = (path.has_filename() ? path : path.parent_path()).filename().string();
  for (const std::string_view ending : {".gz", ".jsonl", ".json"})
    if (name.size() > ending.size() && name.ends_with(ending)) name.resize(name.size() - ending.size());
  return base::printable(name);
}

std::vector<Recording> read_recordings(const fs::path& path, const ReadOptions& options) {
  const std::string name = base::printable(path.string());
  const spec::Statistic ranking = options.statistic.value_or(spec::Statistic::median);
  std::error_code error;
  std::vector<Recording> recordings;
  if (fs::is_directory(path, error)) {
    recordings = recordings_of(records_below(path), name, ranking);
  } else {
    const std::string text = base::read_file_gunzipped(path);
    if (holds_records(path, text)) {
      recordings = recordings_of(record::parse_records(name, text), name, ranking);
    } else {
      recordings.push_back(read_kernel_tuner(text, name));
      if (options.statistic) rank_by(recordings.front(), ranking);
    }
  }
  const std::string own = recording_name(path);
  for (Recording& recording : recordings) recording.name = own + (recording.name.empty() ? "" : ": " + recording.name);
  return recordings;
}

}  // namespace xtune::replay
