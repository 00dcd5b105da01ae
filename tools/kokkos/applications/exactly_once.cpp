// Whether tuned kernels are right: each iteration of many calls must run exactly once, whatever a tool answers. Prints
// "exactly once: yes", or what was wrong, for policies of both kinds.
#include <Kokkos_Core.hpp>
#include <cstdio>

#ifndef APPLICATION_SPACE
#define APPLICATION_SPACE DefaultExecutionSpace
#endif
using Space = Kokkos::APPLICATION_SPACE;
using Counts = Kokkos::View<int*, Space>;

/// The number of elements of counts that are not `expected`.
int wrong_counts(const Counts& counts, int expected) {
  int wrong = 0;
  Kokkos::parallel_reduce(
      "check", Kokkos::RangePolicy<Space>(0, static_cast<int>(counts.extent(0))),
      KOKKOS_LAMBDA(int i, int& sum) { sum += counts(i) != expected ? 1 : 0; }, wrong);
  return wrong;
}

int count_tiles(int calls) {
  const int rows = 61, columns = 83, depth = 7;
  const Counts counts("counts", rows * columns * depth);
  for (int call = 0; call < calls; ++call)
    Kokkos::parallel_for(
        "tiles", Kokkos::MDRangePolicy<Space, Kokkos::Rank<3>>({0, 0, 0}, {rows, columns, depth}),
        KOKKOS_LAMBDA(int i, int j, int k) { Kokkos::atomic_add(&counts((i * columns + j) * depth + k), 1); });
  return wrong_counts(counts, calls);
}

int count_teams(int calls) {
  using Policy = Kokkos::TeamPolicy<Space>;
  const int leagues = 97, inner = 113;
  const Counts counts("counts", leagues * inner);
  for (int call = 0; call < calls; ++call)
    Kokkos::parallel_for(
        "teams", Policy(leagues, Kokkos::AUTO, Kokkos::AUTO), KOKKOS_LAMBDA(const Policy::member_type& member) {
          Kokkos::parallel_for(Kokkos::TeamThreadRange(member, inner), [&](int i) {
            Kokkos::single(Kokkos::PerThread(member),
                           [&]() { Kokkos::atomic_add(&counts(member.league_rank() * inner + i), 1); });
          });
        });
  return wrong_counts(counts, calls);
}

int main(int argc, char** argv) {
  int wrong = 0;
  Kokkos::initialize(argc, argv);
  {
    const int calls = 3000;
    const int tiles = count_tiles(calls), teams = count_teams(calls);
    std::printf("MDRangePolicy: %d elements wrong\nTeamPolicy: %d elements wrong\n", tiles, teams);
    wrong = tiles + teams;
    std::printf("exactly once: %s\n", wrong == 0 ? "yes" : "no");
  }
  Kokkos::finalize();
  return wrong == 0 ? 0 : 1;
}
