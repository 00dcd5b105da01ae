// Permissions of an unprivileged user, also for tests that run as root, which permissions do not stop.
#pragma once

#include <unistd.h>

#include <filesystem>

namespace xtune {

/// Until the end of the scope a process that was root has the user `nobody`.
class Unprivileged {
 public:
  Unprivileged() : was_root_(::geteuid() == 0) { ok_ = !was_root_ || ::seteuid(65534) == 0; }
  ~Unprivileged() {
    if (was_root_ && ::seteuid(0) != 0) ::_exit(1);
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;
  bool ok() const { return ok_; }

 private:
  const bool was_root_;
  bool ok_ = false;
};

/// Removes all permissions of a directory or file until the end of the scope.
class Forbidden {
 public:
  explicit Forbidden(std::filesystem::path path, std::filesystem::perms left = std::filesystem::perms::none)
      : path_(std::move(path)), before_(std::filesystem::status(path_).permissions()) {
    std::filesystem::permissions(path_, left);
  }
  ~Forbidden() {
    std::error_code ignored;
    std::filesystem::permissions(path_, before_, ignored);
  }
  Forbidden(const Forbidden&) = delete;
  Forbidden& operator=(const Forbidden&) = delete;

 private:
  const std::filesystem::path path_;
  const std::filesystem::perms before_;
};

}  // namespace xtune
