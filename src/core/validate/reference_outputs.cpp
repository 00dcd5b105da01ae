// Distinguishes unwritten elements of a reference from those that it computed.
#include "core/validate/reference_outputs.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "core/validate/inputs.hpp"
#include "core/validate/parallel.hpp"

namespace xtune::validate {
namespace {

bool is_nan(DType type, const std::byte* element) {
  if (!spec::is_floating(type)) return false;
  const DType part = spec::part_of(type);
  return std::isnan(spec::decode(part, element)) ||
         (spec::is_complex(type) && std::isnan(spec::decode(part, element + size_of(part))));
}

bool is_finite(DType type, const std::byte* element) {
  const DType part = spec::part_of(type);
  return std::isfinite(spec::decode(part, element)) &&
         (!spec::is_complex(type) || std::isfinite(spec::decode(part, element + size_of(part))));
}

template <class Test>
bool any_of(DType type, std::span<const std::byte> values, Test test) {
  constexpr std::uint64_t compared_grain = std::uint64_t{1} << 17;
  const std::size_t size = size_of(type);
  std::atomic<bool> found{false};
  parallel_for(values.size() / size, compared_grain, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end && !found; ++i)
      if (test(values.data() + i * size)) found = true;
  });
  return found;
}

/// The sign of a NaN has no meaning. For complex numbers that of the real part is changed.
void make_other_nan(DType type, std::byte* element) { element[size_of(spec::part_of(type)) - 1] &= std::byte{0x7F}; }

bool is_zero(std::span<const std::byte> element) {
  return std::all_of(element.begin(), element.end(), [](std::byte b) { return b == std::byte{0}; });
}

void note_nan(DType type, std::byte* element, ReferenceFacts& facts) {
  ++facts.nans;
  if (holds_poison(type, element)) make_other_nan(type, element);
}

}  // namespace

void ReferenceFacts::add(const ReferenceFacts& other) noexcept {
  count += other.count;
  unwritten += other.unwritten;
  from_output += other.from_output;
  nans += other.nans;
}

bool any_poison(DType type, std::span<const std::byte> expected) {
  return any_of(type, expected, [type](const std::byte* element) { return holds_poison(type, element); });
}

bool is_doubtful(DType type, std::span<const std::byte> expected) {
  return any_of(type, expected,
                [type](const std::byte* element) { return holds_poison(type, element) || is_nan(type, element); });
}

ReferenceFacts sort_out(DType type, std::span<std::byte> from_poison, std::span<const std::byte> from_zeros) {
  const std::size_t size = size_of(type);
  ReferenceFacts facts;
  for (std::size_t at = 0; at < from_poison.size(); at += size) {
    std::byte* const first = &from_poison[at];
    const bool poison = holds_poison(type, first);
    ++facts.count;
    if (poison && is_zero(from_zeros.subspan(at, size)))
      ++facts.unwritten;
    else if (poison && !spec::is_floating(type))
      facts.from_output += std::memcmp(first, &from_zeros[at], size) != 0;
    else if (is_nan(type, first) && !is_nan(type, &from_zeros[at]))
      ++facts.from_output;
    else if (is_nan(type, first))
      note_nan(type, first, facts);
  }
  return facts;
}

ReferenceFacts sort_out(DType type, std::span<std::byte> given) {
  const std::size_t size = size_of(type);
  ReferenceFacts facts{given.size() / size};
  if (!spec::is_floating(type) || !is_doubtful(type, given)) return facts;
  for (std::size_t at = 0; at < given.size(); at += size)
    if (is_nan(type, &given[at])) note_nan(type, &given[at], facts);
  return facts;
}

bool any_not_finite(DType type, std::span<const std::byte> values) {
  return spec::is_floating(type) &&
         any_of(type, values, [type](const std::byte* element) { return !is_finite(type, element); });
}

}  // namespace xtune::validate
