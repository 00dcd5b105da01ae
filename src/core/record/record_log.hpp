// The append-only record files of a store: <store>/records/<arch>/<kernel>/<host>-<pid>-<attempt>.jsonl.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/record.hpp"

namespace xtune::record {

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
std::vector<std::filesystem::path> record_files(const std::filesystem::path& store, const std::string& arch,
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

}  // namespace xtune::record
