// Files: whole reads with a size limit, writes that appear at once or not at all, temporary folders.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace xtune::base {

/// Throws Error(io) naming the path and the reason (missing, a folder, no permission, larger than limit).
std::string read_file(const std::filesystem::path& path, std::uint64_t limit_bytes = std::uint64_t{1} << 30);

/// The same, but an empty text where it would throw Error: of files that may be absent, such as those of /proc.
std::string read_if_there(const std::filesystem::path& path, std::uint64_t limit_bytes = std::uint64_t{1} << 20);
/// These bytes of a file, all of them. Throws Error(io), also where the file ends before.
std::string read_file_part(const std::filesystem::path& path, std::uint64_t offset, std::uint64_t bytes);

/// Writes a temporary file in the same folder, flushes it and renames it over path; makes missing folders. On failure
/// (full disk) the temporary file is removed, path is untouched, and Error(io) says why.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

/// The same for a place that a user names: a link is followed, the permissions of a file that is there stay, and what
/// is no plain file (a pipe, /dev/stdout) is written into as it is. Throws Error(io).
void write_output_file(const std::filesystem::path& path, std::string_view bytes);

/// XTUNE_TMP_DIR, else TMPDIR, else SLURM_TMPDIR, else /tmp.
std::filesystem::path temporary_folder();

/// A fresh private folder in temporary_folder(), removed with its contents on destruction (never throws). Its name
/// tells the process that owns it.
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

/// Removes the TemporaryDirectories of this user's processes that have ended without doing so themselves. Those of
/// another machine, boot or container, where process ids mean others, are left alone.
void remove_abandoned_temporaries() noexcept;

/// XTUNE_CACHE_DIR, else XDG_CACHE_HOME/xtune, else ~/.cache/xtune, else a folder in the temporary directory.
std::filesystem::path default_store();
/// The running program's own file.
std::filesystem::path own_executable();

}  // namespace xtune::base
