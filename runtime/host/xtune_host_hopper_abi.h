// The part of the interface between a compiled kernel and the process for <xtune/hopper.cuh>. Both sides compile this
// file.
#pragma once

/// A copy of a tile by a tensor map.
struct XtuneTile {
  const void* map;
  void* shared;
  unsigned long long* barrier;  ///< of a load
  const int* at;                ///< coordinates, from the contiguous dimension on
  unsigned coordinates;
  unsigned blocks;  ///< of a load: bits of the cluster's blocks that receive it; 0: this block
};

/// A matrix in shared memory, as xtune::hopper::matrix() has it.
struct XtuneMatrix {
  const char* tile;
  unsigned group_bytes, block_bytes;
  unsigned swizzle;  ///< bytes
};

/// One thread's part in a product of its warpgroup.
struct XtuneProduct {
  enum Type { f16, bf16, tf32, e4m3, e5m2, s8 };
  Type type;
  bool x_is_k_major, y_is_k_major, accumulate;
  void* sums;  ///< columns / 2 of float, or of int for s8
  unsigned columns;
  const unsigned* registers;  ///< four, which hold x; nullptr: x is in shared memory
  struct XtuneMatrix x, y;
};

/// Called as XtuneServices are.
struct XtuneHopperServices {
  unsigned (*cluster_rank)(void);
  unsigned (*cluster_size)(void);
  void (*cluster_arrive)(void);
  void (*cluster_wait)(void);
  /// The same variable of another block as 32 bits, and these as a pointer to `bytes` bytes.
  unsigned (*remote_address)(const void* pointer, unsigned rank);
  void* (*remote_pointer)(unsigned address, unsigned bytes);

  void (*init)(unsigned long long* barrier, unsigned arrivals);
  void (*arrive)(unsigned long long* barrier, unsigned bytes);
  void (*arrive_remote)(unsigned long long* barrier, unsigned rank);
  void (*wait)(unsigned long long* barrier, unsigned parity);
  void (*load_tile)(const struct XtuneTile* tile);
  void (*store_tile)(const struct XtuneTile* tile);
  void (*store_commit)(void);
  /// read: only until shared memory has been read.
  void (*store_wait)(unsigned pending, bool read);

  void (*named)(int barrier, int threads, bool wait);
  void (*products_begin)(void);
  void (*product)(const struct XtuneProduct* product);
  void (*products_commit)(void);
  void (*products_wait)(unsigned pending);

  /// Of a matrix of 8 x 8 elements, whose address a lane gives.
  void (*check_matrix_row)(const void* row);
};
