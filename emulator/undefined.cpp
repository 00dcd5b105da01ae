#include "emulator/undefined.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/wave.hpp"

namespace xtune::emulator {
namespace {

constexpr int executions = 5;
constexpr const char* an_address = "an address";

std::uint32_t mask_of(HalfReads reads) { return (reads & 0xffff ? 0xffffu : 0) | (reads >> 16 ? 0xffff0000u : 0); }
std::uint32_t any_of(HalfReads reads) { return reads & 0xffff ? reads & 0xffff : reads >> 16; }

/// What stands for an undefined word: zero; a large number, as an integer of 8 to 64 bits and as a float of 16 to 64;
/// a large negative float; and the complement of the second, so that each bit is 0 and 1. Words of different registers
/// differ, and so do those of the lanes of a row, which lanes 16 to 31 repeat.
std::uint32_t substitute(int execution, std::size_t row, std::size_t lane) {
  const auto distinct = static_cast<std::uint32_t>((row * 7 + lane % 16) % 128) * 0x00010001u;
  constexpr std::uint32_t large = 0x7b7b7b7bu, large_negative = 0xfb7bfb7bu;
  return execution == 0   ? 0
         : execution == 1 ? large + distinct
         : execution == 2 ? large_negative + distinct
                          : ~(large + distinct);
}
/// Bits of a scalar register are often one for each lane.
std::uint32_t scalar_substitute(int execution, std::size_t number) {
  return execution == 2 ? ~0u : substitute(execution, number, 0);
}

[[noreturn]] void fault_of(const Wave& wave, std::uint32_t read, const std::string& use) {
  throw Fault(FaultKind::uninitialised_lds,
              fmt::format("{}; it reaches {} of {}", wave.group->unwritten_reads.at(read - 1).words, use,
                          wave.group->state->code->place(*wave.current)));
}

bool is_move(const Instruction& in) {
  return in.text.starts_with("ds_bpermute") || in.text.starts_with("ds_permute") || in.text.starts_with("ds_swizzle");
}

/// What an instruction may read or write: the vector registers that it names, and all that is scalar.
class State {
 public:
  State(Wave& wave, const Instruction& in) : wave_(wave) {
    const auto all = static_cast<int>(wave.vector.size() / 64);
    for (int i = 0; i < in.ranges; ++i) {
      const RegisterRange& range = in.range[static_cast<unsigned>(i)];
      for (int row = range.first; row < range.first + range.count && range.first < first_scalar; ++row)
        add_row(row, all);
    }
    for (int row = 0; wave.indexes_registers && row < all; ++row) add_row(row, all);
  }

  const std::vector<int>& rows() const { return rows_; }
  /// The words of the rows, the scalar registers, SCC and the next instruction.
  std::vector<std::uint32_t> words() const {
    std::vector<std::uint32_t> all;
    for (const int row : rows_) all.insert(all.end(), wave_.row(row), wave_.row(row) + 64);
    all.insert(all.end(), wave_.scalar.begin(), wave_.scalar.end());
    all.push_back(wave_.scc ? 1 : 0);
    all.push_back(wave_.next);
    return all;
  }
  void set(const std::vector<std::uint32_t>& words) {
    auto from = words.begin();
    for (const int row : rows_) {
      std::copy(from, from + 64, wave_.row(row));
      from += 64;
    }
    std::copy(from, from + scalar_register::count, wave_.scalar.begin());
    from += scalar_register::count;
    wave_.scc = *from != 0;
    wave_.next = from[1];
  }
  /// The undefined words replaced.
  void substitute_all(int execution) {
    const UndefinedRegisters& undefined = wave_.undefined;
    for (const int row : rows_)
      for (std::size_t lane = 0; lane < 64; ++lane)
        if (const std::uint32_t mask = mask_of(undefined.vector[at(row, lane)])) {
          std::uint32_t& word = wave_.row(row)[lane];
          word = (word & ~mask) | (substitute(execution, static_cast<std::size_t>(row), lane) & mask);
        }
    for (std::size_t i = 0; i < undefined.scalar.size(); ++i)
      wave_.scalar[i] =
          (wave_.scalar[i] & ~undefined.scalar[i]) | (scalar_substitute(execution, i) & undefined.scalar[i]);
    if (undefined.scc) wave_.scc = execution % 2 != 0;
  }
  static std::size_t at(int row, std::size_t lane) { return std::size_t{64} * static_cast<unsigned>(row) + lane; }

 private:
  void add_row(int row, int all) {
    if (row < all && std::find(rows_.begin(), rows_.end(), row) == rows_.end()) rows_.push_back(row);
  }

  Wave& wave_;
  std::vector<int> rows_;
};

/// The read that an undefined value among what the instruction names comes from, the sources' before the target's;
/// 0: all are defined. lanes: those with an undefined word.
std::uint32_t named_undefined(const Wave& wave, const Instruction& in, const State& state, std::uint64_t& lanes) {
  const UndefinedRegisters& undefined = wave.undefined;
  std::uint32_t found = 0;
  for (const int row : state.rows())
    for (std::size_t lane = 0; lane < 64; ++lane)
      if (const HalfReads reads = undefined.vector[State::at(row, lane)]) {
        found = any_of(reads);
        lanes |= std::uint64_t{1} << lane;
      }
  if (found != 0) return found;
  const auto any_scalar = [&](int first, int count) {
    return std::any_of(undefined.scalar.begin() + first, undefined.scalar.begin() + first + count,
                       [](std::uint32_t bits) { return bits != 0; });
  };
  bool scalar = undefined.scc || any_scalar(scalar_register::vcc, 2) || any_scalar(scalar_register::m0, 1);
  for (int i = 0; i < in.ranges; ++i) {
    const RegisterRange& range = in.range[static_cast<unsigned>(i)];
    if (range.first >= first_scalar) scalar = scalar || any_scalar(range.first - first_scalar, range.count);
  }
  return scalar ? undefined.last : 0;
}

/// Whether each bit of a scalar result depends on the same bit of the sources only.
bool is_bitwise(const Instruction& in) {
  for (const char* const start : {"s_and", "s_or", "s_xor", "s_nand", "s_nor", "s_xnor", "s_not", "s_mov", "s_cselect"})
    if (in.text.starts_with(start)) return true;
  return in.kind == Kind::vector;
}

/// Of floats, the sign of a zero does not count: a factor of zero has that of the other one.
bool is_real(const Instruction& in) {
  return in.text.find("f32") != std::string::npos || in.text.find("f16") != std::string::npos ||
         in.text.find("f64") != std::string::npos;
}

/// A comparison with a number that no substitute equals differs too: the bits of these lanes.
void add_comparison(const Instruction& in, std::uint64_t lanes, const State& state,
                    std::vector<std::uint32_t>& differs) {
  const std::size_t scalars = 64 * state.rows().size();
  if (in.text.starts_with("s_cmp")) differs[scalars + scalar_register::count] = 1;
  if (!in.text.starts_with("v_cmp")) return;
  const bool named = in.operands == 3 && in.operand[0].kind == OperandKind::scalar;
  const std::size_t to = scalars + (named ? in.operand[0].index : unsigned{scalar_register::exec});
  differs[to] |= static_cast<std::uint32_t>(lanes);
  differs[to + 1] |= static_cast<std::uint32_t>(lanes >> 32);
  if (in.text.starts_with("v_cmpx")) differs[scalars + scalar_register::exec] |= lanes != 0 ? 1 : 0;
}

/// Sets what is undefined after the instruction. differs: the bits of State::words() that do.
void set_undefined(Wave& wave, const Instruction& in, const State& state, std::uint32_t read,
                   const std::vector<std::uint32_t>& differs) {
  UndefinedRegisters& undefined = wave.undefined;
  auto next = differs.begin();
  for (const int row : state.rows())
    for (std::size_t lane = 0; lane < 64; ++lane, ++next) {
      HalfReads& reads = undefined.vector[State::at(row, lane)];
      const bool untouched = any_of(reads) != 0 && !(wave.exec() >> lane & 1);
      reads = both_halves(untouched ? any_of(reads) : read) & mask_of(*next);
    }
  for (std::uint32_t& bits : undefined.scalar) {
    bits = *next == 0 || is_bitwise(in) ? *next : ~0u;
    ++next;
  }
  undefined.scc = *next++ != 0;
  if (undefined.scalar[scalar_register::exec] != 0 || (wave.lanes == 64 && undefined.scalar[scalar_register::exec + 1]))
    fault_of(wave, read, "the execution mask");
  if (*next != 0) fault_of(wave, read, "the branch");
}

/// Whether it can be executed only once. The functions of memory accesses look at the vector registers.
bool runs_once(const Instruction& in) {
  if (in.kind == Kind::control) return !in.text.starts_with("s_cbranch");
  return in.kind >= Kind::global || (in.kind == Kind::lds && !is_move(in));
}

void run_once(Wave& wave, const Instruction& in, const std::function<void()>& run) {
  auto& scalar = wave.undefined.scalar;
  const bool loads =
      in.kind == Kind::scalar_memory || in.text.starts_with("s_getpc") || in.text.starts_with("s_swappc");
  const auto require = [&](int first, int count) {
    for (int i = first; i < first + count; ++i)
      if (scalar[static_cast<unsigned>(i)] != 0) fault_of(wave, wave.undefined.last, an_address);
  };
  if (in.kind != Kind::control) require(scalar_register::m0, 1);
  for (unsigned i = loads ? 1 : 0; i < in.operands; ++i)
    if (in.operand[i].kind == OperandKind::scalar) require(in.operand[i].index, in.operand[i].registers);
  run();
  if (loads) std::fill_n(scalar.begin() + in.operand[0].index, in.operand[0].registers, 0);
}

/// Offset of a place in the memory; its size or more: it is elsewhere.
std::size_t offset_in(const std::vector<std::byte>& memory, const std::byte* place) {
  return place < memory.data() ? memory.size() : static_cast<std::size_t>(place - memory.data());
}

std::uint16_t read_of_byte(const Wave& wave, const std::byte* at) {
  if (const std::size_t offset = offset_in(wave.group->lds, at); offset < wave.group->lds.size())
    return wave.group->history.undefined(offset);
  const std::size_t offset = offset_in(wave.scratch, at);
  return offset < wave.scratch.size() ? wave.undefined.scratch[offset] : std::uint16_t{0};
}

}  // namespace

void run_with_undefined(Wave& wave, const Instruction& in, const std::function<void()>& run) {
  if (runs_once(in)) return run_once(wave, in, run);
  State state(wave, in);
  std::uint64_t lanes = 0;
  const std::uint32_t read = named_undefined(wave, in, state, lanes);
  if (read == 0) return run();
  if (wave.indexes_registers && wave.undefined.scalar[scalar_register::m0] != 0) fault_of(wave, read, "the index");
  lanes &= wave.exec();
  const std::vector<std::uint32_t> before = state.words();
  const Outstanding outstanding = wave.outstanding;
  std::vector<std::uint32_t> first, differs;
  for (int execution = 0; execution < executions; ++execution) {
    state.set(before);
    wave.outstanding = outstanding;
    if (execution + 1 < executions) state.substitute_all(execution);  // the last one is with the real values
    run();
    const std::vector<std::uint32_t> after = state.words();
    if (execution == 0) {
      first = after;
      differs.assign(after.size(), 0);
    }
    const bool real = is_real(in);
    for (std::size_t i = 0; i < after.size(); ++i)
      if (!(real && i < 64 * state.rows().size() && ((after[i] | first[i]) & 0x7fff7fffu) == 0))
        differs[i] |= after[i] ^ first[i];
  }
  add_comparison(in, lanes, state, differs);
  set_undefined(wave, in, state, read, differs);
}

void read_undefined(Wave& wave, const LdsAccess& access, const std::string& words) {
  Workgroup& group = *wave.group;
  if (!words.empty()) {
    auto& reads = group.unwritten_reads;
    auto known = std::find_if(reads.begin(), reads.end(),
                              [&](const UnwrittenRead& one) { return one.instruction == wave.current; });
    if (known == reads.end()) {
      known =
          reads.insert(reads.end(), {wave.current, fmt::format("{}, lane {}: {}", wave.place(), access.lane, words)});
      group.state->report.unwritten_reads.emplace(wave.current->address - group.state->code->base, known->words);
    }
    group.history.set_undefined(access.address, access.bytes, static_cast<std::uint16_t>(known - reads.begin() + 1),
                                true);
  }
  for (std::size_t i = 0; i < access.bytes && wave.undefined.last == 0; ++i)
    wave.undefined.last = group.history.undefined(access.address + i);
  if (wave.undefined.last == 0 || !wave.undefined.vector.empty()) return;
  wave.undefined.vector.resize(wave.vector.size());
  wave.undefined.scratch.resize(wave.scratch.size());
}

void load_undefined(Wave& wave, int row, int lane, const std::byte* from, std::size_t bytes, std::uint32_t kept) {
  HalfReads reads = 0;
  for (std::size_t i = 0; from != nullptr && i < bytes; ++i)
    if (const std::uint32_t read = read_of_byte(wave, from + i)) {
      const std::uint32_t half = bytes < 4 ? 0xffffffffu : 0xffffu << (i / 2 * 16);
      reads = (reads & ~half) | (both_halves(read) & half);
      wave.undefined.last = static_cast<std::uint16_t>(read);
    }
  HalfReads& to = wave.undefined.vector[State::at(row, static_cast<unsigned>(lane))];
  to = (to & kept) | (reads & ~kept);
}

void store_undefined(Wave& wave, int row, int lane, const std::byte* to, std::size_t bytes, bool high) {
  const HalfReads reads = wave.undefined.vector[State::at(row, static_cast<unsigned>(lane))];
  for (std::size_t i = 0; i < bytes; ++i) {
    const auto read = static_cast<std::uint16_t>(high || i >= 2 ? reads >> 16 : reads);
    const std::size_t in_scratch = offset_in(wave.scratch, to + i), in_lds = offset_in(wave.group->lds, to + i);
    if (in_scratch < wave.scratch.size())
      wave.undefined.scratch[in_scratch] = read;
    else if (read != 0 && in_lds < wave.group->lds.size())
      wave.group->history.set_undefined(in_lds, 1, read, false);
    else if (read != 0)
      fault_of(wave, read, "the store");
  }
}

void require_defined(const Wave& wave, int row, int registers, int lane, const char* use) {
  for (int i = row; i < row + registers; ++i)
    if (const HalfReads reads = wave.undefined.vector[State::at(i, static_cast<unsigned>(lane))])
      fault_of(wave, any_of(reads), use);
}

}  // namespace xtune::emulator
