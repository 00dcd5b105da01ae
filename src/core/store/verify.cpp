// Walks over a store's files and tells damage from what is merely unfinished.
#include "core/store/verify.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "core/build/cache.hpp"
#include "core/build/keys.hpp"
#include "core/record/record_log.hpp"
#include "core/store/layout.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t longest_file = std::uint64_t{1} << 32;
// A writer on another machine is not seen; one that has been silent for so long is taken for ended.
constexpr std::int64_t silent_ms = 3'600'000;

// The texts of key parts are made printable when they are stored; of such a one the key cannot be made again.
bool key_matches(const Record& record) {
  if (record.key_parts.empty() || !is_artifact_key(record.key)) return true;
  for (const auto& [name, value] : record.key_parts)
    if (value.find("\\x") != std::string::npos || value.find('?') != std::string::npos) return true;
  return key_of(record.key_parts) == record.key;
}

struct Lines {
  std::string sound, damaged;
  std::vector<std::pair<std::uint64_t, std::string>> damage;  ///< line, what
  std::string newer;                                          ///< why the file may not be read
  Json header;
  bool torn = false;  ///< the last of the damage is a line without an end
  std::uint64_t records = 0;
};

Lines read_lines(std::string_view text) {
  Lines lines;
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
    if (read.kind == RecordLine::Kind::record && !key_matches(*read.record)) {
      damaged("its key is not the hash of its key_parts");
      continue;
    }
    if (read.kind == RecordLine::Kind::header && number == 1) lines.header = Json::parse(line);
    lines.records += read.kind == RecordLine::Kind::record;
    lines.sound += whole;
  }
  return lines;
}

std::string host_name() {
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 && *name ? name : "unknown";
}

bool may_be_written(const fs::path& path, const Json& header) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return true;
  const bool silent = system_clock().unix_time_ms() - std::int64_t{info.st_mtim.tv_sec} * 1000 > silent_ms;
  try {
    if (header.is_object() && header.at("host") == host_name())
      return ::kill(header.at("pid").get<pid_t>(), 0) == 0 || errno == EPERM;
  } catch (const Json::exception&) {  // who wrote it is not known
  }
  return !silent;
}

class Verification {
 public:
  Verification(const fs::path& store, bool repair) : store_(store), repair_(repair) {}

  VerifyReport run() {
    StoreLayout layout = layout_of(store_);
    report_.notes = std::move(layout.warnings);
    for (const RecordFile& file : layout.records) check_records(file);
    for (const auto& [key, files] : layout.artifacts) check_artifact(key, files);
    return std::move(report_);
  }

 private:
  void check_records(const RecordFile& file) {
    ++report_.record_files;
    const std::string name = printable(file.path.string());
    std::string text;
    try {
      text = read_file(file.path, longest_file);
    } catch (const Error& error) {
      report_.damage.push_back({name, error.what(), false});
      return;
    }
    const Lines lines = read_lines(text);
    if (!lines.newer.empty()) {
      report_.notes.push_back(name + ": " + lines.newer + "; not checked");
      return;
    }
    report_.records += lines.records;
    if (!text.empty() && lines.header.is_null()) report_.notes.push_back(name + ": it has no header line");
    if (lines.damage.empty()) return;
    const bool written = may_be_written(file.path, lines.header);
    if (written && lines.torn && lines.damage.size() == 1) {
      report_.notes.push_back(name + ": its last line is still being written");
      return;
    }
    const bool repaired = repair_ && !written;
    for (const auto& [number, what] : lines.damage)
      report_.damage.push_back({fmt::format("{}:{}", name, number), what, repaired});
    if (repair_ && written)
      report_.notes.push_back(name + ": left as it is, as its run may still write it; repair it when that has ended");
    if (repaired) move_lines(file.path, lines, text.size());
  }

  // First the damaged lines, then the file without them: stopped in between, both hold them.
  void move_lines(const fs::path& path, const Lines& lines, std::uint64_t size) {
    fs::path aside = path;
    aside += ".damaged";
    std::string before;
    if (fs::exists(aside)) before = read_file(aside, longest_file);
    if (!before.ends_with(lines.damaged)) write_file_atomically(aside, before + lines.damaged);
    if (fs::file_size(path) != size)
      throw Error(ErrorKind::io, printable(path.string()) + " grew while it was repaired; try again later");
    write_file_atomically(path, lines.sound);
  }

  void check_artifact(const std::string& key, const ArtifactFiles& files) {
    const auto aside = [](const fs::path& file) { return file.extension() == ".damaged"; };
    if (std::any_of(files.files.begin(), files.files.end(), aside) && !files.has_metadata) return;
    if (!files.has_metadata) {
      report_.notes.push_back("artifact " + key +
                              " is unfinished (its writer was stopped); `xtune store gc` removes it");
      return;
    }
    ++report_.artifacts;
    const ArtifactCache cache(store_);
    try {
      cache.read(key);
    } catch (const Error& error) {
      // Replaced while it was read, it is sound the next time.
      if (cache.find(key)) return;
      report_.damage.push_back({printable(cache.entry_path(key, "json").string()), error.what(), repair_});
      if (!repair_) return;
      // The metadata last in coming go first: without them there is no artifact.
      for (const bool metadata : {true, false})
        for (const fs::path& file : files.files)
          if ((file.extension() == ".json") == metadata && !aside(file) && file.extension() != ".cu")
            fs::rename(file, file.string() + ".damaged");
    }
  }

  const fs::path store_;
  const bool repair_;
  VerifyReport report_;
};

}  // namespace

bool VerifyReport::sound() const {
  return std::all_of(damage.begin(), damage.end(), [](const StoreDamage& one) { return one.repaired; });
}

VerifyReport verify_store(const fs::path& store, bool repair) {
  require_store(store);
  try {
    return Verification(store, repair).run();
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorKind::io, "cannot repair the store: " + printable(error.what()));
  }
}

}  // namespace xtune
