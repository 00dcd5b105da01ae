// Finding a clang for AMD GPUs, with scripts in its place, and compiling with the installed one.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "backends/backend.hpp"
#include "backends/gpu/code_object.hpp"
#include "core/build/keyed_files.hpp"
#include "core/device/device_info.hpp"
#include "fakes/environment_variable.hpp"
#include "system/dynamic_library.hpp"
#include "system/files.hpp"
#include "unit/backends/gpu/compile_cases.hpp"

#if XTUNE_HAS_HIP && !XTUNE_HIP_NVIDIA

#include "backends/hip/toolchain.hpp"

using namespace xtune;
using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::testing;

namespace {

namespace fs = std::filesystem;

void write_text_file(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

/// What a fake clang says.
struct Answers {
  std::string version = "Some clang version 18.1.3 (build 7)";
  std::string archs = "gfx90a gfx942 gfx11-generic";
  std::string linker = "/somewhere/lld";
  std::string resources = "/no/such/resources";
  std::string own_libraries = "";  ///< the device libraries that it finds
  std::string compile = "exit 1";  ///< what compiling does
};

/// A system without HIP, and with clangs that are scripts.
class FakeSystem {
 public:
  FakeSystem()
      : path_("PATH", (root_.path() / "bin").string()),
        wanted_("XTUNE_HIP_CXX", ""),
        hip_("HIP_PATH", ""),
        rocm_("ROCM_PATH", (root_.path() / "rocm").string()),
        libraries_("HIP_DEVICE_LIB_PATH", ""),
        loader_("LD_LIBRARY_PATH", {}),
        environment_("VIRTUAL_ENV", {}),
        conda_("CONDA_PREFIX", {}) {
    fs::create_directories(root_.path() / "bin");
  }

  std::string add_clang(const std::string& name, const Answers& answers = {}) {
    const fs::path path = root_.path() / name;
    write_text_file(path,
                    "#!/bin/sh\n"
                    "case \"$*\" in\n"
                    "  *--version*) echo '" +
                        answers.version +
                        "' ;;\n"
                        "  *-print-supported-cpus*) echo 'Available CPUs for this target:' >&2; for a in " +
                        answers.archs +
                        "; do echo $a >&2; done ;;\n"
                        "  *-print-prog-name=lld*) echo '" +
                        answers.linker +
                        "' ;;\n"
                        "  *-print-resource-dir*) echo '" +
                        answers.resources +
                        "' ;;\n"
                        "  *-print-search-dirs*) ;;\n"
                        "  *-###*) " +
                        (answers.own_libraries.empty() ? "case \"$*\" in *-nogpulib*) ;; *) exit 1;; esac"
                                                       : "echo ' \"clang\" \"-mlink-builtin-bitcode\" \"" +
                                                             answers.own_libraries + "/ocml.bc\"' >&2") +
                        " ;;\n"
                        "  *) " +
                        answers.compile +
                        " ;;\n"
                        "esac\n");
    chmod(path.c_str(), 0700);
    return path.string();
  }
  void add_headers(const std::string& place = "usr") {
    write_text_file(root_.path() / place / "include/hip/hip_runtime.h", "#pragma once\n");
    write_text_file(root_.path() / place / "include/hip/hip_version.h",
                    "#define HIP_VERSION_MAJOR 6\n#define HIP_VERSION_MINOR 4\n#define HIP_VERSION_PATCH 43483\n");
  }
  fs::path add_libraries(const std::string& place = "usr/lib/x86_64-linux-gnu/amdgcn/bitcode") {
    for (const char* name : {"ocml.bc", "ockl.bc", "oclc_isa_version_90a.bc"})
      write_text_file(root_.path() / place / name, name);
    return root_.path() / place;
  }

  hip::ClangInstallation find() const { return hip::find_clang(root_.path()); }
  std::string refusal() const {
    try {
      find();
    } catch (const NotInstalled& error) {
      return error.what();
    }
    return "found";
  }
  const fs::path& path() const { return root_.path(); }

 private:
  TemporaryDirectory root_;
  Variable path_, wanted_, hip_, rocm_, libraries_, loader_, environment_, conda_;
};

/// The installed clang's toolchain, or nullptr.
Toolchain* installed_clang() {
  static const std::unique_ptr<Toolchain> shared = []() -> std::unique_ptr<Toolchain> {
    try {
      return hip::make_clang_toolchain();
    } catch (const Error& error) {
      MESSAGE("skipped: " << std::string(error.what()) << " [apt: clang-19 lld-19]");
      return nullptr;
    }
  }();
  return shared.get();
}

}  // namespace

TEST_CASE("hip clang: versions are read from the first line of any vendor's") {
  CHECK(hip::clang_version("Debian clang version 19.1.7 (3~deb12u1)") == std::pair(19, std::string("19.1.7")));
  CHECK(hip::clang_version("AMD clang version 17.0.0 (https://github.com/RadeonOpenCompute/llvm-project)").first == 17);
  CHECK(hip::clang_version("clang version 20.0.0git").second == "20.0.0");
  CHECK(hip::clang_version("g++ (Debian 12.2.0-14) 12.2.0").first == 0);
  CHECK(hip::clang_version("clang version ").first == 0);
}

TEST_CASE("hip clang: ROCm's compiler comes first, then the newest version") {
  FakeSystem system;
  system.add_headers();
  system.add_libraries();
  const std::string plain = system.add_clang("bin/clang++");
  CHECK(system.find().path == plain);
  const std::string older = system.add_clang("bin/clang++-17", {.version = "clang version 17.0.6"});
  CHECK(system.find().path == older);
  CHECK(system.find().version == "17.0.6");
  const std::string newer = system.add_clang("bin/clang++-19", {.version = "clang version 19.1.7"});
  CHECK(system.find().path == newer);
  const std::string amd = system.add_clang("bin/amdclang++");
  CHECK(system.find().path == amd);
  const std::string rocm = system.add_clang("rocm/llvm/bin/amdclang++");
  CHECK(system.find().path == rocm);
  const Variable wanted("XTUNE_HIP_CXX", older);
  CHECK(system.find().path == older);
}

TEST_CASE("hip clang: a compiler that cannot do it is skipped, and the reason is given") {
  FakeSystem system;
  CHECK(has(system.refusal(), "install one (Debian: clang-19 and lld-19"));
  system.add_headers();
  system.add_libraries();
  system.add_clang("bin/clang++", {.version = "Debian clang version 14.0.6"});
  CHECK(has(system.refusal(), "is clang 14.0.6; needed is 17 or newer"));
  system.add_clang("bin/clang++-18", {.archs = "", .linker = "lld"});
  CHECK(has(system.refusal(), "was built without the AMDGPU target"));
  system.add_clang("bin/clang++-19", {.version = "clang version 19.1.7", .linker = "lld"});
  CHECK(has(system.refusal(), "clang++-19 finds no lld: install it (Debian: lld-19)"));
  const std::string good = system.add_clang("bin/clang++-17");
  CHECK(system.find().path == good);
  CHECK(system.find().archs == std::vector<std::string>{"gfx90a", "gfx942"});
  const Variable wanted("XTUNE_HIP_CXX", (system.path() / "bin/clang++").string());
  CHECK(has(system.refusal(), "XTUNE_HIP_CXX names '"));
  CHECK(has(system.refusal(), "14.0.6"));
  const Variable missing("XTUNE_HIP_CXX", "/no/such/clang");
  CHECK(has(system.refusal(), "which is not a program here"));
}

TEST_CASE("hip clang: missing headers and device libraries are named, and found where each layout has them") {
  FakeSystem system;
  system.add_clang("bin/clang++-19");
  CHECK(has(system.refusal(), "HIP's headers (hip/hip_runtime.h) were not found"));
  CHECK(has(system.refusal(), "HIP_PATH"));
  system.add_headers();
  CHECK(has(system.refusal(), "AMD's device libraries (ocml.bc, ockl.bc) were not found"));
  CHECK(has(system.refusal(), "HIP_DEVICE_LIB_PATH"));
  const fs::path debian = system.add_libraries();
  hip::ClangInstallation found = system.find();
  CHECK(found.device_libraries == debian);
  CHECK(found.hip_root == system.path() / "usr");
  CHECK(found.hip_version == "6.4.43483");
  system.add_headers("rocm");
  const fs::path rocm = system.add_libraries("rocm/amdgcn/bitcode");
  found = system.find();
  CHECK(found.device_libraries == rocm);
  CHECK(found.hip_root == system.path() / "rocm");
  // Libraries that the compiler finds on its own are those that fit it.
  const fs::path own = system.add_libraries("own/bitcode");
  system.add_clang("bin/clang++-19", {.own_libraries = own.string()});
  CHECK(system.find().device_libraries == own);
}

TEST_CASE("hip clang: device libraries that were made with an older clang are found, and not those of a newer one") {
  FakeSystem system;
  system.add_headers();
  system.add_clang("bin/clang++-19", {.resources = "/usr/lib/llvm-19/lib/clang/19"});
  const auto place = [](int version) {
    const std::string number = std::to_string(version);
    return "usr/lib/llvm-" + number + "/lib/clang/" + number + "/amdgcn/bitcode";
  };
  system.add_libraries(place(20));
  CHECK(has(system.refusal(), "AMD's device libraries (ocml.bc, ockl.bc) were not found"));
  const fs::path seventeen = system.add_libraries(place(17));
  CHECK(system.find().device_libraries == seventeen);
  const fs::path eighteen = system.add_libraries(place(18));
  CHECK(system.find().device_libraries == eighteen);
}

TEST_CASE("hip clang: a ROCm's compiler brings that ROCm's headers and libraries") {
  FakeSystem system;
  system.add_headers();
  system.add_libraries();
  system.add_headers("rocm-6.0.0");
  const fs::path libraries = system.add_libraries("rocm-6.0.0/amdgcn/bitcode");
  const Variable wanted("XTUNE_HIP_CXX", system.add_clang("rocm-6.0.0/lib/llvm/bin/clang++"));
  const Variable no_other("ROCM_PATH", "");
  const hip::ClangInstallation found = system.find();
  CHECK(fs::equivalent(found.hip_root, system.path() / "rocm-6.0.0"));
  CHECK(fs::equivalent(found.device_libraries, libraries));
}

TEST_CASE("hip clang: ROCm 10 and its wheels bring compiler, headers and device libraries") {
  FakeSystem system;
  const Variable no_other("ROCM_PATH", "");
  const std::string core = system.add_clang("opt/rocm/core-10.0/lib/llvm/bin/amdclang++");
  system.add_headers("opt/rocm/core-10.0");
  const fs::path libraries = system.add_libraries("opt/rocm/core-10.0/lib/llvm/amdgcn/bitcode");
  hip::ClangInstallation found = system.find();
  CHECK(found.path == core);
  CHECK(fs::equivalent(found.hip_root, system.path() / "opt/rocm/core-10.0"));
  CHECK(fs::equivalent(found.device_libraries, libraries));
  // The wheel for developers has the headers, and lacks some of the device libraries.
  const std::string packages = "venv/lib/python3.12/site-packages/";
  const std::string wheel = system.add_clang(packages + "_rocm_sdk_core/lib/llvm/bin/amdclang++");
  system.add_headers(packages + "_rocm_sdk_devel");
  const fs::path bitcode = system.add_libraries(packages + "_rocm_sdk_core/lib/llvm/amdgcn/bitcode");
  const Variable active("VIRTUAL_ENV", (system.path() / "venv").string());
  found = system.find();
  CHECK(found.path == wheel);
  CHECK(fs::equivalent(found.hip_root, system.path() / packages / "_rocm_sdk_devel"));
  CHECK(fs::equivalent(found.device_libraries, bitcode));
}

TEST_CASE("hip clang: the files of the key are the headers and the bitcode") {
  FakeSystem system;
  system.add_clang("bin/clang++-19");
  system.add_headers();
  const fs::path libraries = system.add_libraries();
  write_text_file(system.path() / "usr/include/hip/nvidia_detail/other.h", "");
  const hip::ClangInstallation found = system.find();
  const std::string before = digest_of(hip::files_of(found));
  CHECK(hip::files_of(found).files.files.size() == 5);
  write_text_file(libraries / "ocml.bc", "another one");
  CHECK(digest_of(hip::files_of(found)) != before);
}

TEST_CASE("hip clang: options, and the outcome of a failing compiler") {
  FakeSystem system;
  system.add_headers("rocm");
  system.add_libraries("rocm/amdgcn/bitcode");
  const std::string words = (system.path() / "words").string();
  const auto refused = [&](const std::string& ending) {
    const Variable wanted("XTUNE_HIP_CXX",
                          system.add_clang("bin/fake", {.compile = "echo \"$*\" > " + words + "; " + ending}));
    CompileRequest request = request_for("gfx90a", "busy<8>");
    request.options = {"-ffast-math"};
    request.include_dirs = {"/some where"};
    return refusal_of(*hip::make_clang_toolchain(), request);
  };
  Refusal refusal = refused("echo 'folder/kernels.cu:3:1: error: no such thing' >&2; exit 1");
  CHECK(refusal.outcome == Outcome::compile_failed);
  CHECK(refusal.message == "folder/kernels.cu:3:1: error: no such thing");
  const std::string used = read_file(words);
  for (const char* option : {"-x hip", "--cuda-device-only", "--offload-arch=gfx90a", "-mcode-object-version=5",
                             "-I/some where", "/rocm/amdgcn/bitcode", "-include ", "-dependency-file -Xclang read"})
    CHECK(has(used, option));
  CHECK(used.find("-O3") < used.find("-ffast-math"));  // the user's options win

  refusal = refused("echo 'PLEASE submit a bug report' >&2; exit 1");
  CHECK(refusal.outcome == Outcome::crashed);
  refusal = refused("kill -11 $$");
  CHECK(refusal.outcome == Outcome::crashed);
  refusal = refused("echo '<name>:1:9: error: use of undeclared identifier' >&2; exit 1");
  CHECK(refusal.message == "entry 'busy<8>' names no kernel of folder/kernels.cu: use of undeclared identifier");
  refusal = refused("echo \"k.cu:1:10: fatal error: 'mine.cuh' file not found\" >&2; exit 1");
  CHECK(has(refusal.message, "(hint: no directory that is searched has 'mine.cuh'"));
  // Bitcode of another LLVM is the machine's fault, not the configuration's.
  CHECK_THROWS_WITH_AS(refused("echo \"error: $ROCM_PATH/amdgcn/bitcode/ocml.bc: Invalid record\" >&2; exit 1"),
                       doctest::Contains("HIP_DEVICE_LIB_PATH"), Error);
}

TEST_CASE("hip clang: a template for CDNA and RDNA, with its resources") {
  if (!installed_clang()) return;
  for (const char* arch : {"gfx90a", "gfx942", "gfx1100"}) {
    CAPTURE(arch);
    const bool wide = std::string(arch).starts_with("gfx9");
    const Artifact artifact = installed_clang()->compile(request_for(arch, "busy<8>"));
    CHECK(artifact.arch == arch);
    CHECK(artifact.format == "hsaco");
    CHECK(artifact.entry_symbol == "_Z4busyILi8EEvPfPKfi");
    CHECK(artifact.usage.registers.value_or(0) > 8);
    CHECK(artifact.usage.scalar_registers.value_or(0) > 0);
    CHECK(artifact.usage.accumulator_registers.has_value() == wide);
    CHECK(artifact.usage.static_shared_bytes == 1024);
    CHECK(artifact.usage.spilled_bytes == 0);
    CHECK(artifact.usage.warp_size == (wide ? 64 : 32));
    const auto metadata = gpu::kernel_metadata(artifact.image, artifact.entry_symbol);
    REQUIRE(metadata);
    CHECK(metadata->parameter_bytes == std::vector<std::size_t>{8, 8, 4});
  }
}

TEST_CASE("hip clang: operators of a source take the place of HIP's own") {
  if (!installed_clang()) return;
  const std::string source =
      "inline __host__ __device__ void operator+=(float2& a, float2 b) { a.x += b.x; a.y += b.y; }\n"
      "inline __device__ float2 operator*(float2 a, float b) { return make_float2(a.x * b, a.y); }\n"
      "template <int N> __global__ void k(float2* x) { x[0] += x[N] * 2.0f; }\n";
  CHECK(installed_clang()->compile(request_for("gfx942", "k<3>", source)).usage.registers.value_or(0) > 0);
}

TEST_CASE("hip clang: functions of the device libraries, for an architecture that they do not know") {
  if (!installed_clang()) return;
  const std::string source = R"(
extern "C" __global__ void k(double* x, float* y) {
  x[threadIdx.x] = pow(x[threadIdx.x], 2.5) + erf(x[0]);
  y[threadIdx.x] = sinf(y[0]) + __shfl_xor(y[1], 3) + __half2float(__half(1));
  __threadfence();
  atomicAdd(y, 1.0f);
  __shared__ unsigned int turns;
  atomicInc(&turns, 7u);
  x[1] = atomicDec(&turns, 5u);
})";
  for (const char* arch : {"gfx942", "gfx1151", "gfx1201"}) {
    CAPTURE(arch);
    CHECK(installed_clang()->compile(request_for(arch, "k", source)).entry_symbol == "k");
  }
}

TEST_CASE("hip clang: the same request gives the same image") {
  if (!installed_clang()) return;
  const CompileRequest request = request_for("gfx942", "plain");
  const Artifact plain = installed_clang()->compile(request), precompiled = installed_clang()->compile(request);
  CHECK(plain.image == precompiled.image);
  REQUIRE(precompiled.files_read);
  CHECK(precompiled.files_read->files.empty());
  // An error of a source with precompiled headers is that of the plain source.
  CompileRequest broken = request;
  broken.source += "nonsense;\n";
  CHECK(has(refusal_of(*installed_clang(), broken).message, "folder/kernels.cu:16:"));
}

TEST_CASE("hip clang: what is wrong with a configuration, in the compiler's words") {
  if (!installed_clang()) return;
  Refusal refusal =
      refusal_of(*installed_clang(), request_for("gfx942", "k", "// one\n__global__ void k() { nonsense; }"));
  CHECK(refusal.outcome == Outcome::compile_failed);
  CHECK(has(refusal.message, "folder/kernels.cu:2:"));
  CHECK(has(refusal.message, "nonsense"));
  refusal = refusal_of(*installed_clang(), request_for("gfx942", "nosuch<3>"));
  CHECK(has(refusal.message, "entry 'nosuch<3>' names no kernel of folder/kernels.cu"));
  refusal =
      refusal_of(*installed_clang(), request_for("gfx942", "helper", "__device__ void helper(int* x) { *x = 1; }"));
  CHECK(refusal.outcome == Outcome::compile_failed);
  refusal = refusal_of(*installed_clang(), request_for("gfx942", "k",
                                                       "__global__ void k(float* a) { __shared__ float s[100000]; "
                                                       "s[threadIdx.x] = *a; __syncthreads(); *a = s[5]; }"));
  CHECK(refusal.outcome == Outcome::compile_failed);
  CHECK(has(refusal.message, "400000"));
  CHECK_THROWS_WITH_AS(installed_clang()->compile(request_for("gfx9999", "plain")),
                       doctest::Contains("cannot compile for gfx9999"), Error);
}

TEST_CASE("hip clang: the user's headers are listed, and those of HIP and the system are not") {
  if (!installed_clang()) return;
  const TemporaryDirectory folder;
  const std::string header = (folder.path() / "factor.h").string();
  std::ofstream(header) << "#define FACTOR 2\n";
  CompileRequest request = request_for(
      "gfx942", "k",
      "#include <cstdint>\n#include <factor.h>\nextern \"C\" __global__ void k(std::int32_t* x) { *x = FACTOR; }\n");
  request.include_dirs = {folder.path().string()};
  const Artifact artifact = installed_clang()->compile(request);
  REQUIRE(artifact.files_read);
  REQUIRE(artifact.files_read->files.size() == 1);
  CHECK(fs::canonical(artifact.files_read->files.front()) == fs::canonical(header));
}

TEST_CASE("hip clang: the fingerprint names compiler, headers and parts; the parts have the bitcode") {
  if (!installed_clang()) return;
  CHECK(installed_clang()->fingerprint().starts_with("clang "));
  CHECK(has(installed_clang()->fingerprint(), " headers), parts "));
  CHECK(installed_clang()->fingerprint() == installed_clang()->fingerprint());
  std::set<std::string> names;
  for (const KeyedFile& file : installed_clang()->parts().files.files)
    names.insert(fs::path(file.path).filename().string());
  for (const char* name : {"ocml.bc", "ockl.bc", "hip_runtime.h", "lld"}) {
    CAPTURE(name);
    CHECK(names.contains(name));
  }
}

TEST_CASE("hip: without a name, the first compiler that knows the architecture is opened") {
  if (!installed_clang()) return;
  const auto hip = backend::make_backend("hip");
  CHECK(backend::open_toolchain(*hip, "clang", "")->fingerprint().starts_with("clang "));
  CHECK(device::knows_arch(backend::open_toolchain(*hip, "", "gfx942")->archs(), "gfx942"));
}

#endif
