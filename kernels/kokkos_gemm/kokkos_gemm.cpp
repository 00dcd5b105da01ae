// C = A B for row-major f32 matrices of any size, with Kokkos' team policy.
#include <xtune/kokkos.hpp>

// Compile-time: GEMM_ROWS x GEMM_COLUMNS results a thread keeps in registers, GEMM_UNROLL steps of k at once.
#ifndef GEMM_ROWS
#define GEMM_ROWS 4
#define GEMM_COLUMNS 16
#define GEMM_UNROLL 1
#endif

namespace {

using Matrix = xtune::kokkos::View<float**>;
using Input = xtune::kokkos::View<const float**>;
using Policy = Kokkos::TeamPolicy<xtune::kokkos::ExecutionSpace>;

/// The results from row i and column j on; those beyond the matrix are omitted.
struct Patch {
  Input a, b;
  Matrix c;
  int m, n, k;

  template <bool whole>
  KOKKOS_INLINE_FUNCTION void step(float (&sum)[GEMM_ROWS][GEMM_COLUMNS], int i, int j, int p) const {
    float of_b[GEMM_COLUMNS];
    for (int column = 0; column < GEMM_COLUMNS; ++column) of_b[column] = whole || j + column < n ? b(p, j + column) : 0;
    for (int row = 0; row < GEMM_ROWS; ++row) {
      const float of_a = whole || i + row < m ? a(i + row, p) : 0;
      for (int column = 0; column < GEMM_COLUMNS; ++column) sum[row][column] += of_a * of_b[column];
    }
  }

  template <bool whole>
  KOKKOS_INLINE_FUNCTION void compute(int i, int j) const {
    float sum[GEMM_ROWS][GEMM_COLUMNS] = {};
    int p = 0;
    for (; p + GEMM_UNROLL <= k; p += GEMM_UNROLL)
      for (int u = 0; u < GEMM_UNROLL; ++u) step<whole>(sum, i, j, p + u);
    for (; p < k; ++p) step<whole>(sum, i, j, p);
    for (int row = 0; row < GEMM_ROWS; ++row)
      for (int column = 0; column < GEMM_COLUMNS; ++column)
        if (whole || (i + row < m && j + column < n)) c(i + row, j + column) = sum[row][column];
  }

  KOKKOS_INLINE_FUNCTION void operator()(int i, int j) const {
    if (i + GEMM_ROWS <= m && j + GEMM_COLUMNS <= n)
      compute<true>(i, j);
    else if (i < m && j < n)
      compute<false>(i, j);
  }
};

}  // namespace

/// Run-time: threads of a team, lanes of each, and the results of a team in units of what a thread computes.
void gemm(const float* a, const float* b, float* c, int m, int n, int k, int team, int vector, int tile_rows,
          int tile_columns) {
  const auto view = [](auto* data, int rows, int columns) { return xtune::kokkos::view(data, rows, columns); };
  const Patch patch{view(a, m, k), view(b, k, n), view(c, m, n), m, n, k};
  const int rows = tile_rows * GEMM_ROWS, columns = tile_columns * GEMM_COLUMNS;
  const int across = (n + columns - 1) / columns, down = (m + rows - 1) / rows;
  Kokkos::parallel_for(
      "gemm", Policy(across * down, team, vector), KOKKOS_LAMBDA(const Policy::member_type& member) {
        const int top = member.league_rank() / across * rows, left = member.league_rank() % across * columns;
        Kokkos::parallel_for(Kokkos::TeamThreadRange(member, tile_rows), [&](int r) {
          Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, tile_columns),
                               [&](int s) { patch(top + r * GEMM_ROWS, left + s * GEMM_COLUMNS); });
        });
      });
}
