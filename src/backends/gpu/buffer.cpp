// Device memory.
#include <fmt/core.h>

#include <stdexcept>
#include <utility>

#include "backends/gpu/device.hpp"

namespace xtune::gpu {
namespace {

class GpuBuffer final : public measure::Buffer {
 public:
  GpuBuffer(std::shared_ptr<Session> session, std::size_t bytes)
      : session_(std::move(session)), size_(bytes), address_(session_->allocate(bytes, "a buffer")), owned_(true) {}
  GpuBuffer(std::shared_ptr<Session> session, void* address, std::size_t bytes)
      : session_(std::move(session)), size_(bytes), address_(address), owned_(false) {}
  ~GpuBuffer() override {
    if (!owned_) return;
    try {
      session_->api().free(address_);
    } catch (...) {  // a destructor never throws
    }
  }
  GpuBuffer(const GpuBuffer&) = delete;
  GpuBuffer& operator=(const GpuBuffer&) = delete;

  std::size_t size() const noexcept override { return size_; }
  void* address() noexcept override { return address_; }

  void write(std::size_t offset, std::span<const std::byte> bytes) override {
    check_range(offset, bytes.size());
    if (bytes.empty()) return;
    session_->check(session_->api().copy_to_device(at(offset), bytes.data(), bytes.size()), "copying to the device");
  }

  void read(std::size_t offset, std::span<std::byte> bytes) override {
    check_range(offset, bytes.size());
    if (bytes.empty()) return;
    session_->check(session_->api().copy_to_host(bytes.data(), at(offset), bytes.size()), "copying from the device");
  }

  void fill(std::size_t offset, std::size_t size, std::byte value) override {
    check_range(offset, size);
    if (size == 0) return;
    const DriverApi& api = session_->api();
    session_->check(api.fill(at(offset), std::to_integer<unsigned char>(value), size, session_->stream()),
                    "filling device memory");
    session_->check(api.synchronize_stream(session_->stream()), "filling device memory");
  }

 private:
  void* at(std::size_t offset) const noexcept { return static_cast<std::byte*>(address_) + offset; }
  void check_range(std::size_t offset, std::size_t size) const {
    if (offset > size_ || size > size_ - offset)
      throw std::out_of_range(fmt::format("bytes [{}, +{}) lie outside a buffer of {} bytes", offset, size, size_));
  }

  std::shared_ptr<Session> session_;
  std::size_t size_;
  void* address_;
  bool owned_;
};

}  // namespace

std::unique_ptr<measure::Buffer> make_buffer(std::shared_ptr<Session> session, std::size_t bytes) {
  return std::make_unique<GpuBuffer>(std::move(session), bytes);
}

std::unique_ptr<measure::Buffer> make_view(std::shared_ptr<Session> session, void* address, std::size_t bytes) {
  return std::make_unique<GpuBuffer>(std::move(session), address, bytes);
}

}  // namespace xtune::gpu
