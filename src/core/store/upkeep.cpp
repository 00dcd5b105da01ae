// Counts the contents of a store.
#include "core/store/upkeep.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <unordered_set>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/build/cache.hpp"
#include "core/store/layout.hpp"
#include "core/store/record_check.hpp"
#include "core/store/record_log.hpp"
#include "core/store/store_view.hpp"
#include "system/clock.hpp"
#include "system/files.hpp"
#include "system/processes.hpp"
#include "xtune/error.hpp"

namespace xtune::store {

bool StoreSummary::nothing_read() const {
  return unreadable > 0 && artifacts == 0 &&
         std::all_of(parts.begin(), parts.end(), [](const StorePart& part) { return part.records == 0; });
}

StoreSummary summary_of(const std::filesystem::path& store) {
  require_store(store);
  const StoreLayout layout = layout_of(store);
  StoreSummary summary;
  for (const Unreadable& one : layout.unreadable) summary.warnings.push_back(one.text());
  summary.unreadable = layout.unreadable.size();
  std::map<std::pair<std::string, std::string>, std::vector<RecordSource>> parts;
  for (const RecordFile& file : layout.records)
    parts[{file.arch, file.kernel}].push_back(RecordSource::whole(file.path));
  for (const auto& [name, sources] : parts) {
    StorePart part;
    part.arch = name_of_component(name.first).value_or(name.first);
    part.kernel = name_of_component(name.second).value_or(name.second);
    part.files = sources.size();
    for (const RecordSource& source : sources) {
      std::error_code error;
      const std::uint64_t bytes = std::filesystem::file_size(source.path, error);
      part.bytes += error ? 0 : bytes;
    }
    const StoreView view = StoreView::load(sources);
    summary.warnings.insert(summary.warnings.end(), view.warnings().begin(), view.warnings().end());
    summary.unreadable += view.row_set().unreadable;
    part.records = view.records();
    part.answers = view.groups().size();
    std::set<std::string> devices;
    for (const StoreView::Group& group : view.groups()) devices.insert(view.row_set().devices[group.device].name);
    part.newest_unix_ms = view.newest_unix_ms();
    part.devices.assign(devices.begin(), devices.end());
    summary.parts.push_back(std::move(part));
  }
  for (const auto& [key, files] : layout.artifacts) {
    summary.artifacts += files.has_metadata;
    summary.artifact_bytes += files.bytes;
  }
  return summary;
}

// Goes through a store's files and distinguishes damage from unfinished writes.

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t longest_verified_file = std::uint64_t{1} << 32;
// A writer on another machine cannot be checked; one that has been silent for this long is assumed to have ended.
constexpr std::int64_t silent_ms = 3'600'000;

// A line with a checksum is not compared with its own members when it is read; here it is, as its writer may have
// erred.
std::string own_damage(const Record& record) {
  const std::string wrong = summary_damage(record);
  return wrong.empty() ? key_damage(record) : wrong;
}

struct Lines {
  std::string sound, damaged;
  std::vector<std::pair<std::uint64_t, std::string>> damage;  ///< line, what
  std::string newer;                                          ///< why the file must not be read
  Json header;
  bool torn = false;                                          ///< the last damage is a line without an end
  std::vector<std::pair<std::string, std::string>> measured;  ///< artifact, the hash of its image
  std::uint64_t records = 0;
  std::string future;           ///< records with a date after now, for people
  std::uint64_t shortages = 0;  ///< number of them that an earlier version attributed to a configuration
};

Lines read_lines(std::string_view text, std::int64_t now_ms) {
  Lines lines;
  FutureRecords future(now_ms);
  for (std::uint64_t number = 1; !text.empty(); ++number) {
    const std::size_t newline = text.find('\n');
    const std::string_view line = text.substr(0, newline);
    const std::string_view whole = text.substr(0, newline == std::string_view::npos ? newline : newline + 1);
    text.remove_prefix(whole.size());
    const auto damaged = [&](const std::string& what) {
      lines.damage.emplace_back(number, what);
      lines.damaged.append(line).append("\n");
    };
    if (newline == std::string_view::npos) {
      lines.torn = true;
      damaged("the last line is torn (its writer was stopped)");
      break;
    }
    const RecordLine read = read_record_line(line);
    if (read.kind == RecordLine::Kind::newer) {
      lines.newer = read.why;
      return lines;
    }
    if (read.kind == RecordLine::Kind::damaged) {
      damaged(read.why);
      continue;
    }
    if (read.kind == RecordLine::Kind::record) {
      if (const std::string wrong = own_damage(*read.record); !wrong.empty()) {
        damaged(wrong);
        continue;
      }
      future.look_at(*read.record);
      lines.shortages += is_stored_shortage(*read.record);
      if (!read.record->artifact_sha256.empty())
        lines.measured.emplace_back(read.record->artifact_key, read.record->artifact_sha256);
    }
    if (read.kind == RecordLine::Kind::header && number == 1) lines.header = Json::parse(line);
    lines.records += read.kind == RecordLine::Kind::record;
    lines.sound += whole;
  }
  lines.future = future.text();
  return lines;
}

// Whether the process that made a file still runs. Its id shows that only in the same scope: in another container with
// this machine's name it may be any process, or none. nullopt: unknown.
std::optional<bool> writer_runs(const Json& header) {
  try {
    if (header.is_object() && !system::pid_scope().empty() && header.at("pid_scope") == system::pid_scope())
      return !system::process_is_gone(header.at("pid").get<pid_t>());
  } catch (const Json::exception&) {  // from an earlier version, which does not record where it ran
  }
  return std::nullopt;
}

// The clock that dates the files of its file system, which may be a server's.
std::int64_t time_of(const fs::path& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? std::int64_t{info.st_mtim.tv_sec} * 1000 : 0;
}

// Whether it changed within the hour before `now_ms`; true if that cannot be determined.
bool was_changed_lately(const fs::path& path, std::int64_t now_ms) {
  const std::int64_t changed_ms = time_of(path);
  return changed_ms == 0 || now_ms - changed_ms <= silent_ms;
}

bool may_be_written(const fs::path& path, const Json& header, std::int64_t now_ms) {
  const std::optional<bool> runs = writer_runs(header);
  return runs ? *runs : was_changed_lately(path, now_ms);
}

class Verification {
 public:
  Verification(const fs::path& store, bool repair) : store_(store), repair_(repair) {}

  VerifyReport run() {
    StoreLayout layout = layout_of(store_);
    for (const Unreadable& one : layout.unreadable)
      report_.damage.push_back({base::printable(one.path.string()), "cannot be read: " + one.why, false, false});
    for (const RecordFile& file : layout.records) check_records(file);
    for (const auto& [key, files] : layout.artifacts) check_artifact(key, files);
    return std::move(report_);
  }

 private:
  void check_records(const RecordFile& file) {
    ++report_.record_files;
    const std::string name = base::printable(file.path.string());
    std::string text;
    try {
      text = system::read_file(file.path, longest_verified_file);
    } catch (const Error& error) {
      // Removed since it was listed, for example by `xtune store gc`: this is not damage.
      if (!is_gone(file.path)) report_.damage.push_back({name, error.what(), false, false});
      return;
    }
    const Lines lines = read_lines(text, now_ms_);
    if (!lines.newer.empty()) {
      report_.notes.push_back(name + ": " + lines.newer + "; not checked");
      return;
    }
    report_.records += lines.records;
    if (lines.shortages > 0)
      report_.notes.push_back(
          fmt::format("{}: {} failures that its machine caused, which an earlier version stored: "
                      "they count as not there",
                      name, lines.shortages));
    for (const auto& [key, sha256] : lines.measured) measured_[key].insert(sha256);
    if (!lines.future.empty())
      report_.notes.push_back(name + ": " + lines.future + ": a clock was wrong then, or is now");
    if (!text.empty() && lines.header.is_null()) report_.notes.push_back(name + ": it has no header line");
    if (lines.damage.empty()) return;
    const bool written = may_be_written(file.path, lines.header, now_ms_);
    if (written && lines.torn && lines.damage.size() == 1) {
      report_.notes.push_back(name + ": its last line is still being written");
      return;
    }
    if (repair_ && written)
      report_.not_repaired.push_back(name +
                                     ": left as it is, as its run may still write it; repair it when that has ended");
    const bool repaired = !written && repair(file.path, [&] { move_lines(file.path, lines, text.size()); });
    for (const auto& [number, what] : lines.damage)
      report_.damage.push_back({fmt::format("{}:{}", name, number), what, repaired});
  }

  // It existed when the store was listed: `store gc` has removed it since, an artifact's metadata before the rest.
  static bool is_gone(const fs::path& path) {
    std::error_code ignored;
    return fs::symlink_status(path, ignored).type() == fs::file_type::not_found;
  }

  // Whether the change was requested and made.
  template <class Change>
  bool repair(const fs::path& path, const Change& change) {
    if (!repair_) return false;
    if (const fs::path link = link_on_the_way(store_, path); !link.empty()) {
      base::add_once(report_.not_repaired, behind_a_link(link));
      return false;
    }
    try {
      change();
      return true;
    } catch (const Error& error) {
      report_.not_repaired.emplace_back(error.what());
    } catch (const fs::filesystem_error& error) {
      report_.not_repaired.push_back("cannot move " + base::printable(path.string()) +
                                     " aside: " + error.code().message());
    }
    return false;
  }

  // First the damaged lines, then the file without them: after an interruption both contain them.
  void move_lines(const fs::path& path, const Lines& lines, std::uint64_t size) {
    fs::path aside = path;
    aside += ".damaged";
    std::string before;
    if (fs::exists(aside)) before = system::read_file(aside, longest_verified_file);
    if (!before.ends_with(lines.damaged)) before += lines.damaged;
    system::write_file_atomically(aside, before);
    std::ifstream held(path, std::ios::binary);
    if (fs::file_size(path) != size || may_be_written(path, lines.header, time_of(aside)))
      throw Error(ErrorKind::io, base::printable(path.string()) + " grew while it was repaired; try again later");
    system::write_file_atomically(path, lines.sound);
    take_over(held, size, path);
  }

  // A writer that was assumed to have ended may have appended to the file until it was replaced. It writes later lines
  // again elsewhere, as RecordWriter checks after each line whether its file is still in the store.
  static void take_over(std::ifstream& replaced, std::uint64_t from, const fs::path& path) {
    replaced.seekg(static_cast<std::streamoff>(from));
    const std::string rest{std::istreambuf_iterator<char>(replaced), {}};
    if (rest.empty()) return;
    std::ofstream file(path, std::ios::binary | std::ios::app);
    if (!file.write(rest.data(), static_cast<std::streamsize>(rest.size())).flush())
      throw Error(ErrorKind::io,
                  "cannot append to " + base::printable(path.string()) + " what its run has just written");
  }

  void check_artifact(const std::string& key, const ArtifactFiles& files) {
    const auto aside = [](const fs::path& file) { return file.extension() == ".damaged"; };
    if (std::any_of(files.files.begin(), files.files.end(), aside) && !files.has_metadata) return;
    if (!files.has_metadata) {
      report_.notes.push_back("artifact " + key +
                              " is unfinished (its writer was stopped); `xtune store gc` removes it");
      return;
    }
    // If it was replaced while it was read, it is valid the next time.
    std::string wrong = image_damage(key);
    if (!wrong.empty()) wrong = image_damage(key);
    if (artifact_is_gone(key)) return;
    ++report_.artifacts;
    if (wrong.empty()) return check_source(key);
    // The metadata are written last and removed first: without them there is no artifact.
    bool repaired = repair_;
    for (const bool metadata : {true, false})
      for (const fs::path& file : files.files)
        if (repaired && (file.extension() == ".json") == metadata && !aside(file) && file.extension() != ".cu")
          repaired =
              repair(files.link.empty() ? file : files.link, [&] { fs::rename(file, file.string() + ".damaged"); });
    report_.damage.push_back({base::printable(cache_.entry_path(key, "json").string()), wrong, repaired});
  }

  // What is wrong with an artifact, according to its metadata and the records that measured it; empty: nothing.
  std::string image_damage(const std::string& key) const {
    try {
      const build::Artifact artifact = cache_.read(key);
      const auto measured = measured_.find(key);
      if (measured == measured_.end() || measured->second.contains(base::sha256(artifact.image))) return {};
      return "artifact " + key + ": its image is not one that its records measured";
    } catch (const Error& error) {
      return error.what();
    }
  }

  // Whether it was removed since it was listed. The metadata are removed first (Collection): without them there is no
  // artifact.
  bool artifact_is_gone(const std::string& key) const { return is_gone(cache_.entry_path(key, "json")); }

  void check_source(const std::string& key) {
    const fs::path path = cache_.source_path(key);
    const std::string where = base::printable(path.string());
    std::string wrong;
    try {
      const std::string expected =
          build::read_metadata(key, system::read_file(cache_.entry_path(key, "json"), longest_verified_file))
              .source_sha256;
      if (std::error_code ignored; fs::status(path, ignored).type() == fs::file_type::not_found) {
        if (!expected.empty()) report_.notes.push_back(where + " is missing; its artifact is sound");
        return;
      }
      const std::string text = system::read_file(path, longest_verified_file);
      // Artifacts of earlier versions have no hash; but each source begins with its artifact's key.
      if (expected.empty() ? !text.starts_with("// artifact: '" + key + "'\n") : base::sha256(text) != expected)
        wrong = "it is not the source that was compiled to its artifact";
    } catch (const Error& error) {
      wrong = error.what();
    }
    if (wrong.empty() || artifact_is_gone(key)) return;
    const bool repaired = repair(path, [&] { fs::rename(path, path.string() + ".damaged"); });
    report_.damage.push_back({where, wrong, repaired});
  }

  const fs::path store_;
  const build::ArtifactCache cache_{store_};
  const bool repair_;
  const std::int64_t now_ms_ = system::system_clock().unix_time_ms();
  std::map<std::string, std::set<std::string>> measured_;  ///< artifact -> hashes of its image in sound records
  VerifyReport report_;
};

}  // namespace

bool VerifyReport::sound() const {
  return std::all_of(damage.begin(), damage.end(), [](const StoreDamage& one) { return one.repaired; });
}

VerifyReport verify_store(const fs::path& store, bool repair) {
  require_store(store);
  return Verification(store, repair).run();
}

// Decides what is removed, then removes it: metadata first, so that there is never half an artifact.

namespace {

constexpr std::int64_t day_ms = 86'400'000;

struct Named {
  std::unordered_set<KeyDigest, KeyDigestHash> all, best;
  bool known = true;  ///< every record file was read
};

Named named_by_records(const std::vector<RecordFile>& files, bool all_listed, std::vector<std::string>& warnings) {
  Named named;
  named.known = all_listed;
  std::map<std::pair<std::string, std::string>, std::vector<RecordSource>> kernels;
  for (const RecordFile& file : files) kernels[{file.arch, file.kernel}].push_back(RecordSource::whole(file.path));
  StoreView::Options options;
  options.all = true;  // a record that is never used also names its artifact
  for (auto& [kernel, sources] : kernels) {
    const StoreView view = StoreView::load(std::move(sources), options);
    warnings.insert(warnings.end(), view.row_set().unread.begin(), view.row_set().unread.end());
    named.known = named.known && view.row_set().unread.empty();
    view.each_row([&](const StoredConfig& row) { named.all.insert(row.artifact_key); });
    for (const StoreView::Group& group : view.groups()) {
      const HeldRows held = view.read_members(group);
      if (const StoredConfig* best = best_config(held.rows, {}).first) named.best.insert(best->artifact_key);
    }
  }
  if (!named.known) warnings.emplace_back("not every record could be read: no artifact counts as unnamed");
  return named;
}

class Collection {
 public:
  Collection(const fs::path& store, const GcOptions& options, std::int64_t now)
      : store_(store), options_(options), now_(now) {}

  GcReport run() {
    StoreLayout layout = layout_of(store_);
    for (const Unreadable& one : layout.unreadable) report_.warnings.push_back(one.text());
    report_.nothing_read = !layout.unreadable.empty() && layout.records.empty() && layout.artifacts.empty();
    // Records first: artifacts that only removed records name count as unnamed.
    std::erase_if(layout.records,
                  [&](const RecordFile& file) { return options_.records && remove_records(file.path); });
    for (const Leftover& leftover : layout.leftovers)
      if (now_ - leftover.unix_time_ms > day_ms) remove(leftover.path, leftover.bytes, leftover.what);
    const Named named = named_by_records(layout.records, layout.unreadable_records == 0, report_.warnings);
    std::erase_if(layout.artifacts,
                  [&](const auto& artifact) { return remove_artifact(artifact.second, reason(artifact, named)); });
    for (const auto& [key, files] : layout.artifacts) report_.kept_bytes += files.link.empty() ? files.bytes : 0;
    for (const RecordFile& file : layout.records) report_.record_bytes += own_bytes(file.path);
    if (options_.max_bytes) shrink(layout.artifacts, named);
    return std::move(report_);
  }

  /// As remove_kernels; chosen: whether a record file is selected.
  template <class Chosen>
  GcReport remove_records_of(const Chosen& chosen) {
    const StoreLayout layout = layout_of(store_);
    std::vector<RecordFile> going, staying;
    for (const RecordFile& file : layout.records) (goes(file, chosen(file)) ? going : staying).push_back(file);
    const Named named = named_by_records(going, true, report_.warnings);
    const Named still = named_by_records(staying, layout.unreadable_records == 0, report_.warnings);
    for (const RecordFile& file : going) remove(file.path, own_bytes(file.path), "records of " + title_of(file));
    for (const auto& [key, files] : layout.artifacts)
      if (const KeyDigest digest(key); still.known && named.all.contains(digest) && !still.all.contains(digest))
        remove_artifact(files, "only these records name it");
    return std::move(report_);
  }

 private:
  using Artifacts = std::map<std::string, ArtifactFiles>;

  std::string reason(const Artifacts::value_type& artifact, const Named& named) const {
    const std::int64_t age_ms = now_ - artifact.second.unix_time_ms;
    if (options_.older_than_ms && age_ms > *options_.older_than_ms) return "old";
    if (age_ms <= day_ms) return "";
    if (!artifact.second.has_metadata) return "unfinished";
    return named.known && !named.all.contains(KeyDigest(artifact.first)) ? "named by no record" : "";
  }

  void shrink(const Artifacts& artifacts, const Named& named) {
    std::vector<const Artifacts::value_type*> order;
    for (const auto& artifact : artifacts)
      if (artifact.second.link.empty() && !being_written(artifact.second)) order.push_back(&artifact);
    const auto rank = [&](const Artifacts::value_type* artifact) {
      return std::tuple(named.best.contains(KeyDigest(artifact->first)), artifact->second.unix_time_ms,
                        artifact->first);
    };
    std::sort(order.begin(), order.end(), [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
    for (const auto* artifact : order) {
      if (report_.kept_bytes <= *options_.max_bytes) break;
      if (remove_artifact(artifact->second, "beyond the size asked for")) report_.kept_bytes -= artifact->second.bytes;
    }
    if (report_.kept_bytes > *options_.max_bytes) report_.excess_bytes = report_.kept_bytes - *options_.max_bytes;
  }

  bool goes(const RecordFile& file, bool chosen) {
    if (!chosen) return false;
    if (const fs::path link = link_on_the_way(store_, file.path); !link.empty()) {
      base::add_once(report_.warnings, behind_a_link(link));
      return false;
    }
    std::string header;
    std::ifstream in(file.path, std::ios::binary);
    std::getline(in, header);
    const bool written = may_be_written(file.path, Json::parse(header, nullptr, false), now_);
    if (written)
      report_.warnings.push_back(base::printable(file.path.string()) +
                                 ": left as it is, as its run may still write it; remove it when that has ended");
    return !written;
  }

  bool being_written(const ArtifactFiles& artifact) const {
    return !artifact.has_metadata && now_ - artifact.unix_time_ms <= day_ms;
  }

  // 0 for a file behind a link.
  std::uint64_t own_bytes(const fs::path& path) const {
    std::error_code error;
    const std::uint64_t bytes = fs::file_size(path, error);
    return error || !link_on_the_way(store_, path).empty() ? 0 : bytes;
  }

  bool remove_records(const fs::path& path) {
    std::error_code error;
    const auto changed = fs::last_write_time(path, error);
    const std::uint64_t bytes = error ? 0 : fs::file_size(path, error);
    if (error) return false;
    const auto age = fs::file_time_type::clock::now() - changed;
    if (std::chrono::duration_cast<std::chrono::milliseconds>(age).count() <= *options_.older_than_ms) return false;
    return remove(path, bytes, "old records");
  }

  bool remove_artifact(const ArtifactFiles& files, const std::string& why) {
    if (why.empty()) return false;
    if (!files.link.empty()) {
      base::add_once(report_.warnings, behind_a_link(files.link));
      return false;
    }
    bool removed = true;
    for (const bool metadata : {true, false})
      for (const fs::path& file : files.files) {
        std::error_code error;
        const std::uint64_t bytes = fs::file_size(file, error);
        if ((file.extension() == ".json") == metadata) removed = remove(file, error ? 0 : bytes, why) && removed;
      }
    return removed;
  }

  bool remove(const fs::path& path, std::uint64_t bytes, const std::string& why) {
    if (const fs::path link = link_on_the_way(store_, path); !link.empty()) {
      base::add_once(report_.warnings, behind_a_link(link));
      return false;
    }
    std::error_code error;
    if (!options_.dry_run && fs::remove_all(path, error) == static_cast<std::uintmax_t>(-1)) {
      ++report_.failed;
      report_.warnings.push_back("cannot remove " + base::printable(path.string()) + ": " + error.message());
      return false;
    }
    report_.removed.push_back({path, bytes, why});
    report_.bytes += bytes;
    return true;
  }

  const fs::path store_;
  const GcOptions options_;
  const std::int64_t now_;
  GcReport report_;
};

}  // namespace

GcReport remove_kernels(const fs::path& store, const WinnerFilter& filter, bool dry_run, std::int64_t now_unix_ms) {
  GcOptions options;
  options.dry_run = dry_run;
  std::vector<std::string> told_by_layout;
  const FilteredParts parts = filtered_parts(store, filter, told_by_layout);
  return Collection(store, options, now_unix_ms).remove_records_of([&](const RecordFile& file) {
    return parts.parts.contains({file.kernel, file.arch});
  });
}

GcReport collect_garbage(const fs::path& store, const GcOptions& options, std::int64_t now_unix_ms) {
  require_store(store);
  if (options.records && !options.older_than_ms)
    throw Error(ErrorKind::invalid_argument, "records are removed only by age: give --older-than too, such as 365d");
  return Collection(store, options, now_unix_ms).run();
}

}  // namespace xtune::store
