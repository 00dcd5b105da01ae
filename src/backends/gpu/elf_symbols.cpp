// The dynamic symbols and relocations of an ELF image.
#include "backends/gpu/elf_symbols.hpp"

#include <elf.h>

#include <algorithm>
#include <vector>

#include "backends/gpu/image_bytes.hpp"

namespace xtune::gpu {
namespace {

constexpr std::uint32_t relocation_absolute = 3;   // R_AMDGPU_ABS64
constexpr std::uint32_t relocation_relative = 13;  // R_AMDGPU_RELATIVE64

struct Symbol {
  std::string_view name;
  std::uint64_t address = 0;
};

/// All structures of a table that are inside the image.
template <class T>
std::vector<T> read_table(std::string_view image, const Elf64_Shdr& section) {
  std::vector<T> table;
  T entry;
  for (std::uint64_t at = 0; at < section.sh_size && image_copy(image, section.sh_offset + at, entry);
       at += sizeof entry)
    table.push_back(entry);
  return table;
}

std::vector<Elf64_Shdr> sections_of(std::string_view image) {
  Elf64_Ehdr elf;
  if (!image_copy(image, 0, elf) || !image.starts_with(ELFMAG) || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
      elf.e_ident[EI_DATA] != ELFDATA2LSB)
    return {};
  Elf64_Shdr whole{};
  whole.sh_offset = elf.e_shoff;
  whole.sh_size = std::uint64_t{elf.e_shnum} * sizeof(Elf64_Shdr);
  return read_table<Elf64_Shdr>(image, whole);
}

/// table: SHT_DYNSYM or SHT_SYMTAB.
std::vector<Symbol> symbols_of(std::string_view image, const std::vector<Elf64_Shdr>& sections, std::uint32_t table) {
  std::vector<Symbol> symbols;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != table || section.sh_link >= sections.size()) continue;
    const Elf64_Shdr& strings = sections[section.sh_link];
    const std::string_view names = image_slice(image, strings.sh_offset, strings.sh_size);
    for (const Elf64_Sym& entry : read_table<Elf64_Sym>(image, section)) {
      std::string_view name = names.substr(std::min<std::size_t>(entry.st_name, names.size()));
      symbols.push_back({name.substr(0, name.find('\0')), entry.st_shndx == SHN_UNDEF ? 0 : entry.st_value});
    }
  }
  return symbols;
}

}  // namespace

std::optional<std::string> symbol_pointed_to(std::string_view image, std::string_view pointer) {
  const std::vector<Elf64_Shdr> sections = sections_of(image);
  const std::vector<Symbol> symbols = symbols_of(image, sections, SHT_DYNSYM);
  const auto of_pointer =
      std::find_if(symbols.begin(), symbols.end(), [&](const Symbol& symbol) { return symbol.name == pointer; });
  if (of_pointer == symbols.end() || of_pointer->address == 0) return std::nullopt;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_RELA) continue;
    for (const Elf64_Rela& relocation : read_table<Elf64_Rela>(image, section)) {
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
  for (const Symbol& symbol : symbols_of(image, sections_of(image), SHT_SYMTAB))
    if (symbol.name == name && symbol.address != 0) return symbol.address;
  return std::nullopt;
}

}  // namespace xtune::gpu
