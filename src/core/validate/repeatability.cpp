// Finds the elements whose bits differ.
#include "core/validate/repeatability.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "core/spec/dtype.hpp"
#include "core/validate/compare.hpp"

namespace xtune::validate {
namespace {

/// "nan (bits 7fc00001)", most significant byte first.
std::string with_bits(const std::string& text, const std::byte* element, std::size_t size) {
  std::string bits;
  for (std::size_t i = size; i-- > 0;) bits += fmt::format("{:02x}", std::to_integer<unsigned>(element[i]));
  return fmt::format("{} (bits {})", text, bits);
}

}  // namespace

std::string BitDifference::text() const {
  return fmt::format("[{}] was {} and is {}, and {} of {} elements differ", fmt::join(coordinates, ", "), before, now,
                     differing, count);
}

std::string Repeatability::text() const {
  if (same()) return fmt::format("the same bits in {} launches", launches);
  return fmt::format("launch {} gave other bits than launch 1: {}: {}", launches, difference->argument,
                     difference->text());
}

void compare_bits(const ArgumentLayout& layout, std::uint64_t offset, std::span<const std::byte> before,
                  std::span<const std::byte> now, std::optional<BitDifference>& difference) {
  if (now.empty() || std::memcmp(now.data(), before.data(), now.size()) == 0) return;
  const std::size_t size = size_of(layout.dtype);
  for (std::size_t i = 0; i < now.size(); i += size) {
    const std::byte* const old_element = before.data() + i;
    const std::byte* const element = now.data() + i;
    if (std::memcmp(element, old_element, size) == 0) continue;
    if (!difference) {
      difference.emplace();
      difference->argument = layout.name;
      difference->coordinates = coordinates_of((offset + i) / size, layout.shape);
      difference->before = element_text(layout.dtype, old_element);
      difference->now = element_text(layout.dtype, element);
      if (difference->before == difference->now) {
        difference->before = with_bits(difference->before, old_element, size);
        difference->now = with_bits(difference->now, element, size);
      }
      difference->count = layout.elements();
    }
    ++difference->differing;
  }
}

}  // namespace xtune::validate
