// Paths and files: whole reads with a size limit, atomic writes, gzip, temporary directories, programs in PATH.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace xtune::system {

/// Reads a file. Throws Error(io) with the path and the reason (missing, a directory, no permission, larger than
/// limit).
std::string read_file(const std::filesystem::path& path, std::uint64_t limit_bytes = std::uint64_t{1} << 30);

/// The same, but an empty text instead of an Error: for files that may be absent, such as those of /proc.
std::string read_if_there(const std::filesystem::path& path, std::uint64_t limit_bytes = std::uint64_t{1} << 20);
/// Reads these bytes of a file, all of them. Throws Error(io), also if the file ends before.
std::string read_file_part(const std::filesystem::path& path, std::uint64_t offset, std::uint64_t bytes);

/// Writes a temporary file in the same directory, flushes it and renames it to path; creates missing directories. On
/// failure (full disk) the temporary file is removed, path is untouched, and Error(io) has the reason.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

/// The same for a path from the user: links are followed, an existing file keeps its permissions, and anything other
/// than a regular file (a pipe, /dev/stdout) is written directly. Throws Error(io).
void write_output_file(const std::filesystem::path& path, std::string_view bytes);

/// Receives the bytes of an output, a part at a time.
using Sink = std::function<void(std::string_view bytes)>;
/// The same for bytes that write(sink) makes. If it throws, a regular file is untouched.
void write_output_file(const std::filesystem::path& path, const std::function<void(const Sink&)>& write);

/// A path relative to the working directory, which may have been removed. Throws Error(io) for a relative path if the
/// working directory has been removed or cannot be read.
std::filesystem::path absolute_path(const std::filesystem::path& path);

/// XTUNE_TMP_DIR, else TMPDIR, else /tmp.
std::filesystem::path temporary_folder();

/// A new private directory in temporary_folder(), removed with its contents on destruction (never throws). Its name
/// identifies the process that owns it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(TemporaryDirectory&& other) noexcept;
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// Removes the TemporaryDirectories of this user's processes that have ended without removing them. Directories of
/// another machine, boot or container are not touched, because process ids have another meaning there.
void remove_abandoned_temporaries() noexcept;

/// XTUNE_CACHE_DIR, else XDG_CACHE_HOME/xtune, else ~/.cache/xtune, else a directory in the temporary directory.
std::filesystem::path default_store();
/// The file of the running program.
std::filesystem::path own_executable();

/// The bytes of a file, decompressed if it is gzip. gzip is detected by the first two bytes, not by the name; several
/// members are concatenated. Throws Error(io) with the path and the reason: those of read_file, a truncated or damaged
/// archive, or more than limit_bytes after decompression.
std::string read_file_gunzipped(const std::filesystem::path& path, std::uint64_t limit_bytes = std::uint64_t{1} << 30);

/// The absolute path of a program by name, as execvp finds it: in PATH, or relative to `folder` if the name has a
/// slash. Empty: no such program can be executed.
std::string find_program(const std::string& name, const std::filesystem::path& folder = {});

}  // namespace xtune::system
