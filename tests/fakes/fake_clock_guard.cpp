// A process that guards clocks, which are files: fake_clock_guard FOLDER MHZ DEVICE...
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "worker/worker.hpp"
#include "xtune/error.hpp"

namespace {

/// Fixed while the file is there. A file "forbidden" makes fixing fail, a file "stuck" restoring.
class FileClock final : public xtune::measure::ClockLock {
 public:
  FileClock(std::filesystem::path folder, int device)
      : folder_(std::move(folder)), file_(folder_ / std::to_string(device)) {}
  int lock(int mhz) override {
    if (std::filesystem::exists(file_.string() + ".forbidden"))
      throw xtune::Error(xtune::ErrorKind::unavailable, "no permission for " + file_.filename().string());
    std::ofstream(file_) << mhz;
    return mhz == 0 ? 1000 : mhz;
  }
  void unlock() override {
    if (std::filesystem::exists(folder_ / "stuck")) throw xtune::Error(xtune::ErrorKind::unavailable, "it is stuck");
    std::filesystem::remove(file_);
  }
  std::string undo_command() const override { return "rm " + file_.filename().string(); }

 private:
  const std::filesystem::path folder_, file_;
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> devices;
  for (int i = 3; i < argc; ++i) devices.push_back(std::atoi(argv[i]));
  const auto open = [&](int device) { return std::make_unique<FileClock>(argv[1], device); };
  return xtune::worker::guard_clocks(devices, std::atoi(argv[2]), open, STDIN_FILENO, STDOUT_FILENO);
}
