// The arithmetic of gemm.cu on matrix cores: the lanes of a warp multiply fragments together. Part of gemm.cu.
#pragma once

/// A warp's warp_m x warp_n results, spread over its lanes as the instruction likes.
class Arithmetic {
 public:
  /// How far a slice goes along K.
  static constexpr int slice = Product::k;

  /// Reads the operands of a slice of the tiles into this buffer.
  __device__ void load(int buffer, const Stored* a_tile, const Stored* b_tile, int k, const Place& place) {
#if INSTRUCTION == 8
    // The places of a lane are known before the loop, and fragments and slices are numbers in the instructions.
    using xtune::matrix::swizzled_within_rows;
#pragma unroll
    for (int i = 0; i < across_m; ++i) {
      Product::load_a(a_[buffer][i], place.lane, [&](int row, int along_k) {
        const int first = swizzled_within_rows<Stored, BLOCK_K>(place.row + row, along_k) ^ k;
        return a_tile + first + i * Product::m * BLOCK_K;
      });
    }
#pragma unroll
    for (int j = 0; j < across_n; j += Product::b_at_once) {
      Product::load_b(&b_[buffer][j], place.lane, [&](int along_k, int column) {
        const int first = swizzled_within_rows<Stored, BLOCK_N>(along_k, place.column + column) ^ j * Product::n;
        return b_tile + first + k * BLOCK_N;
      });
    }
#else
    // What the lanes add to the place of a fragment, which is known before; the warp's place and that of the slice.
    const auto place_of = [](int row, int along_k) { return xtune::matrix::swizzled<Stored, BLOCK_K>(row, along_k); };
    const int slice_a = xtune::matrix::unforeseen(place_of(place.row, k)),
              slice_b = xtune::matrix::unforeseen(place_of(place.column, k));
#pragma unroll
    for (int i = 0; i < across_m; ++i) {
      Product::load_a(a_[buffer][i], place.lane, [&](int row, int along_k) {
        return a_tile + (slice_a ^ place_of(row, along_k) ^ place_of(i * Product::m, 0));
      });
    }
#pragma unroll
    for (int j = 0; j < across_n; ++j) {
      Product::load_b(&b_[buffer][j], place.lane, [&](int column, int along_k) {
        return b_tile + (slice_b ^ place_of(column, along_k) ^ place_of(j * Product::n, 0));
      });
    }
#endif
  }

  __device__ void multiply(int buffer) {
#pragma unroll
    for (int i = 0; i < across_m; ++i) {
#pragma unroll
      for (int j = 0; j < across_n; ++j) {
        Product::multiply_add(sum_ + (i * across_n + j) * Product::sums, a_[buffer][i], b_[buffer][j]);
      }
    }
  }

  __device__ float& sum(int i) { return sum_[i]; }

  __device__ void store(float* c, int m, int n, int first_row, int first_column, const Place& place) const {
    constexpr int run = Product::run;
    const bool packed = rows_take_packs<run>(c, n);
#pragma unroll
    for (int i = 0; i < THREAD_M * THREAD_N; i += run) {
      const int fragment = i / Product::sums, in_fragment = i % Product::sums;
      const int row =
          first_row + place.row + fragment / across_n * Product::m + Product::sum_row(place.lane, in_fragment);
      const int column =
          first_column + place.column + fragment % across_n * Product::n + Product::sum_column(place.lane, in_fragment);
      if (row >= m || column >= n) continue;
      float* const to = c + static_cast<long long>(row) * n + column;
      if (packed) {
        store_pack<run>(to, results<run>(i));
      } else {
        to[0] = scaled(i);
#pragma unroll
        for (int v = 1; v < run; ++v) {
          if (column + v < n) to[v] = scaled(i + v);
        }
      }
    }
  }

 private:
  /// A pack of results, from this one on.
  template <int COUNT>
  __device__ Pack<float, COUNT> results(int i) const {
    if constexpr (COUNT == 4) {
      return {{scaled(i), scaled(i + 1), scaled(i + 2), scaled(i + 3)}};
    } else if constexpr (COUNT == 2) {
      return {{scaled(i), scaled(i + 1)}};
    } else {
      return {{scaled(i)}};
    }
  }
  __device__ float scaled(int i) const { return Product::scale * sum_[i]; }

  static constexpr int across_m = warp_m / Product::m, across_n = warp_n / Product::n;
  static_assert(Product::b_by_columns == (INSTRUCTION > 8), "tiles of B lie as the instruction reads them");
  static_assert(warp_m % Product::m == 0 && warp_n % (Product::b_at_once * Product::n) == 0,
                "a warp tile is made of whole fragments");

  typename Product::A a_[FRAGMENTS][across_m];
  typename Product::B b_[FRAGMENTS][across_n];
  float sum_[THREAD_M * THREAD_N] = {};
};
