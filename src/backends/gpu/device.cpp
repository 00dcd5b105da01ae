// The GPU: its stream, its events and memory, and the outcomes of failing driver calls.
#include "backends/gpu/device.hpp"

#include <fmt/core.h>

#include <utility>

#include "base/text.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::gpu {

Session::Session(DriverApi api, device::DeviceInfo info) : api_(std::move(api)), info_(std::move(info)) {
  Status status = api_.create_stream(&stream_);
  if (status == 0) status = api_.create_event(&start_);
  if (status == 0) status = api_.create_event(&stop_);
  if (status == 0) return;
  const std::string reason = api_.describe(status);
  release();
  throw Error(ErrorKind::unavailable,
              fmt::format("device {} ({}) does not answer: {}", info_.index, info_.name, reason));
}

Session::~Session() { release(); }

void Session::release() noexcept {
  // After a fault every call fails; the process that owns the device is about to end, so results are ignored.
  timer_.reset();
  try {
    if (flush_) api_.free(flush_);
    if (stop_) api_.destroy_event(stop_);
    if (start_) api_.destroy_event(start_);
    if (stream_) api_.destroy_stream(stream_);
    if (api_.close) api_.close();
  } catch (...) {
  }
}

void Session::fail(Status status, Outcome outcome, const char* doing) const {
  const std::string message = fmt::format("{}: {}", doing, api_.describe(status));
  // Another process may hold the memory that a kernel's stacks or static arrays need.
  if (const build::Lack lack = api_.lack(status); lack != build::Lack::none)
    throw build::ShortageFailure(lack, outcome, message);
  throw build::CandidateFailure(outcome, message);
}

void Session::check(Status status, const char* doing) const {
  if (status != 0) fail(status, Outcome::crashed, doing);
}

void Session::check_launch(Status status, const char* doing) const {
  if (status != 0) fail(status, api_.is_sticky(status) ? Outcome::crashed : Outcome::launch_failed, doing);
}

void* Session::allocate(std::size_t bytes, const char* what) {
  void* address = nullptr;
  // The driver refuses an empty allocation, and an empty buffer is a valid argument.
  const Status status = api_.allocate(&address, bytes ? bytes : 1);
  if (status == 0) return address;
  if (api_.is_sticky(status)) check(status, "allocating device memory");
  std::string hint;
  if (api_.lack(status) == build::Lack::memory) hint = "; use a smaller problem, or a device with more free memory";
  throw Error(ErrorKind::unavailable, fmt::format("cannot allocate {} for {} on {}: {}{}", base::human_bytes(bytes),
                                                  what, info_.name, api_.describe(status), hint));
}

QueueTimer& Session::timer() {
  if (!timer_) timer_ = std::make_unique<QueueTimer>(*this);
  return *timer_;
}

void* Session::flush_memory(std::size_t bytes) {
  if (bytes <= flush_bytes_) return flush_;
  if (flush_) {
    api_.free(flush_);
    flush_ = nullptr;
    flush_bytes_ = 0;
  }
  flush_ = allocate(bytes, "flushing the L2 cache");
  flush_bytes_ = bytes;
  return flush_;
}

void Session::flush(std::size_t bytes) {
  check(api_.fill(flush_memory(bytes), 0, bytes, stream_), "flushing the L2 cache");
}

namespace {

class GpuDevice final : public measure::Device {
 public:
  GpuDevice(DriverApi api, device::DeviceInfo info)
      : session_(std::make_shared<Session>(std::move(api), std::move(info))) {}
  const device::DeviceInfo& info() const noexcept override { return session_->info(); }
  std::unique_ptr<measure::Buffer> allocate(std::size_t bytes) override { return make_buffer(session_, bytes); }
  void name_memory(const void* address, std::size_t bytes, const std::string& name) override {
    if (session_->api().name_memory) session_->api().name_memory(address, bytes, name);
  }
  std::unique_ptr<measure::Program> load(const build::Artifact& artifact, const device::LaunchPlan& launch) override {
    return make_program(session_, artifact, launch);
  }
  measure::EncodedTensorMap encode(const measure::TensorMap& map, void* address) override {
    return encoded(session_->api(), session_->info(), map, address);
  }
  measure::TimerInfo timer() override { return session_->timer().info(); }
  std::string lack_of_graphs() const override {
    const DriverApi& api = session_->api();
    return api.begin_capture
               ? ""
               : fmt::format("the driver of {} has no graphs; they need {}", info().name, api.graphs_need);
  }
  measure::DeviceState state() override {
    return session_->api().state ? session_->api().state() : measure::DeviceState();
  }

 private:
  std::shared_ptr<Session> session_;
};

}  // namespace

void require_cluster(const DriverApi& api, const device::DeviceInfo& info, Function function,
                     const device::Launch& launch) {
  if (launch.cluster[0] == 0) return;
  const auto refuse = [](const std::string& why) { throw build::CandidateFailure(Outcome::rejected, why); };
  if (!api.launch_cluster)
    refuse(fmt::format("{} ({}) has no thread block clusters; they need sm_90 and a driver for CUDA 11.8", info.name,
                       info.arch));
  if (!api.active_clusters) return;
  const auto volume = [](const std::array<std::uint32_t, 3>& extents) {
    return std::uint64_t{extents[0]} * extents[1] * extents[2];
  };
  const std::string cluster =
      fmt::format("a cluster of {} blocks, each with {} threads and {} bytes of dynamic shared memory",
                  volume(launch.cluster), volume(launch.block), launch.shared_bytes);
  int count = 0;
  if (const Status status = api.active_clusters(&count, function, launch); status != 0)
    refuse(fmt::format("the driver refuses {}: {}", cluster, api.describe(status)));
  if (count < 1)
    refuse(fmt::format("{} ({}) cannot run {}: the driver counts 0 at once", info.name, info.arch, cluster));
}

measure::EncodedTensorMap encoded(const DriverApi& api, const device::DeviceInfo& info, const measure::TensorMap& map,
                                  void* address) {
  const auto refuse = [](const std::string& why) { throw build::CandidateFailure(Outcome::rejected, why); };
  if (const auto lack = measure::lack_of_tensor_maps(info)) refuse(*lack);
  if (!api.encode_tensor_map)
    refuse(fmt::format("{} ({}): the driver has no tensor maps; they need one for CUDA 12", info.name, info.arch));
  if (const auto complaint = measure::forbidden_address(map, address)) refuse(*complaint);
  measure::EncodedTensorMap result;
  if (const Status status = api.encode_tensor_map(&result, map, address); status != 0)
    refuse(fmt::format("the driver refuses the tensor map {}: {}", measure::to_string(map), api.describe(status)));
  return result;
}

std::unique_ptr<measure::Device> make_device(DriverApi api, device::DeviceInfo info) {
  return std::make_unique<GpuDevice>(std::move(api), std::move(info));
}

}  // namespace xtune::gpu
