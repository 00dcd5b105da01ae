// Loads a kernel from memory, after checking the image.
#include "backends/host/shared_library.hpp"

#include <dlfcn.h>
#include <elf.h>

#include <cstring>

namespace xtune::host {
namespace {

/// A copy of the structure at an offset of the image, if it is inside.
template <class T>
std::optional<T> read_at(const std::string& image, std::uint64_t offset) {
  T value;
  if (offset > image.size() || image.size() - offset < sizeof value) return std::nullopt;
  std::memcpy(&value, image.data() + offset, sizeof value);
  return value;
}

std::string name_at(const std::string& image, const Elf64_Shdr& names, std::uint32_t at) {
  const std::uint64_t start = names.sh_offset + at;
  if (at >= names.sh_size || names.sh_offset >= image.size() || start >= image.size()) return "";
  return image.substr(start, image.find('\0', start) - start);
}

bool is_runtime_variable(const std::string& name) {
  for (const char* own : {"threadIdx", "blockIdx", "blockDim", "gridDim", "xtune_dynamic_shared_memory", "xtune_blocks",
                          "xtune_copies_of"})
    if (name.find(own) != std::string::npos) return true;
  return false;
}

}  // namespace

std::optional<std::int64_t> thread_local_bytes(const std::string& image) {
  const auto header = read_at<Elf64_Ehdr>(image, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
    return std::nullopt;
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    const auto table = read_at<Elf64_Shdr>(image, header->e_shoff + std::uint64_t{i} * header->e_shentsize);
    if (!table || table->sh_type != SHT_SYMTAB) continue;
    const auto names =
        read_at<Elf64_Shdr>(image, header->e_shoff + std::uint64_t{table->sh_link} * header->e_shentsize);
    if (!names) return std::nullopt;
    std::int64_t total = 0;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = read_at<Elf64_Sym>(image, table->sh_offset + at);
      if (!symbol) return std::nullopt;
      if (ELF64_ST_TYPE(symbol->st_info) == STT_TLS && symbol->st_shndx != SHN_UNDEF &&
          !is_runtime_variable(name_at(image, *names, symbol->st_name)))
        total += static_cast<std::int64_t>(symbol->st_size);
    }
    return total;
  }
  return std::nullopt;
}

KernelLibrary::KernelLibrary(const build::Artifact& artifact, const std::string& own_arch) {
  const auto marker = artifact.image.find(XTUNE_HOST_MARKER);
  const bool sanitized =
      marker != std::string::npos && artifact.image.compare(marker + std::strlen(XTUNE_HOST_MARKER), 1, "1") == 0;
  // Otherwise its initialisation would end the process.
  if (sanitized && !dlsym(RTLD_DEFAULT, "__asan_init"))
    refuse_image(
        "it was compiled with AddressSanitizer, whose library must be loaded when the process starts (LD_PRELOAD)");
  library_.emplace(artifact, XTUNE_HOST_MARKER, own_arch);
  entries_.push_back({static_cast<const XtuneKernel*>(library_->entry()), sanitized});
  for (std::size_t i = 1; i < artifact.entries.size(); ++i) {
    const void* const found = library_->find(artifact.entries[i].symbol);
    if (!found)
      refuse_image("its library has no kernel " + artifact.entries[i].symbol + "; remove it from the artifact cache");
    entries_.push_back({static_cast<const XtuneKernel*>(found), sanitized});
  }
}

const XtuneVariable& KernelLibrary::variable(const std::string& symbol) const {
  const void* const found = library_->find(symbol);
  if (!found) refuse_image("its library has no variable " + symbol + "; remove it from the artifact cache");
  return *static_cast<const XtuneVariable*>(found);
}

}  // namespace xtune::host
