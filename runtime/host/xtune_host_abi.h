// The interface between a compiled kernel and the process that runs it. Both sides compile this file.
#pragma once

#include "xtune_host_hopper_abi.h"

/// Increased when anything below changes; the number is part of the marker in every kernel library.
#define XTUNE_HOST_ABI 5
#define XTUNE_HOST_MARKER "xtune host kernel, abi 5, sanitized "

struct XtuneUint3 {
  unsigned x, y, z;
};

/// One lane's part in a warp operation. Lanes are numbered 0 to 31 within 32 threads of consecutive linear index.
struct XtuneLane {
  unsigned mask;             ///< in: the lanes that take part; 0: those that arrive at `line` together
  int line;                  ///< in: the source's line, if `mask` is 0
  int source;                ///< in: lane whose value is wanted; a lane that does not take part returns its own
  int predicate;             ///< in
  unsigned long long value;  ///< in: this lane's; out: the source's
  unsigned ballot;           ///< out: lanes whose predicate is not 0
  unsigned participants;     ///< out: lanes that took part
};

/// The process's services for a kernel. Called only on the kernel's thread; each returns on the operating-system thread
/// it was called on, after other threads of the block have run.
struct XtuneServices {
  /// Waits for all live threads of the block. Low half of the result: how many passed a predicate that is not 0; high
  /// half: how many took part.
  unsigned long long (*barrier)(int predicate);
  void (*warp)(struct XtuneLane* lane);
  /// Lets the block's other threads run.
  void (*yield)(void);
  /// Waits for one thread of every other block of a cooperative launch.
  void (*grid_barrier)(void);
  const struct XtuneHopperServices* hopper;
};

/// A variable that the process fills; the library exports one for each, as xtune_variable_0, xtune_variable_1, ...
struct XtuneVariable {
  void* address;
  unsigned long long bytes;
};

/// The C++ type of a parameter, or of what it points to.
struct XtuneParameter {
  const char* text;  ///< a compiler's text that ends in "T = const float*]"
  /// f: float or double, i: signed, u: unsigned integer, b: bool, c: a type of one byte, h: half, B: bfloat16, 4: E4M3,
  /// 5: E5M2, o: other.
  char kind;
  unsigned bytes;  ///< 0 for a pointer to void
};

/// The object that a kernel library exports under the name xtune_kernel.
struct XtuneKernel {
  const char* marker;  ///< XTUNE_HOST_MARKER followed by 0 or 1
  int argument_count;
  const unsigned* argument_bytes;
  const bool* argument_is_pointer;
  const struct XtuneParameter* parameters;
  /// Of a sanitized kernel: another library of the same source, in which threads also change at random stores. Equal
  /// where there is none.
  const unsigned char *racing_begin, *racing_end;
  bool uses_hopper;  ///< it includes <xtune/hopper.cuh>; it then uses fibers, too
  bool uses_fibers;  ///< it waits for other threads of its block: run_thread on fibers; otherwise run_block
  /// Called once after loading.
  void (*bind)(const struct XtuneServices* services);
  /// Called on each operating-system thread, before its first block of a launch.
  void (*begin_launch)(struct XtuneUint3 grid, struct XtuneUint3 block, void* dynamic_shared);
  /// Runs all threads of one block, one after the other.
  void (*run_block)(void* const* arguments, struct XtuneUint3 block_index);
  /// Called before the first run_thread of a block.
  void (*begin_block)(struct XtuneUint3 block_index);
  void (*run_thread)(void* const* arguments, struct XtuneUint3 thread_index);
};
