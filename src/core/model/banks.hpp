// How many cycles shared memory and the first-level cache need for one access of a warp.
#pragma once

namespace xtune::model {

/// The words that the threads of a warp read or write: lane l starts at (l % across) * across_step + (l / across) *
/// down_step, in words of 4 bytes, and accesses `words` of them.
struct LaneLayout {
  int lanes = 32;
  int across = 32;
  long long across_step = 1, down_step = 0;
  int words = 1;  ///< 1, 2 or 4: accessed by one instruction
};

/// Cycles for an access with `banks` banks. Wide accesses are served by parts of a warp whose data fills the banks once
/// (CUDA C++ Programming Guide, shared memory); lanes of a part that access the same word share it. Caches its results
/// per thread.
int bank_turns(const LaneLayout& layout, int banks);

/// Number of distinct lines of line_words that the warp accesses.
int lines_touched(const LaneLayout& layout, int line_words);

}  // namespace xtune::model
