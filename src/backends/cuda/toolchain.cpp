// The toolchain that uses NVRTC, and what it shares with the others for NVIDIA GPUs.
#include "backends/cuda/toolchain.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/gpu/code_object.hpp"
#include "backends/gpu/runtime_compiler.hpp"
#include "backends/runtime_files.hpp"
#include "base/hash.hpp"
#include "core/build/artifact.hpp"
#include "core/build/compile_hint.hpp"
#include "core/build/keyed_files.hpp"
#include "core/build/keys.hpp"
#include "core/build/preamble.hpp"
#include "core/build/source_closure.hpp"
#include "core/device/launch.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::cuda {
namespace {

namespace fs = std::filesystem;

/// NVRTC's heap for precompiled headers, unless NVRTC_PCH_HEAP_SIZE sets it: no file is much larger.
constexpr std::uint64_t heap_bytes = std::uint64_t{256} << 20;

/// Compiles without a use after which a file may be removed to make another one.
constexpr std::uint64_t patience = 16;

std::uint64_t bytes_of(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed))
    if (entry.path().extension() == ".pch") bytes += entry.file_size(failed);
  return bytes;
}

// With debug information NVRTC 13.0 generates different code.
bool rules_them_out(const std::string& option) {
  const std::string name = option.substr(0, option.find('='));
  return (name.starts_with("-") && !name.starts_with("-I") && name.find("pch") != std::string::npos) || name == "-G" ||
         name == "--device-debug";
}

/// NVRTC's files are in a temporary directory that is removed with this object. NVRTC checks neither macros nor files
/// from -include, and header files only by their times. Therefore each file has its own directory, named by a hash over
/// everything that it depends on: the text of the opening and of the user's headers in it, the states of these files (a
/// file that was restored may have been parsed with other contents), definitions, options. Other processes cannot use
/// them (NVRTC documentation, "Precompiled Headers": they contain addresses of the library's heap). Thread-safe: while
/// one thread compiles with a file, the others compile without it.
class PrecompiledHeaders {
 public:
  /// available: whether this NVRTC supports them (12.8 and later).
  explicit PrecompiledHeaders(bool available) : available_(available) {}

  /// The input to compile instead of the plain source.
  struct Use {
    std::string source;
    std::vector<std::string> options;
    std::string key;
    std::unique_lock<std::mutex> turn;
  };
  /// nullopt if it would not pay or not work: the opening includes no CUDA headers, it is seen for the first time,
  /// options mention precompiled headers or request debug information, NVRTC made no file when requested, or there is
  /// no space.
  std::optional<Use> use(const build::CompileRequest& request, const build::SplitSource& split,
                         const std::vector<std::string>& options) noexcept {
    try {
      if (!available_ || !split.of_toolchain) return std::nullopt;
      if (std::any_of(options.begin(), options.end(), rules_them_out)) return std::nullopt;
      std::unique_lock turn(mutex_, std::try_to_lock);
      if (!turn) return std::nullopt;
      const std::string before = gpu::define_lines(split.before);
      std::vector<std::string> parsed = options;  // ptxas parses no headers
      std::erase_if(parsed, [](const std::string& option) { return option.starts_with("--ptxas-options="); });
      std::string key = base::sha256(build::canonical_list(
          {request.source_name, split.digest, split.states, before, build::canonical_list(parsed)}));
      Opening& opening = openings_[key];
      ++compiles_;
      // Making a file costs as much as one use saves, so a source that is compiled once gets none.
      if (!std::exchange(opening.seen, true) || opening.refused) return std::nullopt;
      if (!files_) files_.emplace();
      const fs::path folder = folder_of(key);
      if (bytes_of(folder) == 0) {
        if (!make_room()) return std::nullopt;
        opening.refused = std::exchange(opening.asked, true);
        if (opening.refused) return std::nullopt;
        fs::create_directory(folder);
        // Not before the opening, because it would shift its line numbers: a #line makes NVRTC refuse.
        if (!(std::ofstream(folder / "parameters.h", std::ios::binary) << before).flush()) return std::nullopt;
      }
      opening.last_use = compiles_;

      Use use{split.head + "#pragma nv_hdrstop\n" + gpu::define_lines(split.between) +
                  gpu::line_directive(split.tail_line, request.source_name) + split.tail,
              options, std::move(key), std::move(turn)};
      use.options.insert(use.options.end(),
                         {"--pch", "--pch-dir=" + folder.string(), "--pch-messages=false", "--pch-verbose=false",
                          "--pre-include=" + (folder / "parameters.h").string(),
                          // "PCH creation disabled because #line directive encountered", after the stop;
                          // "insufficient preallocated memory for generation of precompiled header file"
                          "--diag-suppress=20283,639"});
      return use;
    } catch (const std::exception&) {  // no disk space, no memory
      return std::nullopt;
    }
  }
  /// The plain source compiled although this did not.
  void give_up(const Use& use) noexcept {
    try {
      openings_[use.key].refused = true;
      std::error_code failed;
      fs::remove_all(folder_of(use.key), failed);
    } catch (const std::exception&) {  // the next attempt fails again
    }
  }

 private:
  struct Opening {
    std::uint64_t last_use = 0;
    bool seen = false, asked = false, refused = false;
  };
  fs::path folder_of(const std::string& key) const { return files_->path() / key.substr(0, 16); }
  bool make_room() {
    std::uint64_t held = 0;
    for (auto at = openings_.begin(); at != openings_.end();) {
      const std::uint64_t bytes = bytes_of(folder_of(at->first));
      // Files in recent use are kept: openings that replaced each other in turn would cost more than they save.
      if (bytes > 0 && compiles_ - at->second.last_use > patience) {
        fs::remove_all(folder_of(at->first));
        at = openings_.erase(at);
      } else {
        held += bytes;
        ++at;
      }
    }
    // Space for this worker and those of the other cores; the directory may be in memory.
    return held < heap_bytes &&
           fs::space(files_->path()).available >= 2 * heap_bytes * std::max(1u, std::thread::hardware_concurrency());
  }

  bool available_;
  std::mutex mutex_;
  std::optional<system::TemporaryDirectory> files_;
  std::map<std::string, Opening> openings_;
  std::uint64_t compiles_ = 0;
};

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

int threads_that_fit(int registers) {
  constexpr std::int64_t registers_per_block = 65536;  // every architecture from sm_70 on: known_devices.def
  int threads = 1024;
  while (threads > 32 && device::registers_of_block(threads, registers, 32) > registers_per_block) threads -= 32;
  return threads;
}

std::pair<int, int> release(const Nvrtc& nvrtc) {
  int major = 0, minor = 0;
  nvrtc.nvrtcVersion(&major, &minor);
  return {major, minor};
}

/// Debian has NVIDIA's headers beside the C library's, which NVRTC cannot read: xtune's come first.
constexpr const char* system_headers = "/usr/include";

constexpr std::initializer_list<build::HeaderSet> nvrtc_standins{build::HeaderSet::library, build::HeaderSet::types};

class NvrtcToolchain final : public build::HintedToolchain {
 public:
  NvrtcToolchain(const Nvrtc& nvrtc, Dialect dialect)
      : HintedToolchain(build::KernelCompiler::nvrtc, dialect.include_dirs),
        dialect_(std::move(dialect)),
        precompiled_(release(nvrtc) >= std::pair(12, 8)) {
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
    backend::write_portable_headers(portable_.path(), nvrtc_standins);
  }

  std::string fingerprint() override {
    return fmt::format("{} {}{}{}, parts {}, headers {}", dialect_.name, version_, build_.empty() ? "" : " ", build_,
                       build::digest_of(parts_), backend::digest_of(nvrtc_standins));
  }
  build::ToolFiles parts() override { return parts_; }
  std::string default_arch() override { return "sm_90"; }

 private:
  build::Artifact compile_kernel(const build::CompileRequest& request) override {
    require_arch(request.arch, supported_, dialect_.name + " " + version_);
    build::Artifact artifact;
    artifact.arch = request.arch;
    std::vector<std::string> symbols;
    try {
      gpu::CompiledProgram program = compile_source(request);
      symbols = std::move(program.entry_symbols);
      artifact.variables = std::move(program.variables);
      artifact.image = std::move(program.image);
      artifact.log = std::move(program.log);
      artifact.compile_s = program.seconds;
      artifact.files_read = absent_headers(request);
    } catch (build::CandidateFailure& failure) {
      explain(failure, request);
      failure.files_read = absent_headers(request);
      throw;
    }
    set_kernels(artifact, symbols);
    return artifact;
  }

  /// Where the toolkit may get headers that are read as empty now. Unset: the key is not to depend on it.
  std::optional<build::FilesRead> absent_headers(const build::CompileRequest& request) const {
    build::FilesRead read;
    for (const std::string& name : unread(request).missing)
      for (const std::string& folder : dialect_.include_dirs) read.absent.push_back(folder + "/" + name);
    const bool reads_others = request.files && !request.files->unknown.empty();
    return read.absent.empty() || reads_others ? std::nullopt : std::optional(std::move(read));
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

  /// What nvcc gives without an #include comes first, unless the source has something else of one of these names.
  /// Functions without a mark, or with __host__, are the device's if NVRTC refuses them otherwise: a kernel may call a
  /// constexpr one, any where all code is for the device, and a class that it uses may have them as members.
  gpu::CompiledProgram compile_source(const build::CompileRequest& request) {
    static const RE2 name("\\b(INFINITY|NAN|HUGE_VALF?|M_[A-Z0-9_]+)\\b");
    static const RE2 host_only("-default-device|explicitly marked as a __host__ function");
    std::vector<std::string> names{"--pre-include=" + own_file("xtune_names.h")}, marks;
    for (std::exception_ptr first;;) try {
        std::vector<std::string> more = names;
        more.insert(more.end(), marks.begin(), marks.end());
        return compile_with(request, more);
      } catch (const build::CandidateFailure& failure) {
        const std::string& log = failure.log();
        if (marks.empty() && RE2::PartialMatch(log, host_only)) {
          marks = {"--device-as-default-execution-space", "--pre-include=" + own_file("xtune_all_device.h")};
        } else if (!names.empty() &&
                   (log.find(portable_.path().string()) != std::string::npos || RE2::PartialMatch(log, name))) {
          names.clear();
          first = std::current_exception();
        } else if (first) {
          std::rethrow_exception(first);
        } else {
          throw;
        }
      }
  }

  gpu::CompiledProgram compile_with(const build::CompileRequest& request, const std::vector<std::string>& more) {
    const gpu::CompilerApi api = api_for(request.arch);
    std::vector<std::string> options = options_for(request);
    options.insert(options.begin(), more.begin(), more.end());
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
    const std::string_view error = build::first_error(log);
    return error.empty() ? log.find("ptxas") != std::string::npos : error.starts_with("ptxas");
  }

  std::string own_file(const char* name) const { return (portable_.path() / name).string(); }

  std::vector<std::string> options_for(const build::CompileRequest& request) const {
    std::vector<std::string> options{"--gpu-architecture=" + known_arch(request.arch)};
    if (!is_virtual(request.arch)) options.emplace_back("--ptxas-options=-v");
    // Results from NVRTC's own cache have no report of ptxas and no real compile time.
    if (has_cache_) options.emplace_back("--no-cache");
    for (const std::string& define : dialect_.defines) options.push_back("-D" + define);
    for (const std::string& folder : request.include_dirs) options.push_back("-I" + folder);
    const auto replaced = portable_.path() / "unread" / base::sha256(request.source_name).substr(0, 16);
    backend::write_unread_headers(replaced, unread(request));
    options.push_back("-I" + (replaced / "unusable").string());
    for (const std::string& folder : dialect_.include_dirs)
      if (folder != system_headers) options.push_back("-I" + folder);
    const auto own = dialect_.map_options ? dialect_.map_options(request.options) : request.options;
    options.insert(options.end(), own.begin(), own.end());
    options.push_back("-I" + portable_.path().string());
    for (const std::string& folder : dialect_.include_dirs)
      if (folder == system_headers) options.push_back("-I" + folder);
    options.push_back("-I" + (replaced / "missing").string());
    return options;
  }

  /// ptxas -v does not report the reason when it refuses too much static shared memory; the numbers are in its log.
  static void explain(build::CandidateFailure& failure, const build::CompileRequest& request) {
    if (failure.outcome() != Outcome::compile_failed || !build::first_error(failure.log()).empty()) return;
    constexpr std::int64_t static_limit = 48 * 1024;  // CUDA C++ Programming Guide: more needs dynamic shared memory
    const auto [used, symbol] = gpu::largest_static_shared(failure.log());
    if (used <= static_limit) return;
    // Symbols of C++ contain the name.
    const std::string name = request.entry.substr(0, request.entry.find('<'));
    const bool other = symbol.find(name.substr(name.rfind(':') + 1)) == std::string::npos;
    failure.set_message(fmt::format(
        "ptxas: {} bytes of static shared memory in the kernel '{}' exceed the {} that a kernel may declare; "
        "use dynamic shared memory ([launch] shared){}",
        used, symbol, static_limit, other ? ", or leave that kernel out: all kernels of the source are compiled" : ""));
  }

  Dialect dialect_;
  PrecompiledHeaders precompiled_;
  const system::TemporaryDirectory portable_;  // one for all compiles, as precompiled headers go by their options
  std::string version_, build_;
  build::ToolFiles parts_;
  bool has_cache_ = false;     ///< NVRTC 12.9 and later (NVRTC documentation, "Caching")
  bool own_features_ = false;  ///< CUDA 12.0 and later: sm_90a
  std::vector<int> supported_;
};

}  // namespace

bool is_virtual(const std::string& arch) noexcept { return arch.starts_with("compute_"); }

std::string real_arch(const std::string& arch) {
  return is_virtual(arch) ? "sm_" + arch.substr(std::string_view("compute_").size()) : arch;
}

void require_arch(const std::string& arch, const std::vector<int>& known, const std::string& compiler) {
  const std::string real = real_arch(arch);
  const int number = capability(real);
  if (number == 0)
    throw Error(ErrorKind::unsupported,
                fmt::format("'{}' is not an NVIDIA architecture, such as sm_90, sm_90a or sm_100f", real));
  if (!known.empty() && std::find(known.begin(), known.end(), number) == known.end())
    throw Error(ErrorKind::unsupported,
                fmt::format("{} cannot compile for {}; it knows sm_{}", compiler, real, fmt::join(known, ", sm_")));
}

void set_kernels(build::Artifact& artifact, const std::vector<std::string>& symbols) {
  artifact.format = is_virtual(artifact.arch) ? "ptx" : "cubin";
  std::vector<build::KernelEntry> entries;
  for (const std::string& symbol : symbols) {
    build::ResourceUsage usage;
    if (!is_virtual(artifact.arch)) {
      usage = gpu::parse_ptxas_log(artifact.log, symbol);
      usage.warp_size = 32;
      if (usage.registers) usage.max_threads_per_block = threads_that_fit(*usage.registers);
    }
    entries.push_back({symbol, usage});
  }
  build::set_entries(artifact, std::move(entries));
}

std::unique_ptr<build::Toolchain> make_toolchain(const Nvrtc& nvrtc, Dialect dialect) {
  return std::make_unique<NvrtcToolchain>(nvrtc, std::move(dialect));
}

}  // namespace xtune::cuda
