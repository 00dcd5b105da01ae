// Branches, waits, barriers, and instructions that change no result.
#include <fmt/format.h>

#include <bit>

#include "emulator/lanes.hpp"
#include "emulator/operations.hpp"

namespace xtune::emulator {
namespace {

void do_nothing(Wave&, const Instruction&) {}

/// The hardware waits for all that is outstanding.
void s_endpgm(Wave& wave, const Instruction&) {
  for (int i = 0; i < static_cast<int>(Counter::count); ++i) wait_for(wave, static_cast<Counter>(i), 0);
  signal_barrier(wave);
  wave.state = WaveState::ended;
}

void jump(Wave& wave, std::int32_t target) {
  if (target < 0) wave.fault(FaultKind::unsupported, "jumps to where no instruction begins");
  wave.next = static_cast<std::uint32_t>(target);
}

std::uint64_t vcc_of(const Wave& wave) {
  return (wave.scalar[scalar_register::vcc] | std::uint64_t{wave.scalar[scalar_register::vcc + 1]} << 32) &
         wave.all_lanes();
}

template <auto Condition>
void branch(Wave& wave, const Instruction& in) {
  if (Condition(wave)) jump(wave, in.target);
}

/// The address of the instruction after this one.
std::uint64_t address_after(const Wave& wave) {
  const auto& code = wave.group->state->code->instruction;
  return wave.next < code.size() ? code[wave.next].address : 0;
}

void s_getpc(Wave& wave, const Instruction& in) { write_scalar(wave, in.operand[0], address_after(wave)); }
void s_setpc(Wave& wave, const Instruction& in) {
  jump(wave, wave.group->state->code->at(scalar_source<std::uint64_t>(wave, in.operand[0])));
}
void s_swappc(Wave& wave, const Instruction& in) {
  const auto target = scalar_source<std::uint64_t>(wave, in.operand[1]);
  write_scalar(wave, in.operand[0], address_after(wave));
  jump(wave, wave.group->state->code->at(target));
}

void s_wait(Wave& wave, const Instruction& in) {
  for (int i = 0; i < static_cast<int>(Counter::count); ++i)
    if (const int left = in.modifiers.counts[static_cast<unsigned>(i)]; left >= 0)
      wait_for(wave, static_cast<Counter>(i), left);
}

void s_barrier(Wave& wave, const Instruction&) {
  signal_barrier(wave);
  wave.state = WaveState::at_barrier;
}

void check_whole_barrier(const Wave& wave, const Instruction& in) {
  const std::int64_t number = in.operand[0].integer;
  if (number != -1 && number != 0xffff)
    wave.fault(FaultKind::unsupported, "uses a barrier other than that of the workgroup, which is not supported");
}

void s_barrier_signal(Wave& wave, const Instruction& in) {
  check_whole_barrier(wave, in);
  if (wave.signalled) wave.fault(FaultKind::barrier, "signals a barrier twice without waiting for it");
  wave.signalled = true;
  signal_barrier(wave);
}

void s_barrier_wait(Wave& wave, const Instruction& in) {
  check_whole_barrier(wave, in);
  if (!wave.signalled) wave.fault(FaultKind::barrier, "waits for a barrier that it has not signalled");
  wave.state = WaveState::at_barrier;
}

/// Waves sleep while they wait for the host.
void s_sleep(Wave& wave, const Instruction&) {
  HostCalls* const calls = wave.group->state->host_calls;
  const std::uint32_t unknown = calls ? calls->serve() : 0;
  if (unknown != 0)
    wave.fault(FaultKind::unsupported,
               fmt::format("calls service {} of the host, which the emulator does not have", unknown));
}

/// 2: __builtin_trap and failed assertions, whose text the host has got; 3: a stop for a debugger, without which the
/// kernel goes on.
void s_trap(Wave& wave, const Instruction& in) {
  constexpr int abort = 2, debugger = 3;
  if (in.operand[0].integer == abort) {
    const HostCalls* const calls = wave.group->state->host_calls;
    if (calls && !calls->error_line().empty())
      wave.fault(FaultKind::trap, "fails an assertion: " + calls->error_line(), std::countr_zero(wave.exec()));
    wave.fault(FaultKind::trap, "traps: __builtin_trap, abort or an assertion");
  }
  if (in.operand[0].integer != debugger) wave.fault(FaultKind::unknown_instruction, "is a trap that is not known");
}

constexpr Operation control_table[] = {
    {"s_nop s_delay_alu s_clause s_sendmsg s_setprio s_icache_inv s_dcache_inv s_dcache_wb s_dcache_inv_vol "
     "s_dcache_wb_vol s_gl1_inv s_inst_prefetch s_set_inst_prefetch_distance s_waitcnt_depctr s_wait_alu s_wait_idle "
     "s_ttracedata s_ttracedata_imm s_code_end buffer_gl0_inv buffer_gl1_inv buffer_wbinvl1 buffer_wbinvl1_vol "
     "buffer_wbl2 "
     "buffer_inv buffer_invl2 global_inv global_wb global_wbinv s_prefetch_data s_prefetch_inst s_prefetch_inst_pc_rel "
     "s_prefetch_data_pc_rel v_nop s_incperflevel s_decperflevel",
     do_nothing, Sources::none},
    {"s_sleep", s_sleep, Sources::none},
    {"s_endpgm", s_endpgm, Sources::none},
    {"s_branch", branch<[](const Wave&) { return true; }>},
    {"s_cbranch_scc0", branch<[](const Wave& wave) { return !wave.scc; }>},
    {"s_cbranch_scc1", branch<[](const Wave& wave) { return wave.scc; }>},
    {"s_cbranch_vccz", branch<[](const Wave& wave) { return vcc_of(wave) == 0; }>},
    {"s_cbranch_vccnz", branch<[](const Wave& wave) { return vcc_of(wave) != 0; }>},
    {"s_cbranch_execz", branch<[](const Wave& wave) { return wave.exec() == 0; }>},
    {"s_cbranch_execnz", branch<[](const Wave& wave) { return wave.exec() != 0; }>},
    {"s_getpc_b64", s_getpc},
    {"s_setpc_b64", s_setpc},
    {"s_swappc_b64", s_swappc},
    {"s_waitcnt s_waitcnt_vscnt s_waitcnt_vmcnt s_waitcnt_lgkmcnt s_waitcnt_expcnt s_wait_loadcnt s_wait_storecnt "
     "s_wait_samplecnt s_wait_bvhcnt s_wait_expcnt s_wait_dscnt s_wait_kmcnt s_wait_loadcnt_dscnt "
     "s_wait_storecnt_dscnt",
     s_wait},
    {"s_trap", s_trap},
    {"s_barrier", s_barrier, Sources::none},
    {"s_barrier_signal", s_barrier_signal},
    {"s_barrier_wait", s_barrier_wait},
};

}  // namespace

const OperationTable control_operations{Kind::control, control_table};

}  // namespace xtune::emulator
