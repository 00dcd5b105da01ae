// Tries the programs in their order; the first that reads the file answers.
#include "cli/disassembly.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <vector>

#include "base/find_program.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::cli {

namespace {

namespace fs = std::filesystem;

struct Tool {
  std::string name;
  std::vector<std::string> options;
  std::vector<std::string> folders;  ///< beside those of PATH
};

/// A directory of a toolkit that a variable names, or its usual place.
std::vector<std::string> toolkit_folders(std::initializer_list<const char*> variables, const char* usual,
                                         const char* below) {
  std::vector<std::string> folders;
  for (const char* variable : variables)
    if (const char* const root = std::getenv(variable); root && *root) folders.push_back(std::string(root) + below);
  folders.push_back(std::string(usual) + below);
  return folders;
}

std::vector<Tool> tools_for(const build::Artifact& artifact) {
  std::vector<std::string> symbols;
  for (const build::KernelEntry& entry : build::all_entries(artifact)) symbols.push_back(entry.symbol);
  if (artifact.format == "cubin") {
    const auto folders = toolkit_folders({"CUDA_HOME", "CUDA_PATH"}, "/usr/local/cuda", "/bin");
    return {{"nvdisasm", {"--print-code"}, folders}, {"cuobjdump", {"--dump-sass"}, folders}};
  }
  if (artifact.format == "hsaco") {
    const auto folders = toolkit_folders({"ROCM_PATH"}, "/opt/rocm", "/llvm/bin");
    const std::string only = fmt::format("--disassemble-symbols={}", fmt::join(symbols, ","));
    std::vector<Tool> tools;
    for (const char* version : {"", "-19", "-18", "-17", "-16", "-15", "-14"})
      tools.push_back({std::string("llvm-objdump") + version, {"--no-show-raw-insn", only}, folders});
    return tools;
  }
  return {{"objdump", {"--no-show-raw-insn", "--demangle", "--disassemble=" + symbols.front()}, {}},
          {"objdump", {"--no-show-raw-insn", "--demangle", "--disassemble", "--section=.text"}, {}}};
}

std::string path_of(const Tool& tool) {
  if (std::string path = base::find_program(tool.name); !path.empty()) return path;
  for (const std::string& folder : tool.folders)
    if (std::string path = base::find_program(folder + "/" + tool.name); !path.empty()) return path;
  return {};
}

/// Whether there is an instruction in the text: disassemblers print headers of what they do not find.
bool has_instructions(const std::string& text) {
  return text.find(":\t") != std::string::npos || text.find("/*0") != std::string::npos ||
         text.find(">:\n") != std::string::npos;
}

}  // namespace

std::string disassemble(const build::Artifact& artifact, const fs::path& image) {
  std::vector<std::string> names, complaints;
  for (const Tool& tool : tools_for(artifact)) {
    if (names.empty() || names.back() != tool.name) names.push_back(tool.name);
    const std::string path = path_of(tool);
    if (path.empty()) continue;
    std::vector<std::string> words{path};
    words.insert(words.end(), tool.options.begin(), tool.options.end());
    words.push_back(image.string());
    base::CommandOptions options;
    options.timeout_ms = 60'000;
    const base::CommandResult result = base::run_command(words, options);
    if (result.ok() && has_instructions(result.stdout_text)) return result.stdout_text;
    complaints.push_back(result.ok() ? tool.name + " finds no code of the kernel"
                                     : tool.name + ": " + base::first_line(result.stderr_text));
  }
  if (!complaints.empty())
    throw Error(ErrorKind::unavailable,
                fmt::format("--isa: {} cannot be read ({})", image.string(), fmt::join(complaints, "; ")));
  throw Error(ErrorKind::unavailable,
              fmt::format("--isa needs one of {}, and none is in PATH; the compiled kernel is {}",
                          fmt::join(names, ", "), image.string()));
}

}  // namespace xtune::cli
