// Values to a device and back, and values as arguments.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "backends/backend.hpp"

namespace xtune::fakes {

template <class T>
std::unique_ptr<measure::Buffer> upload(measure::Device& device, const std::vector<T>& values) {
  auto buffer = device.allocate(values.size() * sizeof(T));
  buffer->write(0, std::as_bytes(std::span(values)));
  return buffer;
}

/// All of it.
template <class T>
std::vector<T> download(measure::Buffer& buffer) {
  std::vector<T> values(buffer.size() / sizeof(T));
  buffer.read(0, std::as_writable_bytes(std::span(values)));
  return values;
}

template <class T>
measure::KernelArgument scalar(T value) {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(&value, 1));
  return measure::ScalarArgument{{bytes.begin(), bytes.end()}};
}

}  // namespace xtune::fakes
