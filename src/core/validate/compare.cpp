// Comparison at two speeds: whole blocks that clearly agree, and element by element in other blocks.
#include "core/validate/compare.hpp"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <stdexcept>

#include "system/parallel.hpp"

namespace xtune::validate {

namespace {

constexpr std::uint64_t compared_elements = std::uint64_t{1} << 17;
constexpr std::size_t block = 1024;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Adds what was counted in another piece of the output.
void add(const Comparison& piece, Comparison& to) {
  to.mismatched += piece.mismatched;
  to.nans += piece.nans;
  to.infinities += piece.infinities;
  to.outliers += piece.outliers;
  to.unwritten += piece.unwritten;
  if (piece.first_index) to.first_index = std::min(to.first_index.value_or(*piece.first_index), *piece.first_index);
  to.max_abs_error = std::max(to.max_abs_error, piece.max_abs_error);
  to.max_rel_error = std::max(to.max_rel_error, piece.max_rel_error);
}

struct Pair {
  DType type;
  std::size_t size;
  const std::byte* actual;
  const std::byte* expected;
  const Tolerance& tolerance;
};

bool same_bits(const Pair& pair, std::uint64_t index) {
  const std::uint64_t at = index * pair.size;
  return std::memcmp(pair.actual + at, pair.expected + at, pair.size) == 0;
}

bool unwritten(const Pair& pair, std::uint64_t index) {
  return holds_any_poison(pair.type, pair.actual + index * pair.size) && !same_bits(pair, index);
}

/// True: the reference did not write this float, so the kernel must not write it either.
bool left_alone(const Pair& pair, std::uint64_t index) {
  return holds_poison(pair.type, pair.expected + index * pair.size);
}

void count_mismatch(Comparison& tally, std::uint64_t index) {
  ++tally.mismatched;
  tally.first_index = std::min(tally.first_index.value_or(index), index);
}

void judge_left_alone(const Pair& pair, std::uint64_t index, Comparison& tally) {
  if (same_bits(pair, index)) return;
  count_mismatch(tally, index);
  ++tally.outliers;
}

// step: minimum tolerance for allowed mismatches: the distance of neighbouring values of the type.
void judge(const Pair& pair, std::uint64_t index, double error, double size, double step, Comparison& tally) {
  const Tolerance& tolerance = pair.tolerance;
  const double allowed = tolerance.atol_at(index) + tolerance.rtol * size;
  if (error <= allowed) return;
  count_mismatch(tally, index);
  if (tolerance.outlier_factor < infinity && !(error <= tolerance.outlier_factor * std::max(allowed, step)))
    ++tally.outliers;
}

// Returns true if every pair is finite and within tolerance; the tally is then complete. The loop has no branch and
// four independent maxima, so that it runs at the speed of memory.
template <class T>
bool agree(const T* actual, const T* expected, std::size_t count, double rtol, double atol, Comparison& tally) {
  std::array<double, 4> abs_error{}, rel_error{};
  std::array<int, 4> doubtful{};
  const auto look = [&](std::size_t i, std::size_t lane) {
    const double want = static_cast<double>(expected[i]);
    const double size = std::abs(want);
    const double error = std::abs(static_cast<double>(actual[i]) - want);
    // An infinite error fails both an infinite tolerance and NaN: such pairs are examined one by one.
    doubtful[lane] |= !(error <= atol + rtol * size) | !(error < infinity);
    abs_error[lane] = error > abs_error[lane] ? error : abs_error[lane];
    const double relative = error / (size > 0 ? size : infinity);
    rel_error[lane] = relative > rel_error[lane] ? relative : rel_error[lane];
  };
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) look(i + lane, lane);
  for (; i < count; ++i) look(i, 0);
  if (doubtful[0] | doubtful[1] | doubtful[2] | doubtful[3]) return false;
  tally.max_abs_error = std::max(tally.max_abs_error, *std::max_element(abs_error.begin(), abs_error.end()));
  tally.max_rel_error = std::max(tally.max_rel_error, *std::max_element(rel_error.begin(), rel_error.end()));
  return true;
}

struct Complex {
  double real, imaginary;
  bool is_nan() const { return std::isnan(real) || std::isnan(imaginary); }
  bool is_finite() const { return std::isfinite(real) && std::isfinite(imaginary); }
  bool operator==(const Complex&) const = default;
};

Complex load_complex(DType type, const std::byte* element) {
  const DType part = spec::part_of(type);
  return {spec::decode(part, element), spec::is_complex(type) ? spec::decode(part, element + size_of(part)) : 0.0};
}

/// A real number has no imaginary part.
void compare_number(const Pair& pair, std::uint64_t index, const Complex& got, const Complex& want, Comparison& tally) {
  if (unwritten(pair, index)) ++tally.unwritten;
  if (want.is_nan() && left_alone(pair, index)) return judge_left_alone(pair, index, tally);
  if (got.is_finite() && want.is_finite()) {
    const double size = std::hypot(want.real, want.imaginary);
    const double error = std::hypot(got.real - want.real, got.imaginary - want.imaginary);
    judge(pair, index, error, size, 2 * unit_roundoff(pair.type) * size, tally);
    // Two doubles can differ by more than the largest double; the report stays finite.
    tally.max_abs_error = std::max(tally.max_abs_error, std::min(error, std::numeric_limits<double>::max()));
    if (size > 0)
      tally.max_rel_error = std::max(tally.max_rel_error, std::min(error / size, std::numeric_limits<double>::max()));
  } else if (!(got == want) && !(got.is_nan() && want.is_nan())) {
    ++(got.is_nan() ? tally.nans : want.is_finite() ? tally.infinities : tally.outliers);
    count_mismatch(tally, index);
  }
}

void compare_floats(const Pair& pair, std::uint64_t begin, std::uint64_t end, Comparison& tally) {
  std::array<double, block> actual, expected;
  const Tolerance& tolerance = pair.tolerance;
  std::size_t count = 0;
  for (std::uint64_t at = begin; at < end; at += count) {
    count = std::min<std::uint64_t>(block, end - at);
    if (!tolerance.row_atol.empty())
      count = std::min<std::uint64_t>(count, tolerance.row_length - at % tolerance.row_length);
    const double rtol = tolerance.rtol, atol = tolerance.atol_at(at);
    const std::byte* from_actual = pair.actual + at * pair.size;
    const std::byte* from_expected = pair.expected + at * pair.size;
    if (pair.type == DType::f32) {
      std::array<float, block> a, e;
      std::memcpy(a.data(), from_actual, count * 4);
      std::memcpy(e.data(), from_expected, count * 4);
      if (agree(a.data(), e.data(), count, rtol, atol, tally)) continue;
    }
    spec::decode(pair.type, from_actual, std::span(actual).first(count));
    spec::decode(pair.type, from_expected, std::span(expected).first(count));
    if (pair.type != DType::f32 && agree(actual.data(), expected.data(), count, rtol, atol, tally)) continue;
    for (std::size_t i = 0; i < count; ++i) compare_number(pair, at + i, {actual[i], 0}, {expected[i], 0}, tally);
  }
}

void compare_complex(const Pair& pair, std::uint64_t begin, std::uint64_t end, Comparison& tally) {
  for (std::uint64_t index = begin; index < end; ++index)
    compare_number(pair, index, load_complex(pair.type, pair.actual + index * pair.size),
                   load_complex(pair.type, pair.expected + index * pair.size), tally);
}

// The difference of two 64-bit integers needs 65 bits; going through double would hide small ones.
__extension__ using Integer = __int128;

Integer load_integer(DType type, const std::byte* element) {
  if (type == DType::u64) {
    std::uint64_t value;
    std::memcpy(&value, element, sizeof value);
    return value;
  }
  std::int64_t value;
  if (type == DType::i64)
    std::memcpy(&value, element, sizeof value);
  else
    value = static_cast<std::int64_t>(spec::decode(type, element));
  return value;
}

double size_of_integer(Integer value) { return static_cast<double>(value < 0 ? -value : value); }

void compare_integers(const Pair& pair, std::uint64_t begin, std::uint64_t end, Comparison& tally) {
  for (std::uint64_t at = begin; at < end; at += block) {
    const std::uint64_t stop = std::min<std::uint64_t>(end, at + block);
    if (std::memcmp(pair.actual + at * pair.size, pair.expected + at * pair.size, (stop - at) * pair.size) == 0)
      continue;
    for (std::uint64_t index = at; index < stop; ++index) {
      if (unwritten(pair, index)) ++tally.unwritten;
      const Integer want = load_integer(pair.type, pair.expected + index * pair.size);
      const double error = size_of_integer(load_integer(pair.type, pair.actual + index * pair.size) - want);
      if (error == 0) continue;
      const double size = size_of_integer(want);
      judge(pair, index, error, size, 1, tally);
      tally.max_abs_error = std::max(tally.max_abs_error, error);
      if (size > 0) tally.max_rel_error = std::max(tally.max_rel_error, error / size);
    }
  }
}

/// "nan (bits 7fc00001)", most significant byte first.
std::string with_bits(const std::string& text, const std::byte* element, std::size_t size) {
  std::string bits;
  for (std::size_t i = size; i-- > 0;) bits += fmt::format("{:02x}", std::to_integer<unsigned>(element[i]));
  return fmt::format("{} (bits {})", text, bits);
}

// Distinguishes unwritten elements of a reference from those that it computed.

bool is_nan(DType type, const std::byte* element) {
  return spec::is_floating(type) && load_complex(type, element).is_nan();
}

template <class Test>
bool any_of(DType type, std::span<const std::byte> values, Test test) {
  constexpr std::uint64_t compared_grain = std::uint64_t{1} << 17;
  const std::size_t size = size_of(type);
  std::atomic<bool> found{false};
  system::parallel_for(values.size() / size, compared_grain, [&](std::uint64_t begin, std::uint64_t end) {
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

std::string number_text(const Complex& number) {
  return number.imaginary == 0 ? fmt::format("{:.9g}", number.real)
                               : fmt::format("{:.9g}{:+.9g}i", number.real, number.imaginary);
}

void note_nan(DType type, std::byte* element, ReferenceFacts& facts) {
  ++facts.nans;
  if (holds_poison(type, element)) make_other_nan(type, element);
}

}  // namespace

std::vector<std::uint64_t> coordinates_of(std::uint64_t index, std::span<const std::uint64_t> shape) {
  std::vector<std::uint64_t> coordinates(shape.size());
  for (std::size_t i = shape.size(); i-- > 0; index /= shape[i]) coordinates[i] = index % shape[i];
  return coordinates;
}

std::uint64_t allowed_mismatches(std::uint64_t count, double ratio) noexcept {
  if (!(ratio > 0)) return 0;
  if (ratio >= 1) return count;
  const double product = static_cast<double>(count) * ratio;
  const double nearest = std::round(product);
  return static_cast<std::uint64_t>(std::abs(product - nearest) <= 1e-12 * nearest ? nearest : std::floor(product));
}

std::string element_text(DType type, const std::byte* element) { return number_text(load_complex(type, element)); }

std::string Comparison::text() const {
  if (!has_reference()) return fmt::format("{}: {} of {} elements are never written", output, unwritten, count);
  if (mismatched == 0)
    return fmt::format("{}: all {} elements agree; max abs error {:.3g}, rel {:.3g}", output, count, max_abs_error,
                       max_rel_error);
  std::string at;
  for (const std::uint64_t coordinate : first_coordinates) at += (at.empty() ? "" : ", ") + std::to_string(coordinate);
  std::string text = fmt::format(
      "{}: {} of {} elements differ ({:.2f} %, {} allowed); first at [{}]: got {}, expected {}; "
      "max abs error {:.3g}, rel {:.3g}; tolerance rtol {:.3g}, atol {:.3g}",
      output, mismatched, count, 100.0 * static_cast<double>(mismatched) / static_cast<double>(count),
      allowed_mismatches(count, tolerance.max_mismatched_ratio), at, number_text({actual, actual_imaginary}),
      number_text({expected, expected_imaginary}), max_abs_error, max_rel_error, tolerance.rtol, tolerance.atol);
  if (nans) text += fmt::format("; {} NaN where the reference has none", nans);
  if (infinities) text += fmt::format("; {} infinite where the reference is finite", infinities);
  // If none may differ, large differences need not be counted.
  if (outliers && tolerance.max_mismatched_ratio > 0)
    text += fmt::format("; {} by more than {:g} times the tolerance", outliers, tolerance.outlier_factor);
  if (unwritten) text += fmt::format("; {} never written", unwritten);
  return text;
}

Comparison compare(const std::string& output, DType type, std::span<const std::byte> actual,
                   std::span<const std::byte> expected, std::span<const std::uint64_t> shape,
                   const Tolerance& tolerance) {
  ArgumentLayout layout;
  layout.dtype = type;
  layout.shape.assign(shape.begin(), shape.end());
  if (actual.size() != expected.size() || actual.size() != layout.bytes())
    throw std::invalid_argument(fmt::format("compare: {} and {} bytes for output '{}' of {} bytes", actual.size(),
                                            expected.size(), output, layout.bytes()));
  const Pair pair{type, size_of(type), actual.data(), expected.data(), tolerance};
  Comparison result;
  std::mutex mutex;
  system::parallel_for(layout.elements(), compared_elements, [&](std::uint64_t begin, std::uint64_t end) {
    Comparison tally;
    spec::is_complex(type)    ? compare_complex(pair, begin, end, tally)
    : spec::is_floating(type) ? compare_floats(pair, begin, end, tally)
                              : compare_integers(pair, begin, end, tally);
    const std::lock_guard lock(mutex);
    add(tally, result);
  });
  result.output = output;
  result.count = layout.elements();
  result.passed = result.nans == 0 && result.infinities == 0 && result.outliers == 0 &&
                  result.mismatched <= allowed_mismatches(result.count, tolerance.max_mismatched_ratio);
  if (result.first_index) {
    result.first_coordinates = coordinates_of(*result.first_index, shape);
    const std::uint64_t at = *result.first_index * pair.size;
    const std::byte *const got = actual.data() + at, *const want = expected.data() + at;
    const Complex actual_number = load_complex(type, got), expected_number = load_complex(type, want);
    result.actual = actual_number.real;
    result.actual_imaginary = actual_number.imaginary;
    result.expected = expected_number.real;
    result.expected_imaginary = expected_number.imaginary;
  }
  result.tolerance = tolerance.at(result.first_index);
  return result;
}

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

void ReferenceFacts::add(const ReferenceFacts& other) noexcept {
  count += other.count;
  unwritten += other.unwritten;
  from_output += other.from_output;
  nans += other.nans;
}

std::uint64_t count_unwritten(DType type, std::span<const std::byte> on_usual, std::span<const std::byte> on_high) {
  std::uint64_t count = 0;
  for (std::size_t at = 0; at < on_usual.size(); at += size_of(type))
    count += holds_poison(type, &on_usual[at]) && holds_poison(type, &on_high[at], Poison::high);
  return count;
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
         any_of(type, values, [type](const std::byte* element) { return !load_complex(type, element).is_finite(); });
}

}  // namespace xtune::validate
