// The connector against a stand-in for Kokkos whose clock is exact: what kernels run with, and what is kept.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <thread>

#include "fake_kokkos.hpp"
#include "support/file_tree.hpp"

namespace xtune::kokkos_tools {
TEST_CASE("kokkos tools: a kernel converges to its fastest sizes, and starts with them in the next run") {
  const test::FileTree tree;
  const std::string store = tree.path("store");
  {
    FakeKokkos kokkos(store, thorough());
    FakeKernel kernel = team_kernel();
    CHECK(kokkos.run(kernel) == std::vector{1, 64});  // Kokkos' own choice, not the first entries of its lists
    run_many(kokkos, kernel, 20'000);
    CHECK(kokkos.run(kernel) == std::vector{4, 32});
    CHECK(kokkos.tool().summary().find("decided") != std::string::npos);
  }
  FakeKokkos again(store, thorough());
  FakeKernel kernel = team_kernel();
  again.run(kernel);
  int best = 0;
  for (int i = 0; i < 40; ++i) best += again.run(kernel) == std::vector{4, 32};
  CHECK(best >= 15);  // it meets the default once more
  CHECK(again.run(kernel) == std::vector{4, 32});
}

TEST_CASE(
    "kokkos tools: slower tries cost no more than their share, and Kokkos' own choice stays where it is the best") {
  const test::FileTree tree;
  FakeKokkos kokkos(tree.path("store"));
  FakeKernel kernel = team_kernel();
  kernel.time_ms = [](const std::vector<int>& sizes) { return sizes == std::vector{1, 64} ? 1.0 : 4.0; };
  for (const int calls : {100, 1000, 10'000}) {
    const double time_ms = run_many(kokkos, kernel, calls);
    CHECK(time_ms < calls * 1.2 + 20);
  }
  for (int i = 0; i < 20; ++i) CHECK(kokkos.run(kernel) == std::vector{1, 64});
}

TEST_CASE("kokkos tools: a stored winner that loses at another problem size is not used") {
  const test::FileTree tree;
  {
    FakeKokkos kokkos(tree.path("store"), thorough());
    FakeKernel kernel = team_kernel();
    run_many(kokkos, kernel, 20'000);
  }
  FakeKokkos kokkos(tree.path("store"), {.mode = Mode::stored});
  FakeKernel kernel = team_kernel();
  kernel.time_ms = [](const std::vector<int>& sizes) { return sizes == std::vector{1, 64} ? 1.0 : 2.0; };
  run_many(kokkos, kernel, 200);
  for (int i = 0; i < 20; ++i) CHECK(kokkos.run(kernel) == std::vector{1, 64});
}

TEST_CASE("kokkos tools: without stored answers the mode 'stored' tries nothing, and 'off' never shows a tool") {
  const test::FileTree tree;
  for (const Mode mode : {Mode::stored, Mode::off}) {
    FakeKokkos kokkos(tree.path("store"), {.mode = mode});
    FakeKernel kernel = team_kernel();
    for (int i = 0; i < 100; ++i) CHECK(kokkos.run(kernel) == std::vector{1, 64});
  }
}

TEST_CASE("kokkos tools: tiles are tuned only on request, since Kokkos may compute wrong results with them") {
  const test::FileTree tree;
  FakeKernel tiles{
      "stencil", {"_tile_size_0", "_tile_size_1"}, {{1, 2, 4}, {1, 2, 4}}, {2, 2}, [](const std::vector<int>& sizes) {
        return 5.0 - sizes[0] - 0.1 * sizes[1];
      }};
  for (const bool tuned : {false, true}) {
    FakeKokkos kokkos(tree.path("store"), {.tiles = tuned});
    FakeKernel kernel = tiles;
    run_many(kokkos, kernel, 3000);
    CHECK(kokkos.run(kernel) == (tuned ? std::vector{4, 4} : std::vector{2, 2}));
    CHECK((kokkos.tool().summary().find("not tuned (XTUNE_KOKKOS_TILES): 1") == std::string::npos) == tuned);
  }
}

TEST_CASE("kokkos tools: where the tool cannot be hidden, Kokkos sees none") {
  const test::FileTree tree;
  FakeKokkos kokkos(tree.path("store"), {}, false);
  FakeKernel kernel = team_kernel();
  for (int i = 0; i < 50; ++i) CHECK(kokkos.run(kernel) == std::vector{1, 64});
  kokkos.tool().finalize();
  CHECK(kokkos.tool().summary().find("spmv") == std::string::npos);
  CHECK_FALSE(std::filesystem::exists(tree.path("store")));
}

TEST_CASE("kokkos tools: kernels of several threads at once have Kokkos' own choices") {
  const test::FileTree tree;
  FakeKokkos kokkos(tree.path("store"));
  FakeKernel kernel = team_kernel();
  run_many(kokkos, kernel, 20'000);
  const std::uint64_t open = kokkos.tool().begin_kernel("other", 1u << 24);
  std::thread([&] { CHECK(kokkos.run(kernel) == std::vector{1, 64}); }).join();
  kokkos.tool().end_kernel(open);
  CHECK(kokkos.run(kernel) == std::vector{1, 64});
}

TEST_CASE("kokkos tools: kernels that throw, and ends that were never begun") {
  const test::FileTree tree;
  FakeKokkos kokkos(tree.path("store"), thorough());
  FakeKernel kernel = team_kernel();
  run_many(kokkos, kernel, 5);
  for (int i = 0; i < 50; ++i) kokkos.tool().begin_kernel("spmv", 1u << 24);
  kokkos.tool().end_kernel(999'999);
  kokkos.tool().end_context(4711);
  run_many(kokkos, kernel, 20'000);
  CHECK(kokkos.run(kernel) == std::vector{4, 32});
}

TEST_CASE("kokkos tools: variables of the application, by the values of their inputs") {
  const test::FileTree tree;
  FakeKokkos kokkos(tree.path("store"));
  const std::vector<std::int64_t> choices{0, 1, 2};
  const std::size_t output = kokkos.declare("algorithm", integer_set(choices));
  const std::size_t input = kokkos.declare_input("size", abi::type_integer);
  const auto call = [&](std::int64_t size) {
    abi::VariableValue in{input, {}, nullptr};
    in.value.integer = size;
    std::vector<abi::VariableValue> out{{output, {}, nullptr}};
    const std::size_t context = kokkos.begin_context({in}, out);
    const std::int64_t chosen = out[0].value.integer;
    kokkos.clock.advance_s((size == 10 ? (chosen == 2 ? 0.5 : 1.0) : (chosen == 0 ? 0.5 : 1.0)) * 1e-3);
    kokkos.end_context(context);
    return chosen;
  };
  for (int i = 0; i < 2000; ++i) call(10), call(20);
  CHECK(call(10) == 2);
  CHECK(call(20) == 0);
}

TEST_CASE("kokkos tools: kernels inside of a context are tuned, and so is the context") {
  const test::FileTree tree;
  FakeKokkos kokkos(tree.path("store"), thorough());
  const std::vector<std::int64_t> choices{0, 1};
  const std::size_t output = kokkos.declare("order", integer_set(choices));
  FakeKernel kernel = team_kernel();
  std::int64_t chosen = 0;
  for (int i = 0; i < 30'000; ++i) {
    std::vector<abi::VariableValue> out{{output, {}, nullptr}};
    const std::size_t context = kokkos.begin_context({}, out);
    chosen = out[0].value.integer;
    kokkos.run(kernel);
    kokkos.clock.advance_s((chosen == 1 ? 0.1 : 1.0) * 1e-3);
    kokkos.end_context(context);
  }
  CHECK(chosen == 1);
  CHECK(kokkos.run(kernel) == std::vector{4, 32});
}

TEST_CASE("kokkos tools: garbage from Kokkos leaves the defaults") {
  const test::FileTree tree;
  FakeKokkos kokkos(tree.path("store"));
  const auto stays = [&](const abi::VariableInfo& info, std::int64_t value) {
    const std::size_t id = kokkos.declare("x", info);
    for (int i = 0; i < 30; ++i) {
      std::vector<abi::VariableValue> out{{id, {}, nullptr}};
      out[0].value.integer = value;
      const std::size_t context = kokkos.begin_context({}, out);
      CHECK(out[0].value.integer == value);
      kokkos.end_context(context);
    }
  };
  const std::vector<std::int64_t> values{1, 2, 3};
  abi::VariableInfo info = integer_set(values);
  info.type = 77;
  stays(info, 7);
  info = integer_set(values);
  info.candidate_kind = -5;
  stays(info, 7);
  info.candidate_kind = abi::candidates_unbounded;
  stays(info, 7);
  stays(integer_set({}), 7);
  stays(integer_set({3}), 7);  // nothing to choose from
  info = integer_set(values);
  info.candidates.set.size = std::size_t(1) << 60;
  stays(info, 7);
  stays(real_range(NAN, 1, 0.1), 7);
  stays(real_range(0, INFINITY, 0.1), 7);
  stays(real_range(2, 1, 0.1), 7);
  std::vector<abi::VariableValue> unknown{{123'456, {}, nullptr}};
  kokkos.end_context(kokkos.begin_context({{99, {}, nullptr}}, unknown));
  kokkos.tool().request(1, 0, nullptr, 0, nullptr);
  kokkos.tool().request(1, 5, nullptr, 5, nullptr);
  kokkos.tool().declare_output(nullptr, 5, nullptr);
  kokkos.tool().begin_kernel(nullptr, 0xFFFFFFFFu);
}

TEST_CASE("kokkos tools: a context that declares an optimisation goal is not tuned") {
  const test::FileTree tree;
  FakeKokkos kokkos(tree.path("store"));
  const std::vector<std::int64_t> values{1, 2, 3};
  const std::size_t id = kokkos.declare("x", integer_set(values));
  kokkos.tool().declare_goal(1);
  for (int i = 0; i < 20; ++i) {
    abi::VariableValue out{id, {}, nullptr};
    kokkos.tool().request(1, 0, nullptr, 1, &out);
    CHECK(out.value.integer == 0);
  }
}

TEST_CASE("kokkos tools: thousands of kernels") {
  const test::FileTree tree;
  FakeKokkos kokkos(tree.path("store"), {.mode = Mode::stored});
  for (int i = 0; i < 25'000; ++i) {
    FakeKernel kernel{"kernel " + std::to_string(i), {}, {}, {}, [](const std::vector<int>&) { return 1.0; }};
    kokkos.run(kernel);
  }
  CHECK(kokkos.tool().summary().find("kernel 1") == std::string::npos);
}

}  // namespace xtune::kokkos_tools
