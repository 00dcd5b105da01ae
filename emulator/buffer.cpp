// Buffer instructions: memory that a descriptor of 4 scalar registers describes, and scratch memory of gfx90a.
#include "emulator/memory_tables.hpp"

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

/// Operands of a buffer instruction: its data, address register, descriptor, scalar offset.
/// skipped: bytes of the access that come before. nullptr: outside of the buffer, where reads give 0 and writes do
/// nothing.
std::byte* buffer_place(Wave& wave, const Instruction& in, std::size_t bytes, int lane, Use use,
                        std::uint32_t skipped = 0) {
  const Modifiers& m = in.modifiers;
  const Operand& vector = in.operand[1];
  const Operand& base = in.operand[2];
  const auto scalar_offset = scalar_source<std::uint32_t>(wave, in.operand[3]);
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

/// Where not all words of an access are inside of the buffer, the hardware checks each.
struct Buffer {
  template <class T, int Words, Extension E>
  static void load(Wave& wave, const Instruction& in) {
    each_active(wave, [&](int lane) {
      const int row = in.operand[0].index;
      const std::byte* const all = buffer_place(wave, in, sizeof(T) * Words, lane, Use::read);
      if (all || Words == 1) return load_lane<T, Words, E>(wave, row, lane, all);
      for (int i = 0; i < Words; ++i)
        load_lane<T, 1, E>(wave, row + i, lane,
                           buffer_place(wave, in, sizeof(T), lane, Use::read, 4 * static_cast<unsigned>(i)));
    });
    start_load(wave, Counter::vector_memory, target_of<E>(in));
  }

  template <class T, int Words, bool High>
  static void store(Wave& wave, const Instruction& in) {
    each_active(wave, [&](int lane) {
      for (int i = 0; i < Words; ++i)
        store_lane<T, 1, High>(wave, in.operand[0].index + i, lane,
                               buffer_place(wave, in, sizeof(T), lane, Use::write, 4 * static_cast<unsigned>(i)));
    });
    start_store(wave);
  }
};

}  // namespace

const OperationTable buffer_operations{Kind::global, memory_accesses<Buffer>, "buffer_"};

}  // namespace xtune::emulator
