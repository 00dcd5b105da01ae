// NVRTC's precompiled headers: a source's opening includes are parsed once per process instead of once per
// configuration.
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
                         const std::vector<std::string>& options) noexcept;
  /// The plain source compiled although this did not.
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
