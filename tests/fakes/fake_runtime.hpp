// An application's contexts and streams without a device: records loads and launches, and fails where a test wants it.
#pragma once

#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backends/runtime.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::fakes {

struct FakeLaunchRecord {
  std::string image;  ///< of the artifact; of its further kernels, their symbol
  std::uintptr_t context = 0;
  void* stream = nullptr;
  device::Launch launch;
  std::vector<std::string> parameters;  ///< the bytes of each
};

class FakeRuntime final : public backend::Runtime {
 public:
  std::vector<std::size_t> parameter_bytes;
  std::map<const void*, std::size_t> memory;  ///< device memory by address, with its size
  int status = 0;                             ///< result of launches
  bool has_foreign_streams = false;           ///< all of them
  bool knows_contexts = false;                ///< of memory: all of it belongs to context 1
  std::string refused_image;                  ///< which cannot be loaded
  std::string foreign_image;                  ///< in a format of another version
  std::atomic<int> loads{0};
  std::atomic<int> encoded{0};  ///< tensor maps
  device::DeviceInfo info;
  std::uint64_t capture = 0;  ///< of all streams
  struct Allocation {
    std::size_t bytes = 0;
    void* stream = nullptr;
    bool captured = false;
  };
  std::vector<Allocation> allocations;  ///< of scratch
  struct Zeroed {
    void* address = nullptr;
    std::size_t bytes = 0;
    void* stream = nullptr;
    std::size_t launches_before = 0;
  };
  std::vector<Zeroed> zeroed;

  /// Of the calling thread.
  static std::uintptr_t& context() {
    thread_local std::uintptr_t context = 1;
    return context;
  }
  std::vector<FakeLaunchRecord> launches() const {
    const std::lock_guard lock(mutex_);
    return launches_;
  }

  std::uintptr_t current() noexcept override { return context(); }
  void adopt(std::uintptr_t wanted) override { context() = wanted; }
  device::DeviceInfo device() override {
    if (context() == 0) throw Error(ErrorKind::unavailable, "no context: make one first");
    return info;
  }
  bool understands(const build::Artifact& artifact) const noexcept override {
    return foreign_image.empty() || artifact.image.find(foreign_image) == std::string::npos;
  }
  backend::LoadedKernel load(const build::Artifact& artifact, const device::Launch&, std::size_t number) override {
    if (!refused_image.empty() && artifact.image.find(refused_image) != std::string::npos)
      throw build::CandidateFailure(Outcome::launch_failed, "the driver refuses " + refused_image);
    const std::lock_guard lock(mutex_);
    ++loads;
    loaded_.push_back({number == 0 ? artifact.image : build::entry_of(artifact, number).symbol, context()});
    return {&loaded_.back(), parameter_bytes};
  }
  /// The address, in the first bytes.
  measure::EncodedTensorMap encode(const measure::TensorMap& map, void* address) override {
    if (const auto complaint = measure::forbidden_address(map, address))
      throw build::CandidateFailure(Outcome::rejected, *complaint);
    ++encoded;
    measure::EncodedTensorMap result;
    std::memcpy(result.bytes.data(), &address, sizeof address);
    return result;
  }
  int launch(void* handle, const device::Launch& launch, void* stream, void** parameters) noexcept override {
    const auto& kernel = *static_cast<const std::pair<std::string, std::uintptr_t>*>(handle);
    FakeLaunchRecord record{kernel.first, kernel.second, stream, launch, {}};
    for (std::size_t i = 0; i < parameter_bytes.size(); ++i)
      record.parameters.emplace_back(static_cast<const char*>(parameters[i]), parameter_bytes[i]);
    const std::lock_guard lock(mutex_);
    launches_.push_back(std::move(record));
    return status;
  }
  std::string describe(int code) override { return "FAKE_" + std::to_string(code); }
  std::optional<std::size_t> accessible_bytes(const void* address, std::size_t /*wanted*/) noexcept override {
    const auto found = memory.find(address);
    return found == memory.end() ? 0 : found->second;
  }
  bool enter_context_of(const void* address) override {
    if (!knows_contexts || context() != 0 || !memory.contains(address)) return false;
    context() = 1;
    return true;
  }
  backend::Queue queue_of(void* stream) noexcept override { return {context(), stream, capture}; }
  bool is_foreign(void*) noexcept override { return has_foreign_streams; }
  int zero(void* address, std::size_t bytes, void* stream) noexcept override {
    const std::lock_guard lock(mutex_);
    zeroed.push_back({address, bytes, stream, launches_.size()});
    return 0;
  }
  void read(void* host, const void* device, std::size_t bytes, void*) override { std::memcpy(host, device, bytes); }

  void write(void* device, const void* host, std::size_t bytes) override { std::memcpy(device, host, bytes); }
  void snapshot(void* host, const void* device, std::size_t bytes) override { std::memcpy(host, device, bytes); }

 private:
  std::shared_ptr<void> allocate(std::size_t bytes, void* stream, bool captured) override {
    const std::lock_guard lock(mutex_);
    allocations.push_back({bytes, stream, captured});
    return std::shared_ptr<std::byte[]>(new std::byte[bytes]);
  }

  mutable std::mutex mutex_;
  std::deque<std::pair<std::string, std::uintptr_t>> loaded_;
  std::vector<FakeLaunchRecord> launches_;
};

}  // namespace xtune::fakes
