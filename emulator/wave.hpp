// What a wave and its workgroup hold while a kernel runs, and the accesses that were started and not waited for.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "emulator/fault.hpp"
#include "emulator/host_calls.hpp"
#include "emulator/instruction.hpp"
#include "emulator/lds_history.hpp"
#include "emulator/program.hpp"
#include "emulator/source_lines.hpp"
#include "emulator/undefined.hpp"

namespace xtune::emulator {

enum class Generation { cdna2, cdna3, rdna2, rdna3, rdna4 };

/// Flat addresses with these upper halves are in LDS and in scratch memory.
constexpr std::uint64_t shared_aperture = std::uint64_t{1} << 48, private_aperture = std::uint64_t{2} << 48;

/// The base address in the buffer descriptor of scratch memory that kernels of gfx90a get in four scalar registers: no
/// memory of the host has it.
constexpr std::uint64_t scratch_descriptor_base = std::uint64_t{0xff} << 40;

constexpr bool is_shared(std::uint64_t address) { return (address & ~std::uint64_t{0xffffffff}) == shared_aperture; }

/// Services that some kernels need and the emulator does not have. The pointers that the launcher would provide hold
/// these addresses, by which a fault knows what is missing.
struct MissingService {
  const char *parameter, *words;
  std::uint64_t address;
};
constexpr std::uint64_t missing_service_bytes = std::uint64_t{1} << 32;
constexpr MissingService missing_services[] = {
    {"hidden_heap_v1", "malloc and free in a kernel", 0x0bad'0001'0000'0000},
    {"hidden_printf_buffer", "printf with -mprintf-kind=buffered", 0x0bad'0002'0000'0000}};

/// What a wait instruction counts. gfx9 counts stores as vector_memory, and gfx9 to gfx11 count scalar loads as lds.
enum class Counter : std::uint8_t { vector_memory, lds, store, scalar_memory, count };

/// What a load to LDS brings: a word for each of some lanes.
struct LdsCopy {
  struct Word {
    std::uint32_t place, value;  ///< offset in LDS
  };
  std::vector<Word> words;
};

/// An access that was started: the registers, or the words of LDS, that it is going to write.
struct Access {
  std::uint16_t first = 0, registers = 0;
  bool in_order = true;
  RegisterHalf half = RegisterHalf::none;  ///< the one that it writes; none: both
  std::shared_ptr<const LdsCopy> copy;
};

struct Outstanding {
  std::array<std::deque<Access>, static_cast<int>(Counter::count)> queue;
  std::array<std::uint32_t, static_cast<int>(Counter::count)> started{};      ///< accesses of each queue so far
  std::array<std::uint8_t, first_scalar + scalar_register::count> pending{};  ///< accesses that write the register
  int registers = 0;                                                          ///< pending ones, counted repeatedly
};

/// A read of LDS that races with another wave's atomic updates. It is right where it only gives the first value that a
/// compare-and-swap expects: so compilers make the updates that an architecture has no instruction for.
struct UnorderedRead {
  const Instruction* instruction;
  std::size_t address, bytes;
  int lane;
  std::string words;
};

/// An instruction that has read LDS that no lane has written. words: its place, and what it read first.
struct UnwrittenRead {
  const Instruction* instruction;
  std::string words;
};

struct Workgroup;

enum class WaveState : std::uint8_t { running, at_barrier, ended };

/// Denormals, rounding and NaN, as MODE has them.
struct FloatMode {
  bool flush32 = false, flush64_16 = false, clamp_nan = true;
};

struct Wave {
  Workgroup* group = nullptr;
  int number = 0, lanes = 64;
  Generation generation = Generation::cdna2;
  WaveState state = WaveState::running;
  bool scc = false, signalled = false;
  std::uint32_t next = 0;          ///< the instruction after the current one
  bool indexes_registers = false;  ///< gfx9: vector instructions add M0 to the operands that it names
  FloatMode mode;
  std::uint32_t mode_bits = 0;
  const Instruction* current = nullptr;
  std::array<std::uint32_t, scalar_register::count> scalar{};
  std::vector<std::uint32_t> vector;  ///< 64 lanes for each register
  std::vector<std::byte> scratch;     ///< of lane after lane
  std::uint32_t scratch_bytes = 0;    ///< of a lane
  Outstanding outstanding;
  std::vector<UnorderedRead> unordered_reads;  ///< that no compare-and-swap has confirmed yet
  UndefinedRegisters undefined;

  std::uint32_t* row(int index) { return vector.data() + std::size_t{64} * static_cast<unsigned>(index); }
  const std::uint32_t* row(int index) const { return vector.data() + std::size_t{64} * static_cast<unsigned>(index); }
  std::uint64_t all_lanes() const { return lanes == 64 ? ~std::uint64_t{0} : 0xffffffffu; }
  std::uint64_t exec() const {
    return (scalar[scalar_register::exec] | std::uint64_t{scalar[scalar_register::exec + 1]} << 32) & all_lanes();
  }
  /// "kernel 'k', 's_nop 0' at offset 0x4 of its code (k.hip:12), workgroup 0,0,0, wave 0"
  std::string place() const;
  /// Throws Fault. lane: -1 if none is to blame.
  [[noreturn]] void fault(FaultKind kind, const std::string& what, int lane = -1) const;
};

/// The code that a launch executes; instructions are numbered in the order of their addresses.
struct Code {
  std::vector<Instruction> instruction;
  std::vector<std::int32_t> number;  ///< of the instruction at each 4 bytes of the text; -1: none begins there
  std::uint64_t base = 0;            ///< address of the first
  std::uint64_t offset = 0;          ///< its address in the code object
  std::shared_ptr<const SourceLines> lines;
  int vector_rows = 0;  ///< registers that the code names

  std::int32_t at(std::uint64_t address) const {
    const std::uint64_t word = (address - base) / 4;
    return address < base || word >= number.size() ? -1 : number[word];
  }
  /// "k.hip:12", as SourceLines::at().
  std::string line_of(const Instruction& in) const { return lines ? lines->at(in.address - base + offset) : ""; }
  /// "'s_nop 0' at offset 0x4 of its code (k.hip:12)"
  std::string place(const Instruction& in) const;
};

/// What all workgroups of a launch share.
struct LaunchState {
  const Launch* launch = nullptr;
  const KernelDescriptor* kernel = nullptr;
  const Code* code = nullptr;
  Generation generation = Generation::cdna2;
  Memory memory;
  Report report;
  std::uint64_t arguments = 0, packet = 0;  ///< addresses of the arguments and the dispatch packet
  std::int32_t entry = 0;                   ///< number of the first instruction
  HostCalls* host_calls = nullptr;          ///< of a kernel that may call the host
};

struct Workgroup {
  LaunchState* state = nullptr;
  std::array<std::uint32_t, 3> block{};
  std::vector<std::byte> lds;
  LdsHistory history;
  std::vector<Wave> wave;
  std::vector<UnwrittenRead> unwritten_reads;  ///< undefined values have their numbers, from 1 on
};

/// The clock that kernels can read: instructions of the launch so far.
inline std::uint64_t clock_of(const Wave& wave) { return wave.group->state->report.instructions; }

/// The workgroup before its first instruction: registers as the launcher of the hardware sets them.
void start_workgroup(LaunchState& state, std::array<std::uint32_t, 3> block, Workgroup& group);

/// Runs the waves one after the other, each until a barrier or its end, but at most for a fixed number of instructions,
/// so that waves and workgroups that wait for others do not hang. True: the workgroup has ended.
bool advance_workgroup(LaunchState& state, Workgroup& group);

/// Notes an access whose result the registers of the operand get.
void start_load(Wave& wave, Counter counter, const Operand& to);
/// Notes an access that writes no register: to memory, or of LDS.
void start_store(Wave& wave);
void start_lds_store(Wave& wave);
/// Notes a load to LDS, which gets the words when the load is waited for. Until then they count as not written.
void start_copy(Wave& wave, std::shared_ptr<const LdsCopy> copy);
/// The counter that counts scalar loads.
Counter scalar_counter(const Wave& wave);
/// As hardware at the instruction: what is beyond `left` accesses of the counter has arrived.
void wait_for(Wave& wave, Counter counter, int left);
/// The wave has reached a barrier, or its end: what it did to LDS, and has waited for, comes before what others do
/// after the barrier.
void signal_barrier(Wave& wave);
/// Throws Fault(missing_wait) if an instruction names a register that an access has not written yet.
void check_registers(const Wave& wave, const Instruction& in);

}  // namespace xtune::emulator
