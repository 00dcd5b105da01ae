// Compilers that are missing, crash, or are clang++.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "backends/backend.hpp"
#include "backends/cpu/cpu.hpp"
#include "backends/host/backend.hpp"
#include "core/build/keyed_files.hpp"
#include "fakes/environment_variable.hpp"
#include "system/files.hpp"
#include "system/subprocess.hpp"
#include "xtune/error.hpp"

using namespace xtune::backend;
using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::measure;

using namespace xtune;

// libuv closes descriptors by the bare system call, which ThreadSanitizer does not see: a number that another thread's
// pipe gets next looks to it like one still in use.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return "race:uv_pipe\n"; }

namespace {

CompileRequest request(const std::string& source) {
  CompileRequest r;
  r.source_name = "k.cu";
  r.source = source;
  r.entry = "k";
  r.arch = cpu::own_arch();
  return r;
}

std::filesystem::path script(const TemporaryDirectory& folder, const std::string& text) {
  const auto path = folder.path() / "fake-cxx";
  std::ofstream(path) << "#!/bin/sh\n" << text;
  chmod(path.c_str(), 0700);
  return path;
}

auto parsed_headers(const TemporaryDirectory& folder) {
  const std::filesystem::recursive_directory_iterator files(folder.path());
  return std::count_if(begin(files), end(files), [](const auto& file) { return file.path().extension() == ".gch"; });
}

constexpr const char* fill = R"(extern "C" __global__ void k(int* x) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  x[threadIdx.x] = s[63 - threadIdx.x];
})";

}  // namespace

TEST_CASE("a compiler that is not there is named") {
  const Variable wanted("XTUNE_HOST_CXX", "/no/such/compiler");
  try {
    host::make_toolchain();
    FAIL("found");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::unavailable);
    CHECK(std::string(error.what()).find("/no/such/compiler") != std::string::npos);
  }
}

TEST_CASE("without any compiler the message says what to install") {
  const Variable path("PATH", "/nowhere");
  const Variable wanted("XTUNE_HOST_CXX", "");
  try {
    host::make_toolchain();
    FAIL("found");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::unavailable);
    CHECK(std::string(error.what()).find("g++") != std::string::npos);
  }
}

TEST_CASE("without another compiler, that of the Python package ziglang beside xtune's is taken") {
  const TemporaryDirectory packages;
  const Variable path("PATH", "/nowhere"), wanted("XTUNE_HOST_CXX", ""), environment("VIRTUAL_ENV", {});
  const Variable python("XTUNE_PYTHON_PACKAGES", packages.path().string());
  const auto add = [&](const char* name) {
    std::filesystem::create_directories((packages.path() / name).parent_path());
    std::filesystem::copy_file(script(packages, ""), packages.path() / name);
    return (packages.path() / name).string();
  };
  const std::string compiler = add("xtune/zig-c++");
  CHECK_THROWS_AS(cpu::find_compiler(), Error);
  add("ziglang/zig");
  CHECK(cpu::find_compiler() == compiler);
}

TEST_CASE("a compiler that dies is a crash, one that complains a compile error") {
  const TemporaryDirectory folder;
  const std::string version = "[ \"$1\" = --version ] && echo fake 1.0 && exit 0\n";
  for (const auto& [text, outcome] :
       {std::pair{version + "kill -SEGV $$\n", Outcome::crashed},
        std::pair{version + "echo 'k.cu:1: internal compiler error: Segmentation fault' >&2; exit 1\n",
                  Outcome::crashed},
        std::pair{version + "echo >&2; echo 'cc1plus: out of memory allocating 64 bytes' >&2; exit 1\n",
                  Outcome::crashed},
        std::pair{version + "echo 'g++: fatal error: Killed signal terminated program cc1plus' >&2; exit 1\n",
                  Outcome::crashed},
        std::pair{version + "exit 1\n", Outcome::compile_failed},
        std::pair{version + "echo 'k.cu:7: error: no good' >&2; exit 1\n", Outcome::compile_failed}}) {
    const Variable wanted("XTUNE_HOST_CXX", script(folder, text).string());
    try {
      host::make_toolchain()->compile(request(fill));
      FAIL("compiled");
    } catch (const CandidateFailure& failure) {
      CHECK(failure.outcome() == outcome);
      CHECK(std::string(failure.what()) != "");
      if (text.find("no good") != std::string::npos) CHECK(std::string(failure.what()) == "k.cu:7: error: no good");
      if (text.find("cc1plus: out") != std::string::npos)
        CHECK(std::string(failure.what()).find("out of memory") != std::string::npos);
    }
  }
  for (const auto& [text, kind] :
       {std::pair{version + "echo '/usr/bin/ld: final link failed: No space left on device' >&2; exit 1\n",
                  ErrorKind::io},
        std::pair{version + "echo \"collect2: fatal error: cannot find 'ld'\" >&2; exit 1\n",
                  ErrorKind::unavailable}}) {
    const Variable wanted("XTUNE_HOST_CXX", script(folder, text).string());
    try {
      host::make_toolchain()->compile(request(fill));
      FAIL("compiled");
    } catch (const Error& error) {
      CHECK(error.kind() == kind);
    }
  }
  const Variable wanted("XTUNE_HOST_CXX", script(folder, "echo broken >&2; exit 3\n").string());
  CHECK_THROWS_AS(host::make_toolchain()->fingerprint(), Error);
}

TEST_CASE("a definition or entry cannot leave its place") {
  const auto toolchain = host::make_toolchain();
  for (const char* entry : {"", "k; int x", "k}", "<3>", "k\n#error"}) {
    auto r = request(fill);
    r.entry = entry;
    CHECK_THROWS_AS(toolchain->compile(r), CandidateFailure);
  }
}

TEST_CASE("a definition may have a name that headers use, and a separate line") {
  const auto toolchain = host::make_toolchain();
  auto r = request("#include <math.h>\nextern \"C\" __global__ void k(T* x) { *x = A + n; }");
  r.defines = {{"T", "float"}, {"A", "1"}, {"n", "(2 + 3)"}, {"size", "9"}};
  CHECK_FALSE(toolchain->compile(r).image.empty());
  r.defines = {{"T", "float"}, {"A", "1"}};
  try {
    toolchain->compile(r);
    FAIL("compiled");
  } catch (const CandidateFailure& failure) {
    CHECK(failure.log().find("k.cu:2") != std::string::npos);
  }
}

TEST_CASE("the shared memory of other kernels of the source does not count") {
  CompileRequest kernels = request(std::string(fill) + R"(
extern "C" __global__ void other(int* x) {
  __shared__ int all[1000];
  all[threadIdx.x] = 1;
  __syncthreads();
  x[threadIdx.x] = all[999];
}
extern "C" __global__ void none(int* x) { x[threadIdx.x] = 1; })");
  const auto toolchain = host::make_toolchain();
  CHECK(toolchain->compile(kernels).usage.static_shared_bytes == 64 * sizeof(int));
  kernels.more_entries = {"other", "none"};
  const Artifact both = toolchain->compile(kernels);
  CHECK(both.usage.static_shared_bytes == 4000);
  REQUIRE(both.entries.size() == 3);
  CHECK(both.entries[0].usage.static_shared_bytes == 64 * sizeof(int));
  CHECK(both.entries[2].usage.static_shared_bytes == 0);
}

TEST_CASE("the object file of several kernels is made without options for the linker") {
  const TemporaryDirectory folder;
  const auto wrong = folder.path() / "wrong";
  const Variable wanted("XTUNE_HOST_CXX", script(folder, "case \"$*\" in *-cpp-output*\" -c \"*-Wl,*) touch " +
                                                             wrong.string() + ";; esac\nexec g++ \"$@\"\n")
                                              .string());
  CompileRequest kernels = request(std::string(fill) + "extern \"C\" __global__ void other(int* x) { *x = 1; }");
  kernels.more_entries = {"other"};
  CHECK(host::make_toolchain()->compile(kernels).entries.size() == 2);
  CHECK_FALSE(std::filesystem::exists(wrong));
}

TEST_CASE("one toolchain compiles from several threads") {
  const auto toolchain = host::make_toolchain();
  std::string images[3];
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      auto r = request("extern \"C\" __global__ void k(int* x) { *x = NUMBER; }");
      r.defines = {{"NUMBER", std::to_string(i)}};
      images[i] = toolchain->compile(r).image;
    });
  for (auto& thread : threads) thread.join();
  CHECK_FALSE(images[0].empty());
  CHECK(images[0] != images[1]);
  CHECK(images[1] != images[2]);
}

TEST_CASE("nothing is left in the temporary directory") {
  const TemporaryDirectory folder;
  const std::filesystem::path place = folder.path() / "temporary";  // a run's own is removed by the run
  std::filesystem::create_directory(place);
  const Variable tmp("XTUNE_TMP_DIR", place.string());
  auto toolchain = host::make_toolchain();
  toolchain->compile(request(fill));
  CHECK_THROWS_AS(toolchain->compile(request("extern \"C\" __global__ void k() { nonsense; }")), CandidateFailure);
  toolchain.reset();
  CHECK(std::filesystem::is_empty(place));
}

TEST_CASE("a header of the user's with the portable one's name comes first") {
  const TemporaryDirectory folder;
  const auto toolchain = host::make_toolchain();
  CompileRequest r =
      request("#include <xtune/portable.cuh>\nstatic_assert(xtune::lane_count == 32);\n" + std::string(fill));
  const auto before = toolchain->compile(r).files_read;
  REQUIRE(before);
  CHECK(before->files.empty());
  r.include_dirs = {folder.path().string()};
  write_file_atomically(folder.path() / "xtune/portable.cuh", "#error mine\n");
  CHECK_THROWS_WITH_AS(toolchain->compile(r), doctest::Contains("#error mine"), CandidateFailure);
}

TEST_CASE("from the second compile on, the runtime's headers are parsed: the same binary and errors") {
  const TemporaryDirectory folder, temporary;
  const Variable place("XTUNE_TMP_DIR", temporary.path().string());
  const auto toolchain = host::make_toolchain();
  CompileRequest fine = request(fill);
  fine.include_dirs = {folder.path().string()};
  const Artifact plain = toolchain->compile(fine);
  std::ofstream(folder.path() / "own.h") << "#pragma once\nconstexpr int own = 1;\n";
  for (int again = 0; again < 2; ++again) {
    const Artifact parsed = toolchain->compile(fine);
    CHECK(parsed.image == plain.image);
    REQUIRE(parsed.files_read);
    CHECK(parsed.files_read->files == plain.files_read->files);
    CHECK(parsed.files_read->absent == plain.files_read->absent);
  }
  CHECK(parsed_headers(temporary) == 1);
  CompileRequest more = fine;
  more.source = "#include <own.h>\n" + std::string(fill);
  CHECK(toolchain->compile(more).files_read->files == std::vector{(folder.path() / "own.h").string()});

  CompileRequest broken = fine;
  broken.source += "\nint oops = nothing;";
  try {
    toolchain->compile(broken);
    FAIL("compiled");
  } catch (const CandidateFailure& failure) {
    CHECK(std::string(failure.what()).find("k.cu:7") != std::string::npos);
    CHECK(failure.files_read.has_value());
  }
}

TEST_CASE("a header of the user's that the runtime's headers include is never parsed before") {
  const TemporaryDirectory folder, temporary;
  const Variable place("XTUNE_TMP_DIR", temporary.path().string());
  std::ofstream(folder.path() / "math.h") << "#include_next <math.h>\n#define OWN_MATH 7\n";
  const auto toolchain = host::make_toolchain();
  CompileRequest shadowed = request("extern \"C\" __global__ void k(int* x) { *x = OWN_MATH; }");
  shadowed.include_dirs = {folder.path().string()};
  for (int again = 0; again < 3; ++again)
    CHECK(toolchain->compile(shadowed).files_read->files == std::vector{(folder.path() / "math.h").string()});
  CHECK(parsed_headers(temporary) == 0);
}

TEST_CASE("clang++ compiles the same kernels") {
  std::string clang;
  {
    const Variable wanted("XTUNE_HOST_CXX", "clang++");
    try {
      clang = cpu::find_compiler();
    } catch (const Error& error) {
      MESSAGE("skipped: " << std::string(error.what()) << " [apt: clang]");
      return;
    }
  }
  const Variable wanted("XTUNE_HOST_CXX", clang);
  const auto backend = make_backend("host");
  const auto toolchain = backend->open_toolchain();
  CHECK(toolchain->fingerprint().find("clang") != std::string::npos);
  const auto device = backend->open_device(0);
  const auto x = device->allocate(64 * sizeof(int));
  const Artifact artifact = toolchain->compile(request(fill));
  const std::vector<KernelArgument> arguments = {x.get()};
  device->load(artifact, device::Launch{{1, 1, 1}, {64, 1, 1}})->run({arguments, true, 0});
  int last = 0;
  x->read(63 * sizeof(int), std::as_writable_bytes(std::span(&last, 1)));
  CHECK(last == 0);
  int first = 0;
  x->read(0, std::as_writable_bytes(std::span(&first, 1)));
  CHECK(first == 63);

  CompileRequest unrolled = request(R"(
extern "C" __global__ void k(int* x) {
#pragma unroll UNROLL
  for (int i = 0; i < 64; ++i) x[i] = i;
})");
  unrolled.defines = {{"UNROLL", "4"}};
  CHECK_NOTHROW(toolchain->compile(unrolled));
}

TEST_CASE("a pack is read as one only where the kernel says so") {
  // Both branches read the same 16 bytes, and only one of them needs an aligned address.
  const auto backend = make_backend("host");
  const auto device = backend->open_device(0);
  const Artifact artifact = backend->open_toolchain()->compile(request(R"(
struct alignas(16) Pack { float x[4]; };
__device__ __attribute__((noinline)) void copy(const float* from, bool packed, Pack* to) {
  Pack pack = {};
  if (!packed) {
    for (int v = 0; v < 4; ++v) pack.x[v] = from[v];
  } else {
    pack = *reinterpret_cast<const Pack*>(from);
  }
  *to = pack;
}
extern "C" __global__ void k(float* x) {
  Pack pack;
  copy(x + threadIdx.x, threadIdx.x % 4 == 0, &pack);
  x[7 + threadIdx.x] = pack.x[3];
})"));
  const auto x = device->allocate(11 * sizeof(float));
  const float values[7] = {0, 1, 2, 3, 4, 5, 6};
  x->write(0, std::as_bytes(std::span(values)));
  const std::vector<KernelArgument> arguments = {x.get()};
  device->load(artifact, device::Launch{{1, 1, 1}, {4, 1, 1}})->run({arguments, true, 0});
  float last[4] = {};
  x->read(sizeof values, std::as_writable_bytes(std::span(last)));
  for (int i = 0; i < 4; ++i) CHECK(last[i] == i + 3);
}

TEST_CASE("the C library may declare functions that the device has, too") {
  // As glibc does: sinpif and cospif from 2.41 on, rsqrt and rsqrtf from 2.42 on.
  const auto toolchain = make_backend("host")->open_toolchain();
  const Artifact artifact = toolchain->compile(request(R"(
extern "C" float sinpif(float) noexcept(true);
extern "C" float cospif(float) noexcept(true);
extern "C" float rsqrtf(float) noexcept(true);
extern "C" double rsqrt(double) noexcept(true);
extern "C" __global__ void k(float* x) {
  x[0] = sinpif(x[0]) + cospif(x[1]) + rsqrtf(x[2]) + rsqrt(x[3]) + (float)rsqrt((double)x[4]);
})"));
  CHECK_FALSE(artifact.image.empty());
}

TEST_CASE("a kernel whose threads wait for each other for ever is a crash that says so") {
  const auto backend = make_backend("host");
  const auto device = backend->open_device(0);
  const Artifact artifact = backend->open_toolchain()->compile(request(R"(extern "C" __global__ void k(int* x) {
    if (threadIdx.x < 7) __syncwarp(0xffu);
    else __syncthreads();
    *x = 1;
  })"));
  const auto x = device->allocate(4);
  const std::vector<KernelArgument> arguments = {x.get()};
  const auto program = device->load(artifact, device::Launch{{3, 1, 1}, {32, 1, 1}});
  try {
    program->run({arguments, true, 0});
    FAIL("it ended");
  } catch (const CandidateFailure& failure) {
    CHECK(failure.outcome() == Outcome::crashed);
    CHECK(std::string(failure.what()).find("25 wait at __syncthreads()") != std::string::npos);
  }
}

TEST_CASE(
    "the linker says which libraries it read, and the fingerprint follows the programs that the compiler starts") {
  const TemporaryDirectory folder;
  std::ofstream(folder.path() / "v.cpp") << "extern \"C\" int v() { return 3; }\n";
  const std::string object = (folder.path() / "v.o").string(), library = (folder.path() / "libv.a").string();
  if (!run_command({"g++", "-fPIC", "-c", (folder.path() / "v.cpp").string(), "-o", object}).ok() ||
      !run_command({"ar", "rcs", library, object}).ok())
    return;  // neither g++ nor ar is here
  const Variable wanted("XTUNE_HOST_CXX", "g++");
  CompileRequest linked = request("extern \"C\" int v();\nextern \"C\" __global__ void k(int* x) { *x = v(); }");
  linked.options = {"-L" + folder.path().string(), "-Wl,--whole-archive", "-lv", "-Wl,--no-whole-archive"};
  const auto toolchain = host::make_toolchain();
  const Artifact artifact = toolchain->compile(linked);
  REQUIRE(artifact.files_read);
  CHECK(artifact.files_read->files == std::vector<std::string>{library});

  const ToolFiles parts = toolchain->parts();
  // "as", or "x86_64-linux-gnu-as".
  const auto part_of = [&](const char* name) {
    for (const KeyedFile& file : parts.files.files)
      if (const auto found = std::filesystem::path(file.path).filename();
          found == name || found.string().ends_with(std::string("-") + name))
        return found.string();
    return std::string();
  };
  for (const char* name : {"cc1plus", "as", "ld"}) CHECK(!part_of(name).empty());
  CHECK_FALSE(parts.may_start_others);

  // A script may start anything, so it is asked each time.
  const auto wrapper = folder.path() / "wrapped++", second = folder.path() / "second++";
  const auto write_script = [](const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path) << text;
    chmod(path.c_str(), 0700);
  };
  write_script(second, "#!/bin/sh\nexec g++ \"$@\"\n");
  write_script(wrapper, "#!/bin/sh\n# ours\nexec " + second.string() + " -g0 \"$@\"\n");
  {
    const Variable wrapped("XTUNE_HOST_CXX", wrapper.string());
    const auto through = host::make_toolchain();
    const std::string fingerprint = through->fingerprint();
    const ToolFiles of_wrapper = through->parts();
    CHECK(of_wrapper.may_start_others);
    CHECK(std::any_of(of_wrapper.files.files.begin(), of_wrapper.files.files.end(),
                      [&](const KeyedFile& file) { return file.path == wrapper; }));
    write_script(second, "#!/bin/sh\nexec g++ -DOTHER \"$@\"\n");
    const std::string changed = through->fingerprint();
    CHECK(changed != fingerprint);
    std::ofstream(folder.path() / "options") << "-DOTHER=1";
    write_script(second, "#!/bin/sh\nexec g++ @" + (folder.path() / "options").string() + " \"$@\"\n");
    const std::string by_file = through->fingerprint();
    CHECK(through->fingerprint() == by_file);
    std::ofstream(folder.path() / "options") << "-DOTHER=2";
    CHECK(through->fingerprint() != by_file);
    write_script(second, "#!/bin/sh\nCXX=g++\nexec $CXX \"$@\"\n");
    CHECK(through->fingerprint() != changed);
    CHECK(through->parts().may_start_others);
  }

  // Another assembler first in PATH. Debian's GCC 16 has a whole path instead.
  if (part_of("as") != "as") return;
  std::filesystem::create_directory(folder.path() / "bin");
  const auto other = folder.path() / "bin" / "as";
  std::ofstream(other) << "#!/bin/sh\nexec /usr/bin/as \"$@\"\n";
  chmod(other.c_str(), 0700);
  const std::string before = toolchain->fingerprint();
  const Variable path("PATH", (folder.path() / "bin").string() + ":" + std::getenv("PATH"));
  CHECK(host::make_toolchain()->fingerprint() != before);
}
