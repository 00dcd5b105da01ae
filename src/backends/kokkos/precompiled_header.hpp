// Kokkos' headers, parsed once for all units that are compiled with the same flags.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/files.hpp"

namespace xtune::kokkos {

/// Thread-safe. If the temporary directory belongs to a run, its compile workers share the file, which is removed with
/// the run. Else it is removed with this object.
class PrecompiledHeader {
 public:
  /// The file to include first, and the directory of xtune's headers that belongs to it.
  struct Header {
    std::filesystem::path file, folder;
  };
  /// nullopt: none yet, or it cannot be made (the compiler fails, the disk is full): compile without it. It is made at
  /// the second call with these flags; other callers do not wait for it. identity: distinguishes one Kokkos and
  /// compiler from another.
  std::optional<Header> find(const std::string& compiler, bool is_clang, const std::vector<std::string>& flags,
                             const std::string& identity);

 private:
  std::filesystem::path root();  ///< requires mutex_

  std::mutex mutex_;
  std::map<std::string, int> asked_;
  std::unique_ptr<base::TemporaryDirectory> own_;
};

}  // namespace xtune::kokkos
