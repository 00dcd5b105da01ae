// Writes and reads record files. The format's guarantees (one writer, one write per line) are implemented here.
#include "core/store/record_log.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/build/cache.hpp"
#include "core/store/record_check.hpp"
#include "system/descriptor.hpp"
#include "system/files.hpp"
#include "system/processes.hpp"
#include "system/trust.hpp"
#include "xtune/error.hpp"
#include "xtune/version.hpp"

namespace xtune::store {

// Reads with pread in steps that fit in the processor's cache; a line that a step divides is moved to the front.

namespace {

constexpr std::size_t read_bytes = 512u << 10;

[[noreturn]] void fail_to_read(const RecordSource& source) {
  throw Error(ErrorKind::io, "cannot read " + source.name + ": " + std::strerror(errno));
}

system::Descriptor opened(const RecordSource& source) {
  system::Descriptor file(::open(source.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) fail_to_read(source);
  return file;
}

}  // namespace

std::string text_of(LinesEnd end) {
  if (end == LinesEnd::torn) return "the last line is torn (its writer was stopped); dropped";
  return end == LinesEnd::too_long ? "skipped: the line is longer than " + base::human_bytes(max_line_bytes) : "";
}

std::pair<std::uint64_t, std::uint64_t> range_of(const RecordSource& source) {
  struct stat info {};
  if (::fstat(opened(source).get(), &info) != 0) fail_to_read(source);
  const auto size = static_cast<std::uint64_t>(info.st_size);
  const std::uint64_t begin = std::min(source.offset, size), end = begin + std::min(source.bytes, size - begin);
  if (source.bytes != UINT64_MAX && end - begin < source.bytes)
    throw Error(ErrorKind::io, "cannot read " + source.name + ": it is shorter than it was");
  return {begin, end};
}

LinesEnd each_line(const RecordSource& source, std::uint64_t begin, std::uint64_t end, std::vector<char>& buffer,
                   const std::function<bool(std::string_view line, std::uint64_t offset)>& visit) {
  const system::Descriptor file = opened(source);
  const std::uint64_t source_end =
      source.bytes > UINT64_MAX - source.offset ? UINT64_MAX : source.offset + source.bytes;
  // The first line is the one after the newline before begin: the text before belongs to another range's line.
  bool skipping = begin != source.offset;
  std::uint64_t position = skipping ? begin - 1 : begin;
  std::size_t filled = 0;
  for (;;) {
    if (buffer.size() - filled < read_bytes / 2) buffer.resize(buffer.size() + read_bytes);
    const std::uint64_t next = position + filled;
    const std::size_t wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size() - filled, source_end - next));
    ssize_t read = 0;
    do read = wanted ? ::pread(file.get(), buffer.data() + filled, wanted, static_cast<off_t>(next)) : 0;
    while (read < 0 && errno == EINTR);
    if (read < 0) fail_to_read(source);
    const auto got = static_cast<std::size_t>(read);
    const char* const last = buffer.data() + filled + got;
    const char* line = buffer.data();
    const char* search = line + filled;
    while (const auto* newline =
               static_cast<const char*>(std::memchr(search, '\n', static_cast<std::size_t>(last - search)))) {
      const std::uint64_t offset = position + static_cast<std::uint64_t>(line - buffer.data());
      if (!skipping && offset >= end) return LinesEnd::done;
      if (!skipping && !visit({line, static_cast<std::size_t>(newline - line)}, offset)) return LinesEnd::stopped;
      skipping = false;
      line = search = newline + 1;
    }
    if (skipping) {
      // No line has begun yet, and the rest of another range's line is not kept.
      position = next + got, filled = 0;
      if (got == 0 || position >= end) return LinesEnd::done;
      continue;
    }
    const std::uint64_t offset = position + static_cast<std::uint64_t>(line - buffer.data());
    if (offset >= end) return LinesEnd::done;
    filled = static_cast<std::size_t>(last - line);
    if (got == 0) return filled ? LinesEnd::torn : LinesEnd::done;
    if (filled > max_line_bytes) return LinesEnd::too_long;
    std::memmove(buffer.data(), line, filled);
    position = offset;
  }
}

// Lists directories of a store, so that all readers of a store see the same files.

namespace {

namespace fs = std::filesystem;

bool is_link(const fs::path& path) {
  std::error_code ignored;
  return fs::is_symlink(fs::symlink_status(path, ignored));
}

std::string refusal(const fs::path& path, Owners owners) {
  return owners == Owners::any ? std::string() : system::why_refused(path);
}

// False: the rest of the directory cannot be read either.
bool add_entry(const fs::directory_entry& place, std::vector<StoreEntry>& entries, std::vector<Unreadable>& unreadable,
               Owners owners) {
  std::error_code error;
  const fs::file_status status = place.status(error);
  if (fs::is_directory(status) || fs::is_regular_file(status)) {
    if (std::string why = refusal(place.path(), owners); !why.empty())
      unreadable.push_back({place.path(), std::move(why)});
    else
      entries.push_back({place.path(), place.path().filename().string(), fs::is_directory(status)});
  } else if (error == std::errc::permission_denied && !is_link(place.path())) {
    unreadable.push_back({place.path().parent_path(), "what it holds: " + error.message()});
    return false;
  } else if (status.type() == fs::file_type::not_found) {
    // Otherwise it has just been removed.
    if (is_link(place.path())) unreadable.push_back({place.path(), "it is a link that leads nowhere"});
  } else if (error) {
    unreadable.push_back({place.path(), error.message()});
  }
  return true;
}

}  // namespace

std::string Unreadable::text() const { return "cannot read " + base::printable(path.string()) + ": " + why; }

std::vector<StoreEntry> store_entries(const fs::path& folder, std::vector<Unreadable>& unreadable, Owners owners) {
  std::vector<StoreEntry> entries;
  if (std::string why = refusal(folder, owners); !why.empty()) {
    unreadable.push_back({folder, std::move(why)});
    return entries;
  }
  std::error_code error;
  fs::directory_iterator place(folder, error);
  for (; !error && place != fs::directory_iterator(); place.increment(error))
    if (!add_entry(*place, entries, unreadable, owners)) break;
  if (error == std::errc::no_such_file_or_directory) {
    if (is_link(folder)) unreadable.push_back({folder, "it is a link that leads nowhere"});
  } else if (error) {
    unreadable.push_back({folder, error.message()});
  }
  std::sort(entries.begin(), entries.end(), [](const StoreEntry& a, const StoreEntry& b) { return a.name < b.name; });
  return entries;
}

fs::path link_on_the_way(const fs::path& store, const fs::path& path) {
  fs::path at = store;
  for (const fs::path& name : path.lexically_relative(store))
    if (is_link(at /= name)) return at;
  return {};
}

std::string behind_a_link(const fs::path& link) {
  return base::printable(link.string()) + " is a link: what it leads to is left as it is";
}

namespace {

using Json = nlohmann::json;

constexpr std::size_t longest_component = 120;
constexpr int max_files_a_line = 4;

bool stays(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '-' || c == '+';
}

}  // namespace

std::string path_component(std::string_view name) {
  std::string component;
  for (const char c : name) {
    // Readers skip names that begin with a dot.
    if (stays(c) && !(c == '.' && component.empty()))
      component += c;
    else
      component += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  if (component.empty()) return "%";  // no other name becomes "%"
  if (component.size() <= longest_component) return component;
  std::size_t cut = longest_component - 17;
  // Do not divide a %XX.
  if (component[cut - 1] == '%') cut -= 1;
  if (component[cut - 2] == '%') cut -= 2;
  return component.substr(0, cut) + "~" + base::sha256(name).substr(0, 16);
}

std::optional<std::string> name_of_component(const std::string& component) {
  std::string name;
  for (std::size_t i = 0; i < component.size(); ++i) {
    if (component[i] != '%') {
      name += component[i];
      continue;
    }
    const std::string digits = component.substr(i + 1, 2);
    if (digits.size() != 2 || digits.find_first_not_of("0123456789ABCDEF") != std::string::npos) return std::nullopt;
    name += static_cast<char>(std::stoi(digits, nullptr, 16));
    i += 2;
  }
  return path_component(name) == component ? std::optional(name) : std::nullopt;
}

bool is_path_component(std::string_view component) {
  return !component.empty() && component.front() != '.' && component.size() <= longest_component &&
         std::all_of(component.begin(), component.end(), [](char c) { return stays(c) || c == '%' || c == '~'; });
}

struct RecordWriter::State {
  fs::path folder, path;
  std::string stem, arch, kernel, attempt;
  int fd = -1;
  off_t good_bytes = 0;  // length of the file up to the end of its last complete line
  bool numbers_files = true;

  const build::ArtifactCache artifacts;
  // Configurations that differ only in launch-only parameters follow each other.
  std::string last_artifact, last_sha256;

  explicit State(const fs::path& store) : artifacts(store) {}
  ~State() { close(); }

  const std::string& image_sha256(const std::string& artifact_key) {
    if (artifact_key != last_artifact || last_sha256.empty()) {
      last_artifact = artifact_key;
      last_sha256 = artifacts.image_sha256(artifact_key);
    }
    return last_sha256;
  }

  [[noreturn]] void fail(const std::string& doing, int error) const {
    throw Error(
        ErrorKind::io,
        "cannot " + doing + " " + base::printable(path.string()) + ": " + std::strerror(error) +
            (error == ENOSPC || error == EDQUOT || error == EFBIG ? "; free some space, or name another --store" : ""));
  }

  /// Opens the file that was closed, if it still is what this writer wrote.
  bool reopen() {
    if (good_bytes == 0) return false;
    fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    struct stat info {};
    if (fd >= 0 && ::fstat(fd, &info) == 0 && info.st_size == good_bytes) return true;
    close();
    good_bytes = 0;
    return false;
  }

  void close() {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }

  void open() {
    if (const std::error_code error = system::make_directories(folder)) fail("make the directory of", error.value());
    // A process id may be reused, on this host or in another container with its name: take the next free name.
    for (int copy = 1; fd < 0; ++copy) {
      path = folder / (stem + (copy > 1 ? "." + std::to_string(copy) : "") + ".jsonl");
      fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
      if (fd < 0 && (errno != EEXIST || copy == 10000)) fail("create", errno);
    }
  }

  std::string header() const {
    Json json = {{"xtune_records", Record::schema},
                 {"xtune", version},
                 {"kernel", base::printable(kernel)},
                 {"arch", base::printable(arch)},
                 {"host", base::printable(system::host_name())},
                 {"pid", getpid()},
                 {"attempt", base::printable(attempt)}};
    if (const std::string scope = system::pid_scope(); !scope.empty()) json["pid_scope"] = scope;
    return with_checksum(json.dump()) + "\n";
  }

  /// Whether the file has been removed, or another one has taken its name: its contents are then no longer part of the
  /// store.
  bool was_replaced() const {
    struct stat held {
    }, named{};
    if (::fstat(fd, &held) != 0) return false;
    if (::stat(path.c_str(), &named) != 0) return errno == ENOENT;
    return held.st_dev != named.st_dev || held.st_ino != named.st_ino;
  }

  // A repair or a garbage collection that assumed that this writer had ended may replace or remove its file at any
  // time. It takes over everything that was written until then, so it is enough to check after each line: a line that
  // may have been lost with the file is written once more, into a new file. Duplicates do no harm.
  void write_record(const std::string& line) {
    for (int files = 1;; ++files) {
      if (fd < 0 && !reopen()) {
        open();
        // Some network file systems return a different file number each time.
        numbers_files = !was_replaced();
      }
      if (good_bytes == 0) write_line(header());
      write_line(line);
      if (!numbers_files || files == max_files_a_line || !was_replaced()) return;
      close();
      good_bytes = 0;
    }
  }

  void write_line(std::string_view line) {
    ssize_t written = 0;
    do written = ::write(fd, line.data(), line.size());
    while (written < 0 && errno == EINTR);
    if (written == static_cast<ssize_t>(line.size())) {
      good_bytes += written;
      return;
    }
    // A short write means that the disk is filling up; the rest is written once more to get the reason.
    int reason = written < 0 ? errno : 0;
    if (written >= 0) {
      const std::string_view rest = line.substr(static_cast<std::size_t>(written));
      const ssize_t more = ::write(fd, rest.data(), rest.size());
      if (more == static_cast<ssize_t>(rest.size())) {
        good_bytes += static_cast<off_t>(line.size());
        return;
      }
      reason = more < 0 ? errno : ENOSPC;
    }
    if (::ftruncate(fd, good_bytes) != 0) {
      // The torn line stays; the next record must be on a new line.
      const ssize_t ended = ::write(fd, "\n", 1);
      const off_t end = ::lseek(fd, 0, SEEK_END);
      if (ended == 1 && end >= 0) good_bytes = end;
    }
    fail("append to", reason);
  }
};

RecordWriter::RecordWriter(fs::path store, const std::string& arch, const std::string& kernel, std::string attempt)
    : state_(std::make_unique<State>(store)) {
  state_->folder = store / "records" / path_component(arch) / path_component(kernel);
  state_->stem = path_component(system::host_name() + "-" + std::to_string(getpid()) + "-" + attempt);
  state_->path = state_->folder / (state_->stem + ".jsonl");
  state_->arch = arch;
  state_->kernel = kernel;
  state_->attempt = std::move(attempt);
}

RecordWriter::~RecordWriter() = default;

void RecordWriter::append(const Record& record) {
  Json json = to_json(record);
  if (record.artifact_sha256.empty())
    if (const std::string& sha256 = state_->image_sha256(record.artifact_key); !sha256.empty())
      json["artifact_sha256"] = sha256;
  state_->write_record(with_checksum(json.dump()) + "\n");
}

void RecordWriter::sync() {
  if (state_->fd >= 0 && ::fdatasync(state_->fd) != 0 && errno != EINVAL && errno != EROFS)
    state_->fail("flush", errno);
}

void RecordWriter::close() noexcept { state_->close(); }

const fs::path& RecordWriter::path() const noexcept { return state_->path; }

namespace {

// The schema of a header line; nullopt if it is not a header.
std::optional<long> header_schema(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  const auto found = json.find("xtune_records");
  return found != json.end() && found->is_number_integer() ? std::optional(found->get<long>()) : std::nullopt;
}

/// Adds a line of a file, counted from 1. False: the rest must not be read.
bool add_line(RecordSet& set, const std::string& name, std::size_t number, std::string_view text) {
  RecordLine line = read_record_line(text);
  if (line.kind == RecordLine::Kind::newer) {
    set.warnings.push_back(fmt::format("{}: {}; not read", name, line.why));
    return false;
  }
  if (line.kind == RecordLine::Kind::record) set.records.push_back(std::move(*line.record));
  if (line.kind == RecordLine::Kind::damaged)
    set.warnings.push_back(fmt::format("{}:{}: skipped: {}", name, number, line.why));
  if (number == 1 && line.kind != RecordLine::Kind::header)
    set.warnings.push_back(fmt::format("{}: it has no header line", name));
  return true;
}

void add_end(RecordSet& set, const std::string& name, std::size_t number, LinesEnd end) {
  if (const std::string text = text_of(end); !text.empty())
    set.warnings.push_back(fmt::format("{}:{}: {}", name, number, text));
}

}  // namespace

RecordLine read_record_line(std::string_view line, const std::function<std::string_view(std::string_view)>& shorten) {
  RecordLine result;
  const Checksum checksum = checksum_of(line);
  if (checksum == Checksum::right && shorten) line = shorten(line);
  const Json json = checksum == Checksum::wrong ? Json() : Json::parse(line, nullptr, false);
  if (json.is_discarded()) {
    result.why = "not JSON";
  } else if (checksum == Checksum::wrong ||
             (checksum == Checksum::none && json.is_object() && json.contains("checksum"))) {
    result.why = "its checksum does not match: it was changed after it was written";
  } else if (const auto schema = header_schema(json)) {
    result.kind = *schema > Record::schema ? RecordLine::Kind::newer : RecordLine::Kind::header;
    if (*schema > Record::schema)
      result.why =
          fmt::format("written by a newer xtune (record version {}, this one reads up to {})", *schema, Record::schema);
  } else {
    try {
      Record record = record_from_json(json);
      result.why = checksum == Checksum::right ? time_damage(record) : summary_damage(record);
      if (!is_date(record.unix_time_ms)) result.why = "its unix_time_ms is not a date before the year 10000";
      if (result.why.empty() && checksum == Checksum::none) result.why = key_damage(record);
      if (!result.why.empty()) return result;
      result.record = std::move(record);
      result.kind = RecordLine::Kind::record;
    } catch (const Error& error) {
      result.why = error.what();
    }
  }
  return result;
}

RecordSource RecordSource::whole(fs::path file) {
  std::string name = base::printable(file.string());
  return {std::move(file), 0, UINT64_MAX, std::move(name)};
}

std::vector<RecordSource> record_files(const fs::path& store, const std::string& arch, const std::string& kernel,
                                       std::vector<std::string>& warnings) {
  std::vector<RecordSource> files;
  std::vector<Unreadable> unreadable;
  const fs::path folder = store / "records" / path_component(arch) / path_component(kernel);
  for (const fs::path& above : {folder.parent_path().parent_path(), folder.parent_path()})
    if (std::string why = system::why_refused(above); !why.empty()) {
      warnings.push_back(Unreadable{above, std::move(why)}.text());
      return files;
    }
  for (StoreEntry& file : store_entries(folder, unreadable)) {
    if (file.name.starts_with('.') || !file.name.ends_with(".jsonl")) continue;
    if (file.folder)
      unreadable.push_back({file.path, "it is a directory"});
    else
      files.push_back(RecordSource::whole(std::move(file.path)));
  }
  std::error_code ignored;
  if (const fs::path link = link_on_the_way(store, folder);
      !link.empty() && unreadable.empty() && fs::status(link, ignored).type() == fs::file_type::not_found)
    unreadable.push_back({link, "it is a link that leads nowhere"});
  for (const Unreadable& one : unreadable) warnings.push_back(one.text());
  return files;
}

RecordSet read_records(const fs::path& store, const std::string& arch, const std::string& kernel) {
  RecordSet set;
  std::vector<char> buffer;
  for (const RecordSource& source : record_files(store, arch, kernel, set.warnings)) {
    try {
      std::size_t number = 0;
      const auto [begin, end] = range_of(source);
      const LinesEnd ended = each_line(source, begin, end, buffer, [&](std::string_view line, std::uint64_t) {
        return add_line(set, source.name, ++number, line);
      });
      add_end(set, source.name, number + 1, ended);
    } catch (const Error& failure) {
      set.warnings.emplace_back(failure.what());
    }
  }
  std::erase_if(set.records, is_stored_shortage);
  return set;
}

RecordSet parse_records(const std::string& name, std::string_view text) {
  RecordSet set;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    if (end == text.npos) add_end(set, name, number, LinesEnd::torn);
    if (end == text.npos || !add_line(set, name, number, text.substr(0, end))) break;
    text.remove_prefix(end + 1);
  }
  return set;
}

std::vector<std::string> recorded_archs(const fs::path& store, const std::string& kernel) {
  std::vector<std::string> archs;
  std::error_code error;
  fs::directory_iterator folder(store / "records", error);
  for (; !error && folder != fs::directory_iterator(); folder.increment(error)) {
    std::error_code ignored;
    if (!fs::is_directory(folder->path() / path_component(kernel), ignored)) continue;
    const auto name = name_of_component(folder->path().filename().string());
    if (name) archs.push_back(*name);
  }
  std::sort(archs.begin(), archs.end());
  return archs;
}

}  // namespace xtune::store
