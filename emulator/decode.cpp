#include "emulator/decode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "emulator/disassembler.hpp"
#include "emulator/parse.hpp"
#include "xtune/error.hpp"

namespace xtune::emulator {
namespace {

void end_unknown(Wave& wave, const Instruction& in) { wave.fault(FaultKind::unknown_instruction, in.reason); }

/// The word offset of a branch counts from the next instruction.
void set_target(Instruction& in, const Code& code, std::size_t bytes) {
  if (!in.text.starts_with("s_branch") && !in.text.starts_with("s_cbranch")) return;
  const auto words = static_cast<std::int16_t>(in.operand[0].integer);
  in.target = code.at(in.address + bytes + static_cast<std::uint64_t>(std::int64_t{words} * 4));
}

int rows_of(const Instruction& in) {
  int rows = 0;
  for (int i = 0; i < in.ranges; ++i) {
    const RegisterRange& range = in.range[static_cast<unsigned>(i)];
    if (range.first < first_scalar) rows = std::max(rows, range.first + range.count);
  }
  return rows;
}

/// Whether an instruction of 16 bits selects halves of registers that its text does not show: LLVM 19 does not
/// print all that clang 21 uses. In VOP3, bits 11 to 14 select them.
bool hides_halves(std::string_view arch, const std::byte* code, std::string_view text) {
  std::uint32_t word = 0;
  std::memcpy(&word, code, sizeof word);
  const bool is_vop3 = (arch.starts_with("gfx11") || arch.starts_with("gfx12")) && word >> 26 == 0x35;
  const std::string_view mnemonic = text.substr(0, text.find_first_of(" \t"));
  return is_vop3 && (word >> 11 & 15) != 0 && mnemonic.find("16") != std::string_view::npos &&
         text.find("op_sel") == std::string_view::npos;
}

/// LLVM prints the pattern of ds_swizzle_b32 in words, which lack parts of unusual ones; it is in the lowest 16 bits.
void set_pattern(Instruction& in, const std::byte* code) {
  if (!in.text.starts_with("ds_swizzle_b32")) return;
  std::uint16_t pattern = 0;
  std::memcpy(&pattern, code, sizeof pattern);
  in.modifiers.offset = pattern;
}

void refuse(Instruction& in, const char* reason) {
  in.kind = Kind::unknown;
  in.reason = reason;
}

}  // namespace

Code decode(const Image& image, const std::string& arch, int wave_size) {
  const Disassembler disassembler(arch, wave_size);
  Code code;
  code.base = reinterpret_cast<std::uint64_t>(image.text());
  code.offset = code.base - reinterpret_cast<std::uint64_t>(image.base());
  code.lines = image.lines();
  code.number.assign(image.text_bytes() / 4, -1);
  std::vector<std::size_t> sizes;
  for (std::size_t done = 0; done + 4 <= image.text_bytes();) {
    const Disassembler::Line line = disassembler.decode(image.text() + done, image.text_bytes() - done, done);
    Instruction in = line.bytes == 0 ? Instruction() : parse_instruction(line.text, wave_size);
    if (line.bytes == 0) {
      in.text = "(no instruction)";
      refuse(in, "the bytes are not an instruction that this LLVM knows");
    } else if (hides_halves(arch, image.text() + done, line.text)) {
      refuse(in, "it uses halves of registers that this LLVM does not print; LLVM 21 or newer prints them");
    }
    set_pattern(in, image.text() + done);
    if (in.kind == Kind::unknown) in.run = end_unknown;
    in.address = code.base + done;
    code.number[done / 4] = static_cast<std::int32_t>(code.instruction.size());
    sizes.push_back(line.bytes == 0 ? 4 : line.bytes);
    done += sizes.back();
    code.vector_rows = std::max(code.vector_rows, rows_of(in));
    code.instruction.push_back(std::move(in));
  }
  for (std::size_t i = 0; i < code.instruction.size(); ++i) set_target(code.instruction[i], code, sizes[i]);
  return code;
}

std::string listing(std::string_view code_object, const std::string& arch, const std::string& kernel) {
  const Image image(gpu::unbundle(code_object, arch));
  const auto descriptor = image.kernels().find(kernel);
  const auto function = image.functions().find(kernel);
  if (descriptor == image.kernels().end() || function == image.functions().end())
    throw Error(ErrorKind::invalid_argument, fmt::format("the code object has no kernel '{}'", kernel));
  const Code code = decode(image, arch.substr(0, arch.find(':')), descriptor->second.wave_size());
  const auto begin = reinterpret_cast<std::uint64_t>(function->second.address);
  std::string text = kernel + ":\n", last_line;
  for (const Instruction& in : code.instruction) {
    if (in.address < begin || in.address - begin >= function->second.bytes) continue;
    const std::string line = code.line_of(in);
    if (line != std::exchange(last_line, line) && !line.empty()) text += fmt::format("; {}\n", line);
    text += fmt::format("{:6x}:\t{}", in.address - begin, in.text);
    if (in.target >= 0)
      text += fmt::format("  ; to {:x}", code.instruction[static_cast<unsigned>(in.target)].address - begin);
    text += '\n';
  }
  return text;
}

}  // namespace xtune::emulator
