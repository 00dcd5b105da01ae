// Memory accesses that were started and not waited for.
#pragma once

#include "emulator/wave.hpp"

namespace xtune::emulator {

/// Notes an access whose result the registers of the operand get.
void start_load(Wave& wave, Counter counter, const Operand& to);
/// Notes an access that writes no register.
void start_store(Wave& wave);
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
