// Lists directories of a store, so that all readers of a store see the same files.
#include "core/record/store_entries.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "base/trust.hpp"

namespace xtune::record {
namespace {

namespace fs = std::filesystem;

bool is_link(const fs::path& path) {
  std::error_code ignored;
  return fs::is_symlink(fs::symlink_status(path, ignored));
}

std::string refusal(const fs::path& path, Owners owners) {
  return owners == Owners::any ? std::string() : base::why_refused(path);
}

// False: the rest of the directory cannot be read either.
bool add_entry(const fs::directory_entry& place, std::vector<StoreEntry>& entries, std::vector<Unreadable>& unreadable,
               Owners owners) {
  std::error_code error;
  const fs::file_status status = place.status(error);
  if (fs::is_directory(status) || fs::is_regular_file(status)) {
    if (std::string why = refusal(place.path(), owners); !why.empty())
      unreadable.push_back({place.path(), std::move(why)});
    else
      entries.push_back({place.path(), place.path().filename().string(), fs::is_directory(status)});
  } else if (error == std::errc::permission_denied && !is_link(place.path())) {
    unreadable.push_back({place.path().parent_path(), "what it holds: " + error.message()});
    return false;
  } else if (status.type() == fs::file_type::not_found) {
    // Otherwise it has just been removed.
    if (is_link(place.path())) unreadable.push_back({place.path(), "it is a link that leads nowhere"});
  } else if (error) {
    unreadable.push_back({place.path(), error.message()});
  }
  return true;
}

}  // namespace

std::string Unreadable::text() const { return "cannot read " + base::printable(path.string()) + ": " + why; }

std::vector<StoreEntry> store_entries(const fs::path& folder, std::vector<Unreadable>& unreadable, Owners owners) {
  std::vector<StoreEntry> entries;
  if (std::string why = refusal(folder, owners); !why.empty()) {
    unreadable.push_back({folder, std::move(why)});
    return entries;
  }
  std::error_code error;
  fs::directory_iterator place(folder, error);
  for (; !error && place != fs::directory_iterator(); place.increment(error))
    if (!add_entry(*place, entries, unreadable, owners)) break;
  if (error == std::errc::no_such_file_or_directory) {
    if (is_link(folder)) unreadable.push_back({folder, "it is a link that leads nowhere"});
  } else if (error) {
    unreadable.push_back({folder, error.message()});
  }
  std::sort(entries.begin(), entries.end(), [](const StoreEntry& a, const StoreEntry& b) { return a.name < b.name; });
  return entries;
}

fs::path link_on_the_way(const fs::path& store, const fs::path& path) {
  fs::path at = store;
  for (const fs::path& name : path.lexically_relative(store))
    if (is_link(at /= name)) return at;
  return {};
}

std::string behind_a_link(const fs::path& link) {
  return base::printable(link.string()) + " is a link: what it leads to is left as it is";
}

}  // namespace xtune::record
