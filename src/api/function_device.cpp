// The configuration arrives as the words of a program's call.
#include "api/function_device.hpp"

#include <fmt/core.h>

#include <exception>
#include <utility>

#include "api/function_words.hpp"
#include "api/interruption.hpp"
#include "core/measure/statistics.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

class FunctionProgram final : public measure::Program {
 public:
  FunctionProgram(const std::function<double(const Bindings&)>& timed, Bindings config)
      : timed_(timed), config_(std::move(config)) {}

  measure::Sample run(const measure::RunOptions& options) override {
    double total_ms = 0;
    for (std::size_t i = 0; i <= options.more.size(); ++i) total_ms += time();
    measure::Sample sample;
    sample.time_ms = total_ms / static_cast<double>(1 + options.more.size());
    return sample;
  }
  bool times_itself() const noexcept override { return true; }

 private:
  double time() {
    double time_ms = 0;
    try {
      time_ms = timed_(config_);
    } catch (const std::exception& error) {
      pass_interruption(error);
      throw build::CandidateFailure(Outcome::launch_failed, error.what());
    }
    if (!measure::is_time(time_ms))
      throw build::CandidateFailure(
          Outcome::launch_failed,
          fmt::format("the function returned {} as its time; times are {}", time_ms, measure::possible_times));
    return time_ms;
  }

  const std::function<double(const Bindings&)>& timed_;
  const Bindings config_;
};

class FunctionDevice final : public measure::Device {
 public:
  FunctionDevice(device::DeviceInfo info, std::vector<space::Parameter> parameters,
                 std::function<double(const Bindings&)> timed)
      : info_(std::move(info)), parameters_(std::move(parameters)), timed_(std::move(timed)) {}

  const device::DeviceInfo& info() const noexcept override { return info_; }
  std::unique_ptr<measure::Buffer> allocate(std::size_t /*bytes*/) override {
    throw Error(ErrorKind::unsupported, "a function has no xtune buffers");
  }
  std::unique_ptr<measure::Program> load(const build::Artifact& /*artifact*/,
                                         const device::LaunchPlan& launch) override {
    return std::make_unique<FunctionProgram>(timed_, config_of_words(launch.call.value().words, parameters_));
  }

 private:
  const device::DeviceInfo info_;
  const std::vector<space::Parameter> parameters_;
  const std::function<double(const Bindings&)> timed_;
};

}  // namespace

std::unique_ptr<measure::Device> make_function_device(device::DeviceInfo info, std::vector<space::Parameter> parameters,
                                                      std::function<double(const Bindings& config)> timed) {
  return std::make_unique<FunctionDevice>(std::move(info), std::move(parameters), std::move(timed));
}

}  // namespace xtune
