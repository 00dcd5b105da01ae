// Kokkos units compiled and run for real.
#include <fmt/core.h>

#include <numeric>
#include <thread>

#include "backends/kokkos/unit_headers.hpp"
#include "kokkos_here.hpp"
#include "xtune/error.hpp"

using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::measure;

using namespace xtune;
using namespace xtune::kokkos_test;

namespace {

const std::string scale =
    "#include <xtune/kokkos.hpp>\n"
    "template <int factor>\n"
    "void scale(const float* x, float* y, int n, int team) {\n"
    "  using Policy = Kokkos::TeamPolicy<xtune::kokkos::ExecutionSpace>;\n"
    "  const auto from = xtune::kokkos::view(x, n);\n"
    "  const auto to = xtune::kokkos::view(y, n);\n"
    "  Kokkos::parallel_for(Policy((n + 31) / 32, team), KOKKOS_LAMBDA(const Policy::member_type& member) {\n"
    "    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, 32), [&](int i) {\n"
    "      const int at = member.league_rank() * 32 + i;\n"
    "      if (at < n) to(at) = factor * from(at) + OFFSET;\n"
    "    });\n"
    "  });\n"
    "}\n";

CompileRequest scale_request(const Here& here, const std::string& offset) {
  CompileRequest request = here.request(scale, "scale<3>");
  request.defines = {{"OFFSET", offset}};
  return request;
}

}  // namespace

TEST_CASE("A unit computes with its parameters and with what it is handed at run time") {
  const Here here;
  if (!here) return;
  std::vector<float> x(1000);
  std::iota(x.begin(), x.end(), 0.0f);
  const auto in = upload(*here.device, x), out = upload(*here.device, x);
  const std::vector<KernelArgument> arguments{in.get(), out.get(), scalar(999), scalar(1)};
  // The second shows that units come and go beside each other, and with a precompiled header.
  const auto first = here.load(scale_request(here, "1")), second = here.load(scale_request(here, "2"));
  for (const auto& [program, offset] : {std::pair(first.get(), 1.0f), std::pair(second.get(), 2.0f)}) {
    const Sample sample = program->run({arguments, true, 1 << 16});
    CHECK(sample.time_ms > 0);
    const std::vector<float> y = download<float>(*out);
    CHECK(y[0] == offset);
    CHECK(y[998] == 3 * 998 + offset);
    CHECK(y[999] == 999);  // beyond n
  }
}

TEST_CASE("Launches that follow each other are one time span; each has its own arguments") {
  const Here here;
  if (!here) return;
  const auto program = here.load(scale_request(here, "0"));
  const auto in = upload(*here.device, std::vector<float>{1, 2}), a = upload(*here.device, std::vector<float>{0, 0}),
             b = upload(*here.device, std::vector<float>{0, 0});
  const std::vector<KernelArgument> to_a{in.get(), a.get(), scalar(2), scalar(1)},
      to_b{in.get(), b.get(), scalar(2), scalar(1)};
  const std::vector<std::span<const KernelArgument>> more{to_b};
  CHECK(program->run({to_a, true, 0, more}).time_ms > 0);
  CHECK(download<float>(*a) == std::vector<float>{3, 6});
  CHECK(download<float>(*b) == std::vector<float>{3, 6});
  CHECK(program->run({to_a, false}).time_ms == 0);
}

TEST_CASE("Buffers are zeroed before each launch, and nothing beyond") {
  const Here here;
  if (!here) return;
  const auto program = here.load(here.request(
      "#include <xtune/kokkos.hpp>\n"
      "void count(char* seen, char* y) {\n"
      "  Kokkos::parallel_for(Kokkos::RangePolicy<xtune::kokkos::ExecutionSpace>(0, 13), KOKKOS_LAMBDA(int i) {\n"
      "    y[i] = ++seen[i];\n"
      "  });\n"
      "}\n",
      "count"));
  const auto seen = upload(*here.device, std::vector<char>(13, 7)), a = upload(*here.device, std::vector<char>(14)),
             b = upload(*here.device, std::vector<char>(14));
  Buffer* const zeroed[] = {seen.get()};
  const std::vector<KernelArgument> to_a{seen.get(), a.get()}, to_b{seen.get(), b.get()};
  const std::vector<std::span<const KernelArgument>> more{to_b};
  std::vector<char> expected(14, 1);
  expected.back() = 0;
  for (const bool timed : {false, true}) {
    program->run({to_a, timed, 0, more, false, zeroed});
    CHECK(download<char>(*a) == expected);
    CHECK(download<char>(*b) == expected);
  }
}

TEST_CASE("Parameters may be called like what Kokkos uses inside") {
  const Here here;
  if (!here) return;
  std::string opening;
  SUBCASE("behind the includes that the source opens with") {}
  SUBCASE("where nothing tells what the source opens with") { opening = "int before_all_includes();\n"; }
  CompileRequest request = here.request(
      opening +
          "#include <xtune/kokkos.hpp>\n"
          "void fill(int* y) {\n"
          "  Kokkos::parallel_for(Kokkos::RangePolicy<xtune::kokkos::ExecutionSpace>(0, 4), KOKKOS_LAMBDA(int i) {\n"
          "    y[i] = N + TS;\n"
          "  });\n"
          "}\n",
      "fill");
  request.defines = {{"N", "40"}, {"TS", "2"}, {"value_type", "nothing"}, {"Policy", "3"}};
  for (int round = 0; round < 2; ++round) {  // without and with a precompiled header
    const auto program = here.load(request);
    const auto out = upload(*here.device, std::vector<int>(4));
    const std::vector<KernelArgument> arguments{out.get()};
    program->run({arguments});
    CHECK(download<int>(*out) == std::vector<int>(4, 42));
  }
}

TEST_CASE("Settings of Kokkos come before its headers, and so do those that the opening's own lines ask for") {
  const Here here;
  if (!here) return;
  CompileRequest request = here.request(
      "#if SIZE != 3\n#error no size\n#endif\n"
      "#include <xtune/kokkos.hpp>\n"
      "void fill(int* y) { y[0] = KOKKOS_OF_THE_USER + SIZE; }\n",
      "fill");
  request.defines = {{"KOKKOS_OF_THE_USER", "4"}, {"SIZE", "3"}};
  for (int round = 0; round < 2; ++round) CHECK_FALSE(here.toolchain->compile(request).image.empty());
}

TEST_CASE("A mistake in the source is the user's line; a missing entry is named") {
  const Here here;
  if (!here) return;
  const CandidateFailure wrong = failure_of(
      [&] { here.toolchain->compile(here.request("#include <xtune/kokkos.hpp>\n\nvoid k(int) { oops; }\n", "k")); });
  CHECK(wrong.outcome() == Outcome::compile_failed);
  CHECK(std::string(wrong.what()).find("unit.cpp:3:") == 0);
  CHECK(wrong.log().find("oops") != std::string::npos);

  for (const char* source : {"void other(int) {}\n", "int k(int) { return 0; }\n", "void k(int&) {}\n",
                             "void k(int) {}\nvoid k(float) {}\n"}) {
    CAPTURE(source);
    const CandidateFailure missing = failure_of([&] { here.toolchain->compile(here.request(source, "k")); });
    CHECK(missing.outcome() == Outcome::compile_failed);
  }
  CHECK(
      std::string(failure_of([&] { here.toolchain->compile(here.request("void other(int) {}\n", "k")); }).what())
          .find("unit.cpp has no one function 'k' that takes pointers and numbers and returns nothing (entry \"k\")") ==
      0);
  CHECK(failure_of([&] { here.toolchain->compile(here.request("void k() {}\n", "k; int x")); }).outcome() ==
        Outcome::compile_failed);
}

TEST_CASE("Arguments that do not fit and launches that Kokkos refuses are told apart from crashes") {
  const Here here;
  if (!here) return;
  const auto program = here.load(scale_request(here, "0"));
  const auto buffer = upload(*here.device, std::vector<float>(8));
  const auto attempt = [&](const std::vector<KernelArgument>& arguments) {
    return failure_of([&] { program->run({arguments}); });
  };
  CHECK(std::string(attempt({buffer.get()}).what()) == "the kernel takes 4 arguments and was given 1");
  CHECK(std::string(attempt({scalar(1), buffer.get(), scalar(8), scalar(1)}).what()).find("argument 1") == 0);
  CHECK(std::string(attempt({buffer.get(), buffer.get(), scalar(8.0), scalar(1)}).what()).find("argument 3") == 0);

  const auto thrower =
      here.load(here.request("#include <stdexcept>\n#include <xtune/kokkos.hpp>\nvoid k(int) { throw "
                             "std::runtime_error(\"team too large\"); }\n",
                             "k"));
  const std::vector<KernelArgument> one{scalar(1)};
  const CandidateFailure refused = failure_of([&] { thrower->run({one}); });
  CHECK(refused.outcome() == Outcome::launch_failed);
  CHECK(std::string(refused.what()) == "the kernel was not launched: team too large");
}

TEST_CASE("A unit that cannot be loaded is reported") {
  const Here here;
  if (!here) return;
  Artifact artifact = here.toolchain->compile(scale_request(here, "0"));
  CHECK(artifact.format == "so");
  Artifact damaged = artifact;
  damaged.image = "no library";
  CHECK(failure_of([&] { here.device->load(damaged, device::Launch{}); }).outcome() == Outcome::launch_failed);
  Artifact other = artifact;
  const auto marker = other.image.find("xtune kokkos unit");
  REQUIRE(marker != std::string::npos);
  other.image[marker] = 'X';
  CHECK(std::string(failure_of([&] { here.device->load(other, device::Launch{}); }).what())
            .find("another version of xtune") != std::string::npos);
  CompileRequest request = scale_request(here, "0");
  request.arch = "sm_90x";
  CHECK_THROWS_AS(here.toolchain->compile(request), Error);
  request = scale_request(here, "0");
  request.sanitize = true;
  CHECK_THROWS_WITH_AS(here.toolchain->compile(request), doctest::Contains("--backend host"), Error);
  CHECK_THROWS_WITH_AS(here.backend->open_runtime(), doctest::Contains("compile it into your program"), Error);
}

TEST_CASE("The fingerprint has Kokkos' version, its execution space, its flags and its compiler") {
  const Here here;
  if (!here) return;
  const std::string fingerprint = here.toolchain->fingerprint();
  for (const char* part : {"Kokkos ", "headers ", "runtime ", "link ", "flags ", "-O3"})
    CHECK(fingerprint.find(part) != std::string::npos);
  CHECK(here.device->info().backend == "kokkos");
}

TEST_CASE("Headers are precompiled when the same flags come again, by one of those who ask") {
  const TemporaryDirectory run;  // like a run's directory: its compile workers share its contents
  const Variable temporaries("XTUNE_TMP_DIR", run.path().string());
  const std::filesystem::path compiler = run.path() / "compiler";
  // Takes the place of the compiler: counts its calls, and writes what -o names.
  write_file_atomically(compiler,
                        fmt::format("#!/bin/sh\necho called >> {}/calls\nwhile [ \"$1\" != -o ]; do shift; done\n"
                                    "echo header > \"$2\"\n",
                                    run.path().string()));
  std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
  kokkos::PrecompiledHeader first, second;
  const std::vector<std::string> flags{"-O3"};
  CHECK_FALSE(first.find(compiler, false, flags, "id"));
  CHECK_FALSE(first.find(compiler, false, {"-O2"}, "id"));  // others
  const auto made = first.find(compiler, false, flags, "id");
  REQUIRE(made);
  CHECK(std::filesystem::exists(made->string() + ".gch"));
  CHECK(std::filesystem::exists(made->parent_path() / "xtune/kokkos.hpp"));
  CHECK_FALSE(second.find(compiler, false, flags, "id"));
  CHECK(second.find(compiler, false, flags, "id") == made);
  CHECK(second.find(compiler, false, flags, "id") == made);
  CHECK(read_file(run.path() / "calls") == "called\n");

  SUBCASE("One that fails is not tried again, and nobody waits for it") {
    write_file_atomically(compiler, "#!/bin/sh\nexit 1\n");
    std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
    for (int i = 0; i < 3; ++i) CHECK_FALSE(first.find(compiler, false, {"-O1"}, "id"));
  }
}
