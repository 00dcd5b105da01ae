// The interface between a compiled Kokkos unit and the process that runs it. Both sides compile this file.
#pragma once

/// The number is increased when anything below changes.
#define XTUNE_KOKKOS_MARKER "xtune kokkos unit, abi 2"

/// Results of XtuneKokkosUnit's calls. A failure is described in the text buffer that they receive.
enum XtuneKokkosStatus {
  xtune_kokkos_done = 0,
  xtune_kokkos_refused = 1,  ///< an exception from the entry: Kokkos would not launch it
  xtune_kokkos_faulted = 2   ///< an exception while waiting for the launched work
};

struct XtuneKokkosText {
  char* text;
  unsigned long bytes;
};

struct XtuneKokkosMemory {
  void* address;
  unsigned long bytes;
};

/// The object that a unit exports under the name xtune_kokkos_unit.
struct XtuneKokkosUnit {
  const char* marker;  ///< XTUNE_KOKKOS_MARKER
  int argument_count;
  const unsigned* argument_bytes;
  const bool* argument_is_pointer;
  /// Initialises Kokkos if necessary, with the device's number and the number of threads; -1: Kokkos' default.
  int (*start)(int device, int threads, struct XtuneKokkosText* failure);
  /// Calls the entry `count` times, each with its array of argument addresses and after `zeroed_count` parts of memory
  /// were filled with zeros, and waits. time_ms: from the first to the end of the last, with the zeroing.
  int (*run)(void* const* const* arguments, unsigned long count, const struct XtuneKokkosMemory* zeroed,
             unsigned long zeroed_count, double* time_ms, struct XtuneKokkosText* failure);
  /// Overwrites memory of the execution space, using all its threads.
  int (*fill)(void* memory, unsigned long bytes, unsigned long long value, struct XtuneKokkosText* failure);
  /// Finalises Kokkos if this unit's start initialised it.
  void (*finish)(void);
};
