// Kokkos' headers parsed once for all units that are compiled with the same flags.
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

/// Thread-safe. Where the temporary folder is a run's own, its compile workers share what one of them has made; it goes
/// with the run. Else it goes with this object.
class PrecompiledHeader {
 public:
  /// The file to include before all else, and the folder of xtune's headers that goes with it.
  struct Header {
    std::filesystem::path file, folder;
  };
  /// nullopt: none yet, or none is to be had (the compiler fails, the disk is full): compile without. One is made when
  /// these flags come the second time; others that ask meanwhile do not wait. identity: what else tells one Kokkos and
  /// compiler from another.
  std::optional<Header> find(const std::string& compiler, bool is_clang, const std::vector<std::string>& flags,
                             const std::string& identity);

 private:
  std::filesystem::path root();  ///< under mutex_

  std::mutex mutex_;
  std::map<std::string, int> asked_;
  std::unique_ptr<base::TemporaryDirectory> own_;
};

}  // namespace xtune::kokkos
