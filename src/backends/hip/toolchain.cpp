// Parts of hipRTC's toolchain and clang's: source text, architectures, metadata, and lowered names.
#include "backends/hip/toolchain.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "backends/compiler/external_toolchain.hpp"
#include "backends/gpu/code_object.hpp"
#include "backends/gpu/runtime_compiler.hpp"
#include "core/build/keyed_files.hpp"
#include "core/device/device_info.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::hip {
std::string source_text(const build::CompileRequest& request) {
  // A -D would affect HIP's own headers, where names such as T, V or N are template parameters; a #define before the
  // source comes after them.
  build::CompileRequest with_name = request;
  with_name.defines.insert(with_name.defines.begin(), {"XTUNE_HIP", "1"});
  return gpu::with_defines(with_name);
}

void require_arch(const std::string& arch, const std::vector<std::string>& known, const std::string& compiler,
                  const std::function<std::string()>& why_no_other) {
  const std::string base = arch.substr(0, arch.find(':'));
  if (!base.starts_with("gfx"))
    throw Error(ErrorKind::unsupported,
                fmt::format("'{}' is not an AMD architecture, such as gfx90a or gfx1030", arch));
  if (known.empty() || std::find(known.begin(), known.end(), base) != known.end()) return;
  std::string advice = why_no_other ? why_no_other() : "";
  if (advice.empty()) advice = "A newer clang may know it; `xtune devices` lists the compilers";
  throw Error(ErrorKind::unsupported,
              fmt::format("{} cannot compile for {}; it knows {}. {}", compiler, arch, fmt::join(known, ", "), advice));
}

void set_names(build::Artifact& artifact, const build::CompileRequest& request) {
  artifact.format = "hsaco";
  const std::vector<std::string> names = compiler::names_of(request);
  const std::size_t kernels = build::entries_of(request).size();
  std::vector<build::KernelEntry> entries;
  const auto fail = [&](const std::string& why) {
    throw build::CandidateFailure(Outcome::compile_failed, fmt::format("the code object for {} {}", artifact.arch, why),
                                  artifact.log);
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto symbol = gpu::symbol_pointed_to(artifact.image, compiler::pointer_name(i));
    if (!symbol)
      fail(fmt::format("exports no '{}' of {}: some compilers export nothing of an anonymous namespace, so move it out",
                       names[i], request.source_name));
    if (i >= kernels) {
      artifact.variables.push_back(*symbol);
      continue;
    }
    const auto metadata = gpu::kernel_metadata(artifact.image, *symbol);
    if (!metadata) fail(fmt::format("holds no kernel '{}'", names[i]));
    entries.push_back({*symbol, metadata->usage});
  }
  build::set_entries(artifact, std::move(entries));
}

std::vector<std::string> rocm_folders(const std::filesystem::path& place) {
  std::vector<std::string> folders{"/usr/lib"};
  for (std::filesystem::path root = place; root.has_relative_path(); root = root.parent_path())
    if (const std::string name = root.filename().string(); name.starts_with("rocm") || name.starts_with("_rocm"))
      folders.push_back(root.string());
  return folders;
}

bool assembly_reads_files(const build::CompileRequest& request) {
  if (!request.files) return false;
  return std::any_of(request.files->unknown.begin(), request.files->unknown.end(), [](const std::string& text) {
    return text.find(".incbin") != text.npos || text.find(".include") != text.npos;
  });
}

}  // namespace xtune::hip
