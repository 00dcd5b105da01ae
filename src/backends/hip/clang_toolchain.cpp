// Compiling HIP C++ to an AMD code object with clang, as a process.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>

#include "backends/compiler/compile_step.hpp"
#include "backends/compiler/external_toolchain.hpp"
#include "backends/compiler/identity.hpp"
#include "backends/compiler/precompiled_header.hpp"
#include "backends/gpu/code_object.hpp"
#include "backends/hip/toolchain.hpp"
#include "backends/runtime_files.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/build/compiler_places.hpp"
#include "core/device/backend_facts.hpp"
#include "system/dynamic_library.hpp"
#include "system/files.hpp"
#include "system/shell_words.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::hip {
namespace {

/// Clang finds the C++ library by itself.
constexpr std::initializer_list<build::HeaderSet> clang_standins{build::HeaderSet::groups, build::HeaderSet::hip,
                                                                 build::HeaderSet::types};

namespace fs = std::filesystem;
using compiler::append;
using Arguments = compiler::Words;

/// "9402" of "gfx942": the last two digits are hexadecimal. 0 for another name.
int isa_version(const std::string& arch) {
  const std::string digits = arch.substr(3, arch.find(':') - std::min<std::size_t>(arch.find(':'), 3));
  int major = 0, minor = 0, step = 0;
  const char* const end = digits.data() + digits.size();
  if (digits.size() < 3) return 0;
  const bool read = std::from_chars(digits.data(), end - 2, major).ptr == end - 2 &&
                    std::from_chars(end - 2, end - 1, minor, 16).ptr == end - 1 &&
                    std::from_chars(end - 1, end, step, 16).ptr == end;
  return read ? major * 1000 + minor * 100 + step : 0;
}

/// What every kernel has without #include.
constexpr const char* standard_headers = "#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>\n";

/// Read after HIP's headers, which it corrects.
constexpr const char* wrapping_atomics = R"(
static inline __attribute__((device)) unsigned int xtune_atomic_inc(unsigned int* address, unsigned int limit) {
  return __builtin_amdgcn_atomic_inc32(address, limit, __ATOMIC_RELAXED, "agent");
}
static inline __attribute__((device)) unsigned int xtune_atomic_dec(unsigned int* address, unsigned int limit) {
  return __builtin_amdgcn_atomic_dec32(address, limit, __ATOMIC_RELAXED, "agent");
}
#define atomicInc xtune_atomic_inc
#define atomicDec xtune_atomic_dec
)";

/// HIP's vector types have operators as members, which CUDA's lack: a source's own ones for them are ambiguous.
bool is_between_operators(const system::CommandResult& result) {
  return !result.ok() && result.stderr_text.find("use of overloaded operator") != std::string::npos &&
         result.stderr_text.find("hip_vector_types.h") != std::string::npos;
}

/// Of equal functions, clang prefers one with a condition.
std::string preferred(const std::string& source) {
  return "#pragma clang attribute push(__attribute__((enable_if(true, \"\"))), apply_to = function)\n" + source +
         "\n#pragma clang attribute pop\n";
}

class ClangToolchain final : public compiler::ExternalToolchain {
 public:
  explicit ClangToolchain(const ClangInstallation& clang)
      : ExternalToolchain(build::KernelCompiler::hip_clang,
                          {fmt::format("clang {} ({}, {}, HIP {} headers)", clang.version, clang.description,
                                       clang.path, clang.hip_version),
                           clang.description + backend::digest_of(clang_standins), [clang] { return files_of(clang); }},
                          clang.path,
                          {"-x", "hip", "--cuda-device-only", "--offload-arch=gfx90a", "-nogpuinc", "-nogpulib"}),
        clang_(clang) {}

  std::string default_arch() override { return default_amd_arch; }
  std::vector<std::string> archs() override { return clang_.archs; }

 private:
  build::Artifact compile_kernel(const build::CompileRequest& request) override {
    const std::string identity = fingerprint();
    require_arch(request.arch, clang_.archs, device::compiler_name(identity));
    compiler::check_names(request);
    const system::TemporaryDirectory work;
    const Arguments own = backend::write_headers(work.path(), clang_standins, unread(request));
    const fs::path libraries = libraries_for(request.arch, work.path() / "libraries");
    const Arguments flags = flags_for(request, libraries);
    if (const auto header = precompiled(flags, request, identity)) try {
        return compile_with({"-Xclang", "-include-pch", "-Xclang", header->string()}, flags, own, request, work.path());
      } catch (const build::CandidateFailure&) {  // the plain headers decide
      }
    backend::write_scratch_file(work.path() / "hip.h", headers_text());
    return compile_with({"-include", (work.path() / "hip.h").string()}, flags, own, request, work.path());
  }

  // The user's options come last: they may ask for another -O or -std.
  Arguments flags_for(const build::CompileRequest& request, const fs::path& libraries) const {
    Arguments flags{"-x",
                    "hip",
                    "--cuda-device-only",
                    "--offload-arch=" + request.arch,
                    "-O3",
                    "-mcode-object-version=5",
                    "-fuse-cuid=none",
                    "--hip-path=" + clang_.hip_root.string(),
                    "--rocm-device-lib-path=" + libraries.string(),
                    "-Wno-unused-command-line-argument"};
    append(flags, compiler::include_flags(request));
    append(flags, request.options);
    return flags;
  }

  std::string headers_text() const {
    return std::string(standard_headers) + (clang_.needs_wrapping_atomics ? wrapping_atomics : "");
  }

  /// HIP's headers for these flags. nullopt: compile without it.
  std::optional<fs::path> precompiled(const Arguments& flags, const build::CompileRequest& request,
                                      const std::string& identity) {
    std::string text = identity + '\n' + request.arch;
    for (const Arguments& words : {compiler::include_flags(request), request.options})
      for (const std::string& word : words) text += '\n' + word;
    return precompiled_.find(text, "hip.pch", [&](const fs::path& file) {
      const fs::path folder = file.parent_path();
      backend::write_scratch_file(folder / "hip.h", headers_text());
      Arguments command{clang_.path};
      append(command, flags);
      append(command, {"-fsyntax-only", "-Xclang", "-emit-pch", "-Xclang", "-o", "-Xclang", file.string(),
                       (folder / "hip.h").string()});
      std::error_code failed;
      return compiler::run_compiler(command, "", folder).ok() && fs::exists(file, failed);
    });
  }

  /// headers: the options that include HIP's headers; own: those by which xtune's are searched.
  build::Artifact compile_with(const Arguments& headers, const Arguments& flags, const Arguments& own,
                               const build::CompileRequest& request, const fs::path& work) {
    Arguments command{clang_.path};
    append(command, flags);
    append(command, headers);
    append(command, {"-include", (work / "portable" / "xtune_hip.h").string(), "--no-gpu-bundle-output",
                     "-ffile-prefix-map=" + work.string() + "=."});
    append(command, own);
    append(command, compiler::listing_options());
    append(command, {"-o", "kernel.hsaco", "-"});
    const std::string source = source_text(request) + compiler::pointers_text(compiler::names_of(request));
    system::CommandResult compiled = compiler::run_compiler(command, source, work);
    if (is_between_operators(compiled))
      if (auto again = compiler::run_compiler(command, preferred(source), work); again.ok()) compiled = again;
    const auto read = assembly_reads_files(request) ? std::nullopt : files_listed(request, flags, work, headers.back());
    return compiler::with_files_read(read, [&] { return artifact_of(compiled, request, work); });
  }

  build::Artifact artifact_of(const system::CommandResult& compiled, const build::CompileRequest& request,
                              const fs::path& work) const {
    require(compiled, request, work);
    build::Artifact artifact;
    artifact.arch = request.arch;
    const std::string image = system::read_file(work / "kernel.hsaco");
    artifact.image = std::string(gpu::unbundle(image, request.arch));
    artifact.log = compiled.stderr_text;
    artifact.compile_s = compiled.wall_s;
    set_names(artifact, request);
    return artifact;
  }

  void require(const system::CommandResult& result, const build::CompileRequest& request, const fs::path& work) const {
    try {
      compiler::require_named(result, request, clang_.path);
    } catch (const build::CandidateFailure& failure) {
      const std::string_view error = failure.what();
      // A bitcode file of a newer LLVM, or no device library for the architecture.
      if (error.find((work / "libraries").string()) == error.npos &&
          error.find(clang_.device_libraries.string()) == error.npos &&
          error.find("cannot find ROCm device library") == error.npos)
        throw;
      throw Error(ErrorKind::unavailable,
                  fmt::format("clang {} cannot use the device libraries in {} for {}: {}. Name others in "
                              "HIP_DEVICE_LIB_PATH, or another clang in XTUNE_HIP_CXX",
                              clang_.version, clang_.device_libraries.string(), request.arch,
                              base::printable(std::string(error), 300)));
    }
  }

  /// The directory of the device libraries. Where they are older than the architecture, one in `work` with links to
  /// them and the constant that they lack.
  fs::path libraries_for(const std::string& arch, const fs::path& work) {
    const std::string base = arch.substr(0, arch.find(':'));
    const std::string name = "oclc_isa_version_" + base.substr(3) + ".bc";
    std::error_code failed;
    if (fs::exists(clang_.device_libraries / name, failed) || isa_version(base) == 0) return clang_.device_libraries;
    fs::create_directories(work, failed);
    for (const auto& file : fs::directory_iterator(clang_.device_libraries, failed))
      fs::create_symlink(file.path(), work / file.path().filename(), failed);
    backend::write_scratch_file(work / name, isa_bitcode(base));
    return work;
  }

  std::string isa_bitcode(const std::string& arch) {
    const std::lock_guard lock(isa_mutex_);
    std::string& bitcode = isa_bitcode_[arch];
    if (!bitcode.empty()) return bitcode;
    const system::TemporaryDirectory work;
    const std::string text = fmt::format(
        "target triple = \"amdgcn-amd-amdhsa\"\n"
        "@__oclc_ISA_version = linkonce_odr protected local_unnamed_addr addrspace(4) constant i32 {}, align 4\n",
        isa_version(arch));
    const system::CommandResult made = compiler::run_compiler(
        {clang_.path, "-x", "ir", "--target=amdgcn-amd-amdhsa", "-nogpulib", "-c", "-emit-llvm", "-o", "isa.bc", "-"},
        text, work.path());
    if (!made.ok())
      throw Error(ErrorKind::unavailable,
                  fmt::format("{} cannot make the constant for {} that the device libraries lack: {}", clang_.path,
                              arch, base::printable(made.stderr_text, 300)));
    return bitcode = system::read_file(work.path() / "isa.bc");
  }

  /// header: the file with HIP's headers.
  std::optional<build::FilesRead> files_listed(const build::CompileRequest& request, const Arguments& flags,
                                               const fs::path& work, const fs::path& header) {
    compiler::OwnFiles own{rocm_folders(clang_.hip_root), rocm_folders(clang_.hip_root), {}};
    append(own.header_folders, {clang_.headers().string(), header.parent_path().string()});
    own.library_folders.push_back(clang_.device_libraries.string());
    return files_read(request, flags, work, std::move(own));
  }

  const ClangInstallation clang_;
  std::mutex isa_mutex_;  ///< guards the next member
  std::map<std::string, std::string> isa_bitcode_;
  compiler::PrecompiledHeader precompiled_;
};

}  // namespace

std::unique_ptr<build::Toolchain> make_clang_toolchain() { return std::make_unique<ClangToolchain>(find_clang()); }

namespace {

namespace fs = std::filesystem;

constexpr int oldest_version = 17;

/// Fills path, version and archs. The reason why this compiler cannot be used, or empty.
std::string examine(const std::string& compiler, ClangInstallation& clang) {
  try {
    clang.description = compiler::identify_compiler(compiler).version;
  } catch (const Error& error) {
    return error.what();
  }
  const auto [major, version] = clang_version(clang.description);
  if (major == 0) return fmt::format("{} is not clang: {}", compiler, clang.description);
  if (major < oldest_version)
    return fmt::format("{} is clang {}; needed is {} or newer", compiler, version, oldest_version);
  clang.archs = amd_archs_of(compiler);
  if (clang.archs.empty()) return fmt::format("{} was built without the AMDGPU target", compiler);
  // For a missing program clang prints the bare name.
  if (base::first_line(compiler::ask_compiler(compiler, {{"-print-prog-name=lld"}}).stdout_text).find('/') ==
      std::string::npos)
    return fmt::format("{} finds no lld: install it (Debian: lld-{})", compiler, major);
  clang.path = compiler;
  clang.version = version;
  return {};
}

/// "5.2.21153", from hip_version.h.
std::string version_of_headers(const fs::path& headers) {
  std::istringstream text(system::read_if_there(headers / "hip_version.h", 1 << 16));
  std::string version;
  for (const char* part : {"MAJOR", "MINOR", "PATCH"}) {
    const std::string start = fmt::format("#define HIP_VERSION_{} ", part);
    std::string line;
    while (std::getline(text, line))
      if (line.starts_with(start)) break;
    if (!line.starts_with(start)) return "unknown";
    version += (version.empty() ? "" : ".") + line.substr(start.size());
  }
  return base::printable(version, 40);
}

/// The directory of ocml.bc among the files that the compiler links on its own; empty: it finds none.
fs::path own_device_libraries(const std::string& compiler) {
  std::vector<std::string> question{"-###", "-x", "hip", "--cuda-device-only", "--offload-arch=gfx90a", "-nogpuinc"};
  if (const char* root = std::getenv("ROCM_PATH"); root && *root)
    question.push_back(fmt::format("--rocm-path={}", root));
  question.insert(question.end(), {"/dev/null", "-o", "/dev/null"});
  const system::CommandResult plan = compiler::ask_compiler(compiler, {question});
  if (!plan.ok()) return {};
  std::istringstream lines(plan.stderr_text);
  for (std::string line; std::getline(lines, line);)
    for (const std::string& word : system::shell_words(line))
      if (fs::path(word).filename() == "ocml.bc") return fs::path(word).parent_path();
  return {};
}

void find_device_libraries(ClangInstallation& clang, const fs::path& system) {
  std::vector<fs::path> folders{own_device_libraries(clang.path)};
  const fs::path resources =
      base::first_line(compiler::ask_compiler(clang.path, {{"-print-resource-dir"}}).stdout_text);
  const std::vector<fs::path> others = build::device_library_folders(clang.path, resources, system);
  folders.insert(folders.end(), others.begin(), others.end());
  clang.device_libraries = build::folder_with("AMD's device libraries", folders, {"ocml.bc", "ockl.bc"});
  if (!clang.device_libraries.empty()) return;
  throw system::NotInstalled(fmt::format(
      "{} compiles for AMD GPUs, but AMD's device libraries (ocml.bc, ockl.bc) were not found: install them "
      "(Debian, ROCm: rocm-device-libs), or name their directory in HIP_DEVICE_LIB_PATH, or ROCm's in ROCM_PATH",
      clang.path));
}

void find_headers(ClangInstallation& clang, const fs::path& system) {
  clang.hip_root =
      build::folder_with("HIP's headers", build::hip_roots(clang.path, system), {"include/hip/hip_runtime.h"});
  if (clang.hip_root.empty())
    throw system::NotInstalled(
        fmt::format("{} compiles for AMD GPUs, but HIP's headers (hip/hip_runtime.h) were not found: install them "
                    "(Debian: libamdhip64-dev; ROCm: hip-dev), or name the directory above their include in HIP_PATH",
                    clang.path));
  clang.hip_version = version_of_headers(clang.headers());
  // HIP 5.2; LLVM 17 has no such intrinsics.
  clang.needs_wrapping_atomics =
      system::read_if_there(clang.headers() / "amd_detail/amd_hip_atomic.h", 1 << 20).find("llvm.amdgcn.atomic.inc") !=
      std::string::npos;
}

void add_files_below(const fs::path& folder, const std::string& ending, build::ToolFiles& to) {
  std::error_code failed;
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder, failed))
    if (entry.is_regular_file(failed) && entry.path().string().ends_with(ending) &&
        entry.path().parent_path().filename() != "nvidia_detail")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) build::add_tool_file(file, to);
}

}  // namespace

std::pair<int, std::string> clang_version(const std::string& first_line) {
  constexpr std::string_view words = "clang version ";
  const std::size_t at = first_line.find(words);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + words.size();
  const std::string version = first_line.substr(begin, first_line.find_first_not_of("0123456789.", begin) - begin);
  int major = 0;
  std::from_chars(version.data(), version.data() + version.size(), major);
  return {major, major == 0 ? "" : version};
}

std::vector<std::string> amd_archs_of(const std::string& compiler) {
  const system::CommandResult listed =
      compiler::ask_compiler(compiler, {{"--target=amdgcn-amd-amdhsa", "-nogpulib", "-print-supported-cpus"}});
  std::vector<std::string> archs;
  std::istringstream words(listed.stdout_text + listed.stderr_text);
  for (std::string word; words >> word;)
    if (listed.ok() && word.starts_with("gfx") && word.find("generic") == std::string::npos) archs.push_back(word);
  return archs;
}

ClangInstallation find_clang(const fs::path& system) {
  std::string reasons;
  for (const std::string& compiler : build::hip_compilers(system)) {
    ClangInstallation clang;
    const std::string reason = examine(compiler, clang);
    if (reason.empty()) {
      find_headers(clang, system);
      find_device_libraries(clang, system);
      return clang;
    }
    reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  if (const char* wanted = std::getenv("XTUNE_HIP_CXX"); wanted && *wanted)
    throw system::NotInstalled(fmt::format(
        "XTUNE_HIP_CXX names '{}', {}: give the path of clang++ {} or newer, or unset it", base::printable(wanted, 200),
        reasons.empty() ? "which is not a program here" : "which cannot be used (" + reasons + ")", oldest_version));
  throw system::NotInstalled(
      fmt::format("no clang {} or newer for AMD GPUs was found: install one (Debian: clang-19 and lld-19; ROCm: "
                  "rocm-llvm), or name it in XTUNE_HIP_CXX{}",
                  oldest_version, reasons.empty() ? "" : " (" + reasons + ")"));
}

build::ToolFiles files_of(const ClangInstallation& clang) {
  build::ToolFiles files;
  add_files_below(clang.headers(), ".h", files);
  add_files_below(clang.device_libraries, ".bc", files);
  return files;
}

}  // namespace xtune::hip
