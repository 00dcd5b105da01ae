// A small application that leaves its team sizes, vector lengths and tiles to Kokkos: explicit steps of the heat
// equation on a cube (MDRangePolicy), and a conjugate gradient solver of a 27-point matrix in CSR form (TeamPolicy).
// Arguments: cells along an edge, time steps, iterations of the solver. Prints times, and numbers that depend on all
// results.
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#ifndef APPLICATION_SPACE
#define APPLICATION_SPACE DefaultExecutionSpace
#endif
using Space = Kokkos::APPLICATION_SPACE;
using Cube = Kokkos::View<double***, Space>;
using Vector = Kokkos::View<double*, Space>;
using Numbers = Kokkos::View<int*, Space>;
using Policy = Kokkos::TeamPolicy<Space>;

double heat(int n, int steps) {
  Cube from("from", n, n, n), to("to", n, n, n);
  Kokkos::parallel_for(
      "heat_start", Kokkos::MDRangePolicy<Space, Kokkos::Rank<3>>({0, 0, 0}, {n, n, n}),
      KOKKOS_LAMBDA(int i, int j, int k) { from(i, j, k) = to(i, j, k) = (i * 7 + j * 5 + k * 3) % 11; });
  for (int step = 0; step < steps; ++step) {
    Kokkos::parallel_for(
        "heat_step", Kokkos::MDRangePolicy<Space, Kokkos::Rank<3>>({1, 1, 1}, {n - 1, n - 1, n - 1}),
        KOKKOS_LAMBDA(int i, int j, int k) {
          to(i, j, k) =
              from(i, j, k) + 0.1 * (from(i - 1, j, k) + from(i + 1, j, k) + from(i, j - 1, k) + from(i, j + 1, k) +
                                     from(i, j, k - 1) + from(i, j, k + 1) - 6 * from(i, j, k));
        });
    std::swap(from, to);
  }
  double sum = 0;
  Kokkos::parallel_reduce(
      "heat_sum", Kokkos::RangePolicy<Space>(0, n * n * n),
      KOKKOS_LAMBDA(int at, double& part) { part += from(at / (n * n), at / n % n, at % n); }, sum);
  return sum;
}

struct Matrix {
  int rows;
  Numbers begins, columns;
  Vector values;
};

/// 26 on the diagonal, -1 for each neighbour in a cube of n^3 cells.
Matrix make_matrix(int n) {
  const int rows = n * n * n;
  Matrix matrix{rows, Numbers("begins", rows + 1), Numbers("columns", rows * 27), Vector("values", rows * 27)};
  const Numbers begins = matrix.begins, columns = matrix.columns;
  const Vector values = matrix.values;
  Kokkos::parallel_for(
      "matrix", Kokkos::RangePolicy<Space>(0, rows), KOKKOS_LAMBDA(int row) {
        const int x = row % n, y = row / n % n, z = row / (n * n);
        begins(row) = row * 27;
        if (row == 0) begins(rows) = rows * 27;
        int at = row * 27;
        for (int c = -1; c <= 1; ++c)
          for (int b = -1; b <= 1; ++b)
            for (int a = -1; a <= 1; ++a, ++at) {
              const bool inside = x + a >= 0 && x + a < n && y + b >= 0 && y + b < n && z + c >= 0 && z + c < n;
              columns(at) = inside ? row + a + n * b + n * n * c : row;
              values(at) = a == 0 && b == 0 && c == 0 ? 26.5 : inside ? -1 : 0;
            }
      });
  return matrix;
}

void multiply(const Matrix& matrix, const Vector& x, const Vector& y) {
  const int rows_per_team = 32;
  const Matrix m = matrix;
  Kokkos::parallel_for(
      "spmv", Policy((m.rows + rows_per_team - 1) / rows_per_team, Kokkos::AUTO, Kokkos::AUTO),
      KOKKOS_LAMBDA(const Policy::member_type& member) {
        Kokkos::parallel_for(Kokkos::TeamThreadRange(member, rows_per_team), [&](int i) {
          const int row = member.league_rank() * rows_per_team + i;
          if (row >= m.rows) return;
          double sum = 0;
          Kokkos::parallel_reduce(
              Kokkos::ThreadVectorRange(member, m.begins(row), m.begins(row + 1)),
              [&](int at, double& part) { part += m.values(at) * x(m.columns(at)); }, sum);
          Kokkos::single(Kokkos::PerThread(member), [&]() { y(row) = sum; });
        });
      });
}

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  Kokkos::parallel_reduce(
      "dot", Kokkos::RangePolicy<Space>(0, static_cast<int>(a.extent(0))),
      KOKKOS_LAMBDA(int i, double& part) { part += a(i) * b(i); }, sum);
  return sum;
}

/// y = a x + b y
void combine(double a, const Vector& x, double b, const Vector& y) {
  Kokkos::parallel_for(
      "combine", Kokkos::RangePolicy<Space>(0, static_cast<int>(x.extent(0))),
      KOKKOS_LAMBDA(int i) { y(i) = a * x(i) + b * y(i); });
}

/// Solves A x = 1 from x = 0, again each time that it has converged; the norm of the last residual.
double solve(int n, int iterations) {
  const Matrix matrix = make_matrix(n);
  const Vector x("x", matrix.rows), r("r", matrix.rows), p("p", matrix.rows), product("product", matrix.rows);
  double rr = 0;
  for (int i = 0; i < iterations; ++i) {
    if (i % 25 == 0) {
      Kokkos::deep_copy(x, 0);
      Kokkos::deep_copy(r, 1);
      Kokkos::deep_copy(p, r);
      rr = dot(r, r);
    }
    multiply(matrix, p, product);
    const double alpha = rr / dot(p, product);
    combine(alpha, p, 1, x);
    combine(-alpha, product, 1, r);
    const double next = dot(r, r);
    combine(1, r, next / rr, p);
    rr = next;
  }
  return std::sqrt(rr) + dot(x, x);
}

int main(int argc, char** argv) {
  Kokkos::initialize(argc, argv);
  {
    const int n = argc > 1 ? std::atoi(argv[1]) : 96, steps = argc > 2 ? std::atoi(argv[2]) : 1000,
              iterations = argc > 3 ? std::atoi(argv[3]) : 1000;
    Kokkos::Timer timer;
    const double sum = heat(n, steps);
    Kokkos::fence();
    const double heat_s = timer.seconds();
    timer.reset();
    const double residual = solve(n, iterations);
    Kokkos::fence();
    std::printf("heat %.3f s, solver %.3f s; results %.10g %.10g\n", heat_s, timer.seconds(), sum, residual);
  }
  Kokkos::finalize();
  return 0;
}
