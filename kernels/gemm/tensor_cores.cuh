// The arithmetic of gemm.cu on NVIDIA's tensor cores: a warp multiplies 16 x 16 fragments together. Part of gemm.cu.
// Source: CUDA C++ Programming Guide, section "Warp Matrix Functions".
#pragma once

/// A warp's warp_m x warp_n results, spread over its lanes as the hardware likes.
struct Results {
  static constexpr int edge = 16;
  static constexpr int fragments_m = warp_m / edge, fragments_n = warp_n / edge;
  static_assert(warp_m % edge == 0 && warp_n % edge == 0, "a warp tile is made of whole fragments");
  static_assert(BLOCK_K % (edge * K_UNROLL) == 0, "a K tile is made of whole fragments, K_UNROLL at a time");
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, edge, edge, edge, float> sum[fragments_m][fragments_n];

  __device__ Results() {
#pragma unroll
    for (int i = 0; i < fragments_m; ++i) {
#pragma unroll
      for (int j = 0; j < fragments_n; ++j) nvcuda::wmma::fill_fragment(sum[i][j], 0.0f);
    }
  }

  __device__ void accumulate(const Stored* a_tile, const Stored* b_tile, const Place& place) {
    using namespace nvcuda::wmma;
#pragma unroll 1
    for (int first = 0; first < BLOCK_K; first += edge * K_UNROLL) {
#pragma unroll
      for (int k = first; k < first + edge * K_UNROLL; k += edge) {
        fragment<matrix_a, edge, edge, edge, __half, row_major> a[fragments_m];
        fragment<matrix_b, edge, edge, edge, __half, row_major> b;
#pragma unroll
        for (int i = 0; i < fragments_m; ++i) {
          load_matrix_sync(a[i], a_tile + (place.row + i * edge) * a_stride + k, a_stride);
        }
#pragma unroll
        for (int j = 0; j < fragments_n; ++j) {
          load_matrix_sync(b, b_tile + k * b_stride + place.column + j * edge, b_stride);
#pragma unroll
          for (int i = 0; i < fragments_m; ++i) mma_sync(sum[i][j], a[i], b, sum[i][j]);
        }
      }
    }
  }

  /// Fragments inside C, where its rows are aligned, are written directly; the others by way of 1 KiB of shared memory
  /// a warp.
  __device__ void store(float* c, int m, int n, int first_row, int first_column, const Place& place,
                        float4* shared) const {
    constexpr int elements = edge * edge;
    const int lane = static_cast<int>(threadIdx.x) % lane_count, warp = static_cast<int>(threadIdx.x) / lane_count;
    float* const patch = reinterpret_cast<float*>(shared) + warp * elements;
    const bool packed = rows_take_packs<8>(c, n);
    __syncthreads();  // the patches lie where other warps may still read tiles
#pragma unroll
    for (int i = 0; i < fragments_m; ++i) {
#pragma unroll
      for (int j = 0; j < fragments_n; ++j) {
        const int row = first_row + place.row + i * edge, column = first_column + place.column + j * edge;
        float* const to = c + static_cast<long long>(row) * n + column;
        if (packed && row + edge <= m && column + edge <= n) {
          nvcuda::wmma::store_matrix_sync(to, sum[i][j], static_cast<unsigned>(n), nvcuda::wmma::mem_row_major);
          continue;
        }
        nvcuda::wmma::store_matrix_sync(patch, sum[i][j], edge, nvcuda::wmma::mem_row_major);
        __syncwarp();
#pragma unroll 1
        for (int e = lane; e < elements; e += lane_count) {
          if (row + e / edge < m && column + e % edge < n)
            to[static_cast<long long>(e / edge) * n + e % edge] = patch[e];
        }
        __syncwarp();
      }
    }
  }
};
