// Goes through a store's files and distinguishes damage from unfinished writes.
#include "core/store/verify.hpp"

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

#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/processes.hpp"
#include "base/text.hpp"
#include "core/build/cache.hpp"
#include "core/record/future_records.hpp"
#include "core/record/record_check.hpp"
#include "core/record/record_log.hpp"
#include "core/record/stored_shortage.hpp"
#include "core/store/layout.hpp"
#include "xtune/error.hpp"

namespace xtune::store {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t longest_verified_file = std::uint64_t{1} << 32;
// A writer on another machine cannot be checked; one that has been silent for this long is assumed to have ended.
constexpr std::int64_t silent_ms = 3'600'000;

// A line with a checksum is not compared with its own members when it is read; here it is, as its writer may have
// erred.
std::string own_damage(const record::Record& record) {
  const std::string wrong = record::summary_damage(record);
  return wrong.empty() ? record::key_damage(record) : wrong;
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
  record::FutureRecords future(now_ms);
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
    const record::RecordLine read = record::read_record_line(line);
    if (read.kind == record::RecordLine::Kind::newer) {
      lines.newer = read.why;
      return lines;
    }
    if (read.kind == record::RecordLine::Kind::damaged) {
      damaged(read.why);
      continue;
    }
    if (read.kind == record::RecordLine::Kind::record) {
      if (const std::string wrong = own_damage(*read.record); !wrong.empty()) {
        damaged(wrong);
        continue;
      }
      future.look_at(*read.record);
      lines.shortages += record::is_stored_shortage(*read.record);
      if (!read.record->artifact_sha256.empty())
        lines.measured.emplace_back(read.record->artifact_key, read.record->artifact_sha256);
    }
    if (read.kind == record::RecordLine::Kind::header && number == 1) lines.header = Json::parse(line);
    lines.records += read.kind == record::RecordLine::Kind::record;
    lines.sound += whole;
  }
  lines.future = future.text();
  return lines;
}

// Whether the process that made a file still runs. Its id shows that only in the same scope: in another container with
// this machine's name it may be any process, or none. nullopt: unknown.
std::optional<bool> writer_runs(const Json& header) {
  try {
    if (header.is_object() && !base::pid_scope().empty() && header.at("pid_scope") == base::pid_scope())
      return !base::process_is_gone(header.at("pid").get<pid_t>());
  } catch (const Json::exception&) {  // from an earlier version, which does not record where it ran
  }
  return std::nullopt;
}

// Whether it changed within the hour before `now_ms`; true if that cannot be determined.
bool was_changed_lately(const fs::path& path, std::int64_t now_ms) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return true;
  return now_ms - std::int64_t{info.st_mtim.tv_sec} * 1000 <= silent_ms;
}

// The clock that dates the files of its file system, which may be a server's.
std::int64_t time_of(const fs::path& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? std::int64_t{info.st_mtim.tv_sec} * 1000 : 0;
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
    for (const record::Unreadable& one : layout.unreadable)
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
      text = base::read_file(file.path, longest_verified_file);
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
    if (const fs::path link = record::link_on_the_way(store_, path); !link.empty()) {
      base::add_once(report_.not_repaired, record::behind_a_link(link));
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
    if (fs::exists(aside)) before = base::read_file(aside, longest_verified_file);
    if (!before.ends_with(lines.damaged)) before += lines.damaged;
    base::write_file_atomically(aside, before);
    std::ifstream held(path, std::ios::binary);
    if (fs::file_size(path) != size || may_be_written(path, lines.header, time_of(aside)))
      throw Error(ErrorKind::io, base::printable(path.string()) + " grew while it was repaired; try again later");
    base::write_file_atomically(path, lines.sound);
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

  // Whether it was removed since it was listed. The metadata are removed first (gc.cpp): without them there is no
  // artifact.
  bool artifact_is_gone(const std::string& key) const { return is_gone(cache_.entry_path(key, "json")); }

  void check_source(const std::string& key) {
    const fs::path path = cache_.source_path(key);
    const std::string where = base::printable(path.string());
    std::string wrong;
    try {
      const std::string expected =
          build::artifact_source_sha256(key, base::read_file(cache_.entry_path(key, "json"), longest_verified_file));
      if (std::error_code ignored; fs::status(path, ignored).type() == fs::file_type::not_found) {
        if (!expected.empty()) report_.notes.push_back(where + " is missing; its artifact is sound");
        return;
      }
      const std::string text = base::read_file(path, longest_verified_file);
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
  const std::int64_t now_ms_ = base::system_clock().unix_time_ms();
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

}  // namespace xtune::store
