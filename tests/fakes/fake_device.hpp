// A device in ordinary memory whose kernels are C++ functions, with scripted times and failures.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/measure/device.hpp"
#include "xtune/error.hpp"

namespace xtune::fakes {

/// The allocations, and the traffic between device and host.
struct FakeMemory {
  std::size_t allocations = 0;
  std::size_t written_bytes = 0, read_bytes = 0;  ///< by Buffer::write and Buffer::read
  std::optional<std::size_t> left_bytes;          ///< unset: enough
  std::vector<measure::Buffer*> live;
};

class FakeBuffer final : public measure::Buffer {
 public:
  FakeBuffer(std::size_t bytes, FakeMemory& memory) : memory_(bytes, std::byte{0x5C}), all_(memory) {
    if (all_.left_bytes && *all_.left_bytes < bytes) throw Error(ErrorKind::unavailable, "out of memory");
    if (all_.left_bytes) *all_.left_bytes -= bytes;
    ++all_.allocations;
    all_.live.push_back(this);
  }
  ~FakeBuffer() override {
    if (all_.left_bytes) *all_.left_bytes += memory_.size();
    std::erase(all_.live, this);
  }
  FakeBuffer(const FakeBuffer&) = delete;
  FakeBuffer& operator=(const FakeBuffer&) = delete;
  std::size_t size() const noexcept override { return memory_.size(); }
  void* address() noexcept override { return memory_.data(); }
  void write(std::size_t offset, std::span<const std::byte> bytes) override {
    check(offset, bytes.size());
    all_.written_bytes += bytes.size();
    if (!bytes.empty()) std::memcpy(memory_.data() + offset, bytes.data(), bytes.size());
  }
  void read(std::size_t offset, std::span<std::byte> bytes) override {
    check(offset, bytes.size());
    all_.read_bytes += bytes.size();
    if (!bytes.empty()) std::memcpy(bytes.data(), memory_.data() + offset, bytes.size());
  }
  void fill(std::size_t offset, std::size_t size, std::byte value) override {
    check(offset, size);
    std::fill_n(memory_.begin() + static_cast<std::ptrdiff_t>(offset), size, value);
  }

 private:
  void check(std::size_t offset, std::size_t size) const {
    if (offset > memory_.size() || size > memory_.size() - offset) throw std::out_of_range("fake buffer");
  }
  std::vector<std::byte> memory_;
  FakeMemory& all_;
};

/// A launch for a kernel function.
struct FakeLaunch {
  std::string key;  ///< of the artifact
  device::Launch launch;
  std::size_t kernel = 0;  ///< device::Step::kernel
  bool timed = false;
  std::size_t flush_bytes = 0;
  int number = 0;  ///< counts the program's launches from 0
  std::vector<measure::Buffer*> buffers;
  std::vector<measure::ScalarArgument> scalars;
  std::vector<FakeBuffer*> variables{};  ///< of the program, by their numbers
  std::vector<const void*> mapped{};     ///< the addresses in its tensor maps

  template <class T>
  T* buffer(std::size_t i) const {
    return static_cast<T*>(buffers.at(i)->address());
  }
  template <class T>
  T scalar(std::size_t i) const {
    T value{};
    std::memcpy(&value, scalars.at(i).bytes.data(), sizeof value);
    return value;
  }
};

/// Computes, and returns the time of the launch in ms. Throws CandidateFailure to fail.
using FakeKernel = std::function<double(const FakeLaunch&)>;

class FakeDevice final : public measure::Device, public FakeMemory {
 public:
  std::map<std::string, FakeKernel> kernels;                       ///< by artifact key
  std::map<std::string, build::CandidateFailure> load_failures;    ///< by artifact key
  std::map<std::string, std::vector<std::size_t>> variable_bytes;  ///< of each program's variables, by artifact key
  device::DeviceInfo device_info;
  std::vector<FakeLaunch> launches;             ///< every launch, in order
  std::function<void(measure::Sample&)> dress;  ///< sets values of timed samples besides their time
  bool times_itself = false;                    ///< as programs do
  bool has_tensor_maps = true;
  std::vector<measure::TensorMap> encoded;  ///< every map, in order

  std::function<measure::DeviceState()> device_state;

  const device::DeviceInfo& info() const noexcept override { return device_info; }
  std::unique_ptr<measure::Buffer> allocate(std::size_t bytes) override {
    return std::make_unique<FakeBuffer>(bytes, *this);
  }
  std::unique_ptr<measure::Program> load(const build::Artifact& artifact, const device::LaunchPlan& launch) override {
    if (const auto found = load_failures.find(artifact.key); found != load_failures.end()) throw found->second;
    return std::make_unique<FakeProgram>(*this, artifact.key, launch);
  }
  /// The address, in the first bytes.
  measure::EncodedTensorMap encode(const measure::TensorMap& map, void* address) override {
    if (!has_tensor_maps) return Device::encode(map, address);
    encoded.push_back(map);
    measure::EncodedTensorMap result;
    std::memcpy(result.bytes.data(), &address, sizeof address);
    return result;
  }
  measure::DeviceState state() override { return device_state ? device_state() : measure::DeviceState(); }

 private:
  class FakeProgram final : public measure::Program {
   public:
    FakeProgram(FakeDevice& device, std::string key, device::LaunchPlan plan)
        : device_(device), key_(std::move(key)), steps_(std::move(plan.steps)) {
      if (steps_.empty()) steps_.resize(1);
      for (const std::size_t bytes : device_.variable_bytes[key_])
        variables_.push_back(std::make_unique<FakeBuffer>(bytes, device_));
    }
    std::unique_ptr<measure::Buffer> variable(std::size_t number) override {
      return std::make_unique<View>(*variables_.at(number));
    }
    measure::Sample run(const measure::RunOptions& options) override {
      double sum_ms = launch(options, options.arguments);
      for (const auto& arguments : options.more) sum_ms += launch(options, arguments);
      measure::Sample sample{sum_ms / static_cast<double>(1 + options.more.size())};
      if (options.timed && device_.dress) device_.dress(sample);
      return sample;
    }

    bool times_itself() const noexcept override { return device_.times_itself; }

   private:
    struct View final : measure::Buffer {
      explicit View(FakeBuffer& of_) : of(of_) {}
      std::size_t size() const noexcept override { return of.size(); }
      void* address() noexcept override { return of.address(); }
      void write(std::size_t offset, std::span<const std::byte> bytes) override { of.write(offset, bytes); }
      void read(std::size_t offset, std::span<std::byte> bytes) override { of.read(offset, bytes); }
      void fill(std::size_t offset, std::size_t size, std::byte value) override { of.fill(offset, size, value); }
      FakeBuffer& of;
    };
    double launch(const measure::RunOptions& options, std::span<const measure::KernelArgument> arguments) {
      for (measure::Buffer* const buffer : options.zeroed) std::memset(buffer->address(), 0, buffer->size());
      double sum_ms = 0;
      for (const device::Step& step : steps_) sum_ms += launch_step(options, step, step.chosen(arguments));
      ++number_;
      return sum_ms;
    }
    double launch_step(const measure::RunOptions& options, const device::Step& step,
                       const std::vector<measure::KernelArgument>& arguments) {
      FakeLaunch call{key_, step.launch, step.kernel, options.timed, options.flush_bytes, number_, {}, {}};
      for (const measure::KernelArgument& argument : arguments) {
        if (const auto* buffer = std::get_if<measure::Buffer*>(&argument))
          call.buffers.push_back(*buffer);
        else if (const auto* map = std::get_if<measure::EncodedTensorMap>(&argument))
          std::memcpy(&call.mapped.emplace_back(), map->bytes.data(), sizeof(void*));
        else
          call.scalars.push_back(std::get<measure::ScalarArgument>(argument));
      }
      for (const auto& variable : variables_) call.variables.push_back(variable.get());
      device_.launches.push_back(call);
      return device_.kernels.at(key_)(call);
    }
    FakeDevice& device_;
    std::vector<std::unique_ptr<FakeBuffer>> variables_;
    std::string key_;
    std::vector<device::Step> steps_;
    int number_ = 0;
  };
};

}  // namespace xtune::fakes
