// Default tolerances from dtype, reduction length and the sizes of the expected values.
#include "core/validate/tolerance.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "base/random.hpp"
#include "system/parallel.hpp"

namespace xtune::validate {

namespace {

constexpr std::uint64_t summed_grain = std::uint64_t{1} << 16;
constexpr std::size_t block_elements = 1024;
constexpr double lambda = 8;
// What values that are much larger than the rest may add to the tolerance, in typical magnitudes.
constexpr double outlier_share = 1.0 / 64, spread = 2;
constexpr std::uint64_t shortest_row = 64, row_sample = 256;
// Beyond this a comparison would prove nothing. Two roundings to f8e5m2 can differ by this much.
constexpr double largest_eta = 0.25;

struct Squares {
  double sum = 0;
  std::uint64_t count = 0;
};

template <class Visit>
void for_each_finite(DType type, const std::byte* elements, std::uint64_t count, const Visit& visit) {
  std::array<double, block_elements> values;
  for (std::uint64_t at = 0; at < count; at += block_elements) {
    const std::size_t some = std::min<std::uint64_t>(block_elements, count - at);
    spec::decode(type, elements + at * size_of(type), std::span(values).first(some));
    for (std::size_t i = 0; i < some; ++i)
      if (std::isfinite(values[i])) visit(values[i]);
  }
}

// Values are scaled by a power of two near the maximum, so that no square overflows or vanishes.
Squares squares_of(DType type, const std::byte* elements, std::uint64_t count, double inverse) {
  Squares result;
  for_each_finite(type, elements, count, [&](double value) {
    const double scaled = value * inverse;
    result.sum += scaled * scaled;
    ++result.count;
  });
  return result;
}

double largest_finite(DType type, std::span<const std::byte> elements, std::uint64_t count) {
  std::vector<double> largest(count / summed_grain + 1);
  system::parallel_for(count, summed_grain, [&](std::uint64_t begin, std::uint64_t end) {
    double most = 0;
    for_each_finite(type, elements.data() + begin * size_of(type), end - begin,
                    [&](double value) { most = std::max(most, std::abs(value)); });
    largest[begin / summed_grain] = most;
  });
  return *std::max_element(largest.begin(), largest.end());
}

/// Results below may be flushed to zero, or round to a neighbour. In the order of the types, up to f32.
double smallest_step(DType type) noexcept {
  constexpr std::array steps{0x1p-9, 0x1p-16, 0x1p-24, 0x1p-126, 0x1p-126};
  static_assert(static_cast<std::size_t>(DType::f32) + 1 == steps.size());
  const auto number = static_cast<std::size_t>(spec::part_of(type));
  return number < steps.size() ? steps[number] : 0;
}

double magnitude(DType type, const std::byte* element) {
  const DType part = spec::part_of(type);
  const double real = spec::decode(part, element);
  return spec::is_complex(type) ? std::hypot(real, spec::decode(part, element + size_of(part))) : std::abs(real);
}

}  // namespace

FloatFormat float_format(DType type) noexcept {
  constexpr std::array formats{FloatFormat{4, 3}, FloatFormat{5, 2},  FloatFormat{5, 10},
                               FloatFormat{8, 7}, FloatFormat{8, 23}, FloatFormat{11, 52}};
  static_assert(static_cast<std::size_t>(DType::f64) + 1 == formats.size());
  const auto number = static_cast<std::size_t>(spec::part_of(type));
  return number < formats.size() ? formats[number] : FloatFormat{};
}

double unit_roundoff(DType type) noexcept {
  const std::uint32_t bits = float_format(type).mantissa_bits;
  return bits > 0 ? std::ldexp(0.5, -static_cast<int>(bits)) : 0;
}

double root_mean_square(DType type, std::span<const std::byte> elements) {
  // The square of a magnitude is the sum of the squares of both parts.
  if (spec::is_complex(type)) return std::sqrt(2.0) * root_mean_square(spec::part_of(type), elements);
  const std::uint64_t count = elements.size() / size_of(type);
  const double largest = largest_finite(type, elements, count);
  if (!(largest > 0)) return 0;
  const double unit = std::ldexp(1.0, std::clamp(std::ilogb(largest), -1000, 1000));
  // Sums of pieces of a fixed size, added in order: the same on any number of cores.
  std::vector<Squares> pieces(count / summed_grain + 1);
  system::parallel_for(count, summed_grain, [&](std::uint64_t begin, std::uint64_t end) {
    pieces[begin / summed_grain] = squares_of(type, elements.data() + begin * size_of(type), end - begin, 1 / unit);
  });
  Squares total;
  for (const Squares& piece : pieces) {
    total.sum += piece.sum;
    total.count += piece.count;
  }
  return std::sqrt(total.sum / static_cast<double>(total.count)) * unit;
}

double typical_magnitude(DType type, std::span<const std::byte> elements, std::uint64_t max_sampled) {
  const std::size_t size = size_of(type);
  const std::uint64_t count = elements.size() / size;
  std::vector<double> sizes;
  for (std::uint64_t i = 0; i < std::min(count, max_sampled); ++i) {
    const std::uint64_t at = count <= max_sampled ? i : base::mix64(i) % count;
    if (const double found = magnitude(type, elements.data() + at * size); found > 0 && std::isfinite(found))
      sizes.push_back(found);
  }
  std::sort(sizes.begin(), sizes.end());
  std::vector<double> sums;
  double constant = 0;
  for (auto run = sizes.begin(), end = run; run != sizes.end(); run = end) {
    end = std::upper_bound(run, sizes.end(), *run);
    if (const auto same = end - run; same == 1 || 4 * same <= std::ssize(sizes))
      sums.insert(sums.end(), run, end);
    else if (constant == 0)
      constant = *run;
  }
  return sums.empty() ? constant : sums[sums.size() / 2];
}

ZeroFacts zero_facts(DType type, std::span<const std::byte> expected, const Tolerance& tolerance) {
  if (tolerance.atol == 0 && tolerance.rtol < 1) return {};
  const std::size_t size = size_of(type);
  std::atomic<std::uint64_t> others{0}, agreeing{0};
  system::parallel_for(expected.size() / size, summed_grain, [&](std::uint64_t begin, std::uint64_t end) {
    ZeroFacts part;
    for (std::uint64_t i = begin; i < end; ++i) {
      const double found = magnitude(type, expected.data() + i * size);
      if (found == 0) continue;
      ++part.others;
      if (std::isfinite(found) && found <= tolerance.atol_at(i) + tolerance.rtol * found) ++part.agreeing;
    }
    others += part.others;
    agreeing += part.agreeing;
  });
  return {others, agreeing};
}

namespace {

struct Scale {
  double rms, typical;
  double usual() const { return std::min(rms, spread * typical); }
};

double default_atol(DType type, double eta, double known_scale, const Scale& scale) {
  const double limit = spread * std::max(eta, outlier_share) * scale.typical;
  return std::max({eta * known_scale, std::min(eta * scale.rms, limit), smallest_step(type)});
}

void set_row_atols(Tolerance& tolerance, DType type, const ResultFacts& facts, std::span<const std::byte> expected,
                   const Scale& whole) {
  const std::uint64_t length = tolerance.row_length, bytes = length * size_of(type), rows = expected.size() / bytes;
  tolerance.row_atol.resize(rows);
  // Of a long row, root_mean_square uses all cores.
  const std::uint64_t grain = length > summed_grain ? rows : summed_grain / length;
  system::parallel_for(rows, grain, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t row = begin; row < end; ++row) {
      const auto elements = expected.subspan(row * bytes, bytes);
      const Scale scale{root_mean_square(type, elements), typical_magnitude(type, elements, row_sample)};
      const double known_scale = facts.scale * std::min(1.0, scale.usual() / whole.usual());
      tolerance.row_atol[row] =
          scale.usual() > 0 ? default_atol(type, tolerance.rtol, known_scale, scale) : tolerance.atol;
    }
  });
  tolerance.atol = *std::max_element(tolerance.row_atol.begin(), tolerance.row_atol.end());
}

}  // namespace

Tolerance tolerance_for(const ToleranceRule& rule, DType type, const ResultFacts& facts,
                        std::span<const std::byte> expected, std::span<const std::uint64_t> shape) {
  Tolerance tolerance{0, 0, rule.max_mismatched_ratio, rule.outlier_factor};
  const std::uint64_t terms = rule.reduction.value_or(facts.reduction);
  if (unit_roundoff(type) > 0 && terms > 0 && !(rule.rtol && rule.atol)) {
    const DType sums = rule.accumulate.value_or(spec::part_of(type) == DType::f64 ? DType::f64 : DType::f32);
    const double eta = std::min(
        largest_eta, 2 * unit_roundoff(type) + lambda * std::sqrt(static_cast<double>(terms)) * unit_roundoff(sums));
    tolerance.rtol = eta;
    const Scale scale{root_mean_square(type, expected), typical_magnitude(type, expected)};
    tolerance.atol = default_atol(type, eta, facts.scale, scale);
    const std::uint64_t length = shape.empty() ? 0 : shape.back();
    if (!rule.atol && length >= shortest_row && length * size_of(type) < expected.size() && scale.usual() > 0) {
      tolerance.row_length = length;
      set_row_atols(tolerance, type, facts, expected, scale);
    }
  }
  tolerance.rtol = rule.rtol.value_or(tolerance.rtol);
  tolerance.atol = rule.atol.value_or(tolerance.atol);
  return tolerance;
}

}  // namespace xtune::validate
