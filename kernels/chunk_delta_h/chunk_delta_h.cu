// The state pass of the chunked gated delta rule, on Hopper (sm_90a). README.md describes the design and the parameters.
#include "state.cuh"

extern "C" __global__ void __launch_bounds__(group*(BLOCK_V / 64 + 1), 1)
    chunk_delta_h(const __grid_constant__ hopper::TensorMap k_map, const __grid_constant__ hopper::TensorMap w_map,
                  const __grid_constant__ hopper::TensorMap u_map, const __grid_constant__ hopper::TensorMap h_map,
                  const __grid_constant__ hopper::TensorMap v_map, const float* g, const float* initial, float* last,
                  int length, int heads, float g_scale, float k_scale) {
  extern __shared__ __align__(1024) unsigned char memory[];
  pass_state(*reinterpret_cast<StateShared*>(memory), {w_map, k_map, u_map, h_map, v_map}, {g, nullptr, g_scale, k_scale},
             initial, last, length, heads);
}
