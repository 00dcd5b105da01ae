// Symbols of an ELF that is made here byte by byte, then damaged in every way.
#include <doctest/doctest.h>
#include <elf.h>

#include <cstring>
#include <string>
#include <vector>

#include "backends/gpu/code_object.hpp"

using namespace xtune::gpu;

namespace {

constexpr std::uint32_t absolute = 3, relative = 13;

template <class T>
void append_bytes(std::string& text, const T& value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// Symbols kernel (at 0x1000), variable (0x2000), of_kernel (0x3000) and of_variable (0x3008), and the relocations of
/// the last two: relative, and by symbol. table: the kind of the table of symbols.
std::string image_with_pointers(std::uint32_t table = SHT_DYNSYM) {
  const std::string names("\0kernel\0variable\0of_kernel\0of_variable\0alone\0", 46);
  const auto symbol = [&](const char* name, std::uint64_t address) {
    Elf64_Sym entry{};
    entry.st_name = static_cast<Elf64_Word>(names.find(std::string("\0", 1) + name + std::string("\0", 1)) + 1);
    entry.st_shndx = 1;
    entry.st_value = address;
    return entry;
  };
  std::string symbols, relocations;
  append_bytes(symbols, Elf64_Sym{});
  append_bytes(symbols, symbol("kernel", 0x1000));
  append_bytes(symbols, symbol("variable", 0x2000));
  append_bytes(symbols, symbol("of_kernel", 0x3000));
  append_bytes(symbols, symbol("of_variable", 0x3008));
  append_bytes(symbols, symbol("alone", 0x3010));
  append_bytes(relocations, Elf64_Rela{0x3000, ELF64_R_INFO(0, relative), 0x1000});
  append_bytes(relocations, Elf64_Rela{0x3008, ELF64_R_INFO(2, absolute), 0});

  Elf64_Ehdr elf{};
  std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
  elf.e_ident[EI_CLASS] = ELFCLASS64;
  elf.e_ident[EI_DATA] = ELFDATA2LSB;
  std::vector<Elf64_Shdr> sections(4);
  std::string body;
  const auto place = [&](Elf64_Shdr& section, std::uint32_t type, const std::string& content) {
    section.sh_type = type;
    section.sh_offset = sizeof elf + body.size();
    section.sh_size = content.size();
    body += content;
  };
  place(sections[1], SHT_STRTAB, names);
  place(sections[2], table, symbols);
  sections[2].sh_link = 1;
  place(sections[3], SHT_RELA, relocations);
  elf.e_shoff = sizeof elf + body.size();
  elf.e_shnum = 4;
  std::string image;
  append_bytes(image, elf);
  image += body;
  for (const Elf64_Shdr& section : sections) append_bytes(image, section);
  return image;
}

}  // namespace

TEST_CASE("elf: a pointer's relocation, relative or by symbol, shows what it points to") {
  const std::string image = image_with_pointers();
  CHECK(symbol_pointed_to(image, "of_kernel") == "kernel");
  CHECK(symbol_pointed_to(image, "of_variable") == "variable");
  CHECK_FALSE(symbol_pointed_to(image, "alone"));
  CHECK_FALSE(symbol_pointed_to(image, "kernel"));
  CHECK_FALSE(symbol_pointed_to(image, "missing"));
  CHECK_FALSE(symbol_pointed_to("", "of_kernel"));
  CHECK_FALSE(symbol_pointed_to("no ELF", "of_kernel"));
}

TEST_CASE("elf: a truncated or damaged image gives one of its symbols or none") {
  const std::string image = image_with_pointers();
  for (std::size_t size = 0; size < image.size(); ++size)
    CHECK_FALSE(symbol_pointed_to(image.substr(0, size), "of_variable").value_or("variable") != "variable");
  for (std::size_t at = 0; at < image.size(); ++at)
    for (const char value : {'\0', '\x7f', '\xff'}) {
      std::string damaged = image;
      damaged[at] = value;
      const auto found = symbol_pointed_to(damaged, "of_kernel");
      if (found) CHECK(damaged.find(*found) != std::string::npos);
    }
}

TEST_CASE("elf: the value of a symbol by its name") {
  const std::string image = image_with_pointers(SHT_SYMTAB);
  CHECK(symbol_value(image, "kernel") == 0x1000);
  CHECK(symbol_value(image, "of_variable") == 0x3008);
  CHECK_FALSE(symbol_value(image, "missing"));
  CHECK_FALSE(symbol_value(image, ""));
  CHECK_FALSE(symbol_value(image_with_pointers(), "kernel"));  // stripped: only dynamic symbols
  for (std::size_t size = 0; size < image.size(); ++size)
    CHECK(symbol_value(image.substr(0, size), "kernel").value_or(0x1000) == 0x1000);
}
