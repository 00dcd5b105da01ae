// Values as the bytes of an argument.
#pragma once

#include <vector>

#include "core/spec/dtype.hpp"

namespace xtune::test {

inline std::vector<std::byte> encode_all(DType type, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * size_of(type));
  for (std::size_t i = 0; i < values.size(); ++i) spec::encode(type, values[i], bytes.data() + i * size_of(type));
  return bytes;
}

}  // namespace xtune::test
