#include "emulator/image.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "xtune/error.hpp"

namespace xtune::emulator {
namespace {

constexpr std::size_t page = 4096;
constexpr std::uint32_t relocation_absolute = 3, relocation_relative = 13;  // R_AMDGPU_ABS64, R_AMDGPU_RELATIVE64

[[noreturn]] void damaged(const std::string& what) {
  throw Error(ErrorKind::invalid_argument, fmt::format("code object: {}; compile the kernel again", what));
}

template <class T>
T at(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) damaged("a header points outside of the file");
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::vector<Elf64_Phdr> segments_of(std::string_view bytes) {
  const auto header = at<Elf64_Ehdr>(bytes, 0);
  std::vector<Elf64_Phdr> segments;
  for (unsigned i = 0; i < header.e_phnum; ++i)
    segments.push_back(at<Elf64_Phdr>(bytes, header.e_phoff + i * sizeof(Elf64_Phdr)));
  return segments;
}

std::vector<Elf64_Shdr> sections_of(std::string_view bytes) {
  const auto header = at<Elf64_Ehdr>(bytes, 0);
  std::vector<Elf64_Shdr> sections;
  for (unsigned i = 0; i < header.e_shnum; ++i)
    sections.push_back(at<Elf64_Shdr>(bytes, header.e_shoff + i * sizeof(Elf64_Shdr)));
  return sections;
}

std::string_view text_at(std::string_view bytes, std::uint64_t offset) {
  if (offset >= bytes.size()) damaged("a name lies outside of the file");
  return std::string_view(bytes.data() + offset, strnlen(bytes.data() + offset, bytes.size() - offset));
}

}  // namespace

Image::Image(std::string_view bytes) : lines_(std::make_shared<const SourceLines>(bytes)) {
  if (!gpu::is_whole(bytes) || !bytes.starts_with(std::string_view(ELFMAG, SELFMAG)))
    damaged("it is not an ELF file, or is truncated");
  map_segments(bytes);
  relocate(bytes);
  read_symbols(bytes);
  if (text_bytes_ == 0) damaged("it has no instructions");
}

void Image::map_segments(std::string_view bytes) {
  constexpr std::uint64_t largest = std::uint64_t{1} << 30;
  for (const Elf64_Phdr& segment : segments_of(bytes)) {
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_memsz > largest || segment.p_vaddr > largest) damaged("a segment is larger than 1 GiB");
    bytes_ = std::max<std::size_t>(bytes_, segment.p_vaddr + segment.p_memsz);
  }
  storage_.resize(bytes_ + page);
  const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
  base_ = storage_.data() + (page - address % page) % page;
  for (const Elf64_Phdr& segment : segments_of(bytes)) {
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_filesz > segment.p_memsz || segment.p_offset > bytes.size() ||
        segment.p_filesz > bytes.size() - segment.p_offset)
      damaged("a segment lies outside of the file");
    std::memcpy(base_ + segment.p_vaddr, bytes.data() + segment.p_offset, segment.p_filesz);
    if (!(segment.p_flags & PF_X)) continue;
    text_offset_ = segment.p_vaddr;
    text_bytes_ = segment.p_filesz;
  }
}

void Image::relocate(std::string_view bytes) {
  const std::vector<Elf64_Shdr> sections = sections_of(bytes);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_RELA || !(section.sh_flags & SHF_ALLOC)) continue;
    for (std::uint64_t done = 0; done + sizeof(Elf64_Rela) <= section.sh_size; done += sizeof(Elf64_Rela)) {
      const auto entry = at<Elf64_Rela>(bytes, section.sh_offset + done);
      const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(entry.r_info));
      std::uint64_t value = reinterpret_cast<std::uint64_t>(base_) + static_cast<std::uint64_t>(entry.r_addend);
      if (type == relocation_absolute) {
        if (section.sh_link >= sections.size()) damaged("a relocation has no symbol");
        value +=
            at<Elf64_Sym>(bytes, sections[section.sh_link].sh_offset + ELF64_R_SYM(entry.r_info) * sizeof(Elf64_Sym))
                .st_value;
      } else if (type != relocation_relative) {
        damaged(fmt::format("relocation type {} is not known", type));
      }
      if (entry.r_offset > bytes_ || bytes_ - entry.r_offset < sizeof value)
        damaged("a relocation lies outside of the segments");
      std::memcpy(base_ + entry.r_offset, &value, sizeof value);
    }
  }
}

void Image::read_symbols(std::string_view bytes) {
  const std::vector<Elf64_Shdr> sections = sections_of(bytes);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections.size()) continue;
    for (std::uint64_t done = 0; done + sizeof(Elf64_Sym) <= section.sh_size; done += sizeof(Elf64_Sym)) {
      const auto symbol = at<Elf64_Sym>(bytes, section.sh_offset + done);
      const std::string name(text_at(bytes, sections[section.sh_link].sh_offset + symbol.st_name));
      if (name.ends_with(".kd"))
        add_kernel(bytes, name.substr(0, name.size() - 3), symbol.st_value);
      else if (symbol.st_value <= bytes_ && symbol.st_size <= bytes_ - symbol.st_value)
        for (const auto& [type, named] : {std::pair(STT_OBJECT, &variables_), std::pair(STT_FUNC, &functions_)})
          if (ELF64_ST_TYPE(symbol.st_info) == type) (*named)[name] = {base_ + symbol.st_value, symbol.st_size};
    }
  }
}

void Image::add_kernel(std::string_view bytes, const std::string& name, std::uint64_t descriptor) {
  const std::string_view memory(reinterpret_cast<const char*>(base_), bytes_);
  KernelDescriptor one;
  one.lds_bytes = at<std::uint32_t>(memory, descriptor);
  one.scratch_bytes = at<std::uint32_t>(memory, descriptor + 4);
  one.argument_bytes = at<std::uint32_t>(memory, descriptor + 8);
  one.entry = reinterpret_cast<std::uint64_t>(base_) + descriptor + at<std::uint64_t>(memory, descriptor + 16);
  one.resources1 = at<std::uint32_t>(memory, descriptor + 48);
  one.resources2 = at<std::uint32_t>(memory, descriptor + 52);
  one.properties = at<std::uint16_t>(memory, descriptor + 56);
  one.preload = at<std::uint16_t>(memory, descriptor + 58);
  if (const auto metadata = gpu::kernel_metadata(bytes, name)) one.hidden = metadata->hidden;
  kernels_.emplace(name, one);
}

}  // namespace xtune::emulator
