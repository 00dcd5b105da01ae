// Shared libraries through dlopen.
#include "system/dynamic_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <span>
#include <utility>

namespace xtune::system {
namespace {

std::string loader_words() {
  const char* text = dlerror();
  return text ? text : "no reason given";
}

}  // namespace

DynamicLibrary DynamicLibrary::open(const std::vector<std::string>& names) {
  std::string reason = "no name given";
  bool absent = true;
  for (const std::string& name : names) {
    // RTLD_LOCAL: two backends may have the same symbol; RTLD_NOW: an unresolved symbol is found here and not at its
    // first call.
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      DynamicLibrary library;
      library.handle_ = handle;
      library.name_ = name;
      return library;
    }
    reason = loader_words();
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
  for (const std::string& name : names) {
    library.handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    library.name_ = name;
    if (library) return library;
  }
  return {};
}

DynamicLibrary::~DynamicLibrary() {
  if (handle_ && !resident_) dlclose(handle_);
}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)),
      name_(std::exchange(other.name_, {})),
      resident_(std::exchange(other.resident_, false)) {}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
  if (this == &other) return *this;
  if (handle_ && !resident_) dlclose(handle_);
  handle_ = std::exchange(other.handle_, nullptr);
  name_ = std::exchange(other.name_, {});
  resident_ = std::exchange(other.resident_, false);
  return *this;
}

void* DynamicLibrary::find(const char* symbol) const noexcept { return handle_ ? dlsym(handle_, symbol) : nullptr; }

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
