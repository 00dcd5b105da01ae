// What a launch did, in numbers.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "emulator/instruction.hpp"

namespace xtune::emulator {

struct Report {
  std::uint64_t instructions = 0;                                      ///< executed by waves
  std::array<std::uint64_t, static_cast<int>(Kind::count)> of_kind{};  ///< the same by kind
  std::uint64_t global_bytes_read = 0, global_bytes_written = 0;       ///< by active lanes
  std::uint64_t lds_bytes_read = 0, lds_bytes_written = 0;             ///< likewise
  /// Clocks of LDS in a model: 32 banks of 4 bytes, and lanes that are served in order, 128 bytes at a time. Conflicts
  /// are the clocks that lanes with different words in the same bank add.
  std::uint64_t lds_clocks = 0, lds_conflicts = 0;
  std::uint64_t workgroups = 0, waves = 0;
  /// Reads of LDS that no lane has written, on which nothing depends, by the offset of the instruction.
  std::map<std::uint64_t, std::string> unwritten_reads;

  Report& operator+=(const Report& other) {
    instructions += other.instructions;
    for (std::size_t i = 0; i < of_kind.size(); ++i) of_kind[i] += other.of_kind[i];
    global_bytes_read += other.global_bytes_read;
    global_bytes_written += other.global_bytes_written;
    lds_bytes_read += other.lds_bytes_read;
    lds_bytes_written += other.lds_bytes_written;
    lds_clocks += other.lds_clocks;
    lds_conflicts += other.lds_conflicts;
    workgroups += other.workgroups;
    waves += other.waves;
    unwritten_reads.insert(other.unwritten_reads.begin(), other.unwritten_reads.end());
    return *this;
  }
};

}  // namespace xtune::emulator
