#include "emulator/source_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <span>

#include "system/dynamic_library.hpp"

namespace xtune::emulator {
namespace {

using system::DynamicLibrary;

// The types of elfutils/libdw.h, whose layout is part of its ABI.
struct Die {
  void *address, *unit, *abbreviation;
  long padding;
};
struct Attribute {
  unsigned code, form;
  unsigned char* value;
  void* unit;
};
constexpr unsigned call_file = 0x58, call_line = 0x59;  // DW_AT_call_file, DW_AT_call_line
constexpr int inlined_subroutine = 0x1d;                // DW_TAG_inlined_subroutine

/// The functions of libelf.h and libdw.h that are needed.
struct DwarfLibrary {
  DynamicLibrary elf = DynamicLibrary::open({"libelf.so.1"}), dw = DynamicLibrary::open({"libdw.so.1"});
  unsigned (*version)(unsigned) = nullptr;
  void* (*open_memory)(char* image, std::size_t bytes) = nullptr;
  void* (*begin)(void* elf, int command, void* group) = nullptr;
  int (*next_unit)(void* dwarf, std::uint64_t offset, std::uint64_t* next, std::size_t* header,
                   std::uint64_t* abbreviations, std::uint8_t* address_bytes, std::uint8_t* offset_bytes) = nullptr;
  Die* (*die_at)(void* dwarf, std::uint64_t offset, Die* to) = nullptr;
  int (*has_pc)(Die* die, std::uint64_t address) = nullptr;
  void* (*line_at)(Die* unit, std::uint64_t address) = nullptr;
  int (*line_number)(void* line, int* number) = nullptr;
  const char* (*line_file)(void* line, std::uint64_t* time, std::uint64_t* length) = nullptr;
  int (*scopes)(Die* unit, std::uint64_t address, Die** found) = nullptr;
  int (*tag)(Die* die) = nullptr;
  Attribute* (*attribute)(Die* die, unsigned name, Attribute* to) = nullptr;
  int (*number)(Attribute* attribute, std::uint64_t* value) = nullptr;
  int (*files)(Die* unit, void** files, std::size_t* count) = nullptr;
  const char* (*file)(void* files, std::size_t index, std::uint64_t* time, std::uint64_t* length) = nullptr;

  DwarfLibrary() {
    elf.get("elf_version", version);
    elf.get("elf_memory", open_memory);
    dw.get("dwarf_begin_elf", begin);
    dw.get("dwarf_nextcu", next_unit);
    dw.get("dwarf_offdie", die_at);
    dw.get("dwarf_haspc", has_pc);
    dw.get("dwarf_getsrc_die", line_at);
    dw.get("dwarf_lineno", line_number);
    dw.get("dwarf_linesrc", line_file);
    dw.get("dwarf_getscopes", scopes);
    dw.get("dwarf_tag", tag);
    dw.get("dwarf_attr", attribute);
    dw.get("dwarf_formudata", number);
    dw.get("dwarf_getsrcfiles", files);
    dw.get("dwarf_filesrc", file);
    elf.keep_resident();
    dw.keep_resident();
    version(1);  // EV_CURRENT
  }
};

/// nullptr: it is not installed.
const DwarfLibrary* dwarf_library() {
  static const std::unique_ptr<const DwarfLibrary> library = []() -> std::unique_ptr<const DwarfLibrary> {
    try {
      return std::make_unique<const DwarfLibrary>();
    } catch (const Error&) {
      return nullptr;
    }
  }();
  return library.get();
}

std::string place_of(const char* file, std::uint64_t line) {
  if (file == nullptr || line == 0) return {};
  const std::string_view path(file);
  return fmt::format("{}:{}", path.substr(path.rfind('/') + 1), line);
}

/// Where the function of the unit that has the address calls what was inlined into it; empty: nothing was.
std::string call_place(const DwarfLibrary& dwarf, Die& unit, std::uint64_t address) {
  Die* scopes = nullptr;
  const int count = dwarf.scopes(&unit, address, &scopes);
  const std::unique_ptr<Die, decltype(&std::free)> owner(scopes, &std::free);
  std::string place;
  for (Die& scope : std::span(scopes, static_cast<std::size_t>(std::max(count, 0)))) {
    Attribute attribute{};
    std::uint64_t file = 0, line = 0;
    void* files = nullptr;
    std::size_t file_count = 0;
    if (dwarf.tag(&scope) == inlined_subroutine && dwarf.attribute(&scope, call_file, &attribute) &&
        dwarf.number(&attribute, &file) == 0 && dwarf.attribute(&scope, call_line, &attribute) &&
        dwarf.number(&attribute, &line) == 0 && dwarf.files(&unit, &files, &file_count) == 0 && file < file_count)
      place = place_of(dwarf.file(files, file, nullptr, nullptr), line);
  }
  return place;
}

}  // namespace

struct SourceLines::State {
  std::mutex mutex;
  std::string image;
  void* dwarf = nullptr;
};

SourceLines::SourceLines(std::string_view image) : state_(std::make_unique<State>()) {
  if (image.find(".debug_line") != std::string_view::npos) state_->image = image;
}
SourceLines::~SourceLines() = default;

std::string SourceLines::at(std::uint64_t address) const {
  const std::lock_guard lock(state_->mutex);
  const DwarfLibrary* const dwarf = state_->image.empty() ? nullptr : dwarf_library();
  if (dwarf == nullptr) return {};
  if (state_->dwarf == nullptr)
    state_->dwarf = dwarf->begin(dwarf->open_memory(state_->image.data(), state_->image.size()), 0, nullptr);
  std::uint64_t offset = 0, next = 0;
  std::size_t header = 0;
  for (; state_->dwarf && dwarf->next_unit(state_->dwarf, offset, &next, &header, nullptr, nullptr, nullptr) == 0;
       offset = next) {
    Die unit{};
    if (!dwarf->die_at(state_->dwarf, offset + header, &unit) || dwarf->has_pc(&unit, address) <= 0) continue;
    void* const line = dwarf->line_at(&unit, address);
    int number = 0;
    if (line == nullptr || dwarf->line_number(line, &number) != 0) continue;
    const std::string own = place_of(dwarf->line_file(line, nullptr, nullptr), static_cast<unsigned>(number)),
                      call = call_place(*dwarf, unit, address);
    return call.empty() || own.empty() ? own : fmt::format("{}, inlined at {}", own, call);
  }
  return {};
}

}  // namespace xtune::emulator
