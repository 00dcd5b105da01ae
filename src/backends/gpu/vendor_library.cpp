// Identity of a loaded library, from its path and its ELF notes.
#include "backends/gpu/vendor_library.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <link.h>

#include <cstring>
#include <filesystem>
#include <span>

#include "system/dynamic_library.hpp"

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

}  // namespace

std::string library_version(const void* symbol) {
  const std::string name = file_of(symbol).filename().string();
  const auto at = name.find(".so.");
  return at == std::string::npos ? std::string() : name.substr(at + 4);
}

std::string library_path(const void* symbol) { return file_of(symbol).string(); }

std::string library_folder(const void* symbol) { return file_of(symbol).parent_path().string(); }

std::string library_build_id(const void* symbol) {
  std::string id;
  system::visit_object_with(symbol, [&](const dl_phdr_info& library) {
    for (const auto& segment : std::span(library.dlpi_phdr, library.dlpi_phnum))
      if (segment.p_type == PT_NOTE && id.empty())
        id = build_id_in(reinterpret_cast<const char*>(library.dlpi_addr + segment.p_vaddr), segment.p_memsz);
  });
  return id;
}

}  // namespace xtune::gpu
