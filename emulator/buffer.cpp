// Buffer instructions: memory that a descriptor of 4 scalar registers describes, and scratch memory of gfx90a.
#include "emulator/access.hpp"
#include "emulator/operations.hpp"
#include "emulator/scratch_descriptor.hpp"

namespace xtune::emulator {
namespace {

/// The four words of a buffer descriptor, read.
struct BufferDescriptor {
  std::uint64_t base;
  std::uint32_t stride, records;
  bool swizzled, adds_lane;
};

BufferDescriptor buffer_descriptor(const Wave& wave, const Operand& from) {
  std::array<std::uint32_t, 4> word;
  std::memcpy(word.data(), &wave.scalar[from.index], sizeof word);
  return {word[0] | std::uint64_t{word[1] & 0xffff} << 32, word[1] >> 16 & 0x3fff, word[2], (word[1] >> 31) != 0,
          (word[3] >> 23 & 1) != 0};
}

/// Operands of a buffer instruction: address register, descriptor, scalar offset; `first` is the place of the first.
/// skipped: bytes of the access that come before. nullptr: outside of the buffer, where reads give 0 and writes do
/// nothing.
std::byte* buffer_place(Wave& wave, const Instruction& in, int first, std::size_t bytes, int lane, Use use,
                        std::uint32_t skipped = 0) {
  const Modifiers& m = in.modifiers;
  const Operand& vector = in.operand[static_cast<unsigned>(first)];
  const Operand& base = in.operand[static_cast<unsigned>(first + 1)];
  const auto scalar_offset = scalar_source<std::uint32_t>(wave, in.operand[static_cast<unsigned>(first + 2)]);
  std::uint32_t index = 0, offset = static_cast<std::uint32_t>(m.offset) + skipped;
  if (m.index_enabled) index = address_word(wave, vector.index, lane);
  if (m.offset_enabled) offset += address_word(wave, vector.index + (m.index_enabled ? 1 : 0), lane);
  const BufferDescriptor buffer = buffer_descriptor(wave, base);
  if (buffer.base == scratch_descriptor_base)  // the scalar offset counts the bytes of all lanes
    return scratch_place(wave, static_cast<std::uint32_t>(offset + scalar_offset / static_cast<unsigned>(wave.lanes)),
                         bytes, lane);
  if (buffer.swizzled || buffer.adds_lane)
    wave.fault(FaultKind::unsupported, "uses a swizzled buffer, which is not supported", lane);
  const std::uint64_t at = std::uint64_t{index} * buffer.stride + offset;
  const bool outside = buffer.stride == 0 ? at + bytes > buffer.records : index >= buffer.records;
  if (outside) return nullptr;
  return global_place(wave, buffer.base + at + scalar_offset, bytes, lane, use);
}

template <class T, Extension E>
void buffer_load(Wave& wave, const Instruction& in) {
  load_lanes<T, 1, E>(wave, in.operand[0],
                      [&](int lane, std::size_t bytes) { return buffer_place(wave, in, 1, bytes, lane, Use::read); });
  start_load(wave, Counter::vector_memory, target_of<E>(in));
}

template <class T, bool High>
void buffer_store(Wave& wave, const Instruction& in) {
  store_lanes<T, 1, High>(wave, in.operand[0], [&](int lane, std::size_t bytes) {
    return buffer_place(wave, in, 1, bytes, lane, Use::write);
  });
  start_store(wave);
}

/// Several words. Where not all are inside of the buffer, the hardware checks each.
template <int Words>
void buffer_load_words(Wave& wave, const Instruction& in) {
  const std::uint64_t exec = wave.exec();
  for (int lane = 0; lane < wave.lanes; ++lane) {
    if (!(exec >> lane & 1)) continue;
    std::array<const std::byte*, Words> from;
    const std::byte* const all = buffer_place(wave, in, 1, 4 * Words, lane, Use::read);
    for (unsigned i = 0; i < Words; ++i)
      from[i] = all ? all + 4 * i : buffer_place(wave, in, 1, 4, lane, Use::read, 4 * i);
    for (unsigned i = 0; i < Words; ++i) {
      const std::uint32_t word = from[i] ? load_once<std::uint32_t>(from[i]) : 0;
      write_loaded(wave, in.operand[0].index + static_cast<int>(i), lane, word, from[i]);
    }
  }
  start_load(wave, Counter::vector_memory, in.operand[0]);
}

template <int Words>
void buffer_store_words(Wave& wave, const Instruction& in) {
  const std::uint64_t exec = wave.exec();
  for (int lane = 0; lane < wave.lanes; ++lane) {
    if (!(exec >> lane & 1)) continue;
    for (unsigned i = 0; i < Words; ++i) {
      const int row = in.operand[0].index + static_cast<int>(i);
      std::byte* const to = buffer_place(wave, in, 1, 4, lane, Use::write, 4 * i);
      if (to && wave.undefined.last != 0) store_undefined(wave, row, lane, to, 4, false);
      if (to) store_once(to, wave.row(row)[lane]);
    }
  }
  start_store(wave);
}

using E = Extension;

constexpr Operation buffer_table[] = {
    {"buffer_load_dword buffer_load_b32", buffer_load<U, E::none>},
    {"buffer_load_dwordx2 buffer_load_b64", buffer_load_words<2>},
    {"buffer_load_dwordx3 buffer_load_b96", buffer_load_words<3>},
    {"buffer_load_dwordx4 buffer_load_b128", buffer_load_words<4>},
    {"buffer_load_ubyte buffer_load_u8", buffer_load<std::uint8_t, E::none>},
    {"buffer_load_sbyte buffer_load_i8", buffer_load<std::int8_t, E::none>},
    {"buffer_load_ushort buffer_load_u16", buffer_load<std::uint16_t, E::none>},
    {"buffer_load_sshort buffer_load_i16", buffer_load<std::int16_t, E::none>},
    {"buffer_load_short_d16 buffer_load_d16_b16", buffer_load<std::uint16_t, E::half_low>},
    {"buffer_load_short_d16_hi buffer_load_d16_hi_b16", buffer_load<std::uint16_t, E::half_high>},
    {"buffer_store_dword buffer_store_b32", buffer_store<U, false>},
    {"buffer_store_dwordx2 buffer_store_b64", buffer_store_words<2>},
    {"buffer_store_dwordx3 buffer_store_b96", buffer_store_words<3>},
    {"buffer_store_dwordx4 buffer_store_b128", buffer_store_words<4>},
    {"buffer_store_byte buffer_store_b8", buffer_store<std::uint8_t, false>},
    {"buffer_store_short buffer_store_b16", buffer_store<std::uint16_t, false>},
    {"buffer_store_short_d16_hi buffer_store_d16_hi_b16", buffer_store<std::uint16_t, true>},
};

}  // namespace

const OperationTable buffer_operations{Kind::global, buffer_table};

}  // namespace xtune::emulator
