// Preprocess, rewrite, compile: two runs of the system's compiler for each configuration.
#include "backends/host/toolchain.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <mutex>

#include "backends/gpu/runtime_compiler.hpp"
#include "backends/host/compiler.hpp"
#include "backends/host/rewrite.hpp"
#include "backends/host/runtime_files.hpp"
#include "backends/host/shared_library.hpp"
#include "base/files.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "core/build/compiler_log.hpp"
#include "xtune/error.hpp"

namespace xtune::host {
namespace {

using Arguments = std::vector<std::string>;

void append(Arguments& to, const Arguments& from) { to.insert(to.end(), from.begin(), from.end()); }

/// "gemm" of "ns::gemm<64, 32>".
std::string function_name(const std::string& entry) {
  std::string name = entry.substr(0, entry.find('<'));
  while (!name.empty() && name.back() == ' ') name.pop_back();
  const auto colon = name.rfind(':');
  return colon == std::string::npos ? name : name.substr(colon + 1);
}

/// Line-marked, so that a message about it names the entry.
std::string entry_text(const CompileRequest& request, bool uses_fibers) {
  const std::string marker = std::string(XTUNE_HOST_MARKER) + (request.sanitize ? "1" : "0");
  return fmt::format(
      "\n# 1 \"<entry>\"\n"
      "using XtuneEntry = decltype(xtune_arguments_of(&{0}))::Runner<&{0}, {2}>;\n"
      "extern \"C\" __attribute__((visibility(\"default\"))) const XtuneKernel xtune_kernel;\n"
      "const XtuneKernel xtune_kernel = XtuneEntry::describe(\"{1}\");\n",
      request.entry, marker, uses_fibers);
}

class HostToolchain final : public Toolchain {
 public:
  HostToolchain() : path_(find_compiler()) {}

  std::string fingerprint() override {
    const Compiler& c = compiler();
    return fmt::format("{} ({}), runtime {}", c.version, c.path, runtime_);
  }
  std::string default_arch() override { return own_arch(); }

  Artifact compile(const CompileRequest& request) override {
    const Compiler& c = compiler();
    Arguments flags = base_flags(request, c);
    check_entry(request);
    TemporaryDirectory work;
    write_runtime_files(work.path());

    Arguments preprocess = {c.path, "-E", "-x", "c++", "-include", "xtune_host.h"};
    append(preprocess, include_flags(request, work));
    append(preprocess, flags);
    preprocess.push_back("-");
    // Definitions follow the runtime headers: a parameter named T must not reach into those.
    const CommandResult text = run(preprocess, gpu::with_defines(request), work);
    require(text, "", request, c);
    if (!mentions(text.stdout_text, function_name(request.entry))) {
      const std::string message = fmt::format("{} has no function '{}' (entry \"{}\")", request.source_name,
                                              function_name(request.entry), request.entry);
      throw CandidateFailure(Outcome::compile_failed, printable(message), text.stderr_text + message + "\n");
    }
    Rewritten kernel = rewrite(text.stdout_text, {request.sanitize, !c.is_clang});

    const std::string output = (work.path() / "kernel.so").string();
    Arguments build = {c.path, "-x", "c++-cpp-output", "-o", output, "-shared", "-fPIC"};
    build.push_back("-ffile-prefix-map=" + work.path().string() + "=.");
    append(build, flags);
    build.push_back("-");
    const CommandResult built = run(build, kernel.text + entry_text(request, kernel.uses_fibers), work);
    require(built, text.stderr_text, request, c);

    Artifact artifact;
    artifact.arch = request.arch;
    artifact.format = "so";
    artifact.entry_symbol = "xtune_kernel";
    artifact.image = read_file(output);
    artifact.log = text.stderr_text + built.stderr_text;
    artifact.compile_s = text.wall_s + built.wall_s;
    artifact.usage.warp_size = 32;
    if (!request.sanitize) artifact.usage.static_shared_bytes = thread_local_bytes(artifact.image);
    return artifact;
  }

 private:
  const Compiler& compiler() {
    std::call_once(once_, [this] {
      compiler_ = identify_compiler(path_);
      runtime_ = runtime_digest();
    });
    return compiler_;
  }

  // The user's options come last: they may ask for another -O or -std.
  static Arguments base_flags(const CompileRequest& request, const Compiler& c) {
    Arguments flags = {arch_flag(request.arch.empty() ? own_arch() : request.arch),
                       "-std=gnu++17",
                       "-fvisibility=hidden",
                       "-fno-strict-aliasing",
                       "-ffp-contract=fast",
                       "-fno-math-errno"};
    // Unique symbols would be shared between kernels, and keep every one of them loaded for ever.
    if (!c.is_clang) flags.push_back("-fno-gnu-unique");
    if (request.sanitize) {
      append(flags,
             {"-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"});
      if (c.is_clang) flags.push_back("-shared-libasan");
    } else {
      append(flags, {"-O3", "-Wl,-z,defs", "-Wl,--as-needed"});
    }
    // Each step uses some of these only.
    if (c.is_clang) flags.push_back("-Wno-unused-command-line-argument");
    append(flags, request.options);
    return flags;
  }

  static Arguments include_flags(const CompileRequest& request, const TemporaryDirectory& work) {
    Arguments flags = {"-I" + work.path().string()};
    for (const std::string& dir : request.include_dirs) flags.push_back("-I" + dir);
    const auto folder = std::filesystem::path(request.source_name).parent_path();
    std::error_code failed;
    if (!folder.empty() && std::filesystem::is_directory(folder, failed))
      append(flags, {"-iquote", std::filesystem::absolute(folder).string()});
    return flags;
  }

  static void check_entry(const CompileRequest& request) {
    const std::string name = function_name(request.entry);
    const bool word =
        !name.empty() &&
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string::npos;
    if (word && request.entry.find_first_of(";{}\n#") == std::string::npos) return;
    const std::string message =
        fmt::format("entry \"{}\" is neither a function's name nor a template-id such as gemm<64, 32>",
                    printable(request.entry, 200));
    throw CandidateFailure(Outcome::compile_failed, message, message + "\n");
  }

  // In the caller's process group, so that whoever kills a compile worker kills the compiler with it. What the compiler
  // leaves behind when it is killed lies in the folder that goes.
  static CommandResult run(const Arguments& arguments, std::string input, const TemporaryDirectory& work) {
    CommandOptions options;
    options.own_group = false;
    options.cwd = work.path().string();
    options.env = {{"TMPDIR", work.path().string()}, {"LC_ALL", "C"}};
    options.stdin_text = std::move(input);
    options.output_limit_bytes = std::uint64_t{256} << 20;
    return run_command(arguments, options);
  }

  static void require(const CommandResult& result, const std::string& earlier_log, const CompileRequest& request,
                      const Compiler& c) {
    const std::string log = earlier_log + result.stderr_text;
    if (result.ok() && !result.output_truncated) return;
    if (!result.ok()) throw_if_not_the_source(c.path, log);
    // The driver of gcc, and that of clang, outlive the compiler proper and report its end.
    if (result.signal != 0 || log.find("internal compiler error") != std::string::npos ||
        log.find("PLEASE submit a bug report") != std::string::npos)
      throw CandidateFailure(Outcome::crashed,
                             fmt::format("{} crashed on {}: {}", c.path, request.source_name,
                                         result.signal != 0 ? describe_exit(0, result.signal) : first_error(log)),
                             log);
    if (result.ok())
      throw CandidateFailure(Outcome::compile_failed,
                             fmt::format("{} is too large once its includes are read", request.source_name), log);
    const std::string error = first_error(log);
    throw CandidateFailure(Outcome::compile_failed,
                           error.empty() ? fmt::format("{} failed without a word ({})", c.path,
                                                       describe_exit(result.exit_code, result.signal))
                                         : error,
                           log);
  }

  std::string path_, runtime_;
  Compiler compiler_;
  std::once_flag once_;
};

}  // namespace

std::unique_ptr<Toolchain> make_toolchain() { return std::make_unique<HostToolchain>(); }

}  // namespace xtune::host
