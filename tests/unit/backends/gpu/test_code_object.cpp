// Metadata of AMD code objects: made here byte by byte, then damaged in every way.
#include <doctest/doctest.h>
#include <elf.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "backends/gpu/code_object.hpp"

using namespace xtune;
using nlohmann::json;

namespace {

template <class T>
void append(std::string& text, const T& value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string packed(const json& value) {
  const auto bytes = json::to_msgpack(value);
  return {bytes.begin(), bytes.end()};
}

json kernel(const std::string& name, int vgprs) {
  return {{".name", name},
          {".symbol", name + ".kd"},
          {".vgpr_count", vgprs},
          {".sgpr_count", 14},
          {".agpr_count", 4},
          {".vgpr_spill_count", 141},
          {".sgpr_spill_count", 3},
          {".group_segment_fixed_size", 1024},
          {".private_segment_fixed_size", 848},
          {".max_flat_workgroup_size", 256},
          {".wavefront_size", 64},
          {".args", json::array({{{".size", 8}, {".value_kind", "global_buffer"}},
                                 {{".size", 4}, {".value_kind", "by_value"}},
                                 {{".size", 8}, {".offset", 16}, {".value_kind", "hidden_global_offset_x"}}})}};
}

/// An ELF with one note: in a program header, or only in a section header.
std::string elf_with_note(const std::string& text, bool as_segment = true,
                          const std::string& owner = std::string("AMDGPU\0", 7), std::uint32_t type = 32) {
  std::string note;
  Elf64_Nhdr header{static_cast<Elf64_Word>(owner.size()), static_cast<Elf64_Word>(text.size()), type};
  append(note, header);
  note += owner;
  note.resize((note.size() + 3) / 4 * 4);
  note += text;
  Elf64_Ehdr elf{};
  std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
  elf.e_ident[EI_CLASS] = ELFCLASS64;
  elf.e_ident[EI_DATA] = ELFDATA2LSB;
  std::string image;
  if (as_segment) {
    elf.e_phoff = sizeof(elf);
    elf.e_phnum = 1;
    Elf64_Phdr segment{};
    segment.p_type = PT_NOTE;
    segment.p_offset = sizeof(elf) + sizeof(segment);
    segment.p_filesz = note.size();
    append(image, elf);
    append(image, segment);
  } else {
    elf.e_shoff = sizeof(elf);
    elf.e_shnum = 1;
    Elf64_Shdr section{};
    section.sh_type = SHT_NOTE;
    section.sh_offset = sizeof(elf) + sizeof(section);
    section.sh_size = note.size();
    append(image, elf);
    append(image, section);
  }
  return image + note;
}

json metadata() { return {{"amdhsa.kernels", json::array({kernel("first", 12), kernel("gemm", 128)})}}; }

std::string bundle(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string image = "__CLANG_OFFLOAD_BUNDLE__", code;
  append(image, static_cast<std::uint64_t>(entries.size()));
  std::uint64_t header_bytes = image.size();
  for (const auto& [target, text] : entries) header_bytes += 24 + target.size();
  for (const auto& [target, text] : entries) {
    append(image, static_cast<std::uint64_t>(header_bytes + code.size()));
    append(image, static_cast<std::uint64_t>(text.size()));
    append(image, static_cast<std::uint64_t>(target.size()));
    image += target;
    code += text;
  }
  return image + code;
}

}  // namespace

TEST_CASE("a kernel's metadata") {
  for (const bool as_segment : {true, false}) {
    const auto found = gpu::kernel_metadata(elf_with_note(packed(metadata()), as_segment), "gemm");
    REQUIRE(found);
    CHECK(found->usage.registers == 128);
    CHECK(found->usage.scalar_registers == 14);
    CHECK(found->usage.accumulator_registers == 4);
    CHECK(found->usage.spilled_bytes == 564);
    CHECK(found->usage.static_shared_bytes == 1024);
    REQUIRE(found->hidden.size() == 1);
    CHECK(found->hidden[0].kind == "hidden_global_offset_x");
    CHECK(found->hidden[0].offset == 16);
    CHECK(found->hidden[0].bytes == 8);
    CHECK(found->usage.max_threads_per_block == 256);
    CHECK(found->usage.warp_size == 64);
    CHECK(found->parameter_bytes == std::vector<std::size_t>{8, 4});
  }
}

TEST_CASE("no such kernel, no such note") {
  const std::string image = elf_with_note(packed(metadata()));
  CHECK_FALSE(gpu::kernel_metadata(image, "gem"));
  CHECK_FALSE(gpu::kernel_metadata(image, ""));
  CHECK_FALSE(gpu::kernel_metadata(elf_with_note(packed(metadata()), true, std::string("GNU\0", 4)), "gemm"));
  CHECK_FALSE(gpu::kernel_metadata(elf_with_note(packed(metadata()), true, std::string("AMDGPU\0", 7), 10), "gemm"));
  CHECK_FALSE(gpu::kernel_metadata("", "gemm"));
  CHECK_FALSE(gpu::kernel_metadata(std::string(5000, '\x7f'), "gemm"));
}

TEST_CASE("metadata of the wrong structure gives nothing and does no harm") {
  for (const json& value : {json(), json(1), json::array(), json{{"amdhsa.kernels", 3}},
                            json{{"amdhsa.kernels", {1, "x", nullptr}}}, json{{"amdhsa.kernels", {{{".symbol", 4}}}}}})
    CHECK_FALSE(gpu::kernel_metadata(elf_with_note(packed(value)), "gemm"));
  json odd = metadata();
  odd["amdhsa.kernels"][1][".vgpr_count"] = "many";
  odd["amdhsa.kernels"][1][".sgpr_count"] = -1;
  odd["amdhsa.kernels"][1][".vgpr_spill_count"] = 1e300;
  odd["amdhsa.kernels"][1][".group_segment_fixed_size"] = std::uint64_t{1} << 63;
  odd["amdhsa.kernels"][1][".args"] = {1, "x", json::object()};
  const auto found = gpu::kernel_metadata(elf_with_note(packed(odd)), "gemm");
  REQUIRE(found);
  CHECK_FALSE(found->usage.registers);
  CHECK_FALSE(found->usage.scalar_registers);
  CHECK_FALSE(found->usage.spilled_bytes);
  CHECK_FALSE(found->usage.static_shared_bytes);
  CHECK(found->parameter_bytes.empty());
}

TEST_CASE("nesting without end is refused, not followed") {
  CHECK_FALSE(gpu::kernel_metadata(elf_with_note(std::string(4 << 20, '\x91')), "gemm"));
}

TEST_CASE("lengths that reach outside the image") {
  CHECK_FALSE(
      gpu::kernel_metadata(elf_with_note(std::string("\xdd\xff\xff\xff\xff", 5)), "gemm"));  // array of 2^32 - 1
  std::string image = elf_with_note(packed(metadata()));
  Elf64_Phdr segment;
  std::memcpy(&segment, image.data() + sizeof(Elf64_Ehdr), sizeof(segment));
  for (const auto& [offset, size] : {std::pair<std::uint64_t, std::uint64_t>{segment.p_offset, std::uint64_t(-1)},
                                     {std::uint64_t(-1), 16},
                                     {std::uint64_t(-8), 16},
                                     {image.size(), 1}}) {
    Elf64_Phdr changed = segment;
    changed.p_offset = offset;
    changed.p_filesz = size;
    std::memcpy(image.data() + sizeof(Elf64_Ehdr), &changed, sizeof(changed));
    CHECK_FALSE(gpu::kernel_metadata(image, "gemm"));
  }
}

TEST_CASE("cut off anywhere") {
  const std::string image = elf_with_note(packed(metadata()));
  for (std::size_t size = 0; size < image.size(); ++size)
    CHECK_FALSE(gpu::kernel_metadata(image.substr(0, size), "gemm"));
}

TEST_CASE("an image cut off anywhere is not whole") {
  const std::string image = elf_with_note(packed(metadata()));
  CHECK(gpu::is_whole(image));
  CHECK(gpu::is_whole("__CLANG_OFFLOAD_BUNDLE__"));
  for (std::size_t size = 0; size < 64; ++size) CHECK_FALSE(gpu::is_whole(image.substr(0, size)));
  CHECK_FALSE(gpu::is_whole(std::string(5000, 'x')));
}

TEST_CASE("bytes changed at random") {
  const std::string image = elf_with_note(packed(metadata()));
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = image;
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    if (const auto found = gpu::kernel_metadata(damaged, "gemm"); found && found->usage.registers)
      CHECK(*found->usage.registers >= 0);
  }
}

TEST_CASE("clang offload bundles") {
  const std::string image = bundle({{"host-x86_64-unknown-linux--", ""},
                                    {"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", "code a"},
                                    {"hipv4-amdgcn-amd-amdhsa--gfx1030", "code b"}});
  CHECK(gpu::unbundle(image, "gfx90a") == "code a");
  CHECK(gpu::unbundle(image, "gfx90a:sramecc+") == "code a");
  CHECK(gpu::unbundle(image, "gfx1030") == "code b");
  CHECK(gpu::unbundle(image, "gfx90").empty());
  CHECK(gpu::unbundle("\x7f"
                      "ELF whatever",
                      "gfx90a") ==
        "\x7f"
        "ELF whatever");
  for (std::size_t size = 24; size < image.size(); ++size)
    CHECK(gpu::unbundle(image.substr(0, size), "gfx1030").empty());
  std::string huge = "__CLANG_OFFLOAD_BUNDLE__";
  append(huge, std::uint64_t(-1));
  CHECK(gpu::unbundle(huge, "gfx90a").empty());
}
