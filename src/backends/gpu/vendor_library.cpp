// Identity of a loaded library, from its path and its ELF notes.
#include "backends/gpu/vendor_library.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <link.h>

#include <filesystem>
#include <span>

#include "backends/gpu/code_object.hpp"
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
    for (const auto& segment : std::span(library.dlpi_phdr, library.dlpi_phnum)) {
      if (segment.p_type != PT_NOTE || !id.empty()) continue;
      const auto* const notes = reinterpret_cast<const char*>(library.dlpi_addr + segment.p_vaddr);
      for (const char byte : note({notes, segment.p_memsz}, NT_GNU_BUILD_ID, {"GNU", 4}).substr(0, 6))
        id += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    }
  });
  return id;
}

}  // namespace xtune::gpu
