// Shared libraries through dlopen.
#include "system/dynamic_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
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

DynamicLibrary DynamicLibrary::open(const std::vector<std::string>& names) {
  std::string reason = "no name given";
  bool absent = true;
  DynamicLibrary library;
  for (const std::string& name : names) {
    if (library.load(name, 0)) return library;
    const char* const words = dlerror();
    reason = words ? words : "no reason given";
    // The loader reports the reason only as text. It has the same text for a missing dependency, which is just as
    // permanent.
    absent = absent && reason.find("No such file or directory") != std::string::npos;
  }
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

void visit_object_with(const void* address, const std::function<void(const dl_phdr_info&)>& visit) {
  struct Search {
    std::uintptr_t address;
    const std::function<void(const dl_phdr_info&)>& visit;
  } search{reinterpret_cast<std::uintptr_t>(address), visit};
  const auto look_at = [](dl_phdr_info* object, std::size_t, void* data) {
    const auto& [wanted, found] = *static_cast<Search*>(data);
    for (const auto& segment : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
      const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
      if (segment.p_type != PT_LOAD || wanted < begin || wanted - begin >= segment.p_memsz) continue;
      found(*object);
      return 1;
    }
    return 0;
  };
  dl_iterate_phdr(look_at, &search);
}

}  // namespace xtune::system
