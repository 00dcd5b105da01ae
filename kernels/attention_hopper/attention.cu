// O = softmax(scale * Q * K^T) * V for each head, on Hopper (sm_90a). README.md describes the design and the
// parameters.
#include "consumer.cuh"
#include "layout.cuh"
#include "tiles.cuh"

/// Loads a block of K or V to the next place in its ring.
__device__ inline void load(Element (&to)[STAGES][slices][BLOCK_N * 64], Ring& ring, Position<STAGES>& at,
                            const hopper::TensorMap& map, const Tile& tile, int block) {
  hopper::wait(ring.empty[at.stage], at.parity ^ 1);
  hopper::arrive_expect(ring.full[at.stage], sizeof(to[0]));
  for (int i = 0; i < slices; ++i)
    hopper::load_tile(to[at.stage][i], map, ring.full[at.stage], 64 * i, tile.kv_head, tile.begin + block * BLOCK_N);
  at.advance();
}

/// One thread chooses the tiles, sends them to the others, and loads keys and values: from the last block to the first,
/// keys one block ahead.
__device__ inline void load_keys_and_values(Shared& shared, const hopper::TensorMap& k_map,
                                            const hopper::TensorMap& v_map, Tiles tiles) {
  Position<STAGES> k, v;
  Position<2> in_queue;
  while (tiles.next(claim(shared.queue, in_queue))) {
    const Tile& tile = send(shared.queue, in_queue);
#pragma unroll 1
    for (int block = tile.blocks - 1; block >= 0; --block) {
      load(shared.k, shared.k_ring, k, k_map, tile, block);
      if (block + 1 < tile.blocks) load(shared.v, shared.v_ring, v, v_map, tile, block + 1);
    }
    load(shared.v, shared.v_ring, v, v_map, tile, 0);
  }
  claim(shared.queue, in_queue).blocks = 0;
  send(shared.queue, in_queue);
}

/// One thread for each consumer loads its rows of Q.
__device__ inline void load_queries(Shared& shared, const hopper::TensorMap& map, int consumer) {
  Position<Q_STAGES> at;
  Position<2> in_queue;
  while (const Tile* tile = receive(shared.queue, in_queue)) {
    const int head = tile->head, row = tile->begin + tile->row + rows * consumer;
    hopper::arrive(shared.queue.empty[in_queue.stage]);
    in_queue.advance();
    hopper::Barrier& full = shared.q_full[at.stage][consumer];
    hopper::wait(shared.q_empty[at.stage][consumer], at.parity ^ 1);
    hopper::arrive_expect(full, sizeof(shared.q[0][0]));
    for (int i = 0; i < slices; ++i) hopper::load_tile(shared.q[at.stage][consumer][i], map, full, 64 * i, head, row);
    at.advance();
  }
}

extern "C" __global__ void __launch_bounds__(group*(CONSUMERS + 1), 1)
    attention(const __grid_constant__ hopper::TensorMap q_map, const __grid_constant__ hopper::TensorMap k_map,
              const __grid_constant__ hopper::TensorMap v_map, const __grid_constant__ hopper::TensorMap o_map,
              Element* o, const int* starts, int* drawn, int batch, int seq, int heads, int kv_heads, int section,
              float scale) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  if (threadIdx.x == 0) init(shared);
  __syncthreads();
  if (threadIdx.x < group) {
    hopper::fewer_registers<PRODUCER_REGISTERS>();
    const int warp = threadIdx.x / 32;
    if (threadIdx.x % 32 != 0) return;
    if (warp == 0)
      load_keys_and_values(shared, k_map, v_map, Tiles({starts, drawn, batch, seq, heads, kv_heads, section}));
    else if (warp <= CONSUMERS)
      load_queries(shared, q_map, warp - 1);
  } else {
    hopper::more_registers<consumer_registers>();
    attend(shared, {o_map, o, heads}, scale);
  }
}
