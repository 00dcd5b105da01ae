// How operands are read and written across lanes: DPP, SDWA and the execution mask.
#include "emulator/lanes.hpp"

namespace xtune::emulator {
namespace {

std::uint32_t part_of(Part part, bool sign_extend, std::uint32_t word) {
  if (part == Part::dword) return word;
  const bool byte = part <= Part::byte3;
  const int shift = byte ? 8 * (static_cast<int>(part) - static_cast<int>(Part::byte0)) : part == Part::word1 ? 16 : 0;
  word = (word >> shift) & (byte ? 0xffu : 0xffffu);
  if (!sign_extend) return word;
  return byte ? static_cast<std::uint32_t>(static_cast<std::int8_t>(word))
              : static_cast<std::uint32_t>(static_cast<std::int16_t>(word));
}

/// Whether the source lane of a move gives a value.
bool gives(const LaneMove& move, int from, std::uint64_t exec) {
  return from >= 0 && (move.fetch_inactive || (exec >> from & 1));
}

}  // namespace

void take_part(Part part, bool sign_extend, std::uint32_t* words) {
  for (int lane = 0; lane < 64; ++lane) words[lane] = part_of(part, sign_extend, words[lane]);
}

void fetch_words(const Wave& wave, const Instruction& in, const Operand& from, int place, std::uint32_t* to) {
  if (from.kind == OperandKind::vector) {
    const std::uint32_t* const row = wave.row(from.index);
    if (in.modifiers.move && place == 0) {
      const LaneMove& move = *in.modifiers.move;
      const std::uint64_t exec = wave.exec();
      for (int lane = 0; lane < 64; ++lane) {
        const int source = move.from[static_cast<unsigned>(lane)];
        to[lane] = gives(move, source, exec) ? row[source] : 0;
      }
    } else {
      std::memcpy(to, row, 64 * sizeof *to);
    }
    if (from.half != RegisterHalf::none)
      for (int lane = 0; lane < 64; ++lane)
        to[lane] = from.half == RegisterHalf::high ? to[lane] >> 16 : to[lane] & 0xffffu;
  } else {
    const auto value = scalar_source<std::uint32_t>(wave, from);
    for (int lane = 0; lane < 64; ++lane) to[lane] = value;
  }
  if (in.modifiers.sdwa && place < 2)
    take_part(in.modifiers.source_part[static_cast<unsigned>(place)], from.sign_extended, to);
}

std::uint64_t written_lanes(const Wave& wave, const Instruction& in) {
  std::uint64_t mask = wave.exec();
  if (!in.modifiers.move) return mask;
  const LaneMove& move = *in.modifiers.move;
  const std::uint64_t exec = mask;
  mask &= move.writable;
  if (move.zero_outside) return mask;
  for (int lane = 0; lane < wave.lanes; ++lane)
    if (!gives(move, move.from[static_cast<unsigned>(lane)], exec)) mask &= ~(std::uint64_t{1} << lane);
  return mask;
}

void put_part(const Instruction& in, int bytes, const std::uint32_t* old, std::uint32_t* words) {
  const Part part = in.modifiers.target_part;
  if (part == Part::dword) {
    if (bytes == 2 && in.modifiers.unused == Unused::preserve)
      for (int lane = 0; lane < 64; ++lane) words[lane] = (words[lane] & 0xffffu) | (old[lane] & 0xffff0000u);
    return;
  }
  const bool byte = part <= Part::byte3;
  const int shift = byte ? 8 * (static_cast<int>(part) - static_cast<int>(Part::byte0)) : part == Part::word1 ? 16 : 0;
  const std::uint32_t mask = (byte ? 0xffu : 0xffffu) << shift;
  for (int lane = 0; lane < 64; ++lane) {
    const std::uint32_t value = (words[lane] << shift) & mask;
    std::uint32_t rest = 0;
    if (in.modifiers.unused == Unused::preserve) rest = old[lane] & ~mask;
    const bool negative = value >> (shift + (byte ? 7 : 15)) & 1;
    // The bits above the part are copies of its sign, those below are zero.
    if (in.modifiers.unused == Unused::sign_extend && negative && part != Part::word1 && part != Part::byte3)
      rest = ~std::uint32_t{0} << (shift + (byte ? 8 : 16));
    words[lane] = value | rest;
  }
}

}  // namespace xtune::emulator
