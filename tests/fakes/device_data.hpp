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
  static_assert(std::is_arithmetic_v<T>);
  measure::ScalarArgument scalar;
  std::memcpy(scalar.bytes.data(), &value, sizeof value);
  scalar.size = sizeof value;
  return scalar;
}

}  // namespace xtune::fakes
