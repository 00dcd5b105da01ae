// What a refused kernel's author is told, by lines that compilers really print.
#include "core/build/compile_hint.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "core/build/shortage.hpp"

using namespace xtune::build;

namespace {

std::string hint(KernelCompiler compiler, const std::string& log) { return compile_hint(compiler, "", log); }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("NVRTC's missing headers have a name in libcu++, or are not needed") {
  const auto cannot_open = [](const std::string& name) {
    return hint(KernelCompiler::nvrtc, "k.cu(1): catastrophic error: cannot open source file \"" + name + "\"\n");
  };
  CHECK(cannot_open("tuple").starts_with("NVRTC has no such header; include <cuda/std/tuple>"));
  CHECK(contains(cannot_open("type_traits"), "<cuda/std/type_traits>"));
  CHECK(contains(cannot_open("cstdio"), "printf, assert and memcpy without a header"));
  CHECK(contains(cannot_open("vector"), "only device code"));
  CHECK(cannot_open("cooperative_groups.h") ==
        "cooperative_groups.h belongs to the CUDA toolkit, which was not found: CUDA_HOME names its directory");
  CHECK(cannot_open("mine.cuh").empty());
  CHECK(hint(KernelCompiler::host, "k.cu:1:9: error: cannot open source file \"tuple\"\n").empty());
}

TEST_CASE("HIP's first error of code that is CUDA's names the portable way") {
  const auto says = [](const std::string& line) { return hint(KernelCompiler::hiprtc, line); };
  CHECK(contains(says("k.cu:5:16: error: use of undeclared identifier '__reduce_add_sync'\n"), "__shfl_*_sync"));
  CHECK(contains(says("k.cu:5:16: error: use of undeclared identifier '__match_any_sync'; did you mean 'x'?\n"),
                 "docs/portable-kernels.md"));
  for (const char* header :
       {"cuda_fp8.h", "cooperative_groups/memcpy_async.h", "mma.h", "cub/block/block_reduce.cuh"}) {
    CAPTURE(header);
    CHECK_FALSE(says("k.cu:1:10: fatal error: '" + std::string(header) + "' file not found\n").empty());
  }
  CHECK(contains(says("/usr/include/stdlib.h:32:10: fatal error: 'stddef.h' file not found\n"),
                 "hipRTC has no such header"));
  CHECK(contains(says("/usr/include/c++/12/type_traits:62:12: error: redefinition of 'integral_constant'\n"),
                 "hipRTC cannot read this header of C++"));
  for (const char* line : {"no member named 'coalesced_threads' in namespace 'cooperative_groups'",
                           "no matching function for call to 'tiled_partition'"}) {
    CAPTURE(line);
    CHECK(contains(says("k.cu:4:150: error: " + std::string(line) + "\n"), "of cooperative groups, AMD GPUs have"));
  }
  CHECK(contains(says("k.cu:2:115: error: use of undeclared identifier '__vadd4'; did you mean 'vadd4'?\n"),
                 "AMD GPUs have no '__vadd4' here"));
  CHECK(contains(says("k.cu:2:174: error: call to '__brev' is ambiguous\n"), "HIP declares '__brev' for other types"));
  for (const char* line :
       {"error: cannot compile inline asm", "k.cu:2:9: error: use of undeclared identifier '__cvta_generic_to_shared'"})
    CHECK(contains(says(std::string(line) + "\n"), "inline PTX is NVIDIA's"));
  CHECK(says("k.cu:2:115: error: use of undeclared identifier 'mine'\n").empty());
  CHECK(says("k.cu:1:10: fatal error: 'mine.cuh' file not found\n").empty());
  // Code that an error quotes is not the error.
  CHECK(says("k.cu:5:16: error: expected ';'\n  y = __shfl_down_sync(m, v, 1)\n").empty());
}

TEST_CASE("functions that the host backend does not have are named") {
  const auto says = [](const std::string& line) { return hint(KernelCompiler::host, "k.cu:2:103: error: " + line); };
  CHECK(says("'__vadd4' was not declared in this scope; did you mean 'vadd4'?\n")
            .starts_with("the host backend has no '__vadd4'; run with --backend cuda"));
  CHECK(contains(says("'coalesced_threads' is not a member of 'cg'\n"), "no cooperative groups beyond grids, blocks"));
  CHECK(says("'mine' was not declared in this scope\n").empty());
}

TEST_CASE("NVIDIA's headers and textures have a way out that all backends have") {
  const auto both = [](const std::string& host, const std::string& hip, const std::string& way) {
    CHECK(contains(hint(KernelCompiler::host, host), "; " + way + ", run with --backend cuda, or guard it"));
    for (const KernelCompiler compiler : {KernelCompiler::hiprtc, KernelCompiler::hip_clang})
      CHECK_MESSAGE(contains(hint(compiler, hip), "; " + way), hint(compiler, hip));
  };
  both("k.cu:1:10: fatal error: mma.h: No such file or directory\n", "k.cu:1:10: fatal error: 'mma.h' file not found\n",
       "use xtune/matrix.cuh");
  both("k.cu:1:10: fatal error: cub/block/block_reduce.cuh: No such file or directory\n",
       "k.cu:1:10: fatal error: 'cub/block/block_reduce.cuh' file not found\n",
       "to reduce parts of a warp, use cooperative_groups/reduce.h");
  both("k.cu:1:52: error: 'cudaTextureObject_t' has not been declared\n",
       "k.cu:1:63: error: unknown type name 'cudaTextureObject_t'; did you mean 'hipTextureObject_t'?\n",
       "pass an array instead");
  CHECK(contains(hint(KernelCompiler::host, "k.cu:1:9: error: 'normcdfinvf' was not declared in this scope\n"),
                 "the host backend has no 'normcdfinvf'; run with --backend cuda"));
  CHECK(hint(KernelCompiler::host, "k.cu:1:9: error: 'inverse' was not declared in this scope\n").empty());
}

TEST_CASE("a file with main or a launch is a whole program; comments are not") {
  const std::string log = "k.cu:6:28: error: 'cudaMalloc' was not declared in this scope\n";
  for (const char* source : {"int main() { }\n", "void f() { k<<<1, 64>>>(x); }\n"}) {
    CHECK(contains(compile_hint(KernelCompiler::host, source, log), "the file holds a whole program"));
    CHECK(contains(compile_hint(KernelCompiler::nvrtc, source, "k.cu(1): error: x\n"), "#ifndef __CUDACC_RTC__"));
    for (const KernelCompiler compiler : {KernelCompiler::hiprtc, KernelCompiler::hip_clang})
      CHECK(contains(compile_hint(compiler, source, "k.cu:1:1: error: x\n"), "between #ifndef XTUNE_HIP and"));
  }
  CHECK(compile_hint(KernelCompiler::host, "// k<<<1, 64>>>(x) in int main()\n", log).empty());
  CHECK(compile_hint(KernelCompiler::host, "int main() { }\n", "k.cu:1: warning: x\n").empty());
}

TEST_CASE("a hint follows the message, and a failure keeps its kind") {
  const CompileRequest request;
  const std::string log = "k.cu:1:10: fatal error: mma.h: No such file or directory\n";
  const auto failing = [&](const auto& failure, KernelCompiler compiler = KernelCompiler::host) {
    try {
      with_compile_hint(compiler, request, [&](const CompileRequest&) -> Artifact { throw failure; });
    } catch (const CandidateFailure& thrown) {
      CHECK(thrown.log() == failure.log());
      return std::string(xtune::to_string(thrown.outcome())) + " " + to_string(lack_of(thrown)) + " " + thrown.what();
    }
    return std::string();
  };
  const std::string hint =
      " (hint: the host backend has no warp matrix functions (mma.h); use xtune/matrix.cuh, run with --backend cuda, "
      "or "
      "guard it with #ifndef XTUNE_HOST)";
  CHECK(failing(CandidateFailure(xtune::Outcome::compile_failed, "m", log)) == "compile_failed none m" + hint);
  CHECK(failing(ShortageFailure(Lack::unclear, xtune::Outcome::compile_failed, "m", log)) ==
        "compile_failed unclear m" + hint);
  // A header that is NVIDIA's own is not missing on this machine; another one is.
  for (const KernelCompiler compiler : {KernelCompiler::hiprtc, KernelCompiler::hip_clang}) {
    const auto missing = [&](const std::string& name) {
      return failing(ShortageFailure(Lack::unclear, xtune::Outcome::compile_failed, "m",
                                     "k.cu:1:10: fatal error: '" + name + "' file not found\n"),
                     compiler);
    };
    CHECK(missing("cub/cub.cuh").starts_with("compile_failed none m (hint: 'cub/cub.cuh' is NVIDIA's"));
    CHECK(missing("mine.cuh") == "compile_failed unclear m");
  }
  CHECK(failing(CandidateFailure(xtune::Outcome::crashed, "m", log)) == "crashed none m");
}

TEST_CASE("the compiler is asked whether a definition's name is what breaks the code") {
  // Compiles what contains none of `breaking` as a macro, and, with `needed`, only where the name has a value.
  const auto message = [](const std::string& log, const std::set<std::string>& breaking, const std::string& needed = "",
                          const std::string& source = "#include <x>\ncode\n") {
    CompileRequest request;
    static int number = 0;
    request.source = source + "// " + std::to_string(++number) + "\n";
    request.entry = "f<64>";
    request.defines = {{"n", "64"}, {"BM", "2"}, {"unused", "1"}};
    int compiles = 0;
    const auto compile = [&](const CompileRequest& each) -> Artifact {
      ++compiles;
      const auto defined = [&](const std::string& name) {
        return std::ranges::any_of(each.defines, [&](const auto& define) { return define.first == name; });
      };
      const bool valued =
          needed.empty() || each.source.find("<x>\nconstexpr auto " + needed + " =") != std::string::npos;
      if (std::ranges::any_of(breaking, defined) || !valued)
        throw CandidateFailure(xtune::Outcome::compile_failed, first_error_or_first_line(log), log);
      return {};
    };
    std::string found;
    for (int round = 0; round < 2; ++round) {
      compiles = 0;
      try {
        with_compile_hint(KernelCompiler::host, request, compile);
      } catch (const CandidateFailure& failure) {
        found = failure.what();
      }
    }
    CHECK(compiles == 1);  // the answer is remembered
    return found.substr(std::min(found.find(" (hint: "), found.size()));
  };
  const std::string log = "k.cu:1:36: error: expected ')' before numeric constant\n  1 | void f(int n, int BM)\n";
  CHECK(
      message(log, {"n"}) ==
      " (hint: n is a macro here, as every parameter is, and the code has something else of that name; choose another "
      "name, or make it a template argument: compile_time = false and entry = \"f<{n}>\")");
  CHECK(contains(message(log, {"n"}, "n"), "(hint: n is a macro"));
  CHECK(contains(message(log, {"n", "BM"}), "(hint: n, BM are macros"));
  CHECK(message(log, {"unused"}).empty());  // the log does not name it
  CHECK(message("k.cu:1:1: error: static assertion failed: n\n", {"n"}).empty());
  CHECK(message(log, {"n"}, "", "#if n > 2\n#endif\n").empty());
}
