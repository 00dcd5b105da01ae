// The append-only record files of a store: <store>/records/<arch>/<kernel>/<host>-<pid>-<attempt>.jsonl.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/record.hpp"

namespace xtune::record {

/// Makes one path component of any name: letters, digits, '.', '_', '-' and '+' stay, the rest becomes %XX; never "."
/// or "..".
std::string path_component(std::string_view name);
/// The inverse; nullopt for what path_component never makes, and for names that it had to shorten.
std::optional<std::string> name_of_component(const std::string& component);
/// Whether path_component may have made it: one folder's or file's name, and no way out of its folder.
bool is_path_component(std::string_view component);

/// Writes one file that no other process writes. The file appears with the first append. Each record is one write() of
/// one line, so that a kill loses at most the line in flight. Where the file is removed or replaced by another process,
/// the line in flight and those that follow go to a new one. Not thread-safe. A file-size limit (ulimit -f) is an
/// error like a full disk where the process ignores SIGXFSZ; else the signal ends it.
class RecordWriter {
 public:
  RecordWriter(std::filesystem::path store, const std::string& arch, const std::string& kernel, std::string attempt);
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;
  /// A record that names an artifact of this store gets the hash of that artifact's image, where it has none yet.
  /// Throws Error(io), e.g. on a full disk; what was appended before is kept, a torn line is cut off again, and a later
  /// append may succeed.
  void append(const Record& record);
  void sync();  ///< fdatasync
  const std::filesystem::path& path() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct RecordSet {
  std::vector<Record> records;        ///< in file-name order, then line order
  std::vector<std::string> warnings;  ///< torn last lines, damaged lines, newer schemas: what, where
};

/// Reads every record of one kernel on one architecture; a missing folder is an empty set. A torn last line is dropped
/// with a warning; a damaged line in the middle is skipped with a warning and the rest is kept. Failures that the
/// machine caused (is_stored_shortage) are not among them.
RecordSet read_records(const std::filesystem::path& store, const std::string& arch, const std::string& kernel);
/// The record files of one kernel on one architecture, in the order of their names. What cannot be listed is a warning;
/// a missing folder holds none.
std::vector<std::filesystem::path> record_files(const std::filesystem::path& store, const std::string& arch,
                                                const std::string& kernel, std::vector<std::string>& warnings);

/// What one line of a record file is.
struct RecordLine {
  enum class Kind {
    record,
    header,
    newer,   ///< a header of a version that this xtune does not know: nothing after it may be read
    damaged  ///< `why` says how
  };
  Kind kind = Kind::damaged;
  std::optional<Record> record;
  std::string why;  ///< of damaged and newer lines
};
/// line without its newline. A line with a checksum must match it and have sound times; one without must have a summary
/// that follows from its samples, and a key that matches (record_check.hpp). Else it is damaged.
RecordLine read_record_line(std::string_view line);

/// The same of one record file's text; name stands for the file in warnings.
RecordSet parse_records(const std::string& name, std::string_view text);
/// Architectures that hold records of this kernel, sorted; without those whose name path_component had to shorten.
std::vector<std::string> recorded_archs(const std::filesystem::path& store, const std::string& kernel);

}  // namespace xtune::record
