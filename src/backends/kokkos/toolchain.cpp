// Compile and link: two runs of Kokkos' compiler for each configuration, without CMake.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>

#include "backends/compiler/compile_step.hpp"
#include "backends/compiler/files_read.hpp"
#include "backends/compiler/identity.hpp"
#include "backends/cpu/cpu.hpp"
#include "backends/gpu/runtime_compiler.hpp"
#include "backends/kokkos/device.hpp"
#include "backends/kokkos/execution_space.hpp"
#include "backends/kokkos/unit_headers.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/build/preamble.hpp"
#include "core/build/source_closure.hpp"
#include "core/build/system_headers.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::kokkos {
namespace {

using compiler::append;
using Arguments = compiler::Words;

bool sets_headers(const std::pair<std::string, std::string>& define) { return build::sets_a_header(define.first); }

/// Kokkos is included before the parameters are defined, because a parameter named N must not affect its headers.
std::string unit_text(const build::CompileRequest& request, build::SplitSource split) {
  const auto others = std::stable_partition(split.before.begin(), split.before.end(), sets_headers);
  const build::SplitSource::Defines settings(split.before.begin(), others);
  split.before.erase(split.before.begin(), others);
  return gpu::define_lines(settings) + "#include <xtune/kokkos_entry.hpp>\n" + gpu::with_defines(request, split) +
         fmt::format(
             "\n#line 1 \"<entry>\"\n"
             "extern \"C\" __attribute__((visibility(\"default\"))) const XtuneKokkosUnit xtune_kokkos_unit;\n"
             "const XtuneKokkosUnit xtune_kokkos_unit = XtuneKokkosEntry<{}>::xtune_table;\n",
             request.entry);
}

class KokkosToolchain final : public build::Toolchain {
 public:
  KokkosToolchain() : kokkos_(find_installation()), space_(choose_space(kokkos_)), arch_(arch_of(kokkos_, space_)) {
    parts_.refresh();
  }

  std::string fingerprint() override {
    return fmt::format("Kokkos {} {}, {} ({}), parts {}, headers {}, runtime {}, link {}, flags {}", kokkos_.version,
                       space_.name, kokkos_.compiler_version, kokkos_.compiler, parts_.digest(), kokkos_.headers_digest,
                       runtime_digest(),
                       base::sha256(fmt::format("{}", fmt::join(kokkos_.flags.link, "\n"))).substr(0, 12),
                       fmt::join(kokkos_.flags.compile, " "));
  }
  bool lists_files() override { return !space_.is_gpu; }
  std::string default_arch() override { return arch_; }
  build::ToolFiles parts() override {
    build::ToolFiles parts = parts_.files();
    parts.files.add(kokkos_.files);
    return parts;
  }

  build::Artifact compile(const build::CompileRequest& request) override {
    if (request.sanitize)
      throw Error(ErrorKind::unsupported, "--sanitize works with --backend host: Kokkos itself is not instrumented");
    compiler::check_names(request);
    const Arguments flags = flags_for(request);
    const build::SplitSource split = build::split_source(request);
    if (!space_.is_gpu && std::none_of(split.before.begin(), split.before.end(), sets_headers))
      if (const auto header = precompiled_.find(kokkos_.compiler, kokkos_.compiler_is_clang, flags, fingerprint()))
        try {
          return build(request, split, flags, &*header);
        } catch (const build::CandidateFailure&) {  // the plain source decides
        }
    return build(request, split, flags, nullptr);
  }

 private:
  // The user's options come last: they may ask for another -O or -march.
  Arguments flags_for(const build::CompileRequest& request) const {
    Arguments flags;
    if (!space_.is_gpu) flags.push_back(cpu::arch_flag(request.arch.empty() ? arch_ : request.arch));
    if (space_.is_gpu && !request.arch.empty() && request.arch != arch_)
      throw Error(
          ErrorKind::invalid_argument,
          fmt::format("Kokkos {} ({}) was built for {}, and not for '{}': a Kokkos compiles for one architecture",
                      kokkos_.version, kokkos_.config, arch_, base::printable(request.arch, 80)));
    append(flags, kokkos_.flags.compile);
    flags.push_back("-DXTUNE_EXECUTION_SPACE=" + space_.type);
    // Unique symbols would be shared between units, and keep every one of them loaded forever.
    if (!space_.is_gpu && !kokkos_.compiler_is_clang) flags.push_back("-fno-gnu-unique");
    append(flags, request.options);
    return flags;
  }

  build::Artifact build(const build::CompileRequest& request, const build::SplitSource& split, const Arguments& flags,
                        const std::filesystem::path* header) {
    const system::TemporaryDirectory work;
    backend::write_scratch_file(work.path() / "unit.cpp", unit_text(request, split));
    Arguments command{kokkos_.compiler};
    if (header) {
      append(command, {"-include", header->string(), "-I" + header->parent_path().string()});
    } else {
      write_headers(work.path());
      command.push_back("-I" + work.path().string());
    }
    append(command, compiler::include_flags(request));
    append(command, flags);
    append(command, {"-c", "unit.cpp", "-o", "unit.o"});
    // nvcc's wrapper interprets these differently.
    if (!space_.is_gpu) append(command, {"-MD", "-MF", "read"});
    const system::CommandResult compiled = compiler::run_compiler(command, "", work.path());
    try {
      require(compiled, "", request);
    } catch (build::CandidateFailure& failure) {
      command.push_back("-E");  // GCC lists nothing when it fails
      if (!space_.is_gpu) static_cast<void>(compiler::run_compiler(command, "", work.path()));
      failure.files_read = files_read(request, flags, work.path(), header);
      throw;
    }

    command = {kokkos_.compiler, "-shared", "-o", "unit.so", "unit.o"};
    append(command, kokkos_.flags.link);
    if (!space_.is_gpu) append(command, {"-Wl,-z,defs", "-Wl,--as-needed"});
    const system::CommandResult linked = compiler::run_compiler(command, "", work.path());
    require(linked, compiled.stderr_text, request);

    build::Artifact artifact;
    artifact.arch = request.arch.empty() ? arch_ : request.arch;
    artifact.format = "so";
    artifact.entry_symbol = "xtune_kokkos_unit";
    artifact.image = system::read_file(work.path() / "unit.so");
    artifact.log = compiled.stderr_text + linked.stderr_text;
    artifact.compile_s = compiled.wall_s + linked.wall_s;
    artifact.files_read = files_read(request, flags, work.path(), header);
    return artifact;
  }

  /// The files that were read, without those of the compiler, Kokkos and xtune, which are in the fingerprint.
  std::optional<build::FilesRead> files_read(const build::CompileRequest& request, const Arguments& flags,
                                             const std::filesystem::path& work, const std::filesystem::path* header) {
    auto files = compiler::files_of_rule(work / "read", work);
    if (!files) return std::nullopt;
    std::call_once(once_, [this] { standard_folders_ = compiler::standard_folders(kokkos_.compiler); });
    std::vector<std::string> folders = standard_folders_;
    append(folders, build::include_options(kokkos_.flags.compile).folders);
    if (header) folders.push_back(header->parent_path().string());
    std::erase_if(*files, build::is_system_header_path);
    compiler::ListedFiles listed{compiler::files_outside(std::move(*files), folders), {}};
    Arguments options = compiler::include_flags(request);
    append(options, flags);
    return compiler::files_read(kokkos_.compiler, options, request, listed,
                                {folders, parts_.library_folders(), parts_.files()});
  }

  void require(const system::CommandResult& result, const std::string& earlier_log,
               const build::CompileRequest& request) const {
    try {
      compiler::require_compiled(result, earlier_log, request, kokkos_.compiler);
    } catch (const build::CandidateFailure& failure) {
      // An error in code that xtune adds is caused by the entry in the spec.
      if (failure.outcome() != Outcome::compile_failed || !std::string_view(failure.what()).starts_with("<entry>:"))
        throw;
      throw build::CandidateFailure(
          Outcome::compile_failed,
          base::printable(
              fmt::format("{} has no one function '{}' that takes pointers and numbers and returns nothing "
                          "(entry \"{}\"): {}",
                          request.source_name, build::unqualified_name(request.entry), request.entry, failure.what()),
              600),
          failure.log());
    }
  }

  const Installation kokkos_;
  const ExecutionSpace space_;
  const std::string arch_;
  compiler::CompilerParts parts_{kokkos_.compiler};
  std::once_flag once_;
  std::vector<std::string> standard_folders_;
  PrecompiledHeader precompiled_;
};

}  // namespace

std::unique_ptr<build::Toolchain> make_toolchain() { return std::make_unique<KokkosToolchain>(); }

}  // namespace xtune::kokkos
