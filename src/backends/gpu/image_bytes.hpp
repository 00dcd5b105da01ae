// Reading structures from the bytes of an image, which may be damaged.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace xtune::gpu {

/// The bytes [offset, offset + size), or empty if the image does not have all of them.
inline std::string_view image_slice(std::string_view image, std::uint64_t offset, std::uint64_t size) {
  if (offset > image.size() || size > image.size() - offset) return {};
  return image.substr(offset, size);
}

/// Copies a structure, since data in a file need not be aligned. False: the image does not have all of it.
template <class T>
bool image_copy(std::string_view image, std::uint64_t offset, T& out) {
  const std::string_view bytes = image_slice(image, offset, sizeof(T));
  if (bytes.size() != sizeof(T)) return false;
  std::memcpy(&out, bytes.data(), sizeof(T));
  return true;
}

}  // namespace xtune::gpu
