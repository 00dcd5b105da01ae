// The files whose contents a key describes, and whether they are still what they were when they were read.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace xtune::build {

/// A file as it was when its content was hashed.
struct KeyedFile {
  std::string path;    ///< as it was opened; links are followed
  std::string state;   ///< file_state() then
  std::string sha256;  ///< of the content
  /// It was written a moment before it was read, and a change within the same tick of the clock leaves the state as it
  /// is: only the content counts.
  bool recent = false;
};

/// Plain data, sendable to a worker.
struct KeyedFiles {
  std::vector<KeyedFile> files;
  /// Where a file would have been taken in place of one of `files`, or of a header of the toolchain, and there was
  /// none.
  std::vector<std::string> absent;
  /// What the source may read beyond `files`, as far as its text shows: "k.cu: #include NAME(x)". Only a compiler that
  /// lists what it read can rule that out.
  std::vector<std::string> unknown;

  /// Adds what `other` has; each path once.
  void add(const KeyedFiles& other);
};

/// Device, inode, size and times of a path and of what it leads to; empty: there is nothing. Times have nanoseconds,
/// and the status change time cannot be set back, so that a file that was changed and put back has another state.
std::string file_state(const std::filesystem::path& path);

/// Reads a file and appends it to `to`. Throws Error(io), also for a file that changes each time it is read.
std::string read_keyed(const std::filesystem::path& path, KeyedFiles& to);
/// The same for a file whose text is not needed, which may be larger than the memory: it is read in pieces.
void key_file(const std::filesystem::path& path, KeyedFiles& to);

/// The state of a file as it is now, without its digest.
KeyedFile look_at(const std::filesystem::path& path);
/// By states alone, so that no content is read: false also for a file that was written with the same content.
bool are_untouched(const KeyedFiles& files);

/// Compares with the files as they are now, and takes their states where the contents are the same. True: some file was
/// written or replaced with the same content since, and what it held meanwhile is unknown. Contents are read only where
/// states do not tell. Throws Error(io) that names a file whose content is another, that is gone, or that is now where
/// none was.
bool settle(KeyedFiles& files);
/// The same for one who only asks.
void throw_if_changed(KeyedFiles files);

}  // namespace xtune::build
