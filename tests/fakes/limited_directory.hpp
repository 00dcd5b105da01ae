// A directory on a small separate file system, if this user may mount one.
#pragma once

#include <sys/mount.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "system/files.hpp"

namespace xtune::fakes {

class LimitedDirectory {
 public:
  /// options: of tmpfs, and "noexec", "ro".
  explicit LimitedDirectory(const std::string& options) {
    std::string data;
    unsigned long flags = 0;
    for (std::size_t at = 0; at <= options.size();) {
      const std::size_t end = std::min(options.find(',', at), options.size());
      const std::string word = options.substr(at, end - at);
      if (word == "noexec")
        flags |= MS_NOEXEC;
      else if (word == "ro")
        flags |= MS_RDONLY;
      else
        data += (data.empty() ? "" : ",") + word;
      at = end + 1;
    }
    mounted_ = ::mount("tmpfs", folder_.path().c_str(), "tmpfs", flags, data.c_str()) == 0;
  }
  ~LimitedDirectory() {
    if (mounted_) ::umount2(folder_.path().c_str(), MNT_DETACH);
  }
  LimitedDirectory(const LimitedDirectory&) = delete;
  LimitedDirectory& operator=(const LimitedDirectory&) = delete;
  bool mounted() const noexcept { return mounted_; }
  const std::filesystem::path& path() const noexcept { return folder_.path(); }

 private:
  const system::TemporaryDirectory folder_;
  bool mounted_ = false;
};

}  // namespace xtune::fakes
