// All decisions are made from two listings. Names identify contents: an artifact's name is its key, and a record file
// has one writer, which only appends.
#include "core/store/transfer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/build/cache.hpp"
#include "core/store/layout.hpp"
#include "core/store/record_check.hpp"
#include "core/store/record_log.hpp"
#include "system/directory_lock.hpp"
#include "system/files.hpp"
#include "system/subprocess.hpp"
#include "system/trust.hpp"
#include "xtune/error.hpp"
#include "xtune/version.hpp"

namespace xtune::store {

// Command lines for rsync and rclone, and their listings.

namespace {

namespace fs = std::filesystem;

constexpr const char* store_parts[] = {"records", "artifacts", "sources"};

bool is_store_file(const std::vector<std::string>& components) {
  const std::string &part = components.front(), &file = components.back();
  if (!std::all_of(components.begin(), components.end(), is_path_component)) return false;
  if (part == "records") return components.size() == 4 && file.ends_with(".jsonl");
  return (part == "artifacts" ? components.size() == 3 : part == "sources" && components.size() == 2) &&
         build::is_artifact_key(std::string_view(file).substr(0, file.find('.')));
}

/// Temporary files, and directories of programs for copying.
bool is_hidden(const std::vector<std::string>& components) {
  return std::any_of(components.begin(), components.end(), [](const std::string& one) { return one.starts_with('.'); });
}

/// Why the path in a store is not copied: xtune never creates such a name. Empty: it may be a store's file, as
/// records/ARCH/KERNEL/NAME.jsonl, artifacts/XX/KEY.* and sources/KEY.* are.
std::string foreign_name(const std::string& name) {
  return is_store_file(base::split(name, '/')) ? "" : "xtune creates no file of this name";
}

/// place: with a slash at its end.
void leave_out(RemoteListing& listing, const std::string& place, const std::string& name, const std::string& why) {
  if (!is_hidden(base::split(name, '/')))
    listing.left_out.push_back(fmt::format("skipped: {}: {}", base::printable(place + name), why));
}

void add_file(RemoteListing& listing, const std::string& place, const std::string& name, std::uint64_t bytes) {
  const std::string why = foreign_name(name);
  if (why.empty() && !is_hidden(base::split(name, '/')))
    listing.files[name] = bytes;
  else if (!name.ends_with(".damaged"))
    leave_out(listing, place, name, why);
}

constexpr const char* is_a_link = "it is a link, which is not followed";

std::string last_lines(const std::string& text) {
  constexpr std::size_t longest = 1000;
  std::string end = base::printable_lines(base::end_of(text, longest));
  while (!end.empty() && end.back() == '\n') end.pop_back();
  return end.empty() ? "it printed no message" : end;
}

system::CommandResult run(const std::vector<std::string>& argv) {
  system::CommandOptions options;
  options.env = {{"LC_ALL", "C"}};
  options.output_limit_bytes = std::uint64_t{1} << 30;
  options.stderr_limit_bytes = std::uint64_t{1} << 20;
  options.own_group = false;
  system::CommandResult result = system::run_command(argv, options);
  if (result.output_truncated)
    throw Error(ErrorKind::io, argv.front() + " printed more than 1 GiB: the list of files is not whole");
  return result;
}

[[noreturn]] void fail(const std::string& program, const std::string& place, const system::CommandResult& result) {
  throw Error(ErrorKind::io,
              fmt::format("{} with {} failed ({}); what was copied stays, and the same command "
                          "continues. Its last messages:\n{}",
                          program, base::printable(place), system::describe_exit(result.exit_code, result.signal),
                          last_lines(result.stderr_text)));
}

/// The number up to the end of the text, or to a space.
std::optional<std::uint64_t> number_at(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && (end == text.data() + text.size() || *end == ' ');
  return whole ? std::optional(number) : std::nullopt;
}

std::string with_slash(const std::string& place) { return place.ends_with('/') ? place : place + "/"; }

/// With --protect-args, so that the shell of the other machine does not expand the path.
class Rsync final : public Remote {
 public:
  explicit Rsync(const std::string& place) : Remote(with_slash(place)) {}

  RemoteListing list() const override {
    std::vector<std::string> argv{"rsync",       "--protect-args",      "--recursive",
                                  "--list-only", "--no-human-readable", "--exclude=.*"};
    for (const char* part : store_parts)  // itself, if it is a link
      argv.insert(argv.end(), {fmt::format("--include=/{}", part), fmt::format("--include=/{}/***", part)});
    argv.insert(argv.end(), {"--exclude=*", "--", place_});
    const system::CommandResult result = run(argv);
    constexpr int partial_transfer = 23;
    if (result.exit_code == partial_transfer && result.stdout_text.empty() &&
        result.stderr_text.find("No such file or directory") != std::string::npos)
      return {};
    if (!result.ok()) fail("rsync", place_, result);
    RemoteListing listing{true, {}, {}};
    for (const std::string_view line : base::split_lines(result.stdout_text)) add_line(line, listing);
    return listing;
  }

 private:
  // "-rw-r--r--         12345 2026/11/24 16:00:00 records/sm_90/gemm/a.jsonl"
  void add_line(std::string_view line, RemoteListing& listing) const {
    constexpr int fields_before_name = 4;
    std::size_t at = 0, size = 0;
    for (int field = 0; field < fields_before_name; ++field) {
      if (field == 1) size = at;
      at = line.find(' ', at);
      if (field + 1 < fields_before_name) at = line.find_first_not_of(' ', at);
      if (at == std::string::npos) return;
    }
    const std::string name(line.substr(at + 1));
    const std::optional<std::uint64_t> bytes = number_at(line.substr(size));
    // A server may greet with a message before the list.
    constexpr std::size_t mode_width = 10;
    const bool is_listed = line.find_first_not_of("-rwxsStTdlpbc") == mode_width && bytes;
    if (!is_listed || line.front() == 'd') return;
    if (line.front() == 'l') return leave_out(listing, place_, name, is_a_link);
    if (line.front() == '-') return add_file(listing, place_, name, *bytes);
    leave_out(listing, place_, name, "it is not a regular file");
  }

  // rsync writes to a hidden temporary file and renames it.
  std::vector<std::string> command(const std::string& names) const override {
    return {"rsync",
            "--protect-args",
            "--times",
            "--omit-dir-times",
            "--partial-dir=.xtune-partial",
            "--files-from=" + names};
  }
};

class Rclone final : public Remote {
 public:
  explicit Rclone(const std::string& place) : Remote(place) {}

  RemoteListing list() const override {
    std::vector<std::string> argv{"rclone", "lsf", "--recursive", "--files-only", "--format=sp", "--separator= "};
    for (const char* part : store_parts) argv.push_back(fmt::format("--filter=+ /{}/**", part));
    argv.insert(argv.end(), {"--filter=- *", "--", place_});
    const system::CommandResult result = run(argv);
    constexpr int directory_not_found = 3;
    if (result.exit_code == directory_not_found) return {};
    if (!result.ok()) fail("rclone", place_, result);
    RemoteListing listing{true, {}, {}};
    const std::string place = with_slash(place_);
    for (const std::string_view line : base::split_lines(result.stdout_text))
      if (const auto bytes = number_at(line))
        add_file(listing, place, std::string(line.substr(line.find(' ') + 1)), *bytes);
    // "2026/11/24 16:00:00 NOTICE: records/sm_90: Can't follow symlink without -L/--copy-links"
    constexpr std::string_view notice = " NOTICE: ", link = ": Can't follow symlink";
    for (const std::string_view line : base::split_lines(result.stderr_text)) {
      const std::size_t before = line.find(notice), after = line.rfind(link);
      if (before == std::string::npos || after == std::string::npos || after < before + notice.size()) continue;
      leave_out(listing, place, std::string(line.substr(before + notice.size(), after - before - notice.size())),
                is_a_link);
    }
    return listing;
  }

 private:
  std::vector<std::string> command(const std::string& names) const override {
    return {"rclone", "copy", "--files-from-raw=" + names};
  }
};

void require_program(const std::string& program) {
  if (system::find_program(program).empty())
    throw Error(ErrorKind::unavailable, program + " is not installed, or not in PATH; install it (Debian: " + program +
                                            "), or name the other program with --via rsync or --via rclone");
}

/// Whether rclone has a remote of the name before the colon.
bool is_rclone_remote(const std::string& place) {
  const std::size_t colon = place.find(':');
  if (colon == std::string::npos || place.find_first_of("/@") < colon) return false;
  if (colon == 0) return true;  // a remote given on the command line: ":local:/path"
  if (system::find_program("rclone").empty()) return false;
  const system::CommandResult result = run({"rclone", "listremotes"});
  const std::vector<std::string> remotes = base::split(result.stdout_text, '\n');
  return result.ok() && std::find(remotes.begin(), remotes.end(), place.substr(0, colon + 1)) != remotes.end();
}

}  // namespace

void Remote::send(const fs::path& root, const std::vector<std::string>& files) const {
  copy(with_slash(root.string()), place_, files, {"--ignore-existing"});
}

void Remote::fetch(const fs::path& root, const std::vector<std::string>& files) const {
  copy(place_, with_slash(root.string()), files, {});
}

void Remote::copy(const std::string& from, const std::string& to, const std::vector<std::string>& files,
                  const std::vector<std::string>& more) const {
  if (files.empty()) return;
  const system::TemporaryDirectory folder;
  const fs::path names = folder.path() / "files";
  system::write_output_file(names, fmt::format("{}\n", fmt::join(files, "\n")));
  std::vector<std::string> argv = command(names.string());
  argv.insert(argv.end(), more.begin(), more.end());
  argv.insert(argv.end(), {"--", from, to});
  if (const system::CommandResult result = run(argv); !result.ok()) fail(argv.front(), place_, result);
}

std::unique_ptr<Remote> open_remote(const std::string& place, Via via) {
  if (place.empty() || place.starts_with('-'))
    throw Error(ErrorKind::invalid_argument,
                "'" + base::printable(place, 80) + "' is not a place: write host:path, a directory, or remote:path");
  if (via == Via::automatic) via = is_rclone_remote(place) ? Via::rclone : Via::rsync;
  require_program(via == Via::rsync ? "rsync" : "rclone");
  if (via == Via::rsync) return std::make_unique<Rsync>(place);
  return std::make_unique<Rclone>(place);
}

namespace {

constexpr std::uint64_t longest_file = std::uint64_t{1} << 32;
constexpr std::string_view record_ending = ".jsonl";

/// The name of a record file, "records/ARCH/KERNEL/NAME.jsonl": the whole file, or lines of it, NAME.FROM-TO.jsonl.
struct LogName {
  std::string whole;  ///< the name of the whole file
  bool is_part = false;
  std::uint64_t from = 0, to = 0;  ///< of a part: positions in the whole file
};

std::optional<LogName> log_name(const std::string& name) {
  if (!name.starts_with("records/") || !name.ends_with(record_ending)) return std::nullopt;
  const std::string stem = name.substr(0, name.size() - record_ending.size());
  const std::size_t dot = stem.rfind('.');
  if (dot == std::string::npos) return LogName{name};
  LogName part{stem.substr(0, dot) + std::string(record_ending), true};
  const char* const end = stem.data() + stem.size();
  const auto from = std::from_chars(stem.data() + dot + 1, end, part.from);
  if (from.ec != std::errc() || from.ptr == end || *from.ptr != '-') return LogName{name};
  const auto to = std::from_chars(from.ptr + 1, end, part.to);
  if (to.ec != std::errc() || to.ptr != end || part.to <= part.from) return LogName{name};
  return part;
}

std::string part_name(const std::string& whole, std::uint64_t from, std::uint64_t to) {
  return fmt::format("{}.{}-{}{}", whole.substr(0, whole.size() - record_ending.size()), from, to, record_ending);
}

/// For each whole record file, how many bytes of it a place has from its beginning on, in the file itself and in parts.
class Coverage {
 public:
  explicit Coverage(const FileSizes& files) {
    std::map<std::string, std::map<std::uint64_t, std::uint64_t>> ranges;
    for (const auto& [name, bytes] : files) {
      const std::optional<LogName> log = log_name(name);
      if (!log) continue;
      std::uint64_t& to = ranges[log->whole][log->from];
      to = std::max(to, log->is_part ? log->to : bytes);
    }
    for (const auto& [whole, of_file] : ranges) {
      std::uint64_t covered = 0;
      for (const auto& [from, to] : of_file)
        if (from <= covered) covered = std::max(covered, to);
      covered_[whole] = covered;
    }
  }
  std::uint64_t of(const std::string& whole) const {
    const auto found = covered_.find(whole);
    return found == covered_.end() ? 0 : found->second;
  }

 private:
  std::map<std::string, std::uint64_t> covered_;
};

std::string complete_lines(std::string text) {
  text.resize(text.rfind('\n') + 1);  // npos + 1 is 0
  return text;
}

/// Where the line that contains the position begins.
std::uint64_t line_start(std::string_view text, std::uint64_t position) {
  if (position == 0) return 0;
  return text.rfind('\n', position - 1) + 1;
}

/// Lines from a position on, with a header of their own.
std::string part_text(std::string_view text, std::uint64_t from) {
  const nlohmann::json header = {{"xtune_records", Record::schema}, {"xtune", version}, {"from", from}};
  return with_checksum(header.dump()) + "\n" + std::string(text.substr(from));
}

/// The part's file for the lines beyond what is there already; nullopt: there are none.
std::optional<std::pair<std::string, std::string>> new_lines(const std::string& whole, const std::string& text,
                                                             std::uint64_t covered) {
  if (covered >= text.size()) return std::nullopt;
  const std::uint64_t from = line_start(text, covered);
  return std::pair(part_name(whole, from, text.size()), part_text(text, from));
}

/// A store's files by their paths in it, without links.
struct LocalFiles {
  FileSizes sizes;
  std::map<std::string, std::vector<std::string>> artifacts;  ///< complete ones, by key
};

LocalFiles local_files(const fs::path& store, std::vector<std::string>& warnings) {
  LocalFiles files;
  const StoreLayout layout = layout_of(store);
  for (const Unreadable& one : layout.unreadable) warnings.push_back("skipped: " + one.text());
  const auto add = [&](const fs::path& path) {
    const std::string name = path.lexically_relative(store).string();
    std::error_code error;
    const std::uint64_t bytes = fs::file_size(path, error);
    if (!error) files.sizes[name] = bytes;
    return name;
  };
  const auto skip = [&](const fs::path& link) {
    if (!link.empty())
      base::add_once(warnings, "skipped: " + base::printable(link.string()) + " is a link, which is not followed");
    return !link.empty();
  };
  for (const RecordFile& file : layout.records) {
    if (skip(link_on_the_way(store, file.path))) continue;
    const std::string why = foreign_name(file.path.lexically_relative(store).string());
    if (why.empty())
      add(file.path);
    else
      warnings.push_back("skipped: " + base::printable(file.path.string()) + ": " + why);
  }
  for (const auto& [key, artifact] : layout.artifacts) {
    if (!artifact.has_metadata || skip(artifact.link)) continue;
    for (const fs::path& path : artifact.files)
      if (path.extension() != ".damaged") files.artifacts[key].push_back(add(path));
  }
  return files;
}

/// The key of an artifact's file: the start of its name.
std::string key_of_file(const std::string& name) {
  const std::string file = name.substr(name.rfind('/') + 1);
  return file.substr(0, file.find('.'));
}

bool is_metadata(const std::string& name) { return name.starts_with("artifacts/") && name.ends_with(".json"); }

class Push {
 public:
  Push(const fs::path& store, const Remote& remote) : store_(store), remote_(remote) {}

  TransferReport run(bool dry_run) {
    there_ = remote_.list().files;
    const LocalFiles here = local_files(store_, report_.warnings);
    plan_artifacts(here);
    plan_records(here);
    if (!dry_run && !report_.files.empty()) {
      // In the order of ArtifactCache::insert: a reader that sees metadata finds the rest, and records come last.
      remote_.send(store_, images_);
      remote_.send(store_, metadata_);
      remote_.send(store_, records_);
      remote_.send(staging_.path(), staged_);
      require_arrival();
    }
    return std::move(report_);
  }

 private:
  void plan(std::vector<std::string>& list, const std::string& name, std::uint64_t bytes) {
    list.push_back(name);
    report_.files.push_back(name);
    report_.bytes += bytes;
    sent_[name] = bytes;
  }

  void plan_record(std::vector<std::string>& list, const std::string& name, std::uint64_t bytes) {
    ++report_.record_files;
    plan(list, name, bytes);
  }

  void plan_artifacts(const LocalFiles& here) {
    for (const auto& [key, files] : here.artifacts) {
      if (std::any_of(files.begin(), files.end(),
                      [&](const std::string& name) { return is_metadata(name) && there_.contains(name); }))
        continue;
      for (const std::string& name : files)
        if (!there_.contains(name)) plan(is_metadata(name) ? metadata_ : images_, name, here.sizes.at(name));
    }
  }

  void plan_records(const LocalFiles& here) {
    const Coverage covered(there_);
    for (const auto& [name, bytes] : here.sizes) {
      const std::optional<LogName> log = log_name(name);
      if (!log || (log->is_part && there_.contains(name))) continue;
      const std::uint64_t known = covered.of(log->whole);
      if (known >= (log->is_part ? log->to : bytes)) continue;
      if (log->is_part) {
        plan_record(records_, name, bytes);
        continue;
      }
      const std::string text = complete_lines(system::read_file(store_ / name, longest_file));
      if (known == 0 && text.size() == bytes) {
        plan_record(records_, name, bytes);
        continue;
      }
      const auto staged = known == 0 ? std::optional(std::pair(name, text)) : new_lines(log->whole, text, known);
      if (!staged || staged->second.empty() || there_.contains(staged->first)) continue;
      system::write_file_atomically(staging_.path() / staged->first, staged->second);
      plan_record(staged_, staged->first, staged->second.size());
    }
  }

  // A place that does not rename whole files, such as a local disk behind an old rclone, may have kept a torn one.
  void require_arrival() {
    const FileSizes now = remote_.list().files;
    std::vector<std::string> missing;
    for (const auto& [name, bytes] : sent_) {
      const auto found = now.find(name);
      if (found == now.end() || found->second < bytes) missing.push_back(name);
    }
    if (missing.empty()) return;
    throw Error(ErrorKind::io,
                fmt::format("{} of {} copied files are missing or cut off at the destination, for example {}: another "
                            "process may have written there; remove what is cut off and push again",
                            missing.size(), sent_.size(), base::printable(missing.front(), 200)));
  }

  const fs::path store_;
  const Remote& remote_;
  FileSizes there_, sent_;
  std::vector<std::string> images_, metadata_, records_, staged_;  ///< staged: in the temporary directory
  system::TemporaryDirectory staging_;
  TransferReport report_;
};

class Pull {
 public:
  Pull(const fs::path& store, const std::string& place, const Remote& remote)
      : store_(store),
        place_(place),
        remote_(remote),
        staging_(store / "transfers" / base::sha256(place).substr(0, 16)) {}

  TransferReport run(bool dry_run) {
    RemoteListing listed = remote_.list();
    if (listed.files.empty()) throw Error(ErrorKind::invalid_argument, nothing_there(listed));
    const FileSizes there = std::move(listed.files);
    left_out_ = std::move(listed.left_out);
    plan(there);
    if (dry_run || report_.files.empty()) return std::move(report_);
    // The lock is on the parent, which stays: another pull of this place removes its directory at its end.
    make_directory(staging_.parent_path());
    const system::DirectoryLock lock({staging_.parent_path()});
    plan(there);  // again: another pull may have brought the same
    if (report_.files.empty()) return std::move(report_);
    make_directory(staging_);
    remote_.fetch(staging_, report_.files);
    for (const std::string& name : report_.files)
      if (const std::optional<LogName> log = log_name(name)) install(name, *log);
    if (fs::exists(staging_ / "records") || fs::exists(staging_ / "artifacts"))
      report_.merge = named_as_there(merge_store(store_, staging_));
    report_.merge.records += installed_;
    report_.merge.known_records -= std::min(installed_, report_.merge.known_records);
    fs::remove_all(staging_);
    return std::move(report_);
  }

 private:
  std::string nothing_there(const RemoteListing& listed) const {
    if (!listed.exists) return base::printable(place_) + " does not exist";
    return base::printable(place_) + " has no files of a store" +
           (listed.left_out.empty() ? "" : "; " + listed.left_out.front());
  }

  /// The user knows the files by their names at the remote, not in the directory that they were fetched into.
  MergeReport named_as_there(MergeReport merge) const {
    const std::string fetched = base::printable(staging_.string()) + "/";
    const std::string there = base::printable(place_) + (place_.ends_with('/') ? "" : "/");
    for (std::vector<std::string>* texts : {&merge.warnings, &merge.notes})
      for (std::string& text : *texts)
        for (std::size_t at = 0; (at = text.find(fetched, at)) != std::string::npos; at += there.size())
          text.replace(at, fetched.size(), there);
    return merge;
  }

  static void make_directory(const fs::path& directory) {
    if (const std::error_code failed = system::make_directories(directory))
      throw Error(ErrorKind::io, "cannot create " + base::printable(directory.string()) + ": " + failed.message());
  }

  void plan(const FileSizes& there) {
    report_ = {};
    report_.warnings = left_out_;
    std::vector<std::string> ignored;
    here_ = local_files(store_, ignored);
    const Coverage& covered = covered_.emplace(here_.sizes);
    for (const auto& [name, bytes] : there) {
      if (const std::optional<LogName> log = log_name(name)) {
        if (covered.of(log->whole) >= (log->is_part ? log->to : bytes) || (log->is_part && here_.sizes.contains(name)))
          continue;
        ++report_.record_files;
      } else if (name.ends_with(".damaged") || here_.artifacts.contains(key_of_file(name)) ||
                 name.starts_with("records/")) {
        continue;
      }
      report_.files.push_back(name);
      report_.bytes += bytes;
    }
  }

  /// Adds a record file under its own name, or its new lines as a part, if all its lines are sound. The rest is left to
  /// merge_store, which reports what is wrong.
  void install(const std::string& name, const LogName& log) {
    const fs::path target = store_ / name;
    if (!link_on_the_way(store_, target.parent_path()).empty()) return;
    std::string text = complete_lines(system::read_file(staging_ / name, longest_file));
    const std::optional<std::uint64_t> records = sound_records(text);
    if (!records || text.empty()) return;
    if (log.is_part || !here_.sizes.contains(log.whole)) {
      add(name, text, *records);
      return;
    }
    const std::string own = complete_lines(system::read_file(store_ / log.whole, longest_file));
    const std::uint64_t covered = covered_->of(log.whole);
    if (!text.starts_with(own)) return;
    if (const auto part = new_lines(log.whole, text, std::max<std::uint64_t>(own.size(), covered)))
      add(part->first, part->second, sound_records(part->second).value_or(0));
  }

  /// The number of records if every line is sound, of a version that this xtune reads.
  static std::optional<std::uint64_t> sound_records(std::string_view text) {
    std::uint64_t count = 0;
    for (const std::string_view each : base::split_lines(text)) {
      const RecordLine line = read_record_line(each);
      if (line.kind == RecordLine::Kind::damaged || line.kind == RecordLine::Kind::newer) return std::nullopt;
      count += line.kind == RecordLine::Kind::record;
    }
    return count;
  }

  /// Never replaces a file.
  void add(const std::string& name, const std::string& text, std::uint64_t records) {
    const fs::path target = store_ / name, whole = staging_ / ".whole.tmp";
    system::write_file_atomically(whole, text);
    if (system::make_directories(target.parent_path())) return;
    if (::link(whole.c_str(), target.c_str()) == 0) installed_ += records;
    fs::remove(whole);
  }

  const fs::path store_;
  const std::string place_;
  const Remote& remote_;
  const fs::path staging_;
  std::vector<std::string> left_out_;  ///< files there that are not fetched
  LocalFiles here_;
  std::optional<Coverage> covered_;  ///< by here_, once the transfer is planned
  std::uint64_t installed_ = 0;
  TransferReport report_;
};

}  // namespace

TransferReport push_store(const fs::path& store, const Remote& remote, bool dry_run) {
  require_store(store);
  return Push(store, remote).run(dry_run);
}

TransferReport pull_store(const fs::path& store, const std::string& place, const Remote& remote, bool dry_run) {
  return Pull(store, place, remote).run(dry_run);
}

}  // namespace xtune::store
