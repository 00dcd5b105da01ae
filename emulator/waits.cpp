// Memory accesses that were started and not waited for.
#include <fmt/format.h>

#include <algorithm>

#include "emulator/access.hpp"

namespace xtune::emulator {
namespace {

std::deque<Access>& queue_of(Wave& wave, Counter counter) {
  return wave.outstanding.queue[static_cast<unsigned>(counter)];
}

void arrive(Wave& wave, std::deque<Access>& queue) {
  const Access& access = queue.front();
  for (unsigned i = 0; i < access.registers; ++i) --wave.outstanding.pending[access.first + i];
  wave.outstanding.registers -= access.registers;
  if (access.copy)
    for (const LdsCopy::Word& word : access.copy->words) {
      std::memcpy(wave.group->lds.data() + word.place, &word.value, sizeof word.value);
      wave.group->history.finish_copy(wave.number, word.place, sizeof word.value);
    }
  queue.pop_front();
}

void start(Wave& wave, Counter counter, const Access& access) {
  std::deque<Access>& queue = queue_of(wave, counter);
  // The hardware's counters have at most 6 bits; then it waits by itself.
  if (queue.size() >= 63) arrive(wave, queue);
  for (unsigned i = 0; i < access.registers; ++i) ++wave.outstanding.pending[access.first + i];
  wave.outstanding.registers += access.registers;
  queue.push_back(access);
  ++wave.outstanding.started[static_cast<unsigned>(counter)];
}

// LLVM's pull request 157795 of 2025-09, after LLVM 21: on RDNA3, loads to one half of a register may interfere with
// the other half.
constexpr const char* words_of_other_half =
    " (the load is to the other half, which it may change too; clang 21 omits such waits)";

std::string register_name(unsigned number) {
  if (number >= first_scalar) return fmt::format("s{}", number - first_scalar);
  return number >= first_accumulator ? fmt::format("a{}", number - first_accumulator) : fmt::format("v{}", number);
}

/// Whether all pending accesses of the register are in the queue that the instruction's own load enters: in order, the
/// later one arrives last.
bool arrives_before(const Wave& wave, const Instruction& in, unsigned number) {
  if (!in.loads || in.operand[0].kind != OperandKind::vector) return false;
  const unsigned first = in.operand[0].index;
  if (number < first || number >= first + in.operand[0].registers) return false;
  const Counter counter = in.kind == Kind::lds ? Counter::lds : Counter::vector_memory;
  int found = 0;
  for (const Access& access : wave.outstanding.queue[static_cast<unsigned>(counter)])
    if (access.in_order && number >= access.first && number < access.first + unsigned{access.registers}) ++found;
  return found == wave.outstanding.pending[number];
}

/// Whether the instruction names one half of the register, and loads to the other half are outstanding, but none to
/// this one.
bool other_half_only(const Wave& wave, const Instruction& in, unsigned number) {
  RegisterHalf half = RegisterHalf::none;
  for (unsigned i = 0; i < in.operands; ++i)
    if (in.operand[i].kind == OperandKind::vector && in.operand[i].index == number && half == RegisterHalf::none)
      half = in.operand[i].half;
  if (half == RegisterHalf::none) return false;
  const RegisterHalf other = half == RegisterHalf::low ? RegisterHalf::high : RegisterHalf::low;
  for (const std::deque<Access>& queue : wave.outstanding.queue)
    for (const Access& access : queue)
      if (number >= access.first && number < access.first + unsigned{access.registers} && access.half != other)
        return false;
  return true;
}

}  // namespace

void start_load(Wave& wave, Counter counter, const Operand& to) {
  const bool scalar = to.kind == OperandKind::scalar;
  start(wave, counter,
        {static_cast<std::uint16_t>((scalar ? first_scalar : 0) + to.index), to.registers, !scalar, to.half, nullptr});
}

void start_store(Wave& wave) {
  start(wave, wave.generation <= Generation::cdna3 ? Counter::vector_memory : Counter::store, {});
}

void start_lds_store(Wave& wave) { start(wave, Counter::lds, {}); }

void start_copy(Wave& wave, std::shared_ptr<const LdsCopy> copy) {
  for (const LdsCopy::Word& word : copy->words) wave.group->history.start_copy(word.place, sizeof word.value);
  start(wave, Counter::vector_memory, {0, 0, true, RegisterHalf::none, std::move(copy)});
}

Counter scalar_counter(const Wave& wave) {
  return wave.generation == Generation::rdna4 ? Counter::scalar_memory : Counter::lds;
}

void wait_for(Wave& wave, Counter counter, int left) {
  std::deque<Access>& queue = queue_of(wave, counter);
  // Scalar loads arrive in any order, so that only waiting for all of them makes one safe.
  if (left > 0 && std::any_of(queue.begin(), queue.end(), [](const Access& one) { return !one.in_order; })) return;
  while (queue.size() > static_cast<unsigned>(left)) arrive(wave, queue);
}

void signal_barrier(Wave& wave) {
  check_unordered_reads(wave);
  const auto outstanding = static_cast<std::uint32_t>(queue_of(wave, Counter::lds).size());
  const std::uint32_t started = wave.outstanding.started[static_cast<unsigned>(Counter::lds)];
  wave.group->history.signal(wave.number, started - outstanding, outstanding != 0);
}

void check_registers(const Wave& wave, const Instruction& in) {
  for (int i = 0; i < in.ranges; ++i) {
    const RegisterRange& range = in.range[static_cast<unsigned>(i)];
    for (unsigned number = range.first; number < range.first + unsigned{range.count}; ++number) {
      if (wave.outstanding.pending[number] == 0 || arrives_before(wave, in, number)) continue;
      const bool apart = other_half_only(wave, in, number);
      if (apart && wave.generation != Generation::rdna3) continue;
      wave.fault(FaultKind::missing_wait, fmt::format("uses {} while a load to it is outstanding: a wait is missing{}",
                                                      register_name(number), apart ? words_of_other_half : ""));
    }
  }
}

}  // namespace xtune::emulator
