// A workgroup from its first instruction to its end.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "emulator/wave.hpp"

namespace xtune::emulator {
namespace {

constexpr std::uint32_t quantum = 200'000;  // instructions
/// What registers hold that nothing has set: no number that a kernel would work with by chance.
constexpr std::uint32_t unset = 0xfff7baadu;

/// Appends registers in the order in which the hardware hands them out.
class ScalarSetup {
 public:
  explicit ScalarSetup(Wave& wave) : wave_(wave) {}
  void word(std::uint32_t value) { wave_.scalar[static_cast<unsigned>(next_++)] = value; }
  void move_to(int number) { next_ = number; }
  void pair(std::uint64_t value) {
    word(static_cast<std::uint32_t>(value));
    word(static_cast<std::uint32_t>(value >> 32));
  }

 private:
  Wave& wave_;
  int next_ = 0;
};

void set_scalars(const LaunchState& state, const Workgroup& group, Wave& wave) {
  const KernelDescriptor& kernel = *state.kernel;
  const auto has = [&](int bit) { return (kernel.properties >> bit & 1) != 0; };
  ScalarSetup setup(wave);
  if (has(0)) {
    setup.pair(scratch_descriptor_base);
    setup.pair(0xffffffffu);
  }
  if (has(1)) setup.pair(state.packet);
  if (has(2)) setup.pair(0);
  if (has(3)) setup.pair(state.arguments);
  if (has(4)) setup.pair(0);
  if (has(5)) setup.pair(private_aperture);
  if (has(6)) setup.word(kernel.scratch_bytes);
  if (state.generation == Generation::rdna4) {
    wave.scalar[scalar_register::trap + 9] = group.block[0];
    wave.scalar[scalar_register::trap + 7] = group.block[1] | group.block[2] << 16;
    return;
  }
  // What the compiler did not ask for may pad the user registers.
  setup.move_to(static_cast<int>(kernel.resources2 >> 1 & 31));
  for (int i = 0; i < 3; ++i)
    if (kernel.resources2 >> (7 + i) & 1) setup.word(group.block[static_cast<unsigned>(i)]);
  if (kernel.resources2 >> 10 & 1) setup.word(0);
  const bool wave_offset = state.generation == Generation::cdna2 || state.generation == Generation::rdna2;
  if ((kernel.resources2 & 1) && wave_offset) setup.word(0);
}

void set_lanes(const LaunchState& state, Wave& wave) {
  const auto& block = state.launch->block;
  const std::uint32_t threads = block[0] * block[1] * block[2];
  std::uint64_t exec = 0;
  for (int lane = 0; lane < wave.lanes; ++lane) {
    const auto thread = static_cast<std::uint32_t>(wave.number * wave.lanes + lane);
    if (thread >= threads) break;
    exec |= std::uint64_t{1} << lane;
    const std::uint32_t x = thread % block[0], y = thread / block[0] % block[1], z = thread / block[0] / block[1];
    if (state.generation == Generation::rdna2) {
      wave.row(0)[lane] = x;
      wave.row(1)[lane] = y;
      wave.row(2)[lane] = z;
    } else {
      wave.row(0)[lane] = x | y << 10 | z << 20;
    }
  }
  std::memcpy(&wave.scalar[scalar_register::exec], &exec, sizeof exec);
}

void set_mode_of(const KernelDescriptor& kernel, Generation generation, Wave& wave) {
  wave.mode_bits = kernel.resources1 >> 12 & 0xff;
  wave.mode.flush32 = (wave.mode_bits >> 4 & 3) != 3;
  wave.mode.flush64_16 = (wave.mode_bits >> 6 & 3) != 3;
  wave.mode.clamp_nan = generation == Generation::rdna4 || (kernel.resources1 >> 21 & 1) != 0;
}

/// A vector instruction with the index in M0 added to its registers: bits 12 to 14 for the sources, 15 for the target.
void run_indexed(const LaunchState& state, Wave& wave, const Instruction& in) {
  const std::uint32_t m0 = wave.scalar[scalar_register::m0], index = m0 & 0xff, uses = m0 >> 12 & 15;
  Instruction shifted = in;
  for (unsigned i = 0; i < 4 && i < in.operands; ++i) {
    Operand& operand = shifted.operand[i];
    if (operand.kind != OperandKind::vector || !(uses >> (i == 0 ? 3 : i - 1) & 1)) continue;
    if (operand.index + index + operand.registers > static_cast<unsigned>(std::max(state.code->vector_rows, 3) + 1))
      wave.fault(FaultKind::unsupported, fmt::format("indexes a register that no instruction names (M0 is {:#x})", m0));
    operand.index = static_cast<std::uint16_t>(operand.index + index);
  }
  shifted.run(wave, shifted);
}

/// Both instructions of a pair read before either writes.
void run_pair(Wave& wave, const Instruction& in) {
  std::uint32_t* const target = wave.row(in.second->operand[0].index);
  std::array<std::uint32_t, 64> old, second;
  std::copy_n(target, 64, old.begin());
  in.second->run(wave, *in.second);
  std::copy_n(target, 64, second.begin());
  std::copy_n(old.begin(), 64, target);
  in.run(wave, in);
  std::copy_n(second.begin(), 64, target);
}

void run_instruction(const LaunchState& state, Wave& wave, const Instruction& in) {
  if (wave.indexes_registers && in.kind == Kind::vector)
    run_indexed(state, wave, in);
  else if (in.second)
    run_pair(wave, in);
  else
    in.run(wave, in);
}

void execute(LaunchState& state, Wave& wave, std::uint32_t limit) {
  const std::vector<Instruction>& code = state.code->instruction;
  for (std::uint32_t done = 0; done < limit && wave.state == WaveState::running; ++done) {
    if (wave.next >= code.size()) wave.fault(FaultKind::unsupported, "runs beyond the end of the code");
    const Instruction& in = code[wave.next++];
    wave.current = &in;
    if (wave.outstanding.registers > 0) check_registers(wave, in);
    ++state.report.instructions;
    ++state.report.of_kind[static_cast<unsigned>(in.kind)];
    if (wave.undefined.last == 0)
      run_instruction(state, wave, in);
    else
      run_with_undefined(wave, in, [&] { run_instruction(state, wave, in); });
  }
}

/// Lets the waves go on. All that have not ended wait.
void release_barrier(Workgroup& group) {
  const Wave* first = nullptr;
  for (const Wave& wave : group.wave) {
    if (wave.state == WaveState::ended) continue;
    if (first == nullptr) first = &wave;
    if (wave.next != first->next)
      wave.fault(FaultKind::barrier,
                 fmt::format("waits at this barrier, while wave {} waits at another one", first->number));
  }
  for (Wave& wave : group.wave) {
    if (wave.state == WaveState::at_barrier) {
      wave.state = WaveState::running;
      group.history.pass(wave.number);
    }
    wave.signalled = false;
  }
}

}  // namespace

void Wave::fault(FaultKind kind, const std::string& what, int lane) const {
  throw Fault(kind, fmt::format("{}{}: {}", place(), lane < 0 ? "" : fmt::format(", lane {}", lane), what));
}

std::string Code::place(const Instruction& in) const {
  const std::string line = line_of(in);
  return fmt::format("'{}' at offset {:#x} of its code{}", in.text, in.address - base,
                     line.empty() ? "" : fmt::format(" ({})", line));
}

std::string Wave::place() const {
  return fmt::format("kernel '{}', {}, workgroup {}, wave {}", group->state->launch->kernel,
                     group->state->code->place(*current), fmt::join(group->block, ","), number);
}

void start_workgroup(LaunchState& state, std::array<std::uint32_t, 3> block, Workgroup& group) {
  const Launch& launch = *state.launch;
  group.state = &state;
  group.block = block;
  group.lds.assign(state.kernel->lds_bytes + launch.dynamic_lds, std::byte{0xbd});
  const int lanes = state.kernel->wave_size();
  const std::uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  group.wave.resize((threads + static_cast<unsigned>(lanes) - 1) / static_cast<unsigned>(lanes));
  group.history.begin(group.lds.size(), group.wave.size());
  ++state.report.workgroups;
  state.report.waves += group.wave.size();
  for (std::size_t i = 0; i < group.wave.size(); ++i) {
    Wave& wave = group.wave[i];
    wave.group = &group;
    wave.number = static_cast<int>(i);
    wave.lanes = lanes;
    wave.generation = state.generation;
    wave.next = static_cast<std::uint32_t>(state.entry);
    wave.scalar.fill(unset);
    wave.vector.assign(std::size_t{64} * static_cast<unsigned>(std::max(state.code->vector_rows, 3) + 1), unset);
    const bool dynamic_stack = (state.kernel->properties >> 11 & 1) != 0;
    wave.scratch_bytes = state.kernel->scratch_bytes + (dynamic_stack ? 16384 : 0);
    wave.scratch.assign(std::size_t{wave.scratch_bytes} * static_cast<unsigned>(lanes), std::byte{0xbd});
    wave.scalar[scalar_register::exec + 1] = 0;
    wave.scalar[scalar_register::vcc + 1] = 0;
    set_mode_of(*state.kernel, state.generation, wave);
    set_scalars(state, group, wave);
    set_lanes(state, wave);
  }
}

bool advance_workgroup(LaunchState& state, Workgroup& group) {
  const std::atomic<bool>* const stop = state.launch->stop;
  for (;;) {
    if (stop && stop->load(std::memory_order_relaxed)) return false;
    for (Wave& wave : group.wave) {
      if (wave.state != WaveState::running) continue;
      execute(state, wave, quantum);
      if (state.launch->watch) state.launch->watch([&wave] { return wave.place(); });
    }
    if (state.report.instructions > state.launch->max_instructions)
      group.wave.front().fault(
          FaultKind::endless,
          fmt::format("the launch has executed {} instructions and has not ended", state.report.instructions));
    const auto any = [&](WaveState of) {
      return std::any_of(group.wave.begin(), group.wave.end(), [of](const Wave& wave) { return wave.state == of; });
    };
    if (any(WaveState::running)) return false;
    if (!any(WaveState::at_barrier)) return true;
    release_barrier(group);
  }
}

}  // namespace xtune::emulator
