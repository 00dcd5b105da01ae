// Identity of a loaded library, from its path and its ELF notes.
#include "backends/gpu/library_file.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <link.h>

#include <cstring>
#include <filesystem>

namespace xtune::gpu {
namespace {

std::filesystem::path file_of(const void* symbol) {
  Dl_info info{};
  if (!symbol || dladdr(symbol, &info) == 0 || !info.dli_fname) return {};
  std::error_code error;
  auto path = std::filesystem::canonical(info.dli_fname, error);
  return error ? std::filesystem::path(info.dli_fname) : path;
}

/// The build id in one loaded segment of notes.
std::string build_id_in(const char* notes, std::size_t size) {
  const auto padded = [](std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; };
  ElfW(Nhdr) header;
  for (std::size_t at = 0; at + sizeof(header) <= size;) {
    std::memcpy(&header, notes + at, sizeof(header));
    const std::size_t name = at + sizeof(header), text = name + padded(header.n_namesz);
    if (text > size || header.n_descsz > size - text) return {};
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && std::memcmp(notes + name, "GNU", 4) == 0) {
      std::string id;
      for (std::size_t i = 0; i < header.n_descsz && i < 6; ++i)
        id += fmt::format("{:02x}", static_cast<unsigned char>(notes[text + i]));
      return id;
    }
    at = text + padded(header.n_descsz);
  }
  return {};
}

struct Search {
  std::uintptr_t address;
  std::string id;
};

int visit(dl_phdr_info* library, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  bool holds = false;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& segment = library->dlpi_phdr[i];
    const std::uintptr_t begin = library->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && search.address >= begin && search.address - begin < segment.p_memsz) holds = true;
  }
  for (int i = 0; holds && i < library->dlpi_phnum; ++i) {
    const auto& segment = library->dlpi_phdr[i];
    if (segment.p_type == PT_NOTE && search.id.empty())
      search.id = build_id_in(reinterpret_cast<const char*>(library->dlpi_addr + segment.p_vaddr), segment.p_memsz);
  }
  return holds ? 1 : 0;
}

}  // namespace

std::string library_version(const void* symbol) {
  const std::string name = file_of(symbol).filename().string();
  const auto at = name.find(".so.");
  return at == std::string::npos ? std::string() : name.substr(at + 4);
}

std::string library_path(const void* symbol) { return file_of(symbol).string(); }

std::string library_folder(const void* symbol) { return file_of(symbol).parent_path().string(); }

std::string library_build_id(const void* symbol) {
  Search search{reinterpret_cast<std::uintptr_t>(symbol), {}};
  if (symbol) dl_iterate_phdr(visit, &search);
  return search.id;
}

}  // namespace xtune::gpu
