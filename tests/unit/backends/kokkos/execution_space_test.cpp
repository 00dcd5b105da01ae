// Which execution space is tuned for, and what its code runs on.
#include "backends/kokkos/execution_space.hpp"

#include <doctest/doctest.h>

#include "backends/cpu/cpu.hpp"
#include "backends/kokkos/device.hpp"
#include "fakes/environment_variable.hpp"
#include "system/machine.hpp"
#include "xtune/error.hpp"

using namespace xtune::device;

using namespace xtune;
using kokkos::choose_space;

namespace {

kokkos::Installation built_for(const std::vector<std::string>& devices, int version = 40600) {
  kokkos::Installation kokkos;
  kokkos.version = "4.6.0";
  kokkos.version_number = version;
  kokkos.devices = devices;
  kokkos.config = "/opt/kokkos/KokkosConfig.cmake";
  return kokkos;
}

struct Cleared {
  Variable space{"XTUNE_KOKKOS_SPACE", std::nullopt}, kokkos{"KOKKOS_NUM_THREADS", std::nullopt},
      openmp{"OMP_NUM_THREADS", std::nullopt};
};

}  // namespace

TEST_CASE("Without a word the most parallel space of a Kokkos is taken") {
  const Cleared cleared;
  CHECK(choose_space(built_for({"SERIAL"})).name == "Serial");
  CHECK(choose_space(built_for({"SERIAL"})).threads == 1);
  CHECK(choose_space(built_for({"SERIAL", "THREADS"})).name == "Threads");
  const kokkos::ExecutionSpace openmp = choose_space(built_for({"SERIAL", "OPENMP"}));
  CHECK(openmp.type == "Kokkos::OpenMP");
  CHECK(openmp.backend == "host");
  CHECK(openmp.threads == static_cast<int>(system::usable_cpus()));
  const kokkos::ExecutionSpace cuda = choose_space(built_for({"CUDA", "OPENMP", "SERIAL"}));
  CHECK(cuda.type == "Kokkos::Cuda");
  CHECK(cuda.backend == "cuda");
  CHECK(cuda.is_gpu);
  CHECK(choose_space(built_for({"HIP", "SERIAL"})).type == "Kokkos::HIP");
  CHECK(choose_space(built_for({"HIP", "SERIAL"}, 30700)).type == "Kokkos::Experimental::HIP");
}

TEST_CASE("XTUNE_KOKKOS_SPACE asks for one; a Kokkos without it is an error that names what it has") {
  const Cleared cleared;
  {
    const Variable wanted("XTUNE_KOKKOS_SPACE", "Serial");
    CHECK(choose_space(built_for({"CUDA", "OPENMP", "SERIAL"})).name == "Serial");
  }
  const Variable wanted("XTUNE_KOKKOS_SPACE", "openMP");
  CHECK_THROWS_WITH_AS(choose_space(built_for({"SERIAL", "OPENMP"})),
                       "XTUNE_KOKKOS_SPACE asks for 'openMP' (did you mean 'OpenMP'?), and Kokkos 4.6.0 "
                       "(/opt/kokkos/KokkosConfig.cmake) was built for OpenMP, Serial: ask for one of these, or point "
                       "Kokkos_ROOT at a Kokkos with it",
                       Error);
  CHECK_THROWS_WITH_AS(choose_space(built_for({"SYCL"})), doctest::Contains("was built for SYCL, and xtune tunes for"),
                       Error);
}

TEST_CASE("Threads are counted as Kokkos and OpenMP are told") {
  const Cleared cleared;
  const Variable openmp("OMP_NUM_THREADS", "3,2");
  CHECK(choose_space(built_for({"OPENMP"})).threads == 3);
  {
    const Variable kokkos("KOKKOS_NUM_THREADS", "5");
    CHECK(choose_space(built_for({"OPENMP"})).threads == 5);
    CHECK(choose_space(built_for({"SERIAL"})).threads == 1);
  }
  for (const char* wrong : {"many", "0", "-2", "4x"}) {
    const Variable kokkos("KOKKOS_NUM_THREADS", wrong);
    CHECK_THROWS_WITH_AS(choose_space(built_for({"OPENMP"})), doctest::Contains("KOKKOS_NUM_THREADS='"), Error);
  }
}

TEST_CASE("A GPU's architecture is the one in Kokkos' flags, a CPU's its own") {
  const Cleared cleared;
  kokkos::Installation cuda = built_for({"CUDA"});
  const kokkos::ExecutionSpace space = choose_space(cuda);
  CHECK_THROWS_WITH_AS(kokkos::arch_of(cuda, space), doctest::Contains("name no GPU architecture"), Error);
  cuda.flags.compile = {"-O3", "-extended-lambda", "-arch=sm_90"};
  CHECK(kokkos::arch_of(cuda, space) == "sm_90");
  kokkos::Installation hip = built_for({"HIP"});
  hip.flags.link = {"--offload-arch=gfx90a"};
  CHECK(kokkos::arch_of(hip, choose_space(hip)) == "gfx90a");
  CHECK(kokkos::arch_of(built_for({"SERIAL"}), choose_space(built_for({"SERIAL"}))) == cpu::own_arch());
}

TEST_CASE("A CPU's facts bound a team by Kokkos' threads; a GPU's stay") {
  const Cleared cleared;
  DeviceInfo cpu;
  cpu.backend = "host";
  cpu.vendor = "cpu";
  cpu.compute_units = 64;
  const Variable openmp("OMP_NUM_THREADS", "6");
  const DeviceInfo team = kokkos::as_kokkos(cpu, choose_space(built_for({"OPENMP"})));
  CHECK(team.backend == "kokkos");
  CHECK(team.compute_units == 6);
  CHECK(team.max_threads_per_block == 6);
  CHECK(team.warp_size == 1);
  CHECK(kokkos::as_kokkos(cpu, choose_space(built_for({"SERIAL"}))).compute_units == 1);
  DeviceInfo gpu;
  gpu.compute_units = 132;
  const DeviceInfo same = kokkos::as_kokkos(gpu, choose_space(built_for({"CUDA"})));
  CHECK(same.backend == "kokkos");
  CHECK(same.compute_units == 132);
  CHECK(same.max_threads_per_block == 1024);
  CHECK(same.warp_size == 32);
}
