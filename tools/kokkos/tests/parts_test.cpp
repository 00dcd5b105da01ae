// The connector's parts: settings, variables, what Kokkos prints about itself, and the library's symbols.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <string>

#include "fake_kokkos.hpp"
#include "support/file_tree.hpp"
#include "tools/kokkos/kokkos_functions.hpp"
#include "tools/kokkos/settings.hpp"
#include "tools/kokkos/variables.hpp"
#include "xtune/error.hpp"

namespace xtune::kokkos_tools {
namespace {

Settings settings_of(const std::map<std::string, std::string>& variables) {
  return read_settings([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

}  // namespace

TEST_CASE("kokkos tools: settings from the environment") {
  CHECK(settings_of({}).complaints.empty());
  const Settings settings = settings_of({{"XTUNE_KOKKOS_MODE", "stored"},
                                         {"XTUNE_KOKKOS_EVALS", "7"},
                                         {"XTUNE_KOKKOS_SHARE", "0.5"},
                                         {"XTUNE_KOKKOS_STRATEGY", "local"},
                                         {"XTUNE_KOKKOS_TILES", "on"},
                                         {"XTUNE_KOKKOS_VERBOSE", "1"}});
  CHECK(settings.mode == Mode::stored);
  CHECK(settings.evals == 7);
  CHECK(settings.share == 0.5);
  CHECK(settings.strategy == "local");
  CHECK(settings.tiles);
  CHECK(settings.verbose);
  CHECK(settings.complaints.empty());
}

TEST_CASE("kokkos tools: bad settings are named, and the defaults stay") {
  const Settings settings = settings_of({{"XTUNE_KOKKOS_MODE", "on"},
                                         {"XTUNE_KOKKOS_EVALS", "-1"},
                                         {"XTUNE_KOKKOS_SHARE", "nan"},
                                         {"XTUNE_KOKKOS_TILES", "auto"},
                                         {"XTUNE_KOKKOS_STRATEGY", "bayes"}});
  CHECK(settings.mode == Mode::tune);
  CHECK(settings.evals == 100);
  CHECK(settings.share == 0.1);
  CHECK(settings.strategy == "auto");
  CHECK_FALSE(settings.tiles);
  REQUIRE(settings.complaints.size() == 5);
  CHECK(settings.complaints[0] == "XTUNE_KOKKOS_MODE='on' is ignored: expected one of tune, stored, fresh, off");
}

TEST_CASE("kokkos tools: candidates as values") {
  const std::vector<std::int64_t> numbers{4, 2, 4};
  CHECK(read_variable("x", integer_set(numbers)).values == std::vector<Value>{4, 2});
  abi::VariableInfo info{abi::type_integer, abi::ratio, abi::candidates_range, {}, nullptr};
  info.candidates.range = {};
  info.candidates.range.lower.integer = 5;
  info.candidates.range.upper.integer = 20;
  info.candidates.range.step.integer = 5;
  CHECK(read_variable("x", info).values == std::vector<Value>{5, 10, 15, 20});
  info.candidates.range.open_lower = info.candidates.range.open_upper = true;
  CHECK(read_variable("x", info).values == std::vector<Value>{10, 15});
  info.candidates.range.lower.integer = INT64_MIN;
  info.candidates.range.upper.integer = INT64_MAX;
  info.candidates.range.step.integer = 1;
  CHECK(read_variable("x", info).values.size() == max_range_values);
  const auto reals = read_variable("x", real_range(0, 0.999, 0.999 / 20)).values;
  CHECK(reals.size() == 19);
  CHECK(reals.back() == Value(0.94905));  // 19 times the step is 0.9490500000000001
  CHECK(read_variable("x", real_range(0, 1, 1e-30)).values.size() >= max_range_values - 2);
  CHECK(read_variable("x", real_range(0, 1, 0)).values.size() >= max_range_values - 2);
}

TEST_CASE("kokkos tools: texts as values") {
  abi::Text texts[2] = {"fast", "slow"};
  abi::VariableInfo info{abi::type_text, abi::categorical, abi::candidates_set, {}, nullptr};
  info.candidates.set.size = 2;
  info.candidates.set.values.texts = texts;
  const auto values = read_variable("x", info).values;
  CHECK(values == std::vector<Value>{"fast", "slow"});
  abi::Value out{};
  CHECK(write_value(abi::type_text, values[0], out));
  CHECK(std::string(out.text) == "fast");
  CHECK_FALSE(write_value(abi::type_text, Value(std::string(64, 'x')), out));  // no room for the end
  CHECK_FALSE(write_value(abi::type_integer, Value("1"), out));
  std::memset(texts[1], 'x', sizeof texts[1]);  // without an end
  CHECK_THROWS_AS(read_variable("x", info), Error);
  std::memset(texts[1], 0, sizeof texts[1]);
  texts[0][0] = '\xff';
  CHECK_THROWS_AS(read_variable("x", info), Error);
}

TEST_CASE("kokkos tools: what Kokkos prints about itself") {
  const Configuration cpu = parse_configuration(
      "Kokkos Version: 3.4.1\nCompiler:\n  KOKKOS_COMPILER_GNU: 1220\nOpenMP Runtime Configuration:\n"
      "Kokkos::OpenMP thread_pool_topology[ 1 x 2 x 1 ]\n");
  CHECK(cpu.version == "3.4.1");
  CHECK(cpu.threads == "1 x 2 x 1");
  CHECK(cpu.gpu_name.empty());
  const Configuration gpu = parse_configuration(
      "  Kokkos Version: 5.0.2\nKokkos::Cuda[ 0 ] NVIDIA H200 : Selected, capability 9.0, Total Global Memory: 139.7 "
      "GiB\n");
  CHECK(gpu.gpu_name == "NVIDIA H200");
  CHECK(gpu.gpu_arch == "sm_90");
  CHECK(parse_configuration(std::string(100'000, '[')).version.empty());
  CHECK(parse_configuration("Kokkos::Cuda[ 0 ]" + std::string(100'000, 'x') + " Selected").gpu_arch.empty());
}

#ifdef XTUNE_TEST_CONNECTOR
TEST_CASE("kokkos tools: the library has what Kokkos looks up, and no tuning callback without Kokkos' functions") {
  void* const library = ::dlopen(XTUNE_TEST_CONNECTOR, RTLD_NOW | RTLD_LOCAL);
  REQUIRE_MESSAGE(library, ::dlerror());
  for (const char* name :
       {"kokkosp_init_library", "kokkosp_finalize_library", "kokkosp_request_tool_settings",
        "kokkosp_provide_tool_programming_interface", "kokkosp_begin_parallel_for", "kokkosp_end_parallel_for",
        "kokkosp_begin_parallel_reduce", "kokkosp_end_parallel_reduce", "kokkosp_begin_parallel_scan",
        "kokkosp_end_parallel_scan", "kokkosp_declare_output_type", "kokkosp_declare_input_type",
        "kokkosp_declare_optimization_goal", "kokkosp_begin_context", "kokkosp_end_context"})
    CHECK_MESSAGE(::dlsym(library, name), name);
  // This program has none of Kokkos' functions, so the tool could not be hidden.
  CHECK(::dlsym(library, "kokkosp_request_values") == nullptr);
  CHECK(::dlsym(library, "xtune_kokkos_resolve_request_values") == nullptr);
  abi::ToolSettings settings{};
  settings.requires_global_fencing = true;
  const auto request =
      reinterpret_cast<void (*)(std::uint32_t, abi::ToolSettings*)>(::dlsym(library, "kokkosp_request_tool_settings"));
  request(1, &settings);
  CHECK_FALSE(settings.requires_global_fencing);
}
#endif

}  // namespace xtune::kokkos_tools
