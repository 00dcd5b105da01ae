// The counterpart of the check kernel on the host.
#include "core/validate/check_kernel.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/random.hpp"
#include "system/parallel.hpp"

namespace xtune::validate {
namespace {

static_assert(sizeof(CheckItem) == 80 && sizeof(CheckResult) == 32, "the kernel's layout");

std::uint64_t mixed(std::uint64_t word, std::uint64_t place) { return base::mix64(word + place * 0x9E3779B97F4A7C15u); }

}  // namespace

CheckItem compare_item(DType type, std::uint64_t actual, std::uint64_t expected, std::uint64_t bytes,
                       const Tolerance& tolerance, std::uint64_t row_atol) {
  const FloatFormat format = float_format(type);
  CheckItem item;
  item.operation = CheckItem::compare;
  item.part_bytes = static_cast<std::uint32_t>(size_of(spec::part_of(type)));
  item.parts = spec::is_complex(type) ? 2 : 1;
  item.exponent_bits = format.exponent_bits;
  item.mantissa_bits = format.mantissa_bits;
  item.top_is_nan = type == DType::f8e4m3;
  item.address = actual;
  item.other = expected;
  item.bytes = bytes;
  item.atol = tolerance.atol;
  item.rtol = tolerance.rtol;
  item.row_atol = row_atol;
  item.row_bytes = tolerance.row_length * size_of(type);
  return item;
}

std::uint64_t checksum(std::span<const std::byte> bytes) {
  constexpr std::uint64_t unit = check_kernel::unit_bytes, checked_grain = std::uint64_t{1} << 16;
  std::atomic<std::uint64_t> sum{0};
  system::parallel_for((bytes.size() + unit - 1) / unit, checked_grain, [&](std::uint64_t begin, std::uint64_t end) {
    std::uint64_t part = 0;
    for (std::uint64_t i = begin; i < end; ++i) {
      std::uint64_t words[2] = {0, 0};
      std::memcpy(words, bytes.data() + i * unit, std::min<std::uint64_t>(unit, bytes.size() - i * unit));
      part += mixed(words[0], 2 * i) + mixed(words[1], 2 * i + 1);
    }
    sum += part;
  });
  return sum;
}

build::CompileRequest check_request(const std::string& arch) {
  return build::own_request("check_kernel.cu", check_kernel_cu, check_kernel::name, arch);
}

}  // namespace xtune::validate
