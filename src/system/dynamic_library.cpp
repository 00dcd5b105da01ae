// Shared libraries through dlopen.
#include "system/dynamic_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <span>

namespace xtune::system {

void DynamicLibrary::Close::operator()(void* handle) const noexcept {
  if (!resident) dlclose(handle);
}

/// RTLD_LOCAL: two backends may have the same symbol; RTLD_NOW: an unresolved symbol is found here and not at its first
/// call.
bool DynamicLibrary::load(const std::string& name, int flags) {
  handle_.reset(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | flags));
  name_ = name;
  return handle_ != nullptr;
}

namespace {

struct Remembered {
  std::mutex mutex;
  std::vector<Search> searches;
};

Remembered& remembered() {
  static Remembered all;
  return all;
}

/// "libnvrtc.so" of "/usr/lib/libnvrtc.so.12"; empty: the name is not a library's.
std::string library_in(const std::string& name) {
  const std::string file = name.substr(name.rfind('/') + 1);
  const std::size_t at = file.find(".so");
  return file.starts_with("lib") && at != file.npos ? file.substr(0, at + 3) : "";
}

Search& search_for(const std::string& library, std::vector<Search>& searches) {
  const auto known =
      std::find_if(searches.begin(), searches.end(), [&](const Search& search) { return search.what == library; });
  return known != searches.end() ? *known : searches.emplace_back(Search{library, {}, {}});
}

std::string folder_in(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == name.npos ? "" : name.substr(0, slash);
}

/// reason: the loader's, which begins with the name of the file that it lacks.
void add_place(const std::string& name, const std::string& reason, Search& to) {
  const bool has_start = reason.starts_with(name + ": ");
  if (has_start && reason.find("No such file or directory") != reason.npos)
    add_missing(folder_in(name), to);
  else
    to.places.push_back({name, reason.substr(has_start ? name.size() + 2 : 0)});
}

}  // namespace

void add_missing(const std::string& folder, Search& to) {
  const auto same = [&](const Search::Place& place) { return place.path == folder; };
  if (std::none_of(to.places.begin(), to.places.end(), same)) to.places.push_back({folder, {}});
}

void remember(const Search& search) {
  const std::lock_guard lock(remembered().mutex);
  if (Search& known = search_for(search.what, remembered().searches); known.taken.empty()) known = search;
}

std::vector<Search> searches() {
  const std::lock_guard lock(remembered().mutex);
  return remembered().searches;
}

DynamicLibrary DynamicLibrary::open(const std::vector<std::string>& names) {
  std::string reason = "no name given";
  bool absent = true;
  DynamicLibrary library;
  std::vector<Search> searched;
  for (const std::string& name : names) {
    Search& search = search_for(library_in(name), searched);
    if (library.load(name, 0)) {
      const link_map* object = nullptr;
      std::erase_if(search.places, [&](const Search::Place& place) { return place.path == folder_in(name); });
      search.taken = dlinfo(library.handle_.get(), RTLD_DI_LINKMAP, &object) == 0 ? object->l_name : name;
      break;
    }
    const char* const words = dlerror();
    reason = words ? words : "no reason given";
    add_place(name, reason, search);
    // The loader reports the reason only as text. It has the same text for a missing dependency, which is just as
    // permanent.
    absent = absent && reason.find("No such file or directory") != std::string::npos;
  }
  for (const Search& search : searched)
    if (!search.what.empty()) remember(search);
  if (library) return library;
  const std::string message =
      "cannot load " + (names.empty() ? std::string("a library") : names.back()) + ": " + reason;
  if (absent) throw NotInstalled(message);
  throw Error(ErrorKind::unavailable, message);
}

DynamicLibrary DynamicLibrary::loaded(const std::vector<std::string>& names) {
  DynamicLibrary library;
  for (const std::string& name : names)
    if (library.load(name, RTLD_NOLOAD)) return library;
  return {};
}

void* DynamicLibrary::find(const char* symbol) const noexcept {
  return handle_ ? dlsym(handle_.get(), symbol) : nullptr;
}

void* DynamicLibrary::get(const char* symbol) const {
  if (void* address = find(symbol)) return address;
  if (!handle_) throw Error(ErrorKind::unavailable, std::string("no library is open to find ") + symbol + " in");
  throw Error(ErrorKind::unavailable,
              name_ + " has no symbol " + symbol + ": it is older than this program needs, or another library");
}

/// Of several, the one that was loaded last.
std::string loaded_file(std::string_view start) {
  struct Wanted {
    std::string_view start;
    std::string found;
  } wanted{start, {}};
  const auto look_at = [](dl_phdr_info* object, std::size_t, void* data) {
    auto& [begin, found] = *static_cast<Wanted*>(data);
    const std::string_view path = object->dlpi_name ? object->dlpi_name : "";
    if (path.substr(path.rfind('/') + 1).starts_with(begin)) found = path;
    return 0;
  };
  dl_iterate_phdr(look_at, &wanted);
  return wanted.found;
}

void visit_object_with(const void* address, const std::function<void(const dl_phdr_info&)>& visit) {
  struct Wanted {
    std::uintptr_t address;
    const std::function<void(const dl_phdr_info&)>& visit;
  } target{reinterpret_cast<std::uintptr_t>(address), visit};
  const auto look_at = [](dl_phdr_info* object, std::size_t, void* data) {
    const auto& [wanted, found] = *static_cast<Wanted*>(data);
    for (const auto& segment : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
      const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
      if (segment.p_type != PT_LOAD || wanted < begin || wanted - begin >= segment.p_memsz) continue;
      found(*object);
      return 1;
    }
    return 0;
  };
  dl_iterate_phdr(look_at, &target);
}

}  // namespace xtune::system
