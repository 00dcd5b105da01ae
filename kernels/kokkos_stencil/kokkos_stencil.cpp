// A 5-point stencil on a row-major f32 grid of any size, with Kokkos' multi-dimensional range: y = c0 x + c1 (sum of
// the four neighbours), zeros around the grid.
#include <xtune/kokkos.hpp>

// Compile-time: results that one iteration computes, one right of the other, and the order of iterations in a tile.
#ifndef STENCIL_COLUMNS
#define STENCIL_COLUMNS 4
#define STENCIL_ORDER Right
#endif

using Grid = xtune::kokkos::View<float**>;
using Input = xtune::kokkos::View<const float**>;
constexpr auto stencil_order = Kokkos::Iterate::STENCIL_ORDER;
using Policy = Kokkos::MDRangePolicy<xtune::kokkos::ExecutionSpace, Kokkos::Rank<2, stencil_order, stencil_order>>;

namespace {

struct Stencil {
  Input x;
  Grid y;
  int rows, columns;
  float c0, c1;

  KOKKOS_INLINE_FUNCTION float at(int i, int j) const {
    return i >= 0 && i < rows && j >= 0 && j < columns ? x(i, j) : 0;
  }
  KOKKOS_INLINE_FUNCTION void operator()(int i, int group) const {
    const int first = group * STENCIL_COLUMNS;
    // Away from the grid's edges the neighbours need no check.
    if (i > 0 && i + 1 < rows && first > 0 && first + STENCIL_COLUMNS < columns) {
      for (int j = first; j < first + STENCIL_COLUMNS; ++j)
        y(i, j) = c0 * x(i, j) + c1 * (x(i - 1, j) + x(i + 1, j) + x(i, j - 1) + x(i, j + 1));
      return;
    }
    for (int j = first; j < first + STENCIL_COLUMNS && j < columns; ++j)
      y(i, j) = c0 * x(i, j) + c1 * (at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1));
  }
};

}  // namespace

/// Run-time: rows and iterations of a row in a tile.
void stencil(const float* x, float* y, int rows, int columns, float c0, float c1, int tile_rows, int tile_columns) {
  const Stencil one{
      xtune::kokkos::view(x, rows, columns), xtune::kokkos::view(y, rows, columns), rows, columns, c0, c1};
  Kokkos::parallel_for(
      "stencil", Policy({0, 0}, {rows, (columns + STENCIL_COLUMNS - 1) / STENCIL_COLUMNS}, {tile_rows, tile_columns}),
      one);
}
