// Command lines for rsync and rclone, and their listings.
#include "core/store/remote.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>

#include "base/files.hpp"
#include "base/find_program.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "core/record/record_log.hpp"
#include "xtune/error.hpp"

namespace xtune::store {
namespace {

namespace fs = std::filesystem;

constexpr const char* store_parts[] = {"records", "artifacts", "sources"};

/// Whether the path may be a store's file: relative, of plain components, none of which is hidden.
bool is_store_file(const std::string& name) {
  const std::vector<std::string> components = base::split(name, '/');
  return components.size() >= 2 && components.size() <= 4 &&
         std::find(std::begin(store_parts), std::end(store_parts), components.front()) != std::end(store_parts) &&
         std::all_of(components.begin(), components.end(),
                     [](const std::string& one) { return record::is_path_component(one) && !one.starts_with('.'); });
}

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

  FileSizes list(bool& exists) override {
    std::vector<std::string> argv{"rsync", "--recursive", "--list-only", "--no-human-readable", "--exclude=.*"};
    for (const char* part : store_parts) argv.push_back(fmt::format("--include=/{}/***", part));
    argv.insert(argv.end(), {"--exclude=*", "--", place_});
    const base::CommandResult result = run(argv);
    constexpr int partial_transfer = 23;
    exists = result.exit_code != partial_transfer || !result.stdout_text.empty() ||
             result.stderr_text.find("No such file or directory") == std::string::npos;
    if (!exists) return {};
    if (!result.ok()) fail("rsync", place_, result);
    FileSizes files;
    for (const std::string& line : base::split(result.stdout_text, '\n')) {
      // "-rw-r--r--         12345 2026/11/24 16:00:00 records/sm_90/gemm/a.jsonl"
      if (!line.starts_with('-')) continue;
      const std::size_t size = line.find_first_not_of(' ', line.find(' ')), name = line.find_last_of(' ');
      if (size == std::string::npos || name == std::string::npos) continue;
      const auto bytes = number_at(std::string_view(line).substr(size));
      if (bytes && is_store_file(line.substr(name + 1))) files[line.substr(name + 1)] = *bytes;
    }
    return files;
  }

  void send(const fs::path& root, const std::vector<std::string>& files) override {
    copy(with_slash(root.string()), place_, files, {"--ignore-existing"});
  }
  void fetch(const fs::path& root, const std::vector<std::string>& files) override {
    copy(place_, with_slash(root.string()), files, {});
  }

 private:
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

  FileSizes list(bool& exists) override {
    std::vector<std::string> argv{"rclone", "lsf", "--recursive", "--files-only", "--format=sp", "--separator= "};
    for (const char* part : store_parts) argv.push_back(fmt::format("--filter=+ /{}/**", part));
    argv.insert(argv.end(), {"--filter=- *", "--", place_});
    const base::CommandResult result = run(argv);
    constexpr int directory_not_found = 3;
    exists = result.exit_code != directory_not_found;
    if (!exists) return {};
    if (!result.ok()) fail("rclone", place_, result);
    FileSizes files;
    for (const std::string& line : base::split(result.stdout_text, '\n')) {
      const std::size_t space = line.find(' ');
      if (space == std::string::npos) continue;
      const auto bytes = number_at(line);
      if (bytes && is_store_file(line.substr(space + 1))) files[line.substr(space + 1)] = *bytes;
    }
    return files;
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
