// The text of an operand: registers, constants and their modifiers.
#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "base/text.hpp"
#include "emulator/parse.hpp"
#include "emulator/wave.hpp"

namespace xtune::emulator {
namespace {

struct NamedRegister {
  std::string_view name;
  int index, registers;
};

constexpr NamedRegister named_registers[] = {
    {"vcc_lo", scalar_register::vcc, 1},
    {"vcc_hi", scalar_register::vcc + 1, 1},
    {"vcc", scalar_register::vcc, 2},
    {"exec_lo", scalar_register::exec, 1},
    {"exec_hi", scalar_register::exec + 1, 1},
    {"exec", scalar_register::exec, 2},
    {"m0", scalar_register::m0, 1},
    {"null", scalar_register::null, 1},
    {"flat_scratch_lo", scalar_register::flat_scratch, 1},
    {"flat_scratch_hi", scalar_register::flat_scratch + 1, 1},
    {"flat_scratch", scalar_register::flat_scratch, 2},
    {"xnack_mask_lo", scalar_register::xnack_mask, 1},
    {"xnack_mask_hi", scalar_register::xnack_mask + 1, 1},
    {"xnack_mask", scalar_register::xnack_mask, 2},
};

struct HardwareRegister {
  std::string_view name;
  int number;
};
constexpr HardwareRegister hardware_registers[] = {{"HW_REG_MODE", hardware_register::mode},
                                                   {"HW_REG_WAVE_MODE", hardware_register::mode},
                                                   {"HW_REG_SH_MEM_BASES", hardware_register::memory_bases},
                                                   {"HW_REG_FLAT_SCR_LO", hardware_register::flat_scratch},
                                                   {"HW_REG_FLAT_SCR_HI", hardware_register::flat_scratch + 1},
                                                   {"HW_REG_SHADER_CYCLES", hardware_register::cycles},
                                                   {"HW_REG_SHADER_CYCLES_LO", hardware_register::cycles},
                                                   {"HW_REG_SHADER_CYCLES_HI", hardware_register::cycles + 1}};

Operand register_operand(OperandKind kind, int index, int registers) {
  Operand operand;
  operand.kind = kind;
  operand.index = static_cast<std::uint16_t>(index);
  operand.registers = static_cast<std::uint8_t>(registers);
  return operand;
}

/// "12" or "[12:15]".
std::optional<Operand> numbered(std::string_view text, OperandKind kind, int first) {
  if (!text.starts_with('[')) {
    const auto index = parse_number(text);
    if (!index || *index < 0 || *index > 255) return std::nullopt;
    return register_operand(kind, first + static_cast<int>(*index), 1);
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || !text.ends_with(']')) return std::nullopt;
  const auto low = parse_number(text.substr(1, colon - 1));
  const auto high = parse_number(text.substr(colon + 1, text.size() - colon - 2));
  if (!low || !high || *low < 0 || *high < *low || *high > 255) return std::nullopt;
  return register_operand(kind, first + static_cast<int>(*low), static_cast<int>(*high - *low + 1));
}

/// "v12", "v[12:15]", or half of a register: "v12.l", "v12.h".
std::optional<Operand> vector_register(std::string_view text) {
  RegisterHalf half = RegisterHalf::none;
  if (text.ends_with(".l")) half = RegisterHalf::low;
  if (text.ends_with(".h")) half = RegisterHalf::high;
  if (half != RegisterHalf::none) text.remove_suffix(2);
  std::optional<Operand> operand = numbered(text.substr(1), OperandKind::vector, 0);
  if (operand) operand->half = half;
  return operand;
}

std::optional<Operand> parse_register(std::string_view text) {
  for (const NamedRegister& one : named_registers)
    if (text == one.name) return register_operand(OperandKind::scalar, one.index, one.registers);
  if (text.starts_with("ttmp")) return numbered(text.substr(4), OperandKind::scalar, scalar_register::trap);
  if (text.starts_with('v')) return vector_register(text);
  if (text.starts_with('a')) return numbered(text.substr(1), OperandKind::vector, first_accumulator);
  if (text.starts_with('s')) return numbered(text.substr(1), OperandKind::scalar, 0);
  return std::nullopt;
}

std::optional<Operand> parse_constant(std::string_view text) {
  Operand operand;
  operand.kind = text.find("0x") != std::string_view::npos ? OperandKind::literal : OperandKind::integer;
  if (const auto number = parse_number(text)) {
    operand.integer = *number;
    return operand;
  }
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, operand.real);
  if (error != std::errc() || end != last) return std::nullopt;
  operand.kind = OperandKind::real;
  return operand;
}

/// "SRC0,DST" in gpr_idx() as S_SET_GPR_IDX_ON encodes it: a bit for each operand.
std::optional<Operand> parse_index_uses(std::string_view text) {
  constexpr std::string_view names[] = {"SRC0", "SRC1", "SRC2", "DST"};
  Operand operand;
  operand.kind = OperandKind::integer;
  for (const std::string& part : base::split(text, ',')) {
    const auto* const found = std::find(std::begin(names), std::end(names), base::trimmed(part));
    if (found == std::end(names)) return std::nullopt;
    operand.integer |= std::int64_t{1} << (found - std::begin(names));
  }
  return operand;
}

/// "HW_REG_MODE, 0, 4" in hwreg() as S_GETREG encodes it: the number, the first bit and the number of bits.
std::optional<Operand> parse_hardware_register(std::string_view text) {
  std::array<std::int64_t, 3> field{-1, 0, 32};
  const std::vector<std::string> parts = base::split(text, ',');
  for (std::size_t i = 0; i < std::min(field.size(), parts.size()); ++i)
    if (const auto number = parse_number(base::trimmed(parts[i]))) field[i] = *number;
  for (const HardwareRegister& one : hardware_registers)
    if (base::trimmed(parts[0]) == one.name) field[0] = one.number;
  if (field[0] < 0) return std::nullopt;
  Operand operand;
  operand.kind = OperandKind::integer;
  operand.integer = field[0] | field[1] << 6 | (field[2] - 1) << 11;
  return operand;
}

std::optional<Operand> parse_special(std::string_view text) {
  Operand operand;
  if (text == "off") return operand;
  if (text == "src_scc" || text == "scc") {
    operand.kind = OperandKind::scc;
    return operand;
  }
  operand.kind = OperandKind::integer;
  if (text == "sendmsg(MSG_RTN_GET_REALTIME)")
    operand.integer = message_get_time;
  else if (text == "src_shared_base")
    operand.integer = static_cast<std::int64_t>(shared_aperture);
  else if (text == "src_private_base")
    operand.integer = static_cast<std::int64_t>(private_aperture);
  else
    return std::nullopt;
  return operand;
}

}  // namespace

std::optional<Operand> parse_operand(std::string_view text, int wave_size) {
  bool negative = text.size() > 1 && text[0] == '-' && !(text[1] >= '0' && text[1] <= '9');
  if (negative) text.remove_prefix(1);
  // Whether the text is in these brackets, which are removed.
  const auto within = [&](std::string_view begin, char end) {
    if (!text.starts_with(begin) || !text.ends_with(end) || text.size() < begin.size() + 2) return false;
    text = text.substr(begin.size(), text.size() - begin.size() - 1);
    return true;
  };
  if (within("neg(", ')')) negative = true;
  const bool absolute = within("|", '|') || within("abs(", ')');
  const bool sign_extended = within("sext(", ')');
  if (within("gpr_idx(", ')')) return parse_index_uses(text);
  if (within("hwreg(", ')')) return parse_hardware_register(text);
  std::optional<Operand> operand = parse_special(text);
  if (!operand) operand = parse_register(text);
  if (!operand) operand = parse_constant(text);
  if (!operand) return std::nullopt;
  if (wave_size == 32 && operand->kind == OperandKind::scalar && text == "exec") operand->registers = 1;
  operand->negative = negative;
  operand->absolute = absolute;
  operand->sign_extended = sign_extended;
  return operand;
}

}  // namespace xtune::emulator
