// Compiling CUDA C++ to cubin with nvcc or clang, as processes. Both make PTX first: the lowered names are read in it,
// and the pointers that show them are removed, because ptxas compiles a kernel whose address is taken differently.
#include <fmt/core.h>
#include <re2/re2.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/compiler/compile_step.hpp"
#include "backends/compiler/external_toolchain.hpp"
#include "backends/compiler/identity.hpp"
#include "backends/cuda/toolchain.hpp"
#include "backends/runtime_files.hpp"
#include "base/text.hpp"
#include "core/build/compiler_places.hpp"
#include "core/build/keys.hpp"
#include "core/build/source_closure.hpp"
#include "core/device/backend_facts.hpp"
#include "system/dynamic_library.hpp"
#include "system/files.hpp"
#include "system/shell_words.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::cuda {
namespace {

namespace fs = std::filesystem;
using compiler::append, compiler::Words;

/// What was found of a compiler.
struct External {
  bool is_nvcc = false;
  std::string path, version;    ///< "13.0.88"
  std::string driver;           ///< the C++ compiler that reads the source: nvcc's host compiler, or clang itself
  std::string ptxas;            ///< clang's
  fs::path toolkit;             ///< the directory of CUDA; empty: unknown
  std::vector<int> archs{};     ///< 90
  build::ToolFiles files{};     ///< besides those of `driver`
  std::set<std::string> empty;  ///< headers that clang reads and this toolkit does not have any more
};

Words words_of(const External& compiler, const std::string& arch) {
  if (compiler.is_nvcc) return {compiler.path, "-arch=" + arch, "-DXTUNE_CUDA=1"};
  Words words{compiler.path, "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=" + arch, "-O3", "-DXTUNE_CUDA=1"};
  append(words, {"-fuse-cuid=none", "-Wno-unknown-cuda-version", "-Wno-unused-command-line-argument"});
  if (!compiler.toolkit.empty()) words.push_back("--cuda-path=" + compiler.toolkit.string());
  return words;
}

/// nvcc's options that NVRTC has too, as clang has them; those for ptxas.
std::pair<Words, Words> for_clang(const Words& options) {
  Words front, ptxas;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string& option = options[i];
    const std::string name = option.substr(0, option.find('='));
    const auto value = [&] {
      if (name.size() < option.size()) return option.substr(name.size() + 1);
      return i + 1 < options.size() ? options[++i] : std::string();
    };
    if (name == "-use_fast_math" || name == "--use_fast_math") {
      append(front, {"-ffast-math", "-fgpu-flush-denormals-to-zero"});
    } else if (name == "-lineinfo" || name == "--generate-line-info") {
      front.emplace_back("-gline-tables-only");
      ptxas.emplace_back("-lineinfo");
    } else if (name == "-maxrregcount" || name == "--maxrregcount") {
      ptxas.push_back("-maxrregcount=" + value());
    } else if (name == "-Xptxas" || name == "--ptxas-options" || name == "-Xcuda-ptxas") {
      for (const std::string& word : base::split(value(), ',')) ptxas.push_back(word);
    } else if (name.find("expt-relaxed-constexpr") == name.npos && name.find("extended-lambda") == name.npos) {
      front.push_back(option);  // clang allows both without an option
    }
  }
  return {front, ptxas};
}

/// What the source's pointers show, which are removed from the PTX. nvcc's names of what only one file sees contain a
/// hash of its place, which is a temporary directory here.
std::vector<std::string> take_symbols(std::string& ptx, const build::CompileRequest& request) {
  static const RE2 pointer("\\.global \\.align 8 \\.u64 xtune_name_(\\d+) = (?:generic\\()?([\\w$]+)\\)?;");
  static const RE2 own_hash("_INTERNAL_([0-9a-f]{8})_");
  if (std::string hash; RE2::PartialMatch(ptx, own_hash, &hash)) RE2::GlobalReplace(&ptx, hash, "00000000");
  const std::vector<std::string> names = compiler::names_of(request);
  std::vector<std::string> symbols(names.size());
  std::string rest;
  for (const std::string_view line : base::split_lines(ptx)) {
    std::size_t number = 0;
    std::string symbol;
    if (RE2::PartialMatch({line.data(), line.size()}, pointer, &number, &symbol) && number < symbols.size())
      symbols[number] = symbol;
    else
      rest.append(line) += '\n';
  }
  ptx = std::move(rest);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (symbols[i].empty())
      throw build::CandidateFailure(Outcome::compile_failed, fmt::format("the PTX for {} has no '{}' of {}",
                                                                         request.arch, names[i], request.source_name));
  return symbols;
}

/// Options with which its driver reads CUDA C++.
Words language_of(const External& compiler) {
  if (compiler.is_nvcc) return {"-x", "c++", "-E"};
  return {"-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-S"};
}

class ExternalCudaToolchain final : public compiler::ExternalToolchain {
 public:
  explicit ExternalCudaToolchain(const External& found)
      : ExternalToolchain(found.is_nvcc ? build::KernelCompiler::nvcc : build::KernelCompiler::cuda_clang,
                          {fmt::format("{} {} ({})", found.is_nvcc ? "nvcc" : "clang", found.version, found.path),
                           fmt::format("{} {} {}", found.toolkit.string(), settings(), backend::digest_of({})),
                           [files = found.files] {
                             build::ToolFiles now;
                             for (const build::KeyedFile& file : files.files.files)
                               build::add_tool_file(file.path, now);
                             return now;
                           }},
                          found.driver, language_of(found)),
        compiler_(found) {}

  std::string default_arch() override { return "sm_90"; }
  std::vector<std::string> archs() override {
    std::vector<std::string> names;
    for (const int arch : compiler_.archs) names.push_back(fmt::format("sm_{}", arch));
    return names;
  }

 private:
  /// Options that variables add to each call of nvcc.
  static std::string settings() {
    std::string text;
    for (const char* name : {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN"})
      if (const char* value = std::getenv(name)) text += fmt::format("{}={}\n", name, value);
    return text;
  }

  build::Artifact compile_kernel(const build::CompileRequest& request) override {
    require_arch(request.arch, compiler_.archs, device::compiler_name(fingerprint()));
    compiler::check_names(request);
    const system::TemporaryDirectory work;
    build::UnreadHeaders::Names headers = unread(request);
    headers.missing.insert(compiler_.empty.begin(), compiler_.empty.end());
    Words options = request.options, for_ptxas;
    for (std::string& option : options)
      if (option.starts_with(build::controls_option) && option.find_first_of(" ,\"'\\") != option.npos) {
        // It would be split here.
        fs::create_symlink(option.substr(std::string_view(build::controls_option).size()), work.path() / "controls");
        option = build::controls_option + std::string("controls");
      }
    if (!compiler_.is_nvcc) std::tie(options, for_ptxas) = for_clang(options);
    Words command = words_of(compiler_, compiler_.is_nvcc ? request.arch : real_arch(request.arch));
    for (const std::string& folder : request.include_dirs) command.push_back("-I" + folder);
    append(command, options);
    append(command, backend::write_headers(work.path(), {}, headers, "-I"));
    append(command, compiler_.is_nvcc ? Words{"-x", "cu", "-ptx", "-MD", "-MF", "read"} : Words{"-S"});
    if (!compiler_.is_nvcc) append(command, compiler::listing_options());
    append(command, {"-o", "kernel.ptx", "kernel.cu"});
    backend::write_scratch_file(work.path() / "kernel.cu",
                                gpu::with_defines(request) + compiler::pointers_text(compiler::names_of(request)));
    const system::CommandResult made = compiler::run_compiler(command, "", work.path());
    return compiler::with_files_read(files_listed(request, work.path()), [&] {
      compiler::require_named(made, request, compiler_.path);
      return artifact_of(request, made, compiler_.is_nvcc ? options : for_ptxas, work.path());
    });
  }

  std::optional<build::FilesRead> files_listed(const build::CompileRequest& request, const fs::path& work) {
    compiler::OwnFiles own{{"/usr/lib"}, {"/usr/lib"}, {}};
    if (compiler_.toolkit.has_relative_path() && compiler_.toolkit != "/usr")
      own.header_folders.push_back(compiler_.toolkit.string());
    Words searched = language_of(compiler_);
    for (const std::string& folder : request.include_dirs) searched.push_back("-I" + folder);
    for (const std::string& folder : build::include_options(request.options).folders) searched.push_back("-I" + folder);
    return files_read(request, searched, work, std::move(own));
  }

  /// options: for nvcc, or for ptxas.
  build::Artifact artifact_of(const build::CompileRequest& request, const system::CommandResult& made,
                              const Words& options, const fs::path& work) const {
    build::Artifact artifact;
    artifact.arch = request.arch;
    artifact.log = made.stderr_text;
    artifact.compile_s = made.wall_s;
    artifact.image = system::read_file(work / "kernel.ptx");
    std::vector<std::string> symbols = take_symbols(artifact.image, request);
    if (!is_virtual(request.arch)) {
      backend::write_scratch_file(work / "kernel.ptx", artifact.image);
      Words command = compiler_.is_nvcc ? words_of(compiler_, request.arch)
                                        : Words{compiler_.ptxas, "-v", "-O3", "--gpu-name", request.arch};
      append(command, options);
      if (compiler_.is_nvcc) append(command, {"-Xptxas=-v", "-cubin"});
      append(command, {"-o", "kernel.cubin", "kernel.ptx"});
      const system::CommandResult assembled = compiler::run_compiler(command, "", work);
      compiler::require_compiled(assembled, artifact.log, request, compiler_.path);
      artifact.log += assembled.stdout_text + assembled.stderr_text;
      artifact.compile_s += assembled.wall_s;
      artifact.image = system::read_file(work / "kernel.cubin");
    }
    const auto variables = symbols.begin() + static_cast<std::ptrdiff_t>(build::entries_of(request).size());
    artifact.variables.assign(variables, symbols.end());
    symbols.erase(variables, symbols.end());
    set_kernels(artifact, symbols);
    return artifact;
  }

  const External compiler_;
};

std::vector<int> archs_in(const std::string& text) {
  static const RE2 arch("\\bsm_(\\d+)");
  std::set<int> found;
  int number = 0;
  for (re2::StringPiece rest(text); RE2::FindAndConsume(&rest, arch, &number);) found.insert(number);
  return {found.begin(), found.end()};
}

fs::path first_in(const std::string& places, const fs::path& name) {
  std::error_code failed;
  for (const std::string& folder : base::split(places, ':'))
    if (fs::is_regular_file(fs::path(folder) / name, failed)) return fs::path(folder) / name;
  return {};
}

/// The programs that nvcc would start, and their data: its plan has variables ("#$ TOP=/usr/local/cuda/bin/.."), then
/// commands ("#$ "$CICC_PATH/cicc" --c++17 ..."), of which the first is the host compiler's.
void add_plan(External& nvcc) {
  const std::string plan =
      compiler::ask_compiler(nvcc.path, {{"--dryrun", "-cubin", "-x", "cu", "/dev/null", "-o", "/dev/null"}})
          .stderr_text;
  static const RE2 assignment("^#\\$ (\\w+)=(.*)$"), command("^#\\$ (.*)$");
  std::map<std::string, std::string> variables;
  for (const std::string_view line : base::split_lines(plan)) {
    const re2::StringPiece text(line.data(), line.size());
    std::string name, rest;
    if (RE2::FullMatch(text, assignment, &name, &rest)) {
      variables[name] = rest;
    } else if (RE2::FullMatch(text, command, &rest)) {
      const Words words = system::shell_words(rest);
      fs::path program = words.empty() ? "" : words.front();
      if (program.string().starts_with("$CICC_PATH/")) program = fs::path(variables["CICC_PATH"]) / program.filename();
      if (!program.has_parent_path()) program = first_in(variables["PATH"], program);
      std::error_code failed;
      if (!fs::is_regular_file(program, failed)) continue;
      if (nvcc.driver.empty()) nvcc.driver = program.string();
      build::add_tool(program, nvcc.files);
    }
  }
  build::add_tool_file(fs::path(variables["NVVMIR_LIBRARY_DIR"]) / "libdevice.10.bc", nvcc.files);
  build::add_tool_file(fs::path(nvcc.path).parent_path() / "nvcc.profile", nvcc.files);
  if (!variables["TOP"].empty()) nvcc.toolkit = fs::weakly_canonical(variables["TOP"]);
}

External find_nvcc() {
  static const RE2 release("release [0-9.]+, V([0-9.]+)");
  std::string reasons;
  for (const std::string& path : build::nvcc_compilers()) {
    External nvcc{.is_nvcc = true, .path = path};
    const std::string answer = compiler::ask_compiler(path, {{"--version"}}).stdout_text;
    if (RE2::PartialMatch(answer, release, &nvcc.version)) add_plan(nvcc);
    if (nvcc.driver.empty()) {
      reasons += fmt::format(" ({} {})", path,
                             nvcc.version.empty() ? "does not say its release" : "finds no host compiler, such as g++");
      continue;
    }
    build::add_tool(path, nvcc.files);
    nvcc.archs = archs_in(compiler::ask_compiler(path, {{"--list-gpu-code"}}).stdout_text);
    return nvcc;
  }
  throw system::NotInstalled(
      "nvcc was not found in CUDA_HOME, CUDA_PATH, /usr/local/cuda or PATH: install the CUDA "
      "toolkit's compiler (Debian: nvidia-cuda-toolkit) or set CUDA_HOME" +
      reasons);
}

/// Tries it, and reads headers as empty that it wants and the toolkit has no more. The reason why it cannot be used, or
/// empty.
std::string try_clang(External& clang) {
  static const RE2 lacks("fatal error: '([\\w.]+)' file not found");
  const system::TemporaryDirectory work;
  for (int tries = 0;; ++tries) {
    backend::write_unread_headers(work.path(), {clang.empty, {}, {}});
    Words command = words_of(clang, fmt::format("sm_{}", clang.archs.back()));
    append(command, {"-I" + (work.path() / "missing").string(), "-S", "-o", "kernel.ptx", "-"});
    const system::CommandResult made =
        compiler::run_compiler(command, "__global__ void xtune_probe(float* x) { *x = sinf(*x); }\n", work.path());
    if (made.ok()) return {};
    if (std::string name;
        tries < 8 && RE2::PartialMatch(made.stderr_text, lacks, &name) && clang.empty.insert(name).second)
      continue;
    return fmt::format("{} cannot use the CUDA toolkit {}: {}", clang.path,
                       clang.toolkit.empty() ? "that it finds" : "in " + clang.toolkit.string(),
                       build::first_error_or_first_line(made.stderr_text));
  }
}

External find_clang() {
  static const RE2 toolkit("Found CUDA installation: ([^,\n]+)"), version("clang version ([0-9.]+)");
  std::string reasons;
  for (const std::string& path : build::clang_compilers()) {
    External clang{.path = path, .driver = path};
    const auto ask = [&](Words words) {
      const system::CommandResult answer = compiler::ask_compiler(path, {std::move(words)});
      return answer.stdout_text + answer.stderr_text;
    };
    RE2::PartialMatch(compiler::identify_compiler(path).version, version, &clang.version);
    clang.archs = archs_in(ask({"--target=nvptx64-nvidia-cuda", "-print-supported-cpus"}));
    std::string place;
    if (const std::vector<fs::path> named = build::named_cuda_roots(); !named.empty())
      clang.toolkit = named.front();
    else if (RE2::PartialMatch(ask({"-v", "-E", "-x", "cuda", "/dev/null"}), toolkit, &place))
      clang.toolkit = place;
    clang.ptxas = first_in((clang.toolkit / "bin").string(), "ptxas").string();
    if (clang.ptxas.empty()) clang.ptxas = system::find_program("ptxas");
    const std::string reason = clang.archs.empty()     ? path + " was built without the NVPTX target"
                               : clang.toolkit.empty() ? path + " finds no CUDA toolkit: set CUDA_HOME"
                               : clang.ptxas.empty()   ? path + " finds no ptxas of the CUDA toolkit"
                                                       : try_clang(clang);
    if (reason.empty()) {
      build::add_tool(clang.ptxas, clang.files);
      build::add_tool_file(clang.toolkit / "nvvm/libdevice/libdevice.10.bc", clang.files);
      return clang;
    }
    reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  throw system::NotInstalled(
      reasons.empty()
          ? "no clang 17 or newer was found in PATH: install one (Debian: clang-19)"
          : reasons + ". A newer clang, or an older toolkit in CUDA_HOME, may do; `--compiler nvcc` needs neither");
}

}  // namespace

std::unique_ptr<build::Toolchain> make_nvcc_toolchain() { return std::make_unique<ExternalCudaToolchain>(find_nvcc()); }
std::unique_ptr<build::Toolchain> make_clang_toolchain() {
  return std::make_unique<ExternalCudaToolchain>(find_clang());
}

}  // namespace xtune::cuda
