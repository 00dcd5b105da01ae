// Scalar loads: constants and kernel arguments, once for the whole wave.
#include "emulator/access.hpp"
#include "emulator/operations.hpp"

namespace xtune::emulator {
namespace {

constexpr int no_lane = -1;

/// s_load: base pair, offset (a constant or a register), perhaps with a second offset as a modifier.
template <class T, int Words>
void s_load(Wave& wave, const Instruction& in) {
  const Operand& offset = in.operand[2];
  std::uint64_t address =
      scalar_source<std::uint64_t>(wave, in.operand[1]) + static_cast<std::uint64_t>(std::int64_t{in.modifiers.offset});
  if (offset.kind == OperandKind::scalar)
    address += scalar_source<std::uint32_t>(wave, offset);
  else
    address += static_cast<std::uint64_t>(offset.integer);
  if (sizeof(T) == 4) address &= ~std::uint64_t{3};
  const std::byte* const from = global_place(wave, address, sizeof(T) * Words, no_lane, Use::read);
  if constexpr (sizeof(T) == 4) {
    load_words<Words>(from, &wave.scalar[in.operand[0].index]);
  } else {
    wave.scalar[in.operand[0].index] = static_cast<std::uint32_t>(static_cast<std::int32_t>(load_once<T>(from)));
  }
  start_load(wave, scalar_counter(wave), in.operand[0]);
}

void s_clock(Wave& wave, const Instruction& in) {
  write_scalar(wave, in.operand[0], clock_of(wave));
  start_load(wave, scalar_counter(wave), in.operand[0]);
}

void s_sendmsg_rtn(Wave& wave, const Instruction& in) {
  if (in.operand[1].integer != message_get_time)
    wave.fault(FaultKind::unknown_instruction, "sends a message that is not known");
  s_clock(wave, in);
}

constexpr Operation scalar_memory_table[] = {
    {"s_load_dword s_load_b32", s_load<U, 1>},    {"s_load_dwordx2 s_load_b64", s_load<U, 2>},
    {"s_load_dwordx3 s_load_b96", s_load<U, 3>},  {"s_load_dwordx4 s_load_b128", s_load<U, 4>},
    {"s_load_dwordx8 s_load_b256", s_load<U, 8>}, {"s_load_dwordx16 s_load_b512", s_load<U, 16>},
    {"s_memtime s_memrealtime", s_clock},         {"s_sendmsg_rtn_b64", s_sendmsg_rtn},
    {"s_load_u8", s_load<std::uint8_t, 1>},       {"s_load_i8", s_load<std::int8_t, 1>},
    {"s_load_u16", s_load<std::uint16_t, 1>},     {"s_load_i16", s_load<std::int16_t, 1>},
};

}  // namespace

const OperationTable scalar_memory_operations{Kind::scalar_memory, scalar_memory_table};

}  // namespace xtune::emulator
