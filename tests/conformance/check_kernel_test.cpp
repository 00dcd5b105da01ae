// The check kernel agrees with the host's comparison and checksum on every backend.
#include "core/validate/check_kernel.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "core/validate/compare.hpp"
#include "core/validate/inputs.hpp"
#include "suite.hpp"

using namespace xtune::build;
using namespace xtune::measure;
using namespace xtune::spec;
using namespace xtune::validate;

using namespace xtune;
using namespace xtune::conformance;

namespace {

std::uint64_t address_of(Buffer& buffer) { return reinterpret_cast<std::uintptr_t>(buffer.address()); }

/// Compiled once for each target, because it is large.
const Artifact& compiled_once(const Target& t) {
  static std::map<std::pair<Toolchain*, std::string>, Artifact> compiled;
  const std::pair key(t.toolchain, t.arch);
  auto entry = compiled.find(key);
  if (entry == compiled.end()) entry = compiled.emplace(key, compile(t, check_request(t.arch))).first;
  return entry->second;
}

std::vector<CheckResult> check(const Target& t, const Artifact& kernel, const std::vector<CheckItem>& items) {
  const auto table = upload(t, items);
  const auto results = upload(t, std::vector<CheckResult>(items.size()));
  run(t, kernel, {{3, static_cast<std::uint32_t>(items.size()), 1}, {validate::check_kernel::block_threads, 1, 1}},
      arguments(table, results));
  return download<CheckResult>(*results);
}

std::vector<std::byte> filled(DType type, std::uint64_t elements, Fill fill) {
  ArgumentLayout layout;
  layout.name = "x";
  layout.dtype = type;
  layout.shape = {elements};
  layout.fill = fill;
  std::vector<std::byte> data(layout.bytes());
  fill_input(layout, 7, data);
  return data;
}

constexpr DType types[] = {DType::f8e4m3, DType::f8e5m2, DType::f16, DType::bf16,    DType::f32, DType::f64,
                           DType::i8,     DType::u32,    DType::i64, DType::boolean, DType::c64, DType::c128};

}  // namespace

CONFORMANCE_TEST("the check kernel compiles") { CHECK_FALSE(compiled_once(t).image.empty()); }

CONFORMANCE_TEST("the check kernel adds up as the host does, from any address") {
  const Artifact& kernel = compiled_once(t);
  if (!t.device) return;
  const auto data = filled(DType::u8, 50'001, Fill::uniform);
  const auto buffer = upload(t, data);
  struct Range {
    std::size_t begin, bytes;
  };
  const Range ranges[] = {{0, 50'001}, {0, 50'000}, {16, 16}, {3, 4096}, {7, 1}, {0, 0}, {49'985, 16}, {1, 50'000}};
  std::vector<CheckItem> items;
  for (const Range& range : ranges) {
    items.emplace_back();
    items.back().address = address_of(*buffer) + range.begin;
    items.back().bytes = range.bytes;
  }
  const auto results = check(t, kernel, items);
  for (std::size_t i = 0; i < items.size(); ++i) {
    CAPTURE(i);
    CHECK(results[i].sum == checksum(std::span(data).subspan(ranges[i].begin, ranges[i].bytes)));
  }
  // Which bytes hold what matters, and where.
  auto swapped = data;
  std::swap(swapped[8], swapped[24]);
  REQUIRE(swapped[8] != data[8]);
  CHECK(checksum(swapped) != checksum(data));
}

CONFORMANCE_TEST("the check kernel fills and copies ranges, and nothing beyond") {
  const Artifact& kernel = compiled_once(t);
  if (!t.device) return;
  const auto data = filled(DType::u8, 10'000, Fill::uniform);
  const auto from = upload(t, data), to = upload(t, std::vector<std::byte>(10'000));
  CheckItem copy;
  copy.operation = CheckItem::copy;
  copy.address = address_of(*to) + 5;
  copy.other = address_of(*from) + 5;
  copy.bytes = 8000;
  CheckItem fill;
  fill.operation = CheckItem::fill;
  fill.address = address_of(*to) + 9000;
  fill.other = 0xFFFEFFFEFFFEFFFE;
  fill.bytes = 43;
  check(t, kernel, {copy, fill});
  std::vector<std::byte> expected(10'000);
  std::copy(data.begin() + 5, data.begin() + 8005, expected.begin() + 5);
  for (std::size_t i = 0; i < 43; ++i) expected[9000 + i] = i % 2 ? std::byte{0xFF} : std::byte{0xFE};
  CHECK(download<std::byte>(*to) == expected);
}

CONFORMANCE_TEST("the check kernel finds the errors that the host finds, in every type") {
  const Artifact& kernel = compiled_once(t);
  if (!t.device) return;
  for (const DType type : types) {
    CAPTURE(std::string(to_string(type)));
    const std::uint64_t elements = 3001;
    const auto expected = filled(type, elements, Fill::automatic);
    auto actual = expected;
    // A small error in each seventh part of an element that is a float, one that the tolerance allows.
    const DType part = part_of(type);
    const Tolerance tolerance{0.3, 0.2, 0, 10};
    if (is_floating(type))
      for (std::size_t i = 0; i < actual.size() / size_of(part); i += 7) {
        std::byte* const element = actual.data() + i * size_of(part);
        encode(part, decode(part, element) * 1.25, element);
      }
    const auto on_host = compare("x", type, actual, expected, std::vector{elements}, tolerance);
    REQUIRE(on_host.passed);
    REQUIRE(on_host.mismatched == 0);
    CHECK((on_host.max_abs_error > 0) == is_floating(type));
    const auto a = upload(t, actual), e = upload(t, expected);
    const auto item = compare_item(type, address_of(*a), address_of(*e), actual.size(), tolerance);
    const auto same = compare_item(type, address_of(*e), address_of(*e), actual.size(), tolerance);
    const auto results = check(t, kernel, {item, same});
    CHECK(results[0].differing == 0);
    CHECK(results[0].max_abs_error == doctest::Approx(on_host.max_abs_error).epsilon(1e-12));
    CHECK(results[0].max_rel_error == doctest::Approx(on_host.max_rel_error).epsilon(1e-12));
    CHECK(results[1].differing == 0);
    CHECK(results[1].max_abs_error == 0);

    // One element beyond the tolerance, the last; then a NaN; then an infinity where the type has one.
    std::byte* const last = actual.data() + (elements - 1) * size_of(type);
    const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
    for (const double wrong : {64.0, nan, infinity, -infinity}) {
      CAPTURE(wrong);
      if (!is_floating(type) && !std::isfinite(wrong)) continue;
      encode(part, type == DType::boolean ? 1 - decode(part, last) : wrong, last);
      a->write(0, actual);
      CHECK(check(t, kernel, {item})[0].differing == 1);
      CHECK_FALSE(compare("x", type, actual, expected, std::vector{elements}, tolerance).passed);
    }
  }
}

CONFORMANCE_TEST("the check kernel has a tolerance for each row, as the host does") {
  const Artifact& kernel = compiled_once(t);
  if (!t.device) return;
  const std::uint64_t shape[] = {7, 77};  // most rows end within the bytes that a thread compares
  const Tolerance tolerance{0, 1e30, 0, 10, {0.5, 0, 0.25, 1e30, 0, 0.125, 0.0625}, shape[1]};
  for (const DType type : types) {
    if (!is_floating(type)) continue;
    CAPTURE(std::string(to_string(type)));
    const std::uint64_t elements = shape[0] * shape[1];
    const auto expected = filled(type, elements, Fill::automatic), actual = filled(type, elements, Fill::one);
    const auto on_host = compare("x", type, actual, expected, shape, tolerance);
    REQUIRE(on_host.mismatched > elements / 4);
    REQUIRE(on_host.mismatched < elements);
    const auto a = upload(t, actual), e = upload(t, expected), atols = upload(t, tolerance.row_atol);
    const auto results = check(
        t, kernel, {compare_item(type, address_of(*a), address_of(*e), actual.size(), tolerance, address_of(*atols))});
    CHECK(results[0].differing == on_host.mismatched);
  }
}

CONFORMANCE_TEST("the check kernel reads small floats as the host does, all of them") {
  const Artifact& kernel = compiled_once(t);
  if (!t.device) return;
  for (const DType type : {DType::f8e4m3, DType::f8e5m2, DType::f16, DType::bf16}) {
    CAPTURE(std::string(to_string(type)));
    // Every bit pattern against 0, one tolerance after another: what one counts as different, so does the other.
    const std::uint64_t elements = std::uint64_t{1} << (8 * size_of(type));
    std::vector<std::byte> actual(elements * size_of(type)), expected(actual.size());
    for (std::uint64_t i = 0; i < elements; ++i) std::memcpy(actual.data() + i * size_of(type), &i, size_of(type));
    const auto a = upload(t, actual), e = upload(t, expected);
    std::vector<CheckItem> items;
    std::vector<Tolerance> tolerances;
    for (const double atol : {0.0, 1e-40, 6.0e-8, 1e-3, 1.0, 400.0, 5e4, 1e38, 1e300}) {
      tolerances.push_back({0, atol, 0, 10});
      items.push_back(compare_item(type, address_of(*a), address_of(*e), actual.size(), tolerances.back()));
    }
    const auto results = check(t, kernel, items);
    for (std::size_t i = 0; i < items.size(); ++i) {
      CAPTURE(tolerances[i].atol);
      const auto on_host = compare("x", type, actual, expected, std::vector{elements}, tolerances[i]);
      CHECK(results[i].differing == on_host.mismatched);
    }
  }
}
