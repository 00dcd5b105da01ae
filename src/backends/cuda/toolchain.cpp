// The toolchain that uses NVRTC.
#include "backends/cuda/toolchain.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "backends/cuda/precompiled_headers.hpp"
#include "backends/gpu/library_file.hpp"
#include "backends/gpu/ptxas_log.hpp"
#include "backends/runtime_files.hpp"
#include "base/files.hpp"
#include "core/build/compile_hint.hpp"
#include "core/build/source_closure.hpp"
#include "core/build/tool_files.hpp"
#include "core/device/launch_limits.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::cuda {
namespace {

/// The compute capability of an architecture: 90 for "sm_90a"; 0 for an invalid one.
int capability(const std::string& arch) noexcept {
  if (!arch.starts_with("sm_")) return 0;
  int number = 0;
  std::size_t at = 3;
  for (; at < arch.size() && at < 7 && std::isdigit(static_cast<unsigned char>(arch[at])); ++at)
    number = number * 10 + (arch[at] - '0');
  if (at < arch.size() && (arch[at] == 'a' || arch[at] == 'f')) ++at;
  return at == arch.size() ? number : 0;
}

/// compute_90a: no hardware, and what is made is PTX.
bool is_virtual(const std::string& arch) noexcept { return arch.starts_with("compute_"); }

std::string real_arch(const std::string& arch) {
  return is_virtual(arch) ? "sm_" + arch.substr(std::string("compute_").size()) : arch;
}

std::pair<int, int> release(const Nvrtc& nvrtc) {
  int major = 0, minor = 0;
  nvrtc.nvrtcVersion(&major, &minor);
  return {major, minor};
}

/// Debian has NVIDIA's headers beside the C library's, which NVRTC cannot read: xtune's come first.
constexpr const char* system_headers = "/usr/include";

class NvrtcToolchain final : public build::Toolchain {
 public:
  NvrtcToolchain(const Nvrtc& nvrtc, Dialect dialect)
      : dialect_(std::move(dialect)), precompiled_(release(nvrtc) >= std::pair(12, 8)) {
    int count = 0;
    const auto [major, minor] = release(nvrtc);
    version_ = fmt::format("{}.{}", major, minor);
    has_cache_ = release(nvrtc) >= std::pair(12, 9);
    own_features_ = release(nvrtc) >= std::pair(12, 0);
    if (nvrtc.nvrtcGetNumSupportedArchs(&count) == NVRTC_SUCCESS && count > 0 && count < 1000) {
      supported_.resize(static_cast<std::size_t>(count));
      if (nvrtc.nvrtcGetSupportedArchs(supported_.data()) != NVRTC_SUCCESS) supported_.clear();
    }
    const auto* symbol = reinterpret_cast<const void*>(nvrtc.nvrtcVersion);
    build_ = gpu::library_build_id(symbol);
    find_parts(symbol);
    backend::write_portable_headers(portable_.path(), {build::HeaderSet::library});
  }

  std::string fingerprint() override {
    return fmt::format("{} {}{}{}, parts {}", dialect_.name, version_, build_.empty() ? "" : " ", build_,
                       build::digest_of(parts_));
  }
  build::ToolFiles parts() override { return parts_; }
  std::string default_arch() override { return "sm_90"; }

  build::Artifact compile(const build::CompileRequest& request) override {
    return build::with_compile_hint(build::KernelCompiler::nvrtc, request, [&] { return compile_kernel(request); });
  }

 private:
  build::Artifact compile_kernel(const build::CompileRequest& request) {
    check_arch(real_arch(request.arch));
    build::Artifact artifact;
    artifact.arch = request.arch;
    artifact.format = is_virtual(request.arch) ? "ptx" : "cubin";
    std::vector<build::KernelEntry> entries;
    try {
      gpu::CompiledProgram program = compile_source(request);
      for (std::string& symbol : program.entry_symbols) entries.push_back({std::move(symbol), {}});
      artifact.variables = std::move(program.variables);
      artifact.image = std::move(program.image);
      artifact.log = std::move(program.log);
      artifact.compile_s = program.seconds;
    } catch (const build::CandidateFailure& failure) {
      explain(failure);
      throw;
    }
    if (!is_virtual(request.arch))
      for (build::KernelEntry& entry : entries) entry.usage = usage_of(entry.symbol, artifact.log);
    build::set_entries(artifact, std::move(entries));
    return artifact;
  }

  static build::ResourceUsage usage_of(const std::string& symbol, const std::string& log) {
    build::ResourceUsage usage = gpu::parse_ptxas_log(log, symbol);
    usage.warp_size = 32;
    if (usage.registers) usage.max_threads_per_block = threads_that_fit(*usage.registers);
    return usage;
  }

  /// NVRTC opens its builtins by name when it first compiles: LD_LIBRARY_PATH comes before its own directory.
  void find_parts(const void* symbol) {
    const std::string library = gpu::library_path(symbol);
    if (library.empty()) return;
    build::add_tool_file(library, parts_);
    std::vector<std::filesystem::path> places;
    for (const std::string& folder : build::folders_of_variable("LD_LIBRARY_PATH")) places.emplace_back(folder);
    places.push_back(std::filesystem::path(library).parent_path());
    for (std::filesystem::path& place : places) place /= "libnvrtc-builtins.so." + version_;
    build::add_first(places, parts_);
  }

  void check_arch(const std::string& arch) const {
    const int number = capability(arch);
    if (number == 0)
      throw Error(ErrorKind::unsupported,
                  fmt::format("'{}' is not an NVIDIA architecture, such as sm_90, sm_90a or sm_100f", arch));
    if (!supported_.empty() && std::find(supported_.begin(), supported_.end(), number) == supported_.end())
      throw Error(ErrorKind::unsupported, fmt::format("{} {} cannot compile for {}; it knows sm_{}", dialect_.name,
                                                      version_, arch, fmt::join(supported_, ", sm_")));
  }

  /// CUDA 11.8 knows sm_90, but not sm_90a.
  std::string known_arch(const std::string& arch) const {
    return !own_features_ && arch.ends_with('a') ? arch.substr(0, arch.size() - 1) : arch;
  }

  /// The calls that fetch what is made for this architecture.
  gpu::CompilerApi api_for(const std::string& arch) const {
    gpu::CompilerApi api = dialect_.api;
    if (!is_virtual(arch)) return api;
    if (!api.assembly) throw Error(ErrorKind::unsupported, dialect_.name + " does not give PTX; backend cuda does");
    api.code_size = api.assembly_size;
    api.code = api.assembly;
    return api;
  }

  gpu::CompiledProgram compile_source(const build::CompileRequest& request) {
    const gpu::CompilerApi api = api_for(request.arch);
    const std::vector<std::string> options = options_for(request);
    const build::SplitSource split = build::split_source(request);
    const auto compiled = [&](const std::string& source, const std::vector<std::string>& with) {
      return gpu::compile_program(api, request, source, with);
    };
    if (const auto headers = precompiled_.use(request, split, options)) {
      try {
        return compiled(headers->source, headers->options);
      } catch (const build::CandidateFailure& failure) {
        if (is_of_ptxas(failure.log())) throw;  // not caused by the headers, and slow
      } catch (const Error&) {                  // whatever the error, the plain source decides
      }
      gpu::CompiledProgram program = compiled(gpu::with_defines(request, split), options);
      precompiled_.give_up(*headers);
      return program;
    }
    return compiled(gpu::with_defines(request, split), options);
  }

  static bool is_of_ptxas(const std::string& log) {
    const std::string error = gpu::first_error(log);
    return error.empty() ? log.find("ptxas") != std::string::npos : error.starts_with("ptxas");
  }

  std::vector<std::string> options_for(const build::CompileRequest& request) const {
    std::vector<std::string> options{"--gpu-architecture=" + known_arch(request.arch)};
    if (!is_virtual(request.arch)) options.emplace_back("--ptxas-options=-v");
    // Results from NVRTC's own cache have no report of ptxas and no real compile time.
    if (has_cache_) options.emplace_back("--no-cache");
    for (const std::string& define : dialect_.defines) options.push_back("-D" + define);
    for (const std::string& folder : request.include_dirs) options.push_back("-I" + folder);
    for (const std::string& folder : dialect_.include_dirs)
      if (folder != system_headers) options.push_back("-I" + folder);
    const auto own = dialect_.map_options ? dialect_.map_options(request.options) : request.options;
    options.insert(options.end(), own.begin(), own.end());
    options.push_back("-I" + portable_.path().string());
    for (const std::string& folder : dialect_.include_dirs)
      if (folder == system_headers) options.push_back("-I" + folder);
    return options;
  }

  /// ptxas -v does not report the reason when it refuses too much static shared memory; the numbers are in its log.
  static void explain(const build::CandidateFailure& failure) {
    if (failure.outcome() != Outcome::compile_failed || !gpu::first_error(failure.log()).empty()) return;
    constexpr std::int64_t static_limit = 48 * 1024;  // CUDA C++ Programming Guide: more needs dynamic shared memory
    const std::int64_t used = gpu::largest_static_shared(failure.log());
    if (used > static_limit)
      throw build::CandidateFailure(
          Outcome::compile_failed,
          fmt::format("ptxas: {} bytes of static shared memory exceed the {} that a kernel may declare; use "
                      "dynamic shared memory ([launch] shared)",
                      used, static_limit),
          failure.log());
  }

  static int threads_that_fit(int registers) {
    constexpr std::int64_t registers_per_block = 65536;  // every architecture from sm_70 on: known_devices.def
    int threads = 1024;
    while (threads > 32 && device::registers_of_block(threads, registers, 32) > registers_per_block) threads -= 32;
    return threads;
  }

  Dialect dialect_;
  PrecompiledHeaders precompiled_;
  const base::TemporaryDirectory portable_;  // one for all compiles, as precompiled headers go by their options
  std::string version_, build_;
  build::ToolFiles parts_;
  bool has_cache_ = false;     ///< NVRTC 12.9 and later (NVRTC documentation, "Caching")
  bool own_features_ = false;  ///< CUDA 12.0 and later: sm_90a
  std::vector<int> supported_;
};

}  // namespace

bool is_nvidia_arch(const std::string& arch) noexcept { return capability(arch) != 0; }

std::unique_ptr<build::Toolchain> make_toolchain(const Nvrtc& nvrtc, Dialect dialect) {
  return std::make_unique<NvrtcToolchain>(nvrtc, std::move(dialect));
}

}  // namespace xtune::cuda
