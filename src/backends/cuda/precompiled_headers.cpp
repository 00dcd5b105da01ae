// Decides which compiles get a precompiled header, and how much disk space that may use.
#include "backends/cuda/precompiled_headers.hpp"

#include <algorithm>
#include <exception>
#include <fstream>
#include <thread>
#include <utility>

#include "backends/gpu/runtime_compiler.hpp"
#include "base/hash.hpp"
#include "core/build/keys.hpp"
#include "xtune/error.hpp"

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

}  // namespace

std::optional<PrecompiledHeaders::Use> PrecompiledHeaders::use(const build::CompileRequest& request,
                                                               const build::SplitSource& split,
                                                               const std::vector<std::string>& options) noexcept {
  try {
    if (!available_ || !split.of_toolchain) return std::nullopt;
    if (std::any_of(options.begin(), options.end(), rules_them_out)) return std::nullopt;
    std::unique_lock turn(mutex_, std::try_to_lock);
    if (!turn) return std::nullopt;
    const std::string before = gpu::define_lines(split.before);
    std::string key = base::sha256(build::canonical_list(
        {request.source_name, split.digest, split.states, before, build::canonical_list(options)}));
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

bool PrecompiledHeaders::make_room() {
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

void PrecompiledHeaders::give_up(const Use& use) noexcept {
  try {
    openings_[use.key].refused = true;
    std::error_code failed;
    fs::remove_all(folder_of(use.key), failed);
  } catch (const std::exception&) {  // the next attempt fails again
  }
}

}  // namespace xtune::cuda
