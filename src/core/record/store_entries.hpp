// The one way to list a store's folders, and the one rule for links in them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace xtune::record {

/// A folder or regular file of a store; a link counts as what it leads to.
struct StoreEntry {
  std::filesystem::path path;
  std::string name;
  bool folder = false;
};

/// What is there and cannot be read.
struct Unreadable {
  std::filesystem::path path;
  std::string why;
  std::string text() const;  ///< "cannot read PATH: Permission denied", for people
};

enum class Owners {
  trusted,  ///< what others can change is as good as unreadable (base/trust.hpp)
  any,      ///< a store that the user named to take from
};

/// What a folder holds, by name; nothing where there is no such folder. Links are followed; other kinds of file are
/// passed over. What cannot be listed, links that lead nowhere, and what is not to be trusted come to `unreadable`.
std::vector<StoreEntry> store_entries(const std::filesystem::path& folder, std::vector<Unreadable>& unreadable,
                                      Owners owners = Owners::trusted);

/// The first link on the way from a store to `path` in it, `path` included; empty: there is none. The store's own path
/// may be a link. Who changes or removes what is there asks this first, and leaves alone what lies behind a link: it
/// may belong to another store.
std::filesystem::path link_on_the_way(const std::filesystem::path& store, const std::filesystem::path& path);

/// "PATH is a link: what it leads to is left as it is", for who has been told so.
std::string behind_a_link(const std::filesystem::path& link);

}  // namespace xtune::record
