// Preprocess, rewrite, compile: two runs of the system's compiler for each configuration.
#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backends/compiler/compile_step.hpp"
#include "backends/compiler/files_read.hpp"
#include "backends/compiler/identity.hpp"
#include "backends/compiler/precompiled_header.hpp"
#include "backends/cpu/cpu.hpp"
#include "backends/gpu/code_object.hpp"
#include "backends/gpu/runtime_compiler.hpp"
#include "backends/host/backend.hpp"
#include "backends/host/block/kernel_library.hpp"
#include "backends/host/rewrite.hpp"
#include "backends/runtime_files.hpp"
#include "base/text.hpp"
#include "core/build/compile_hint.hpp"
#include "core/build/include_scan.hpp"
#include "core/build/named_files.hpp"
#include "core/build/portable_headers.hpp"
#include "core/build/system_headers.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::host {

/// Generated at configure time from runtime/host/*.h.
extern const backend::RuntimeFile runtime_files[];
extern const int runtime_file_count;

namespace {

// Vendor headers whose contents every host kernel has anyway.
constexpr const char* provided[] = {"cuda.h",
                                    "driver_types.h",
                                    "hip/hip_runtime_api.h",
                                    "cuda_runtime.h",
                                    "cuda_runtime_api.h",
                                    "cuda_fp16.h",
                                    "cuda_bf16.h",
                                    "vector_types.h",
                                    "vector_functions.h",
                                    "device_launch_parameters.h",
                                    "hip/hip_runtime.h",
                                    "hip/hip_fp16.h",
                                    "hip/hip_bfloat16.h",
                                    "hip/hip_bf16.h",
                                    "hip/hip_vector_types.h"};

constexpr std::initializer_list<build::HeaderSet> host_standins{build::HeaderSet::groups, build::HeaderSet::types};

/// Writes the runtime's headers, and an empty cuda_fp16.h, hip/hip_runtime.h and similar, so that a kernel may include
/// those. Throws Error(io).
void write_runtime_files(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directory(folder / "hip", failed);
  for (int i = 0; i < runtime_file_count; ++i)
    backend::write_scratch_file(folder / runtime_files[i].name, runtime_files[i].text);
  for (const char* name : provided) backend::write_scratch_file(folder / name, "#pragma once\n");
  backend::write_scratch_file(folder / "hip/hip_fp8.h", "#pragma once\n#include \"../hip_fp8.h\"\n");
}

/// 12 hex digits that change with the contents of a file, or of a portable header.
std::string runtime_digest() {
  // Some of them include portable headers.
  std::vector<backend::RuntimeFile> files(runtime_files, runtime_files + runtime_file_count);
  for (const build::PortableHeader& header : build::portable_headers()) files.push_back({header.name, header.text});
  return backend::digest_of(files) + backend::digest_of(host_standins);
}

using compiler::append;
using Arguments = compiler::Words;

/// Whether inline assembly may have an .incbin or .include, possibly spread over several literals.
bool names_files_in_assembly(const std::string& text) {
  const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
  if (!has("asm") || !(has(".i") || has(".I") || has(".\""))) return false;
  const build::SourceScan scan = build::scan_source(text);
  return !scan.mentioned.empty() || !scan.unknown.empty();
}

bool is_thin_archive(const std::string& path) {
  std::string first;
  std::getline(std::ifstream(path, std::ios::binary), first);
  return first == "!<thin>";
}

bool is_runtime_variable(std::string_view name) {
  for (const char* own : {"threadIdx", "blockIdx", "blockDim", "gridDim", "xtune_dynamic_shared_memory", "xtune_blocks",
                          "xtune_copies_of"})
    if (name.find(own) != std::string::npos) return true;
  return false;
}

std::string kernel_symbol(std::size_t number) {
  return number == 0 ? "xtune_kernel" : fmt::format("xtune_kernel_{}", number);
}
std::string variable_symbol(std::size_t number) { return fmt::format("xtune_variable_{}", number); }

/// Line-marked, so that a message about one names it.
std::string variables_text(const build::CompileRequest& request) {
  std::string text;
  for (std::size_t i = 0; i < request.variables.size(); ++i)
    text += fmt::format(
        "# 1 \"<constant>\"\n"
        "extern \"C\" __attribute__((visibility(\"default\"))) const XtuneVariable {0};\n"
        "const XtuneVariable {0} = xtune_variable(&{1});\n",
        variable_symbol(i), request.variables[i]);
  return text;
}

/// Line-marked, so that a message about one names the entry. racing: the library that a sanitized kernel brings along;
/// empty: none.
std::string entry_text(const build::CompileRequest& request, const Rewritten& kernel, const std::string& racing) {
  const std::string marker = std::string(XTUNE_HOST_MARKER) + (request.sanitize ? "1" : "0");
  std::string text = "\n# 1 \"<entry>\"\n";
  if (!racing.empty())
    text += fmt::format(
        "__asm__(\".pushsection .rodata\\nxtune_racing_begin: .incbin \\\"{}\\\"\\nxtune_racing_end: .byte "
        "0\\n.popsection\");\n"
        "extern \"C\" __attribute__((visibility(\"hidden\"))) const unsigned char xtune_racing_begin[], "
        "xtune_racing_end[];\n",
        racing);
  const std::vector<std::string> entries = build::entries_of(request);
  for (std::size_t i = 0; i < entries.size(); ++i)
    text += fmt::format(
        "# 1 \"<entry>\"\n"
        "using XtuneEntry{4} = decltype(xtune_arguments_of(&{0}))::Runner<&{0}, {2}>;\n"
        "extern \"C\" __attribute__((visibility(\"default\"))) const XtuneKernel {5};\n"
        "const XtuneKernel {5} = XtuneEntry{4}::describe(\"{1}\", {6}{3});\n",
        entries[i], marker, kernel.uses_fibers, racing.empty() ? "" : ", xtune_racing_begin, xtune_racing_end", i,
        kernel_symbol(i), kernel.uses_hopper);
  return text;
}

/// With these, clang's preprocessor replaces macros in pragmas, too: `#pragma unroll UNROLL`.
constexpr const char* macros_in_pragmas = "-fms-extensions";

constexpr const char* unaligned_moves = "-Wa,-muse-unaligned-vector-move";

/// Stores of these sizes have a function of AddressSanitizer's, which is called between the reads of `x += 1` and its
/// store where reads are not checked.
constexpr int store_bytes[] = {1, 2, 4, 8, 16};

/// Functions that let other threads of the block run, one time in 32, before a store.
std::string racing_text() {
  std::string text =
      "\n# 1 \"<entry>\"\n"
      "static __thread unsigned xtune_dice = 1;\n"
      "static __attribute__((no_sanitize(\"address\", \"undefined\"))) void xtune_switch_sometimes() {\n"
      "  xtune_dice = xtune_dice * 1664525u + 1013904223u;\n"
      "  if (xtune_dice >> 27 != 0 || !xtune_services) return;\n"
      "  const auto self = threadIdx;\n"
      "  __asm__ __volatile__(\"\" ::: \"memory\");\n"
      "  xtune_services->yield();\n"
      "  __asm__ __volatile__(\"\" ::: \"memory\");\n"
      "  threadIdx = self;\n"
      "}\n";
  for (const int bytes : store_bytes)
    text += fmt::format(
        "extern \"C\" void __real___asan_store{0}(unsigned long);\n"
        "extern \"C\" __attribute__((no_sanitize(\"address\", \"undefined\"))) void __wrap___asan_store{0}(unsigned "
        "long at) "
        "{{ xtune_switch_sometimes(); __real___asan_store{0}(at); }}\n",
        bytes);
  return text;
}

std::vector<std::string> racing_options() {
  std::vector<std::string> options{"--param=asan-instrument-reads=0",
                                   "--param=asan-instrumentation-with-call-threshold=0"};
  for (const int bytes : store_bytes) options.push_back(fmt::format("-Wl,--wrap=__asan_store{}", bytes));
  return options;
}

/// Throws where the preprocessed source does not mention the entry or a variable.
void require_names(const build::CompileRequest& request, const system::CommandResult& preprocessed) {
  std::string message;
  for (const std::string& entry : build::entries_of(request))
    if (const std::string name = build::unqualified_name(entry);
        message.empty() && !mentions(preprocessed.stdout_text, name))
      message = fmt::format("{} has no function '{}' (entry \"{}\")", request.source_name, name, entry);
  for (const std::string& variable : request.variables)
    if (const std::string name = build::unqualified_name(variable);
        message.empty() && !mentions(preprocessed.stdout_text, name))
      message =
          fmt::format("{} has no variable '{}', which a constant of the spec fills", request.source_name, variable);
  if (!message.empty())
    throw build::CandidateFailure(Outcome::compile_failed, base::printable(message),
                                  preprocessed.stderr_text + message + "\n");
}

class HostToolchain final : public build::HintedToolchain {
 public:
  HostToolchain()
      : HintedToolchain(build::KernelCompiler::host, build::shared_header_folders()), path_(cpu::find_compiler()) {}

  std::string fingerprint() override {
    const compiler::Compiler c = compiler();
    Arguments options = own_options(c, cpu::own_arch());
    if (c.is_clang) options.emplace_back(macros_in_pragmas);
    return identity(c, options);
  }
  build::ToolFiles parts() override {
    compiler();
    const std::lock_guard lock(mutex_);
    return parts_.files();
  }
  bool lists_files() override { return true; }
  std::string default_arch() override { return cpu::own_arch(); }

 private:
  /// c: as compiler() has just returned it.
  std::string identity(const compiler::Compiler& c, const Arguments& options) {
    const std::lock_guard lock(mutex_);
    return fmt::format("{} ({}), parts {}, runtime {}, options {}", c.version, c.path, parts_.digest(), runtime_,
                       fmt::join(options, " "));
  }

  build::Artifact compile_kernel(const build::CompileRequest& request) override {
    const compiler::Compiler c = compiler();
    const Arguments flags = base_flags(request, c);
    compiler::check_names(request);
    if (const auto headers = precompiled(request, c, flags)) try {
        return compile_with(*headers, request, c, flags);
      } catch (const build::CandidateFailure&) {  // the plain headers decide
      }
    const system::TemporaryDirectory headers;
    write_runtime_files(headers.path());
    return compile_with(headers.path(), request, c, flags);
  }

  /// The directory of the runtime's headers, parsed with these flags. nullopt: compile without it. Clang does not keep
  /// the place of a precompiled header in a preprocessed text.
  std::optional<std::filesystem::path> precompiled(const build::CompileRequest& request, const compiler::Compiler& c,
                                                   const Arguments& flags) {
    if (c.is_clang) return std::nullopt;
    const Arguments words = preprocessing(request, flags);
    const auto header = precompiled_.find(
        fmt::format("{}\n{}", identity(c, {}), fmt::join(words, "\n")), "xtune_host.h.gch",
        [&](const std::filesystem::path& file) {
          const std::filesystem::path folder = file.parent_path();
          write_runtime_files(folder);
          Arguments command{c.path, "-c", "-x", "c++-header", "-I" + folder.string()};
          append(command, words);
          append(command, backend::write_headers(folder, host_standins, {}));
          append(command, {"-MD", "-MF", (folder / "read").string(), "-o", file.string(), folder / "xtune_host.h"});
          // It does not list these files later.
          return compiler::run_compiler(command, "", folder).ok() &&
                 users(compiler::files_of_rule(folder / "read", folder).value_or(Arguments{"unknown"})).empty();
        });
    return header ? std::optional(header->parent_path()) : std::nullopt;
  }

  /// GCC takes a precompiled header only where all of these are the same.
  static Arguments preprocessing(const build::CompileRequest& request, const Arguments& flags) {
    Arguments words = compiler::include_flags(request);
    append(words, flags);
    words.emplace_back("-fPIC");
    return words;
  }

  build::Artifact compile_with(const std::filesystem::path& headers, const build::CompileRequest& request,
                               const compiler::Compiler& c, const Arguments& flags) {
    const system::TemporaryDirectory work;
    Arguments preprocess = {c.path, "-E", "-x", "c++", "-include", headers / "xtune_host.h", "-I" + headers.string()};
    preprocess.emplace_back(c.is_clang ? macros_in_pragmas : "-fpch-preprocess");
    append(preprocess, preprocessing(request, flags));
    append(preprocess, backend::write_headers(work.path(), host_standins, unread(request)));  // behind the user's
    append(preprocess, {"-MD", "-MF", (work.path() / "read").string(), "-"});
    // Definitions come after the runtime headers: a parameter named T must not affect those.
    const system::CommandResult text = compiler::run_compiler(preprocess, gpu::with_defines(request), work.path());
    compiler::ListedFiles listed;
    try {
      // A compiler that fails writes no list.
      listed.headers = headers_of(text.ok() ? compiler::files_of_rule(work.path() / "read", work.path()) : std::nullopt,
                                  text.stdout_text, work.path());
      listed.headers = compiler::files_outside(std::move(listed.headers), {headers.string()});
      compiler::require_compiled(text, "", request, c.path);
      require_names(request, text);
      return compile_preprocessed(request, c, flags, text, work.path(), listed);
    } catch (build::CandidateFailure& failure) {
      failure.files_read = read_of(request, c, flags, listed);
      throw;
    }
  }

  /// Adds to `listed` what the assembler and the linker read.
  build::Artifact compile_preprocessed(const build::CompileRequest& request, const compiler::Compiler& c,
                                       const Arguments& flags, const system::CommandResult& text,
                                       const std::filesystem::path& work, compiler::ListedFiles& listed) {
    Rewritten kernel = rewrite(text.stdout_text, {request.sanitize, !c.is_clang});

    const std::string output = (work / "kernel.so").string();
    Arguments build = {c.path, "-x", "c++-cpp-output", "-o", output, "-shared", "-fPIC"};
    build.push_back("-ffile-prefix-map=" + work.string() + "=.");
    append(build, flags);
    const bool assembler_reads = names_files_in_assembly(text.stdout_text);
    // -Wa, and -Wl, would split a path at its commas.
    if (assembler_reads && !c.is_clang)
      append(build, {"-Xassembler", "--MD", "-Xassembler", (work / "assembled").string()});
    std::string racing;
    if (request.sanitize && !c.is_clang) racing = make_racing_library(build, request, kernel, work);
    std::string source = kernel.text + entry_text(request, kernel, racing) + variables_text(request);
    system::CommandResult assembled;
    if (!request.more_entries.empty() && !request.sanitize && !assembler_reads) {
      assembled = compiler::run_compiler(object_command(build, work), source, work);
      if (assembled.ok()) {  // else the next command explains it
        build.insert(build.begin() + 1, object_file(work));
        source.clear();
      }
    }
    const system::CommandResult built = link(build, source, work);
    bool lists_all = true;
    if (assembler_reads) {
      // Clang's integrated assembler does not list the files that it read.
      const auto more = compiler::files_of_rule(work / "assembled", work);
      lists_all = more.has_value();
      if (more) append(listed.headers, users(*more));
    }
    if (const auto linked = compiler::files_of_link(work / "linked", work))
      listed.linked = *linked;
    else if (build::may_use_threads(request.options))  // an option may name a library
      lists_all = false;
    // Linkers do not list the files of a thin archive.
    lists_all = lists_all && std::none_of(listed.linked.begin(), listed.linked.end(), is_thin_archive);
    compiler::require_compiled(built, text.stderr_text, request, c.path);

    build::Artifact artifact;
    artifact.arch = request.arch;
    artifact.format = "so";
    for (std::size_t i = 0; i < request.variables.size(); ++i) artifact.variables.push_back(variable_symbol(i));
    artifact.image = system::read_file(output);
    artifact.log = text.stderr_text + assembled.stderr_text + built.stderr_text;
    artifact.compile_s = text.wall_s + assembled.wall_s + built.wall_s;
    if (lists_all) artifact.files_read = read_of(request, c, flags, listed);
    build::ResourceUsage usage;
    usage.warp_size = 32;
    if (!request.sanitize) usage.static_shared_bytes = thread_local_bytes(artifact.image);
    std::vector<build::KernelEntry> entries;
    for (std::size_t i = 0; i <= request.more_entries.size(); ++i) {
      entries.push_back({kernel_symbol(i), usage});
      if (source.empty() && usage.static_shared_bytes.value_or(0) > 0)
        entries.back().usage.static_shared_bytes = shared_bytes_of(entries.back().symbol, build, work);
    }
    build::set_entries(artifact, std::move(entries));
    return artifact;
  }

  static std::string object_file(const std::filesystem::path& work) { return (work / "kernel.o").string(); }

  /// Of the command that makes the library: the one that makes its object file. Zig's clang would apply the linker's
  /// --gc-sections to the object file, and leave nothing in it.
  static Arguments object_command(Arguments command, const std::filesystem::path& work) {
    std::erase_if(command, [](const std::string& word) { return word.starts_with("-Wl,"); });
    *std::find(command.begin(), command.end(), "-shared") = "-c";
    *std::next(std::find(command.begin(), command.end(), "-o")) = object_file(work);
    command.emplace_back("-");
    return command;
  }

  /// The image does not show which kernels use a variable, but the linker knows: it drops the others, and what only
  /// they use. link: the command that links the object file.
  static std::optional<std::int64_t> shared_bytes_of(const std::string& kernel, Arguments link,
                                                     const std::filesystem::path& work) {
    const std::string image = (work / "one.so").string(), script = (work / "one.map").string();
    std::ofstream(script) << "{ global: " << kernel << "; local: *; };\n";
    *std::next(std::find(link.begin(), link.end(), "-o")) = image;
    append(link, {"-Xlinker", "--version-script=" + script, "-"});
    const bool linked = compiler::run_compiler(link, "", work).ok();
    return linked ? thread_local_bytes(system::read_file(image)) : std::nullopt;
  }

  /// Without the compiler's own.
  Arguments users(Arguments files) {
    files = compiler::files_outside(std::move(files), own_folders());
    std::erase_if(files, build::is_system_header_path);
    return files;
  }

  Arguments headers_of(const std::optional<Arguments>& listed, const std::string& preprocessed,
                       const std::filesystem::path& work) {
    return users(listed ? *listed : compiler::files_in_markers(preprocessed, work.string()));
  }

  std::optional<build::FilesRead> read_of(const build::CompileRequest& request, const compiler::Compiler& c,
                                          const Arguments& flags, const compiler::ListedFiles& listed) {
    Arguments options{"-shared", "-fPIC"};
    append(options, compiler::include_flags(request));
    append(options, flags);
    return compiler::files_read(c.path, options, request, listed, {own_folders(), library_folders(), parts()});
  }

  /// Identified again if one of its files changed, and each time for a script.
  compiler::Compiler compiler() {
    const std::lock_guard lock(mutex_);
    const bool changed = parts_.refresh();
    if (changed || parts_.files().may_start_others) {
      compiler::Compiler now = compiler::identify_compiler(path_);
      if (changed || now.version != compiler_.version) {
        own_folders_.clear();
        moves_unaligned_.reset();
      }
      compiler_ = std::move(now);
    }
    return compiler_;
  }

  /// Its path; empty where it cannot be made, which the plain kernel's build explains.
  std::string make_racing_library(Arguments command, const build::CompileRequest& request, Rewritten kernel,
                                  const std::filesystem::path& work) {
    const std::string path = (work / "racing.so").string();
    *std::next(std::find(command.begin(), command.end(), "-o")) = path;
    append(command, racing_options());
    kernel.uses_fibers = true;
    const std::string source = kernel.text + racing_text() + entry_text(request, kernel, "") + variables_text(request);
    return link(command, source, work).ok() ? path : "";
  }

  /// Lists the files that the linker reads, if it supports that.
  system::CommandResult link(const Arguments& command, const std::string& source, const std::filesystem::path& work) {
    constexpr const char* option = "--dependency-file";  // GNU ld 2.35, lld 11, mold
    if (linker_lists_files_) {
      Arguments listing = command;
      append(listing, {"-Xlinker", option + ("=" + (work / "linked").string()), "-"});
      system::CommandResult result = compiler::run_compiler(listing, source, work);
      if (result.ok() || result.stderr_text.find(option) == std::string::npos) return result;
      linker_lists_files_ = false;
    }
    Arguments plain = command;
    plain.push_back("-");
    return compiler::run_compiler(plain, source, work);
  }

  /// Libraries in these count by name.
  std::vector<std::string> library_folders() {
    std::vector<std::string> folders{"/lib", "/lib64", "/usr/lib", "/usr/lib64"};
    const std::lock_guard lock(mutex_);
    append(folders, parts_.library_folders());
    return folders;
  }

  std::vector<std::string> own_folders() {
    const std::lock_guard lock(mutex_);
    if (own_folders_.empty()) own_folders_ = compiler::compiler_folders(path_);
    return own_folders_;
  }

  /// Whether the assembler turns aligned moves of vectors into unaligned ones: GNU as 2.38.
  bool moves_unaligned() {
    const std::lock_guard lock(mutex_);
    if (!moves_unaligned_)
      moves_unaligned_ =
          compiler::ask_compiler(path_, {{unaligned_moves, "-x", "assembler", "-c", "/dev/null", "-o", "/dev/null"}})
              .ok();
    return *moves_unaligned_;
  }

  /// They are in the fingerprint, since they can change results.
  Arguments own_options(const compiler::Compiler& c, const std::string& arch) {
    // An image has the shared memory of the kernels that are asked for: the linker drops the others of the source.
    Arguments options{"-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"};
    if (c.is_clang) return options;
    // Unique symbols would be shared between kernels, and keep every one of them loaded forever.
    options.emplace_back("-fno-gnu-unique");
    // GCC (12 to 14 were tried) combines a branch that reads an aligned vector with one that reads the same bytes one
    // by one, and keeps the alignment: other addresses then fault. With AVX, unaligned moves cost little. Elsewhere GCC
    // must not combine branches, which makes some kernels slower.
    const bool has_avx = arch == "x86_64_v3" || arch == "x86_64_v4";
    if (has_avx && moves_unaligned())
      options.emplace_back(unaligned_moves);
    else if (arch.starts_with("x86_64"))
      append(options, {"-fno-if-conversion", "-fno-if-conversion2"});
    return options;
  }

  // The user's options come last: they may ask for another -O or -std.
  Arguments base_flags(const build::CompileRequest& request, const compiler::Compiler& c) {
    const std::string arch = request.arch.empty() ? cpu::own_arch() : request.arch;
    Arguments flags = {cpu::arch_flag(arch),   "-std=gnu++17",       "-fvisibility=hidden",
                       "-fno-strict-aliasing", "-ffp-contract=fast", "-fno-math-errno"};
    append(flags, own_options(c, arch));
    if (request.sanitize) {
      append(flags,
             {"-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"});
      if (c.is_clang) flags.push_back("-shared-libasan");
    } else {
      append(flags, {"-O3", "-Wl,-z,defs", "-Wl,--as-needed"});
    }
    // Each step uses only some of these.
    if (c.is_clang) flags.push_back("-Wno-unused-command-line-argument");
    append(flags, request.options);
    return flags;
  }

  const std::string path_, runtime_ = runtime_digest();
  std::atomic<bool> linker_lists_files_ = true;
  std::mutex mutex_;  ///< guards the members below
  compiler::Compiler compiler_;
  std::vector<std::string> own_folders_;
  std::optional<bool> moves_unaligned_;  ///< nullopt: not asked yet
  compiler::CompilerParts parts_{path_};
  compiler::PrecompiledHeader precompiled_;
};

}  // namespace

std::optional<std::int64_t> thread_local_bytes(const std::string& image) {
  const std::vector<gpu::Symbol> symbols = gpu::symbols_of(image, SHT_SYMTAB);
  if (symbols.empty()) return std::nullopt;
  std::uint64_t total = 0;
  for (const gpu::Symbol& symbol : symbols)
    if (symbol.is_thread_local && !is_runtime_variable(symbol.name)) total += symbol.bytes;
  return static_cast<std::int64_t>(total);
}

std::unique_ptr<build::Toolchain> make_toolchain() { return std::make_unique<HostToolchain>(); }

}  // namespace xtune::host
