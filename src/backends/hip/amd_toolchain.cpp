// Compiling HIP C++ to an AMD code object with hipRTC.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "backends/compiler/compile_step.hpp"
#include "backends/compiler/external_toolchain.hpp"
#include "backends/gpu/code_object.hpp"
#include "backends/gpu/hip_headers.hpp"
#include "backends/gpu/runtime_compiler.hpp"
#include "backends/hip/hip_calls.hpp"
#include "backends/hip/rocm_libraries.hpp"
#include "backends/hip/toolchain.hpp"
#include "backends/runtime_files.hpp"
#include "base/text.hpp"
#include "core/build/compile_hint.hpp"
#include "core/build/keyed_files.hpp"
#include "core/build/system_headers.hpp"
#include "core/device/backend_facts.hpp"
#include "system/dynamic_library.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

#define XTUNE_HIPRTC_CALLS(CALL) \
  CALL(hiprtcVersion)            \
  CALL(hiprtcGetErrorString)     \
  CALL(hiprtcCreateProgram)      \
  CALL(hiprtcDestroyProgram)     \
  CALL(hiprtcCompileProgram)     \
  CALL(hiprtcGetProgramLogSize)  \
  CALL(hiprtcGetProgramLog)      \
  CALL(hiprtcGetCodeSize)        \
  CALL(hiprtcGetCode)

namespace xtune::hip {
namespace {

constexpr std::initializer_list<build::HeaderSet> standins{build::HeaderSet::library, build::HeaderSet::groups,
                                                           build::HeaderSet::hip, build::HeaderSet::types};

struct Hiprtc {
  system::DynamicLibrary library;
#define XTUNE_DECLARE(name) decltype(&::name) name = nullptr;
  XTUNE_HIPRTC_CALLS(XTUNE_DECLARE)
#undef XTUNE_DECLARE
};

Hiprtc load_hiprtc() {
  Hiprtc table;
  const char* const advice =
      "install ROCm's hipRTC (Debian: libamdhip64-dev brings what it needs; ROCm: hip-runtime-amd) or set ROCM_PATH";
  try {
    table.library = open_rocm_library({"hiprtc", "amdhip64"});  // until ROCm 5.4 hipRTC was part of the HIP runtime
  } catch (const Error& error) {
    system::throw_with_message(
        error, fmt::format("neither libhiprtc.so nor libamdhip64.so was found: {} ({})", advice, error.what()));
  }
  if (!table.library.find("hiprtcCreateProgram"))
    throw system::NotInstalled(
        fmt::format("libhiprtc.so was not found, and {} does not contain hipRTC: {}", table.library.name(), advice));
  table.library.keep_resident();
#define XTUNE_LOAD(name) table.library.get(#name, table.name);
  XTUNE_HIPRTC_CALLS(XTUNE_LOAD)
#undef XTUNE_LOAD
  return table;
}

const Hiprtc& hiprtc() {
  static const Hiprtc table = load_hiprtc();
  return table;
}

gpu::CompilerApi compiler_api(const Hiprtc& table) {
  const Hiprtc* r = &table;
  gpu::CompilerApi api;
  api.name = "hiprtc";
  api.out_of_memory = HIPRTC_ERROR_OUT_OF_MEMORY;
  api.create = [r](gpu::CompilerApi::Program* handle, const char* source, const char* name) -> int {
    return r->hiprtcCreateProgram(reinterpret_cast<hiprtcProgram*>(handle), source, name, 0, nullptr, nullptr);
  };
  api.destroy = gpu::table_call(r->hiprtcDestroyProgram);
  api.compile = gpu::table_call(r->hiprtcCompileProgram);
  api.log_size = gpu::table_call(r->hiprtcGetProgramLogSize);
  api.log = gpu::table_call(r->hiprtcGetProgramLog);
  api.code_size = gpu::table_call(r->hiprtcGetCodeSize);
  api.code = gpu::table_call(r->hiprtcGetCode);
  api.describe = [r](int status) { return std::string(r->hiprtcGetErrorString(static_cast<hiprtcResult>(status))); };
  return api;
}

/// In the words of `xtune devices`; empty: there is one.
std::string why_no_clang() {
  try {
    static_cast<void>(find_clang());
    return {};
  } catch (const Error& error) {
    return fmt::format("clang cannot be used: {}", error.what());
  }
}

class HiprtcToolchain final : public build::HintedToolchain {
 public:
  explicit HiprtcToolchain(const Hiprtc& table)
      // As its clang names them; NVIDIA's headers may be in /usr/local/include.
      : HintedToolchain(build::KernelCompiler::hiprtc,
                        {"/usr/include", "/usr/local/include", "/usr/lib/gcc", "/../lib/gcc"}),
        api_(compiler_api(table)),
        manager_(gpu::library_path(reinterpret_cast<const void*>(table.hiprtcVersion))) {
    const auto* symbol = reinterpret_cast<const void*>(table.hiprtcVersion);
    // hiprtcVersion returns 9.0 in every release, so the version is taken from the file's name.
    std::string version = gpu::library_version(symbol);
    if (version.empty()) version = "unknown version";
    fingerprint_ = fmt::format("hiprtc {} {} {}", version, gpu::library_build_id(symbol), manager_.build);
    while (fingerprint_.back() == ' ') fingerprint_.pop_back();
    find_parts(symbol);
    fingerprint_ += fmt::format(", parts {}, headers {}", build::digest_of(parts_), backend::digest_of(standins));
  }

  std::string fingerprint() override { return fingerprint_; }
  build::ToolFiles parts() override { return parts_; }
  std::string default_arch() override { return default_amd_arch; }
  std::vector<std::string> archs() override { return manager_.archs; }

 private:
  build::Artifact compile_kernel(const build::CompileRequest& request) override {
    require_arch(request.arch, manager_.archs, device::compiler_name(fingerprint_), why_no_clang);
    std::vector<std::string> options{"--offload-arch=" + request.arch};
    for (const std::string& folder : request.include_dirs) options.push_back("-I" + folder);
    compiler::append(options, request.options);
    const system::TemporaryDirectory work;
    compiler::append(options, backend::write_headers(work.path(), standins, unread(request)));
    compiler::append(options, {"-include", (work.path() / "portable/xtune_hip.h").string()});
    const std::string list = (work.path() / "read").string();
    // hipRTC 7.2 preprocesses in a separate step: the next one would only list that step's output.
    for (const std::string& word : {std::string("-dependency-file"), list, std::string("-MT"), std::string("code"),
                                    std::string("-sys-header-deps")}) {
      options.emplace_back("-Xpreprocessor");
      options.push_back(word);
    }
    build::Artifact artifact;
    artifact.arch = request.arch;
    gpu::CompiledProgram program = compile_with_names(request, options);
    artifact.image = std::string(gpu::unbundle(program.image, request.arch));
    artifact.log = std::move(program.log);
    artifact.compile_s = program.seconds;
    set_names(artifact, request);
    if (!assembly_reads_files(request)) artifact.files_read = files_read(list);
    return artifact;
  }

  /// hipRTC's own search for names compares texts, and so does not find <8> of an unsigned parameter (5.2), or a static
  /// variable (from 6.4 on).
  gpu::CompiledProgram compile_with_names(const build::CompileRequest& request,
                                          const std::vector<std::string>& options) const {
    const std::string pointers = compiler::pointers_text(compiler::names_of(request));
    try {
      return gpu::compile_program(api_, request, source_text(request) + pointers, options);
    } catch (const build::CandidateFailure& failure) {
      compiler::throw_if_wrong_name(failure, request);
      throw;
    }
  }

  /// Finds hipRTC itself and, behind it, Clang and LLVM with their libraries.
  void find_parts(const void* symbol) {
    if (const std::string library = gpu::library_path(symbol); !library.empty()) {
      own_folders_ = rocm_folders(std::filesystem::path(library).parent_path());
      build::add_tool_file(library, parts_);
      std::error_code ignored;
      for (const auto& entry :
           std::filesystem::directory_iterator(std::filesystem::path(library).parent_path(), ignored))
        if (entry.path().filename().string().starts_with("libhiprtc-builtins.so"))
          build::add_tool_file(entry.path(), parts_);
    }
    if (!manager_.path.empty()) build::add_tool(manager_.path, parts_);
  }

  /// The user's files among those that the compiler lists. It first writes the source and its own headers to a
  /// temporary directory.
  std::optional<build::FilesRead> files_read(const std::string& list) const {
    std::error_code failed;
    auto files = compiler::files_of_rule(list, std::filesystem::path(list).parent_path());
    if (!files) return std::nullopt;
    const auto temporary = std::filesystem::weakly_canonical(std::filesystem::temp_directory_path(failed), failed);
    std::erase_if(*files, [&](const std::string& file) {
      const auto path = std::filesystem::weakly_canonical(file, failed).lexically_relative(temporary);
      return !path.empty() && path.begin()->string().starts_with("comgr-");
    });
    std::erase_if(*files, build::is_system_header_path);
    return build::FilesRead{compiler::files_outside(std::move(*files), own_folders_), {}};
  }

  gpu::CompilerApi api_;
  CodeObjectManager manager_;
  std::string fingerprint_;
  build::ToolFiles parts_;
  std::vector<std::string> own_folders_;
};

}  // namespace

std::unique_ptr<build::Toolchain> make_hiprtc_toolchain() { return std::make_unique<HiprtcToolchain>(hiprtc()); }

}  // namespace xtune::hip
