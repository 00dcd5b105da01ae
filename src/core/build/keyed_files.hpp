// The files whose contents a key describes, and whether they have changed since they were read.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace xtune::build {

/// A file at the time when its content was hashed.
struct KeyedFile {
  std::string path;    ///< as it was opened; may be a link
  std::string state;   ///< file_state() at that time
  std::string sha256;  ///< SHA-256 of the content
  /// The file was written just before it was read. A change within the same tick of the clock does not change the
  /// state, so only the content counts.
  bool recent = false;
};

/// Plain data that can be sent to a worker.
struct KeyedFiles {
  std::vector<KeyedFile> files;
  /// Paths at which a file would have been used instead of one of `files`, or of a header of the toolchain, but none
  /// existed.
  std::vector<std::string> absent;
  /// Places where the source may read more than `files`, as far as its text shows: "k.cu: #include NAME(x)". Only a
  /// compiler that lists the files it read can rule that out; none lists what it looked for:
  /// "k.cu: __has_include(NAME(x))".
  std::vector<std::string> unknown;

  bool may_probe_others() const;

  /// Adds the entries of `other`; each path once.
  void add(const KeyedFiles& other);
};

/// Device, inode, size and times of a path and of its target; empty if it does not exist. Times have nanoseconds, and
/// the status change time cannot be set back, so a file that was changed and restored has another state.
std::string file_state(const std::filesystem::path& path);

/// Reads a file and appends its entry to `to`. Throws Error(io), also for a file that changes each time it is read.
std::string read_keyed(const std::filesystem::path& path, KeyedFiles& to);
/// The same for a file whose text is not needed: it is read in pieces and may be larger than the memory.
void key_file(const std::filesystem::path& path, KeyedFiles& to);

/// The state of a file now, without its digest.
KeyedFile look_at(const std::filesystem::path& path);
/// Whether all states are unchanged. Does not read contents: false also for a file that was rewritten with the same
/// content.
bool are_untouched(const KeyedFiles& files);

/// Compares with the files as they are now, and updates their states if the contents are the same. Returns true if some
/// file was written or replaced with the same content since; its content in between is unknown. Contents of large files
/// are read only if states differ. Throws Error(io) with the name of a file whose content changed, that no longer
/// exists, or that did not exist before.
bool settle(KeyedFiles& files);
/// The same check without an update.
void throw_if_changed(KeyedFiles files);

}  // namespace xtune::build
