// The run-time compiler's protocol over a fake, and the small texts around it.
#include <doctest/doctest.h>
#include <gnu/libc-version.h>

#include <cstring>
#include <memory>

#include "backends/gpu/code_object.hpp"
#include "backends/gpu/runtime_compiler.hpp"
#include "core/build/unread_headers.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

using namespace xtune::build;

using namespace xtune;

namespace {

struct FakeCompiler {
  std::string fail;  ///< the call that answers 1
  std::string log = "a warning";
  std::string code = std::string("co\0de", 5);
  int open = 0;
  std::vector<std::string> options;
  std::vector<std::string> names;  ///< expressions that were added
};

CompileRequest request_for_k() {
  CompileRequest request;
  request.source_name = "k.cu";
  request.entry = "k";
  return request;
}

gpu::CompilerApi fake_api(FakeCompiler& fake) {
  gpu::CompilerApi api;
  const auto status = [&fake](const char* call) { return fake.fail == call ? 1 : 0; };
  api.name = "fakertc";
  api.create = [&fake, status](void** program, const char*, const char*) {
    if (status("create") == 0) *program = &fake, ++fake.open;
    return status("create");
  };
  api.destroy = [&fake](void**) { return --fake.open, 0; };
  api.add_name_expression = [&fake, status](void*, const char* expression) {
    fake.names.emplace_back(expression);
    return status("add_name_expression");
  };
  api.compile = [&fake, status](void*, int count, const char* const* options) {
    fake.options.assign(options, options + count);
    return status("compile");
  };
  api.log_size = [&fake, status](void*, std::size_t* size) { return *size = fake.log.size() + 1, status("log_size"); };
  api.log = [&fake](void*, char* log) { return std::memcpy(log, fake.log.c_str(), fake.log.size() + 1), 0; };
  api.lowered_name = [status](void*, const char* expression, const char** name) {
    return *name = *expression == '&' ? "_ZN1n1vE" : "_Z1kv", status("lowered_name");
  };
  api.code_size = [&fake, status](void*, std::size_t* size) { return *size = fake.code.size(), status("code_size"); };
  api.code = [&fake](void*, char* code) { return std::memcpy(code, fake.code.data(), fake.code.size()), 0; };
  api.describe = [](int code) { return "FAKE_ERROR_" + std::to_string(code); };
  return api;
}

}  // namespace

TEST_CASE("variables are asked for by their addresses, and found by their symbols") {
  FakeCompiler fake;
  CompileRequest request = request_for_k();
  request.variables = {"n::v", "n::w<2>"};
  const auto result = gpu::compile_program(fake_api(fake), request, "source", {});
  CHECK(fake.names == std::vector<std::string>{"k", "&n::v", "&n::w<2>"});
  CHECK(result.entry_symbols == std::vector<std::string>{"_Z1kv"});
  CHECK(result.variables == std::vector<std::string>{"_ZN1n1vE", "_ZN1n1vE"});
}

TEST_CASE("one program, compiled") {
  FakeCompiler fake;
  const auto result = gpu::compile_program(fake_api(fake), request_for_k(), "source", {"-a", "-b c"});
  CHECK(result.image == fake.code);
  CHECK(result.log == "a warning");
  CHECK(result.entry_symbols == std::vector<std::string>{"_Z1kv"});
  CHECK(fake.options == std::vector<std::string>{"-a", "-b c"});
  CHECK(fake.open == 0);
}

TEST_CASE("a compiler without memory or disk is distinguished from one that refuses the source") {
  for (const char* call : {"create", "compile"}) {
    FakeCompiler fake;
    fake.fail = call;
    gpu::CompilerApi api = fake_api(fake);
    api.out_of_memory = 1;
    try {
      gpu::compile_program(api, request_for_k(), "source", {});
      FAIL("compiled");
    } catch (const CandidateFailure& failure) {
      CHECK(failure.outcome() == Outcome::crashed);
      CHECK(std::string(failure.what()) == "fakertc ran out of memory");
    }
    CHECK(fake.open == 0);
  }
  FakeCompiler fake;
  fake.fail = "compile";
  fake.log = "fatal error: IO failure on output stream: No space left on device";
  CHECK_THROWS_AS(gpu::compile_program(fake_api(fake), request_for_k(), "source", {}), Error);
}

TEST_CASE("each call may fail, and the program is always destroyed") {
  for (const char* call : {"add_name_expression", "compile", "lowered_name", "code_size"}) {
    FakeCompiler fake;
    fake.fail = call;
    CAPTURE(call);
    try {
      gpu::compile_program(fake_api(fake), request_for_k(), "source", {});
      FAIL("compiled");
    } catch (const CandidateFailure& failure) {
      CHECK(failure.outcome() == Outcome::compile_failed);
    }
    CHECK(fake.open == 0);
  }
  FakeCompiler broken;
  broken.fail = "create";
  CHECK_THROWS_AS(gpu::compile_program(fake_api(broken), request_for_k(), "source", {}), Error);
  FakeCompiler empty;
  empty.code.clear();
  CHECK_THROWS_AS(gpu::compile_program(fake_api(empty), request_for_k(), "source", {}), CandidateFailure);
}

TEST_CASE("a failure says the log's first error and keeps the log") {
  FakeCompiler fake;
  fake.fail = "compile";
  fake.log = "k.cu(1): warning: x\n  k.cu(2): error: y\nk.cu(3): error: z\n";
  try {
    gpu::compile_program(fake_api(fake), request_for_k(), "source", {});
    FAIL("compiled");
  } catch (const CandidateFailure& failure) {
    CHECK(std::string(failure.what()) == "k.cu(2): error: y");
    CHECK(failure.log() == fake.log);
  }
}

TEST_CASE("a source with NUL is refused: the compiler would see only its head") {
  FakeCompiler fake;
  CHECK_THROWS_AS(gpu::compile_program(fake_api(fake), request_for_k(), std::string("a\0b", 3), {}), CandidateFailure);
}

TEST_CASE("the first error of a log") {
  CHECK(first_error("").empty());
  CHECK(first_error("k.cu(1): warning: errors are bad\nterror: no").empty());
  CHECK(first_error("ptxas fatal   : Unknown option") == "ptxas fatal   : Unknown option");
  CHECK(first_error("a\nptxas application ptx input, line 38; error   : Not a name\nb") ==
        "ptxas application ptx input, line 38; error   : Not a name");
  CHECK(first_error("k.cu(3): error #20: identifier") == "k.cu(3): error #20: identifier");
  CHECK(first_error("fatal error: too many errors emitted") == "fatal error: too many errors emitted");
  CHECK(first_error("k.cu(1): Error: Formal parameter space overflowed") ==
        "k.cu(1): Error: Formal parameter space overflowed");
  CHECK(first_error("LLVM ERROR: out of memory") == "LLVM ERROR: out of memory");
  CHECK(first_error("error").empty());
}

TEST_CASE("defines in front of the source keep its line numbers") {
  CompileRequest request;
  request.source_name = "dir/a \"b\".cu";
  request.source = "int x;\n";
  request.defines = {{"N", "4"}, {"T", "unsigned int"}};
  CHECK(gpu::with_defines(request) == "#define N 4\n#define T unsigned int\n#line 1 \"dir/a \\\"b\\\".cu\"\nint x;\n");

  request.source_name = "k.cu";
  request.source = "#if N\n#include <h>\n#endif\nint x;\n";
  CHECK(
      gpu::with_defines(request) ==
      "#define N 4\n#line 1 \"k.cu\"\n#if N\n#include <h>\n#endif\n#define T unsigned int\n#line 4 \"k.cu\"\nint x;\n");
  request.defines = {{"N", "4"}};
  CHECK(gpu::with_defines(request) == "#define N 4\n#line 1 \"k.cu\"\n" + request.source);
  request.first_line = 7;
  CHECK(gpu::with_defines(request) == "#define N 4\n#line 7 \"k.cu\"\n" + request.source);
}

TEST_CASE("which library a symbol came from") {
  const auto* symbol = reinterpret_cast<const void*>(&gnu_get_libc_version);
  CHECK(gpu::library_version(symbol).starts_with("6"));  // libc.so.6
  CHECK_FALSE(gpu::library_folder(symbol).empty());
  CHECK(gpu::library_build_id(symbol).size() == 12);
  int local = 0;
  CHECK(gpu::library_build_id(&local).empty());
  CHECK(gpu::library_build_id(nullptr).empty());
  CHECK(gpu::library_version(nullptr).empty());
}
