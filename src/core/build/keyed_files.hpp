// The files whose contents a key describes, and whether they have changed since they were read; and the files of a
// compiler, whose contents determine its output as much as its options do.
#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "system/subprocess.hpp"

namespace xtune::build {

/// A file at the time when its content was hashed.
struct KeyedFile {
  std::string path;    ///< as it was opened; may be a link
  std::string state;   ///< file_state() at that time
  std::string sha256;  ///< SHA-256 of the content
  /// The state says nothing of later changes, so only the content counts: the file was written just before it was read
  /// (unseen_changes_ns), or another process has it open for writing and may change it through a mapping.
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

/// For how much longer a change of a file may leave its times as they are; 0: any change is seen. modified, changed:
/// its times; is_local: it is on a file system of this machine. A time in the future is of another clock. Pure.
std::int64_t unseen_changes_ns(const timespec& modified, const timespec& changed, const timespec& now, bool is_local);

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

/// Compares with the files as they are now, and updates their states if the contents are the same. Returns true if the
/// content of some file in between is unknown: it was written or replaced since, or may have been (`recent`). Contents
/// of large files are read only then. Throws Error(io) with the name of a file whose content changed, that no longer
/// exists, or that did not exist before.
bool settle(KeyedFiles& files);
/// Waits, for up to 3 s, until changes of those files that are `recent` only by their times are seen. False: there was
/// nothing to wait for.
bool wait_until_old(const KeyedFiles& files);

/// Plain data that can be sent to the driver.
struct ToolFiles {
  KeyedFiles files;  ///< absent: paths at which a file would have been used instead of one of `files`
  /// A part of the compiler is a script, which may start anything: only asking the compiler shows its current state.
  bool may_start_others = false;
};

/// Whether the first bytes are those of an ELF file.
bool is_elf(const std::filesystem::path& path);

/// The shared libraries that this system's loader loads with an ELF file. Libraries of the C and C++ runtime, of
/// compression and of terminals are omitted, because they do not affect generated code. Empty for other files, and if
/// the loader refuses the file. env, folder: environment in addition to this process's, and working directory, with
/// which the program is started.
std::vector<std::string> libraries_of(const std::filesystem::path& path, const system::Environment& env = {},
                                      const std::filesystem::path& folder = {});

/// Like key_file, but the digest of a large file is cached in the default store, by the state of the file, until the
/// next boot: for files that rarely change. Throws Error(io).
void key_remembered_file(const std::filesystem::path& path, KeyedFiles& to);

/// Adds a file with its libraries, each path once. Throws Error(io).
void add_tool(const std::filesystem::path& path, ToolFiles& to);
/// Adds a file without its libraries, or its absence.
void add_tool_file(const std::filesystem::path& path, ToolFiles& to);
/// Adds the first candidate that is a file, and the absence of those before it. Returns its path, or an empty one.
std::filesystem::path add_first(const std::vector<std::filesystem::path>& candidates, ToolFiles& to);

/// 12 hex digits over names and contents.
std::string digest_of(const ToolFiles& tool);

}  // namespace xtune::build
