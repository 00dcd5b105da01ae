// Whose files xtune believes. Stores hold native code and what decides which of it runs: a file that another user can
// change would run that user's code.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

namespace xtune::base {

/// Trusted are this user, root, and those that XTUNE_TRUST names, separated by commas: users (alice, 1003) and groups
/// (group:lab, group:2000). The returned text is empty for a file or directory that only they can change; else it says
/// why not: "it belongs to mallory (uid 1004)". Throws Error(invalid_argument) for a name that does not exist.
///
/// Users: the owner is trusted, or the group is. Writing: nobody else has the right to, and a group only if it is
/// trusted, root's, or the private group of this user. In a user namespace the overflow user stands for everybody who
/// is not mapped, and is trusted only by name.
std::string why_distrusted(const struct stat& info);
/// Only the second half: who else may write to it. For files that the user chose whoever made them.
std::string why_writable(const struct stat& info);
/// Of a path: what is wrong with it, with what it leads to where it is a link, or with the link, and what to do about
/// it. Empty: nothing, or there is no such path.
std::string why_refused(const std::filesystem::path& path);
/// Throws Error(io) with the path and why_refused, if that is not empty.
void require_trusted(const std::filesystem::path& path);

/// As read_file, but the opened file is trusted and a regular file. Throws Error(io).
std::string read_trusted_file(const std::filesystem::path& path, std::uint64_t limit_bytes = std::uint64_t{1} << 30);

/// Makes a directory that only this user can enter, or checks that the one that is there is such a one, no link and
/// this user's: for places in which every user may create names. Throws Error(io).
void make_private_directory(const std::filesystem::path& path);

/// As create_directories, but nobody else may write to what it makes, whatever the umask; in a directory that a trusted
/// group may write to, that group may.
std::error_code make_directories(const std::filesystem::path& path);

}  // namespace xtune::base
