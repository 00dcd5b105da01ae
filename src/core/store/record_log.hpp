// The append-only record files of a store: <store>/records/<arch>/<kernel>/<host>-<pid>-<attempt>.jsonl. How its
// directories are listed, and lines are read and written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/store/record.hpp"

namespace xtune::store {

// Reads the lines of a file, or of a part of it, through a buffer: files of any size in little memory.

/// Where record lines are: in a whole file, or in `bytes` of it from `offset` on.
struct RecordSource {
  std::filesystem::path path;
  std::uint64_t offset = 0;
  std::uint64_t bytes = UINT64_MAX;  ///< maximum; the end of the file is a limit, too
  std::string name;                  ///< for warnings

  static RecordSource whole(std::filesystem::path file);
};

/// Maximum length of a line in a record file.
constexpr std::uint64_t max_line_bytes = 256u << 20;

/// Why reading ended.
enum class LinesEnd {
  done,
  stopped,  ///< visit returned false
  torn,     ///< the last line has no newline
  too_long  ///< a line is longer than max_line_bytes; the rest of this range was not read
};

/// The text for torn and too_long: "the last line is torn ...".
std::string text_of(LinesEnd end);

/// Where the source begins and ends in its file. Throws Error(io) if it cannot be read, or is shorter than `bytes`.
std::pair<std::uint64_t, std::uint64_t> range_of(const RecordSource& source);

/// Calls visit(line without its newline, its position in the file) for each line that begins in [begin, end); such a
/// line may end beyond that. buffer: kept by the caller between calls. Throws Error(io).
LinesEnd each_line(const RecordSource& source, std::uint64_t begin, std::uint64_t end, std::vector<char>& buffer,
                   const std::function<bool(std::string_view line, std::uint64_t offset)>& visit);

// The only function that lists a store's directories, and the only rule for links in them.

/// A directory or regular file of a store; a link counts as its target.
struct StoreEntry {
  std::filesystem::path path;
  std::string name;
  bool folder = false;
};

/// An entry that exists and cannot be read.
struct Unreadable {
  std::filesystem::path path;
  std::string why;
  std::string text() const;  ///< "cannot read PATH: Permission denied", for people
};

enum class Owners {
  trusted,  ///< entries that others can change count as unreadable (system/trust.hpp)
  any,      ///< a store that the user named as a source
};

/// The entries of a directory, by name; none if it does not exist. Links are followed; other kinds of files are
/// skipped. Entries that cannot be listed, dangling links, and entries that are not trusted are added to `unreadable`.
std::vector<StoreEntry> store_entries(const std::filesystem::path& folder, std::vector<Unreadable>& unreadable,
                                      Owners owners = Owners::trusted);

/// The first link on the path from a store to `path` in it, including `path`; empty if there is none. The store's own
/// path may be a link. Call this before changing or removing a file: a target behind a link may belong to another
/// store, and must not be changed.
std::filesystem::path link_on_the_way(const std::filesystem::path& store, const std::filesystem::path& path);

/// "PATH is a link: what it leads to is left as it is", for messages.
std::string behind_a_link(const std::filesystem::path& link);

// The append-only record files of a store: <store>/records/<arch>/<kernel>/<host>-<pid>-<attempt>.jsonl.

/// Makes a path component of any name: letters, digits, '.', '_', '-' and '+' stay, other characters become %XX; never
/// "." or "..".
std::string path_component(std::string_view name);
/// The inverse; nullopt for a text that path_component never returns, and for names that it had to shorten.
std::optional<std::string> name_of_component(const std::string& component);
/// Whether path_component may have returned it: the name of one directory or file, which does not lead out of its
/// directory.
bool is_path_component(std::string_view component);

/// Writes one file that no other process writes. The file is created by the first append. Each record is one write() of
/// one line, so that a kill loses at most the line in flight. If another process removes or replaces the file, the line
/// in flight and the following ones go to a new file. Not thread-safe. A file-size limit (ulimit -f) is an error like a
/// full disk if the process ignores SIGXFSZ; else the signal ends the process.
class RecordWriter {
 public:
  RecordWriter(std::filesystem::path store, const std::string& arch, const std::string& kernel, std::string attempt);
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;
  /// Appends a record. If it names an artifact of this store and has no hash of the artifact's image, the hash is
  /// added. Throws Error(io), for example on a full disk; earlier records are kept, a torn line is removed, and a later
  /// append may succeed.
  void append(const Record& record);
  void sync();  ///< fdatasync
  /// Gives the file's descriptor back. The next append continues the file, or begins another if it has changed.
  void close() noexcept;
  const std::filesystem::path& path() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct RecordSet {
  std::vector<Record> records;        ///< in file-name order, then line order
  std::vector<std::string> warnings;  ///< torn last lines, damaged lines, newer schemas, with their places
};

/// Reads every record of one kernel on one architecture; a missing directory is an empty set. A torn last line is
/// dropped with a warning; a damaged line in the middle is skipped with a warning. Failures that the machine caused
/// (is_stored_shortage) are omitted.
RecordSet read_records(const std::filesystem::path& store, const std::string& arch, const std::string& kernel);
/// The record files of one kernel on one architecture, sorted by name. Files that cannot be listed give a warning; a
/// missing directory gives none.
std::vector<RecordSource> record_files(const std::filesystem::path& store, const std::string& arch,
                                       const std::string& kernel, std::vector<std::string>& warnings);

/// The kind of one line of a record file.
struct RecordLine {
  enum class Kind {
    record,
    header,
    newer,   ///< a header of an unknown, newer version: the lines after it must not be read
    damaged  ///< `why` has the reason
  };
  Kind kind = Kind::damaged;
  std::optional<Record> record;
  std::string why;  ///< for damaged and newer lines
};
/// line without its newline. A line with a checksum must match it and have valid times; one without must have a summary
/// that follows from its samples, and a key that matches (record_check.hpp). Else it is damaged. shorten: of a line
/// with the right checksum, returns the text to parse instead, with fewer members.
RecordLine read_record_line(std::string_view line,
                            const std::function<std::string_view(std::string_view)>& shorten = {});

/// The same for the text of one record file; name is used for the file in warnings.
RecordSet parse_records(const std::string& name, std::string_view text);
/// Architectures that have records of this kernel, sorted; without those whose name path_component had to shorten.
std::vector<std::string> recorded_archs(const std::filesystem::path& store, const std::string& kernel);

}  // namespace xtune::store
