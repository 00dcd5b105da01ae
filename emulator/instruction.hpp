// A decoded instruction of an AMD GPU: the function that executes it, its operands and its modifiers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace xtune::emulator {

using U8 = std::uint8_t;
using I8 = std::int8_t;
using U16 = std::uint16_t;
using I16 = std::int16_t;
using U = std::uint32_t;
using I = std::int32_t;
using U64 = std::uint64_t;
using I64 = std::int64_t;

struct Wave;
struct Instruction;
using Execute = void (*)(Wave&, const Instruction&);

/// Where the registers of a wave are numbered: scalar registers by their encoding, with some that differ between
/// architectures at the end.
namespace scalar_register {
constexpr int vcc = 106, trap = 108, m0 = 124, null = 125, exec = 126, flat_scratch = 128, xnack_mask = 130,
              count = 132;
}
/// The registers of S_GETREG and S_SETREG.
namespace hardware_register {
constexpr int mode = 1, memory_bases = 15, flat_scratch = 20, cycles = 29;
}
constexpr int message_get_time = 131;  ///< of S_SENDMSG_RTN
/// Accumulation registers (AGPRs) follow the vector registers.
constexpr int first_accumulator = 256;

enum class OperandKind : std::uint8_t { vector, scalar, integer, literal, real, scc, off };

/// The half of a vector register that an operand of 16 bits names ("v11.h"). none: it names the register, and op_sel
/// says which half.
enum class RegisterHalf : std::uint8_t { none, low, high };

struct Operand {
  OperandKind kind = OperandKind::off;
  std::uint8_t registers = 1;
  bool negative = false, absolute = false, sign_extended = false;
  RegisterHalf half = RegisterHalf::none;
  std::uint16_t index = 0;   ///< of the first register
  std::int64_t integer = 0;  ///< kind integer: an inline constant; literal: 32 bits of the instruction
  double real = 0;           ///< an inline constant, in the type of the operation
};

/// Which part of a 32-bit register SDWA takes or writes.
enum class Part : std::uint8_t { dword, byte0, byte1, byte2, byte3, word0, word1 };
enum class Unused : std::uint8_t { pad, sign_extend, preserve };

/// How DPP moves the first source between lanes.
struct LaneMove {
  std::array<std::int8_t, 64> from;  ///< source lane; -1: outside
  std::uint64_t writable = ~std::uint64_t{0};
  bool zero_outside = false, fetch_inactive = false;
};

struct Modifiers {
  int offset = 0;
  std::array<int, 2> offsets{};  ///< of the two places of an LDS instruction
  bool clamp = false, offset_enabled = false, index_enabled = false;
  int output_scale = 0;  ///< multiplies a float by 2 to this power
  std::uint8_t op_sel = 0, op_sel_hi = 0, neg_lo = 0, neg_hi = 0;
  int byte = 0;  ///< of the source, for conversions of 8 bits
  bool has_op_sel_hi = false, sdwa = false;
  std::array<Part, 2> source_part{};
  Part target_part = Part::dword;
  Unused unused = Unused::pad;
  int cbsz = 0, abid = 0, blgp = 0;
  std::array<int, 4> counts{-1, -1, -1, -1};  ///< of a wait, by Counter; -1: any
  std::shared_ptr<const LaneMove> move;
};

/// Registers that an instruction names; vector registers from 0, scalar registers from first_scalar.
struct RegisterRange {
  std::uint16_t first, count;
};
constexpr int first_scalar = 512;

enum class Kind : std::uint8_t { scalar, vector, matrix, lds, global, scratch, scalar_memory, control, unknown, count };

struct Instruction {
  Execute run = nullptr;
  std::array<Operand, 8> operand;
  std::uint8_t operands = 0;
  Kind kind = Kind::unknown;
  bool loads = false;  ///< a memory access with a target, to which an earlier access of the same counter may load too
  std::uint8_t ranges = 0;
  std::array<RegisterRange, 8> range{};
  std::int32_t target = -1;  ///< of a branch, as the number of an instruction
  std::uint64_t address = 0;
  Modifiers modifiers;
  std::shared_ptr<const Instruction> second;  ///< of a dual-issue pair
  std::string text;
  std::string reason;  ///< why it cannot be executed, if it is unknown
};

}  // namespace xtune::emulator
