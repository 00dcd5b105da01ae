// A control group of version 1 of the test's own, where this user may make one.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace xtune::fakes {

class ControlGroup {
 public:
  explicit ControlGroup(const std::string& controller)
      : path_("/sys/fs/cgroup/" + controller + "/xtune-test-" + std::to_string(::getpid())) {
    std::error_code error;
    made_ = std::filesystem::create_directory(path_, error);
  }
  ~ControlGroup() {
    for (int i = 0; made_ && ::rmdir(path_.c_str()) != 0 && i < 50; ++i) ::usleep(20000);
  }
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;
  bool set(const std::string& file, const std::string& value) const {
    std::ofstream out(path_ / file);
    out << value << std::flush;
    return made_ && out.good();
  }
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  bool made_ = false;
};

}  // namespace xtune::fakes
