// Values read from LDS that no lane has written: which registers of a wave hold them, until they are overwritten or
// something depends on them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "emulator/instruction.hpp"
#include "emulator/lds_history.hpp"

namespace xtune::emulator {

struct Wave;

/// The numbers of the two reads that the halves of a word come from, the low half's first; 0: the half is defined.
using HalfReads = std::uint32_t;
constexpr HalfReads both_halves(std::uint32_t read) { return read | read << 16; }

struct UndefinedRegisters {
  std::uint16_t last = 0;              ///< the last read of the wave that gave an undefined value; 0: none has
  std::vector<HalfReads> vector;       ///< as Wave::vector; empty while `last` is 0
  std::vector<std::uint16_t> scratch;  ///< as Wave::scratch: the read that the byte comes from; empty likewise
  std::array<std::uint32_t, scalar_register::count> scalar{};  ///< undefined bits
  bool scc = false;
};

/// Calls `run`, which executes the instruction, in a wave that has read an undefined value, and finds which registers
/// hold one afterwards: it is executed with several values in the place of each undefined one, and what differs is
/// undefined. So a factor of zero, a mask and a select stop it. Throws Fault if a branch, the execution mask or an
/// address depends on one.
void run_with_undefined(Wave& wave, const Instruction& in, const std::function<void()>& run);

/// A read of LDS by the wave, whose bytes no lane has written, if words are not empty, or hold undefined values.
void read_undefined(Wave& wave, const LdsAccess& access, const std::string& words);
/// A register has been loaded from a place in memory; nullptr: with 0. kept: bits that the load leaves alone.
void load_undefined(Wave& wave, int row, int lane, const std::byte* from, std::size_t bytes, std::uint32_t kept);
/// Bytes of a register are stored. Throws Fault if they are undefined, unless `to` is in LDS or scratch memory, which
/// remember it. high: from the high half.
void store_undefined(Wave& wave, int row, int lane, const std::byte* to, std::size_t bytes, bool high);
/// Throws Fault if registers of the lane are undefined. use: "an address".
void require_defined(const Wave& wave, int row, int registers, int lane, const char* use);

}  // namespace xtune::emulator
