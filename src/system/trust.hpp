// Which users' files xtune trusts. Stores hold native code and the records that decide which of it runs: a user who can
// change a file there could run code as the user of xtune.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

namespace xtune::system {

/// Trusted users are this user, root, and those in XTUNE_TRUST, separated by commas: users (alice, 1003) and groups
/// (group:lab, group:2000). The returned text is empty for a file or directory that only they can change; else it gives
/// the reason: "it belongs to mallory (uid 1004)". Throws Error(invalid_argument) for a name that does not exist.
///
/// Ownership: the owner or the group is trusted. Permissions: no other user may write, and a group may write only if it
/// is trusted, root's, or the private group of this user. In a user namespace the overflow user represents all users
/// who are not mapped, and is trusted only by name.
std::string why_distrusted(const struct stat& info);
/// What is wrong with a path (or with the target of a link, or with the link), and what to do about it. Empty: nothing,
/// or the path does not exist.
std::string why_refused(const std::filesystem::path& path);
/// Throws Error(io) with the path and why_refused, if that is not empty.
void require_trusted(const std::filesystem::path& path);

/// Like read_file, but the opened file must be trusted and a regular file. Throws Error(io).
std::string read_trusted_file(const std::filesystem::path& path, std::uint64_t limit_bytes = std::uint64_t{1} << 30);

/// For a file or directory that the user named, which may belong to any one user: throws Error(io) if users besides the
/// owner and those who are trusted may write to it, or may replace the file in its directory.
void require_unwritable(const std::filesystem::path& path);
/// Like read_trusted_file, for a file in a directory that the user named: it may also belong to the owner of the
/// directory, for which require_unwritable holds.
std::string read_file_of_named(const std::filesystem::path& directory, const std::string& name);

/// Makes a directory that only this user can enter, or checks that an existing one is such a directory, belongs to this
/// user and is not a link. For places in which every user may create names. Throws Error(io).
void make_private_directory(const std::filesystem::path& path);

/// Like create_directories, but other users may not write to the new directories, regardless of the umask; in a
/// directory that a trusted group may write to, that group may.
std::error_code make_directories(const std::filesystem::path& path);

}  // namespace xtune::system
