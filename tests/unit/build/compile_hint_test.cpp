// What a refused kernel's author is told, by lines that compilers really print.
#include "core/build/compile_hint.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "core/build/shortage.hpp"
#include "system/files.hpp"

using namespace xtune::build;
namespace fs = std::filesystem;

namespace {

std::string hint(KernelCompiler compiler, const std::string& log) { return compile_hint(compiler, log); }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a quoted header that is missing is named, with the way to add its directory") {
  const auto names = [](const std::string& line) {
    return contains(hint(KernelCompiler::host, line),
                    "no directory that is searched has 'mine/a.cuh': add its "
                    "directory to [kernel] include_dirs");
  };
  CHECK(names("k.cu(1): catastrophic error: cannot open source file \"mine/a.cuh\"\n"));
  CHECK(names("k.cu:1:10: fatal error: mine/a.cuh: No such file or directory\n"));
  CHECK(names("k.cu:1:10: fatal error: 'mine/a.cuh' file not found\n"));
}

TEST_CASE("ptxas refuses a file of controls: it has no such option, or the file is for another release") {
  for (const KernelCompiler compiler : {KernelCompiler::nvrtc, KernelCompiler::nvcc, KernelCompiler::cuda_clang}) {
    CHECK(hint(compiler, "ptxas fatal   : Unknown option '-apply-controls'\n") ==
          "this ptxas takes no file of controls; CUDA documents them from 13.3 on");
    for (const char* log : {"Error: Payload is not valid.\nptxas fatal   : Invalid compiler controls file\n",
                            "ptxas fatal   : Input file 'a.acf' not in expected format\n"})
      CHECK(hint(compiler, log) == "a file of controls is made for one release of ptxas");
  }
  CHECK(hint(KernelCompiler::nvrtc, "ptxas fatal   : Unknown option '-x'\n").empty());
}

namespace {

/// A compiler that has these headers, and refuses others: what it would read as empty, after a compile.
struct FakeCompiler {
  std::set<std::string> headers{}, refused{};
  UnreadHeaders unread{{"/toolkit"}};
  int compiles = 0;
  Artifact artifact{};

  /// The message of the failure; empty: it compiled.
  std::string compile(const CompileRequest& request) {
    try {
      artifact = with_compile_hint(
          KernelCompiler::nvrtc, request, [&](const CompileRequest& each) { return run(each); }, unread);
    } catch (const CandidateFailure& failure) {
      return failure.what();
    }
    return {};
  }
  Artifact run(const CompileRequest& request) {
    ++compiles;
    Artifact made;
    const UnreadHeaders::Names empty = unread.of(request.source_name);
    std::istringstream lines(request.source);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t open = line.find_first_of("<\"");
      if (open == line.npos) continue;
      const std::string name = line.substr(open + 1, line.find_first_of(">\"", open + 1) - open - 1);
      const bool found = headers.contains(name) || refused.contains(name) || empty.missing.contains(name);
      if (line.starts_with("#warning") && !found) made.log += "k.cu(1): warning: " + line.substr(9) + "\n";
      if (!line.starts_with("#include")) continue;
      if (!found) fail("k.cu(1): catastrophic error: cannot open source file \"" + name + "\"\n  " + line + "\n");
      if (refused.contains(name) && !empty.unusable.contains(name))
        fail("/toolkit/" + name + "(7): error: a function for the CPU\n");
    }
    if (request.source.find("typo") != request.source.npos) fail("k.cu(9): error: identifier \"typo\" is undefined\n");
    return made;
  }
  [[noreturn]] static void fail(const std::string& log) {
    throw ShortageFailure(Lack::unclear, xtune::Outcome::compile_failed, log.substr(0, log.find('\n')), log);
  }
};

CompileRequest source_with(const std::string& source) {
  CompileRequest request;
  request.source_name = "/nowhere/k.cu";
  request.source = source;
  return request;
}

}  // namespace

TEST_CASE("headers that a compiler cannot read are read as empty, from then on, and named") {
  FakeCompiler compiler;
  compiler.headers = {"good.h"};
  compiler.refused = {"cublas_v2.h"};
  const CompileRequest request = source_with(
      "#include <libcfg.h>\n#include <good.h>\n#include <cublas_v2.h>\n#include <nvml.h>\n#include \"cuda.h\"\n");
  CHECK(compiler.compile(request).empty());
  CHECK(compiler.unread.of(request.source_name).missing == std::set<std::string>{"libcfg.h", "nvml.h", "cuda.h"});
  CHECK(compiler.unread.of(request.source_name).unusable == std::set<std::string>{"cublas_v2.h"});
  // Only those that may have held something for kernels.
  CHECK(unread_warning(compiler.artifact).starts_with("not found and read as empty: <libcfg.h>, <nvml.h> (if the"));
  compiler.compiles = 0;
  CHECK(compiler.compile(request).empty());
  CHECK(compiler.compiles == 1);  // the next configuration does not pay
  CompileRequest wrong = request;
  wrong.source += "typo\n";
  const std::string message = compiler.compile(wrong);
  CHECK(message.starts_with("k.cu(9): error: identifier \"typo\" is undefined; not found and read as empty: <cuda.h>"));
  CHECK(contains(message, "not for device code and read as empty: <cublas_v2.h>"));
}

TEST_CASE("a header of the project's own is read as empty too, and named if the kernel needs it or may") {
  FakeCompiler compiler;
  CompileRequest request = source_with("\n#include \"mine/a.cuh\"\n#include \"../b.cuh\"\n");
  request.include_dirs = {"/nowhere", "/nowhere/inc"};
  CHECK(compiler.compile(request).empty());
  CHECK(compiler.artifact.unread == std::vector<std::string>{"\"../b.cuh\"", "\"mine/a.cuh\""});
  request.source += "typo\n";
  CHECK(compiler.compile(request) ==
        "k.cu(9): error: identifier \"typo\" is undefined; not found and read as empty: <../b.cuh>, <mine/a.cuh> "
        "(hint: k.cu:2: #include \"mine/a.cuh\" is not in /nowhere, /nowhere/inc. Name its directory: include_dirs of "
        "[kernel], or -I)");
  FakeCompiler other;
  const std::string far = other.compile(source_with("#include \"../../../c.cuh\"\n"));
  CHECK(contains(far, "cannot open source file \"../../../c.cuh\" (hint: no directory that is searched has"));
  CHECK(
      contains(compiler.compile(source_with("#include \"/gone/d.cuh\"\n")), "cannot open source file \"/gone/d.cuh\""));
}

TEST_CASE("a missing header is named with its line, where it was looked for, and where the project has it") {
  const xtune::system::TemporaryDirectory folder;
  const auto write = [&](const std::string& name) {
    fs::create_directories((folder.path() / name).parent_path());
    std::ofstream(folder.path() / name) << "\n";
  };
  for (const char* name : {"CMakeLists.txt", "src/inner/k.cu", "lib/include/mine/a.cuh", "old/lib/mine/a.cuh", "c.h"})
    write(name);
  const std::string root = fs::canonical(folder.path()).string();
  const auto line_of = [&](const IncludeDirective& include) {
    const auto lines = missing_lines({{include, root + "/src/inner/k.cu"}}, {root + "/src/inner", root + "/inc/"});
    return lines.empty() ? "" : lines.front();
  };
  CHECK(line_of({"mine/a.cuh", false, false, 7}) ==
        "k.cu:7: #include <mine/a.cuh> is not in " + root + "/src/inner, " + root + "/inc. " + root + "/lib/include, " +
            root + "/old/lib have it: add one to include_dirs of [kernel], or as -I");
  CHECK(contains(line_of({"c.h", true, false, 7, true}), ". " + root + " has it: add that to include_dirs"));
  CHECK(contains(line_of({"none.h", true, false, 7}), "Name its directory: include_dirs of [kernel], or -I"));
  CHECK(line_of({"none.h", true, false, 7, true}).empty());       // an #if may know
  CHECK(line_of({"none.h", false, false, 7}).empty());            // as may a compiler
  CHECK(line_of({"mine/a.cuh", false, false, 7, true}).empty());  // as with <cuda_pipeline.h> in xtune's own tree
  for (const char* known : {"cuda_runtime.h", "vector", "stdio.h", "xtune/portable.cuh"})
    CHECK(line_of({known, true, false, 7}).empty());
}

TEST_CASE("a file cannot be a directory, too") {
  FakeCompiler compiler;
  CHECK(contains(compiler.compile(source_with("#include <a>\n#include <a/b>\n")), "cannot open source file \"a/b\""));
}

TEST_CASE("What only NVIDIA GPUs have is named alike on all other backends, with ways out that all backends have") {
  const auto both = [](const std::string& host, const std::string& hip, const std::string& what) {
    const std::string way = what + "guard it with #ifdef XTUNE_CUDA (see docs/portable-kernels.md)";
    CHECK(hint(KernelCompiler::host, "k.cu:1:10: error: " + host + "\n") == "the host backend has no " + way);
    for (const KernelCompiler compiler : {KernelCompiler::hiprtc, KernelCompiler::hip_clang})
      CHECK(hint(compiler, "k.cu:1:10: error: " + hip + "\n") == "backend hip has no " + way);
  };
  both("'nvcuda' has not been declared", "use of undeclared identifier 'nvcuda'",
       "mma.h (warp matrix functions); use xtune/matrix.cuh, or ");
  both("'cub' has not been declared", "use of undeclared identifier 'cub'",
       "CUB; to reduce parts of a warp, use cooperative_groups/reduce.h, or ");
  both("'cudaTextureObject_t' has not been declared",
       "unknown type name 'cudaTextureObject_t'; did you mean 'hipTextureObject_t'?",
       "textures; pass an array instead, or ");
  both("'coalesced_threads' is not a member of 'cg'",
       "no member named 'coalesced_threads' in namespace 'cooperative_groups'",
       "cooperative groups beyond grids, blocks and parts of a warp; ");
  both("invalid 'asm': invalid constraint", "cannot compile inline asm", "inline PTX; ");
  both("unknown mnemonic `mov.u32' -- `mov.u32 x1,%laneid'", "unrecognized instruction mnemonic", "inline PTX; ");
  both("'normcdfinvf' was not declared in this scope", "use of undeclared identifier 'normcdfinvf'", "'normcdfinvf'; ");
  both("'__nv_new' was not declared in this scope", "use of undeclared identifier '__nv_new'", "'__nv_new'; ");
  CHECK(contains(hint(KernelCompiler::hiprtc, "k.cu:2:174: error: call to '__brev' is ambiguous\n"),
                 "HIP declares '__brev' for other types"));
}

TEST_CASE("A misspelt name gets no hint, and neither does code that an error quotes") {
  for (const KernelCompiler compiler : {KernelCompiler::host, KernelCompiler::hiprtc}) {
    CHECK(hint(compiler,
               "k.cu:2:1: error: '__sycnthreads' was not declared in this scope; did you mean "
               "'__syncthreads'?\n")
              .empty());
    CHECK(hint(compiler,
               "k.cu:2:1: error: use of undeclared identifier '__sycnthreads'; did you mean "
               "'__syncthreads'?\n")
              .empty());
    CHECK(hint(compiler, "k.cu:2:1: error: use of undeclared identifier 'mine'\n").empty());
    CHECK(hint(compiler, "k.cu:1:9: error: 'inverse' was not declared in this scope\n").empty());
    CHECK(hint(compiler, "k.cu:5:16: error: expected ';'\n  y = __shfl_down_sync(m, v, 1)\n").empty());
  }
}

TEST_CASE("a hint follows the message, and a failure keeps its kind") {
  const CompileRequest request;
  const std::string log = "k.cu:1:10: error: 'nvcuda' has not been declared\n";
  const auto failing = [&](const auto& failure) {
    UnreadHeaders unread;
    try {
      with_compile_hint(
          KernelCompiler::host, request, [&](const CompileRequest&) -> Artifact { throw failure; }, unread);
    } catch (const CandidateFailure& thrown) {
      CHECK(thrown.log() == failure.log());
      return std::string(xtune::to_string(thrown.outcome())) + " " + to_string(lack_of(thrown)) + " " + thrown.what();
    }
    return std::string();
  };
  const std::string hint =
      " (hint: the host backend has no mma.h (warp matrix functions); use xtune/matrix.cuh, or guard it with #ifdef "
      "XTUNE_CUDA (see docs/portable-kernels.md))";
  CHECK(failing(CandidateFailure(xtune::Outcome::compile_failed, "m", log)) == "compile_failed none m" + hint);
  CHECK(failing(ShortageFailure(Lack::unclear, xtune::Outcome::compile_failed, "m", log)) ==
        "compile_failed unclear m" + hint);
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
    UnreadHeaders unread;
    for (int round = 0; round < 2; ++round) {
      compiles = 0;
      try {
        with_compile_hint(KernelCompiler::host, request, compile, unread);
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
