// The only function that lists a store's directories, and the only rule for links in them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace xtune::record {

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
  trusted,  ///< entries that others can change count as unreadable (base/trust.hpp)
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

}  // namespace xtune::record
