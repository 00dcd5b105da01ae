// Command lines for rsync and rclone, and their listings.
#include "core/store/remote.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>

#include "base/files.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "core/build/cache.hpp"
#include "core/record/record_log.hpp"
#include "xtune/error.hpp"

namespace xtune::store {
namespace {

namespace fs = std::filesystem;

constexpr const char* store_parts[] = {"records", "artifacts", "sources"};

bool is_store_file(const std::vector<std::string>& components) {
  const std::string &part = components.front(), &file = components.back();
  if (!std::all_of(components.begin(), components.end(), record::is_path_component)) return false;
  if (part == "records") return components.size() == 4 && file.ends_with(".jsonl");
  return (part == "artifacts" ? components.size() == 3 : part == "sources" && components.size() == 2) &&
         build::is_artifact_key(std::string_view(file).substr(0, file.find('.')));
}

/// Temporary files, and directories of programs for copying.
bool is_hidden(const std::vector<std::string>& components) {
  return std::any_of(components.begin(), components.end(), [](const std::string& one) { return one.starts_with('.'); });
}

/// Sorts what a program lists.
class Lister {
 public:
  explicit Lister(std::string place) : place_(std::move(place)) { listing_.exists = true; }

  void add_file(const std::string& name, std::uint64_t bytes) {
    const std::string why = foreign_name(name);
    if (why.empty() && !is_hidden(base::split(name, '/')))
      listing_.files[name] = bytes;
    else if (!name.ends_with(".damaged"))
      leave_out(name, why);
  }
  void leave_out(const std::string& name, const std::string& why) {
    if (!is_hidden(base::split(name, '/')))
      listing_.left_out.push_back(fmt::format("skipped: {}: {}", base::printable(place_ + name), why));
  }
  RemoteListing take() { return std::move(listing_); }

 private:
  const std::string place_;  ///< with a slash at its end
  RemoteListing listing_;
};

constexpr const char* is_a_link = "it is a link, which is not followed";

std::string last_lines(const std::string& text) {
  constexpr std::size_t longest = 1000;
  std::string end = base::printable_lines(base::end_of(text, longest));
  while (!end.empty() && end.back() == '\n') end.pop_back();
  return end.empty() ? "it printed no message" : end;
}

base::CommandResult run(const std::vector<std::string>& argv) {
  base::CommandOptions options;
  options.env = {{"LC_ALL", "C"}};
  options.output_limit_bytes = std::uint64_t{1} << 30;
  options.stderr_limit_bytes = std::uint64_t{1} << 20;
  options.own_group = false;
  base::CommandResult result = base::run_command(argv, options);
  if (result.output_truncated)
    throw Error(ErrorKind::io, argv.front() + " printed more than 1 GiB: the list of files is not whole");
  return result;
}

[[noreturn]] void fail(const std::string& program, const std::string& place, const base::CommandResult& result) {
  throw Error(ErrorKind::io,
              fmt::format("{} with {} failed ({}); what was copied stays, and the same command "
                          "continues. Its last messages:\n{}",
                          program, base::printable(place), base::describe_exit(result.exit_code, result.signal),
                          last_lines(result.stderr_text)));
}

void run_or_fail(const std::vector<std::string>& argv, const std::string& place) {
  if (const base::CommandResult result = run(argv); !result.ok()) fail(argv.front(), place, result);
}

/// The names in a file, one on a line, for options such as --files-from.
class NameList {
 public:
  explicit NameList(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text.append(name).append("\n");
    base::write_output_file(path(), text);
  }
  std::string path() const { return (folder_.path() / "files").string(); }

 private:
  base::TemporaryDirectory folder_;
};

/// The number up to the end of the text, or to a space.
std::optional<std::uint64_t> number_at(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && (end == text.data() + text.size() || *end == ' ');
  return whole ? std::optional(number) : std::nullopt;
}

std::string with_slash(const std::string& place) { return place.ends_with('/') ? place : place + "/"; }

class Rsync final : public Remote {
 public:
  explicit Rsync(const std::string& place) : place_(with_slash(place)) {}

  RemoteListing list() override {
    std::vector<std::string> argv{"rsync", "--recursive", "--list-only", "--no-human-readable", "--exclude=.*"};
    for (const char* part : store_parts)  // itself, if it is a link
      argv.insert(argv.end(), {fmt::format("--include=/{}", part), fmt::format("--include=/{}/***", part)});
    argv.insert(argv.end(), {"--exclude=*", "--", place_});
    const base::CommandResult result = run(argv);
    constexpr int partial_transfer = 23;
    if (result.exit_code == partial_transfer && result.stdout_text.empty() &&
        result.stderr_text.find("No such file or directory") != std::string::npos)
      return {};
    if (!result.ok()) fail("rsync", place_, result);
    Lister lister(place_);
    for (const std::string_view line : base::split_lines(result.stdout_text)) add_line(line, lister);
    return lister.take();
  }

  void send(const fs::path& root, const std::vector<std::string>& files) override {
    copy(with_slash(root.string()), place_, files, {"--ignore-existing"});
  }
  void fetch(const fs::path& root, const std::vector<std::string>& files) override {
    copy(place_, with_slash(root.string()), files, {});
  }

 private:
  // "-rw-r--r--         12345 2026/11/24 16:00:00 records/sm_90/gemm/a.jsonl"
  static void add_line(std::string_view line, Lister& lister) {
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
    if (line.front() == 'l') return lister.leave_out(name, is_a_link);
    if (line.front() == '-') return lister.add_file(name, *bytes);
    lister.leave_out(name, "it is not a regular file");
  }

  // rsync writes to a hidden temporary file and renames it.
  void copy(const std::string& from, const std::string& to, const std::vector<std::string>& files,
            const std::vector<std::string>& more) const {
    if (files.empty()) return;
    const NameList names(files);
    std::vector<std::string> argv{"rsync", "--times", "--omit-dir-times", "--partial-dir=.xtune-partial",
                                  "--files-from=" + names.path()};
    argv.insert(argv.end(), more.begin(), more.end());
    argv.insert(argv.end(), {"--", from, to});
    run_or_fail(argv, place_);
  }

  const std::string place_;
};

class Rclone final : public Remote {
 public:
  explicit Rclone(std::string place) : place_(std::move(place)) {}

  RemoteListing list() override {
    std::vector<std::string> argv{"rclone", "lsf", "--recursive", "--files-only", "--format=sp", "--separator= "};
    for (const char* part : store_parts) argv.push_back(fmt::format("--filter=+ /{}/**", part));
    argv.insert(argv.end(), {"--filter=- *", "--", place_});
    const base::CommandResult result = run(argv);
    constexpr int directory_not_found = 3;
    if (result.exit_code == directory_not_found) return {};
    if (!result.ok()) fail("rclone", place_, result);
    Lister lister(with_slash(place_));
    for (const std::string_view line : base::split_lines(result.stdout_text))
      if (const auto bytes = number_at(line)) lister.add_file(std::string(line.substr(line.find(' ') + 1)), *bytes);
    // "2026/11/24 16:00:00 NOTICE: records/sm_90: Can't follow symlink without -L/--copy-links"
    constexpr std::string_view notice = " NOTICE: ", link = ": Can't follow symlink";
    for (const std::string_view line : base::split_lines(result.stderr_text)) {
      const std::size_t before = line.find(notice), after = line.rfind(link);
      if (before == std::string::npos || after == std::string::npos || after < before + notice.size()) continue;
      lister.leave_out(std::string(line.substr(before + notice.size(), after - before - notice.size())), is_a_link);
    }
    return lister.take();
  }

  void send(const fs::path& root, const std::vector<std::string>& files) override {
    copy(root.string(), place_, files, {"--ignore-existing"});
  }
  void fetch(const fs::path& root, const std::vector<std::string>& files) override {
    copy(place_, root.string(), files, {});
  }

 private:
  void copy(const std::string& from, const std::string& to, const std::vector<std::string>& files,
            const std::vector<std::string>& more) const {
    if (files.empty()) return;
    const NameList names(files);
    std::vector<std::string> argv{"rclone", "copy", "--files-from-raw=" + names.path()};
    argv.insert(argv.end(), more.begin(), more.end());
    argv.insert(argv.end(), {"--", from, to});
    run_or_fail(argv, place_);
  }

  const std::string place_;
};

void require_program(const std::string& program) {
  if (base::find_program(program).empty())
    throw Error(ErrorKind::unavailable, program +
                                            " is not installed, or not in PATH; install it, or name the other "
                                            "program with --via rsync or --via rclone");
}

/// Whether rclone has a remote of the name before the colon.
bool is_rclone_remote(const std::string& place) {
  const std::size_t colon = place.find(':');
  if (colon == std::string::npos || place.find_first_of("/@") < colon) return false;
  if (colon == 0) return true;  // a remote given on the command line: ":local:/path"
  if (base::find_program("rclone").empty()) return false;
  const base::CommandResult result = run({"rclone", "listremotes"});
  const std::vector<std::string> remotes = base::split(result.stdout_text, '\n');
  return result.ok() && std::find(remotes.begin(), remotes.end(), place.substr(0, colon + 1)) != remotes.end();
}

}  // namespace

std::string foreign_name(const std::string& name) {
  return is_store_file(base::split(name, '/')) ? "" : "xtune creates no file of this name";
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

}  // namespace xtune::store
