// Headers that are parsed once for all sources that are compiled with the same flags.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "system/files.hpp"

namespace xtune::compiler {

/// Thread-safe. If the temporary directory belongs to a run, its compile workers share the files, which are removed
/// with the run. Else they are removed with this object.
class PrecompiledHeader {
 public:
  /// Writes the header as `file`, whose directory it may use. False, or an exception: it failed.
  using Make = std::function<bool(const std::filesystem::path& file)>;

  /// The precompiled header `name`, in a directory for it. nullopt: none yet, or it cannot be made (the compiler fails,
  /// the disk is full): compile without it. It is made at the second call with this identity; other callers do not wait
  /// for it. identity: all that distinguishes it from others: compiler, flags, contents.
  std::optional<std::filesystem::path> find(const std::string& identity, const std::string& name, const Make& make);

 private:
  std::filesystem::path root();  ///< requires mutex_

  std::mutex mutex_;
  std::map<std::string, int> asked_;
  std::unique_ptr<system::TemporaryDirectory> own_;
};

}  // namespace xtune::compiler
