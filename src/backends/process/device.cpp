// This machine as the device of programs.
#include "backends/process/device.hpp"

#include <algorithm>
#include <string_view>

#include "backends/cpu/cpu.hpp"
#include "backends/process/program.hpp"
#include "backends/process/served_program.hpp"
#include "xtune/error.hpp"

namespace xtune::process {
namespace {

class ProcessDevice final : public measure::Device {
 public:
  explicit ProcessDevice(int index) : info_(cpu::cpu_info()), index_(index) { info_.backend = "process"; }

  const device::DeviceInfo& info() const noexcept override { return info_; }
  std::unique_ptr<measure::Buffer> allocate(std::size_t /*bytes*/) override {
    throw Error(ErrorKind::unsupported, "a program has no xtune buffers");
  }
  std::unique_ptr<measure::Program> load(const build::Artifact& artifact, const device::LaunchPlan& launch) override {
    if (!launch.call) throw Error(ErrorKind::unsupported, "backend 'process' runs programs, and this is a kernel");
    if (!launch.call->request.empty()) return servers_.load(artifact, *launch.call);
    return load_program(artifact, *launch.call, index_);
  }
  std::vector<int> kept_processes() const override { return servers_.processes(); }

 private:
  device::DeviceInfo info_;
  int index_;
  ServedPrograms servers_{index_};
};

}  // namespace

std::unique_ptr<measure::Device> make_device(int index) { return std::make_unique<ProcessDevice>(index); }

std::string visible_device(const char* now, int index) {
  if (!now || !*now) return std::to_string(index);
  std::string_view rest = now;
  for (int i = 0; i < index && !rest.empty(); ++i) rest.remove_prefix(std::min(rest.find(','), rest.size() - 1) + 1);
  return std::string(rest.substr(0, rest.find(',')));
}

}  // namespace xtune::process
