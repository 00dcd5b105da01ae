// The ELF notes, symbols and relocations, and the MessagePack metadata of AMD code objects.
#include "backends/gpu/code_object.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/core.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "base/msgpack.hpp"
#include "system/dynamic_library.hpp"

namespace xtune::gpu {
namespace {

/// The bytes [offset, offset + size), or empty if the image does not have all of them.
std::string_view image_slice(std::string_view image, std::uint64_t offset, std::uint64_t size) {
  if (offset > image.size() || size > image.size() - offset) return {};
  return image.substr(offset, size);
}

/// Copies a structure, since data in a file need not be aligned. False: the image does not have all of it.
template <class T>
bool image_copy(std::string_view image, std::uint64_t offset, T& out) {
  const std::string_view bytes = image_slice(image, offset, sizeof(T));
  if (bytes.size() != sizeof(T)) return false;
  std::memcpy(&out, bytes.data(), sizeof(T));
  return true;
}

constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__";

using nlohmann::json;

constexpr std::uint32_t note_type_metadata = 32;  // NT_AMDGPU_METADATA
constexpr std::uint64_t max_bundle_entries = 1024;

/// The structures of a table that are inside the image.
template <class T>
std::vector<T> read_table(std::string_view image, std::uint64_t offset, std::uint64_t bytes) {
  std::vector<T> table;
  T entry;
  for (std::uint64_t at = 0; at < bytes && image_copy(image, offset + at, entry); at += sizeof entry)
    table.push_back(entry);
  return table;
}

/// The header of a 64-bit ELF; nullopt: it is none.
std::optional<Elf64_Ehdr> header_of(std::string_view image) {
  Elf64_Ehdr elf;
  const bool is_elf = image_copy(image, 0, elf) && image.starts_with(ELFMAG) && elf.e_ident[EI_CLASS] == ELFCLASS64 &&
                      elf.e_ident[EI_DATA] == ELFDATA2LSB;
  return is_elf ? std::optional(elf) : std::nullopt;
}

std::vector<Elf64_Shdr> sections_of(std::string_view image) {
  const auto elf = header_of(image);
  return elf ? read_table<Elf64_Shdr>(image, elf->e_shoff, std::uint64_t{elf->e_shnum} * sizeof(Elf64_Shdr))
             : std::vector<Elf64_Shdr>();
}

/// The metadata's MessagePack; empty: there is none.
std::string_view find_metadata(std::string_view image) {
  constexpr std::string_view owner("AMDGPU\0", 7);
  const auto elf = header_of(image);
  if (!elf) return {};
  std::vector<std::string_view> notes;
  // Program headers first: they survive stripping.
  for (const auto& segment :
       read_table<Elf64_Phdr>(image, elf->e_phoff, std::uint64_t{elf->e_phnum} * sizeof(Elf64_Phdr)))
    if (segment.p_type == PT_NOTE) notes.push_back(image_slice(image, segment.p_offset, segment.p_filesz));
  for (const Elf64_Shdr& section : sections_of(image))
    if (section.sh_type == SHT_NOTE) notes.push_back(image_slice(image, section.sh_offset, section.sh_size));
  for (const std::string_view each : notes)
    if (const auto text = note(each, note_type_metadata, owner); !text.empty()) return text;
  return {};
}

std::optional<std::int64_t> number(const json& kernel, const char* key) {
  const auto field = kernel.find(key);
  if (field == kernel.end() || !field->is_number_integer()) return std::nullopt;
  const auto value = field->get<std::int64_t>();
  if (value < 0 || value > 1'000'000'000) return std::nullopt;
  return value;
}

std::optional<int> small_number(const json& kernel, const char* key) {
  const auto value = number(kernel, key);
  return value ? std::optional<int>(static_cast<int>(*value)) : std::nullopt;
}

KernelMetadata read_kernel(const json& kernel) {
  KernelMetadata result;
  build::ResourceUsage& usage = result.usage;
  usage.registers = small_number(kernel, ".vgpr_count");
  usage.scalar_registers = small_number(kernel, ".sgpr_count");
  usage.accumulator_registers = small_number(kernel, ".agpr_count");
  usage.static_shared_bytes = number(kernel, ".group_segment_fixed_size");
  usage.max_threads_per_block = small_number(kernel, ".max_flat_workgroup_size");
  usage.warp_size = small_number(kernel, ".wavefront_size");
  // Scalar registers spill into lanes of vector registers, not to memory; a vector register is 4 bytes a thread.
  if (const auto spills = number(kernel, ".vgpr_spill_count")) usage.spilled_bytes = *spills * 4;
  if (const auto parameters = kernel.find(".args"); parameters != kernel.end() && parameters->is_array()) {
    for (const json& parameter : *parameters) {
      if (!parameter.is_object()) continue;
      const auto kind = parameter.find(".value_kind");
      const bool hidden =
          kind != parameter.end() && kind->is_string() && kind->get_ref<const std::string&>().starts_with("hidden_");
      const auto size = number(parameter, ".size"), offset = number(parameter, ".offset");
      if (size && !hidden) {
        result.parameter_bytes.push_back(static_cast<std::size_t>(*size));
        result.parameter_offsets.push_back(static_cast<std::size_t>(offset.value_or(0)));
      }
      if (size && offset && hidden)
        result.hidden.push_back(
            {kind->get<std::string>(), static_cast<std::size_t>(*offset), static_cast<std::size_t>(*size)});
    }
  }
  return result;
}

json metadata_of(std::string_view image) {
  constexpr std::size_t deepest = 31;  // real metadata has few levels
  return base::parse_msgpack(find_metadata(image), deepest).value_or(json());
}

constexpr std::uint32_t relocation_absolute = 3;   // R_AMDGPU_ABS64
constexpr std::uint32_t relocation_relative = 13;  // R_AMDGPU_RELATIVE64

}  // namespace

std::string_view note(std::string_view notes, std::uint32_t type, std::string_view owner) {
  const auto padded = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
  std::uint64_t at = 0;
  Elf64_Nhdr header;
  while (image_copy(notes, at, header)) {
    const std::uint64_t name_at = at + sizeof(header), text_at = name_at + padded(header.n_namesz);
    const std::string_view name = image_slice(notes, name_at, header.n_namesz);
    const std::string_view text = image_slice(notes, text_at, header.n_descsz);
    if (header.n_type == type && name == owner) return text;
    at = text_at + padded(header.n_descsz);
  }
  return {};
}

std::string code_object_arch(std::string_view image) {
  const json metadata = metadata_of(image);
  if (!metadata.is_object()) return {};
  const auto target = metadata.find("amdhsa.target");
  if (target == metadata.end() || !target->is_string()) return {};
  const std::string id = target->get<std::string>();
  const std::size_t begin = id.rfind("--");
  const std::string arch = begin == std::string::npos ? "" : id.substr(begin + 2);
  return arch.substr(0, arch.find(':'));
}

std::optional<KernelMetadata> kernel_metadata(std::string_view image, std::string_view symbol) {
  const json metadata = metadata_of(image);
  if (!metadata.is_object()) return std::nullopt;
  const auto kernels = metadata.find("amdhsa.kernels");
  if (kernels == metadata.end() || !kernels->is_array()) return std::nullopt;
  const std::string descriptor = std::string(symbol) + ".kd";
  for (const json& kernel : *kernels) {
    if (!kernel.is_object()) continue;
    const auto name = kernel.find(".symbol");
    if (name != kernel.end() && name->is_string() && name->get_ref<const std::string&>() == descriptor)
      return read_kernel(kernel);
  }
  return std::nullopt;
}

std::string_view unbundle(std::string_view image, std::string_view arch) {
  if (!image.starts_with(bundle_magic)) return image;
  std::uint64_t entries = 0;
  if (!image_copy(image, bundle_magic.size(), entries) || entries > max_bundle_entries) return {};
  std::uint64_t at = bundle_magic.size() + sizeof(entries);
  for (std::uint64_t i = 0; i < entries; ++i) {
    std::uint64_t header[3];  // offset and size of the code, size of the target's name
    if (!image_copy(image, at, header)) return {};
    const std::string_view target = image_slice(image, at + sizeof(header), header[2]);
    if (target.size() != header[2]) return {};
    at += sizeof(header) + header[2];
    // "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", "host-x86_64-unknown-linux--"
    const auto dashes = target.rfind("--");
    const std::string_view id = dashes == std::string_view::npos ? std::string_view() : target.substr(dashes + 2);
    if (target.find("amdgcn") != std::string_view::npos && id.substr(0, id.find(':')) == arch.substr(0, arch.find(':')))
      return image_slice(image, header[0], header[1]);
  }
  return {};
}

bool is_whole(std::string_view image) {
  if (image.starts_with(bundle_magic)) return true;
  Elf64_Ehdr header;
  if (image.size() < sizeof header || !image.starts_with(std::string_view(ELFMAG, SELFMAG))) return false;
  std::memcpy(&header, image.data(), sizeof header);
  const auto inside = [&](std::uint64_t offset, std::uint64_t entries, std::uint64_t entry_bytes) {
    return offset <= image.size() && entries * entry_bytes <= image.size() - offset;
  };
  return header.e_ident[EI_CLASS] == ELFCLASS64 && inside(header.e_phoff, header.e_phnum, header.e_phentsize) &&
         inside(header.e_shoff, header.e_shnum, header.e_shentsize);
}

std::vector<Symbol> symbols_of(std::string_view image, std::uint32_t table) {
  std::vector<Symbol> symbols;
  const std::vector<Elf64_Shdr> sections = sections_of(image);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != table || section.sh_link >= sections.size()) continue;
    const Elf64_Shdr& strings = sections[section.sh_link];
    const std::string_view names = image_slice(image, strings.sh_offset, strings.sh_size);
    for (const Elf64_Sym& entry : read_table<Elf64_Sym>(image, section.sh_offset, section.sh_size)) {
      std::string_view name = names.substr(std::min<std::size_t>(entry.st_name, names.size()));
      const bool is_defined = entry.st_shndx != SHN_UNDEF;
      symbols.push_back({name.substr(0, name.find('\0')), is_defined ? entry.st_value : 0, entry.st_size,
                         is_defined && ELF64_ST_TYPE(entry.st_info) == STT_TLS});
    }
  }
  return symbols;
}

std::optional<std::string> symbol_pointed_to(std::string_view image, std::string_view pointer) {
  const std::vector<Elf64_Shdr> sections = sections_of(image);
  const std::vector<Symbol> symbols = symbols_of(image, SHT_DYNSYM);
  const auto of_pointer =
      std::find_if(symbols.begin(), symbols.end(), [&](const Symbol& symbol) { return symbol.name == pointer; });
  if (of_pointer == symbols.end() || of_pointer->address == 0) return std::nullopt;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_RELA) continue;
    for (const Elf64_Rela& relocation : read_table<Elf64_Rela>(image, section.sh_offset, section.sh_size)) {
      if (relocation.r_offset != of_pointer->address) continue;
      auto address = static_cast<std::uint64_t>(relocation.r_addend);
      const std::uint64_t number = ELF64_R_SYM(relocation.r_info);
      const std::uint32_t kind = ELF64_R_TYPE(relocation.r_info);
      if (kind == relocation_absolute && number < symbols.size())
        address += symbols[number].address;
      else if (kind != relocation_relative)
        continue;
      for (const Symbol& symbol : symbols)
        if (symbol.address == address && address != 0 && !symbol.name.empty()) return std::string(symbol.name);
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> symbol_value(std::string_view image, std::string_view name) {
  for (const Symbol& symbol : symbols_of(image, SHT_SYMTAB))
    if (symbol.name == name && symbol.address != 0) return symbol.address;
  return std::nullopt;
}

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
