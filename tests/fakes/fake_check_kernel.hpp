// The check kernel as a C++ function, over the host's own checksum and comparison.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/validate/check_kernel.hpp"
#include "fakes/fake_device.hpp"

namespace xtune::fakes {

/// Compares only f32.
inline double check_kernel_of_f32(const FakeLaunch& call) {
  const auto* const items = call.buffer<validate::CheckItem>(0);
  auto* const results = reinterpret_cast<validate::CheckResult*>(call.scalar<std::uint64_t>(0));
  for (std::uint32_t row = 0; row < call.launch.grid[1]; ++row) {
    const validate::CheckItem& item = items[row];
    auto* const to = reinterpret_cast<std::byte*>(item.address);
    const auto* const from = reinterpret_cast<const std::byte*>(item.other);
    if (item.operation == validate::CheckItem::add_up) results[row].sum += validate::checksum({to, item.bytes});
    if (item.operation == validate::CheckItem::copy) std::memcpy(to, from, item.bytes);
    if (item.operation == validate::CheckItem::fill)
      for (std::uint64_t i = 0; i < item.bytes; ++i)
        std::memcpy(to + i, reinterpret_cast<const char*>(&item.other) + i % 8, 1);
    if (item.operation != validate::CheckItem::compare) continue;
    for (std::uint64_t i = 0; i < item.bytes; i += sizeof(float)) {
      if (std::memcmp(to + i, from + i, sizeof(float)) == 0) continue;
      float got, want;
      std::memcpy(&got, to + i, sizeof got);
      std::memcpy(&want, from + i, sizeof want);
      const double error = std::abs(static_cast<double>(got) - want);
      const double atol =
          item.row_atol ? reinterpret_cast<const double*>(item.row_atol)[i / item.row_bytes] : item.atol;
      if (!(error <= atol + item.rtol * std::abs(want)) || !std::isfinite(error)) {
        ++results[row].differing;
        continue;
      }
      results[row].max_abs_error = std::max(results[row].max_abs_error, error);
      if (want != 0) results[row].max_rel_error = std::max(results[row].max_rel_error, error / std::abs(want));
    }
  }
  return 0;
}

}  // namespace xtune::fakes
