// NVRTC's precompiled headers: a source's opening includes, parsed once a process instead of once a configuration.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "core/build/artifact.hpp"
#include "core/build/preamble.hpp"

namespace xtune::cuda {

/// Files of NVRTC's in a temporary folder that goes with this object. NVRTC checks neither macros nor files that it was
/// given by -include, and header files by their times alone; so each file has a folder of its own, named by a hash over
/// everything that it depends on: the text of the opening and of the user's headers in it, the states of these files
/// (one that is put back may have been parsed as something else), definitions, options. Another process cannot use them
/// (NVRTC documentation, "Precompiled Headers": they hold addresses of the library's heap). Thread-safe: while one
/// thread compiles with a file, the others go without.
class PrecompiledHeaders {
 public:
  /// available: whether this NVRTC knows them (12.8 and later).
  explicit PrecompiledHeaders(bool available) : available_(available) {}

  /// What to compile in place of the plain source.
  struct Use {
    std::string source;
    std::vector<std::string> options;
    std::string key;
    std::unique_lock<std::mutex> turn;
  };
  /// Nothing where it would not pay or not work: the source's opening includes nothing of CUDA's, this opening is seen
  /// for the first time, options speak of precompiled headers or ask for debug information, NVRTC made no file when it
  /// was asked, there is no room.
  std::optional<Use> use(const build::CompileRequest& request, const build::SplitSource& split,
                         const std::vector<std::string>& options) noexcept;
  /// The plain source compiled where this did not.
  void give_up(const Use& use) noexcept;

 private:
  struct Opening {
    std::uint64_t last_use = 0;
    bool seen = false, asked = false, refused = false;
  };
  std::filesystem::path folder_of(const std::string& key) const { return files_->path() / key.substr(0, 16); }
  bool make_room();

  bool available_;
  std::mutex mutex_;
  std::optional<base::TemporaryDirectory> files_;
  std::map<std::string, Opening> openings_;
  std::uint64_t compiles_ = 0;
};

}  // namespace xtune::cuda
