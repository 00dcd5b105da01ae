// Random values for round trips: members(structure) lists the members that must survive, and the rest follows from it.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "base/text.hpp"
#include "xtune/value.hpp"

/// members(structure): references to all of its members, so that a new member does not compile until it is listed; of
/// these only those in the second list come back.
#define XTUNE_NAMES(...) __VA_ARGS__
#define XTUNE_PART_OF_MEMBERS(TYPE, ALL, CARRIED) \
  inline auto members(TYPE& whole) {              \
    auto& [XTUNE_NAMES ALL] = whole;              \
    return std::tie(XTUNE_NAMES CARRIED);         \
  }                                               \
  inline auto members(const TYPE& whole) {        \
    const auto& [XTUNE_NAMES ALL] = whole;        \
    return std::tie(XTUNE_NAMES CARRIED);         \
  }
/// Of an enumeration's enumerators, which count from 0.
#define XTUNE_ENUMERATORS(TYPE, COUNT) \
  constexpr std::uint64_t count_of(TYPE) { return COUNT; }
#define XTUNE_MEMBERS(TYPE, ...) XTUNE_PART_OF_MEMBERS(TYPE, (__VA_ARGS__), (__VA_ARGS__))

namespace xtune::test {

class RandomValues {
 public:
  /// finite: no NaN and no infinity, for doubles that travel as plain JSON text.
  explicit RandomValues(std::uint64_t seed, bool finite = false) : random_(seed), finite_(finite) {}

  bool flag() { return random_.below(2) == 1; }
  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }

  template <class T>
  T make() {
    T value{};
    fill(value);
    return value;
  }

  void fill(bool& value) { value = flag(); }
  void fill(double& value) {
    constexpr double special[] = {0,    -1,     1e-320,    1e308,    0.1,
                                  1e22, 123456, -INFINITY, INFINITY, std::numeric_limits<double>::quiet_NaN()};
    const std::uint64_t choice = below(finite_ ? 14 : 20);
    value = choice < (finite_ ? 7 : 10) ? special[choice] : random_.uniform() * 1000 - 300;
  }
  template <class T>
  requires std::is_integral_v<T>
  void fill(T& value) {
    constexpr T special[] = {0, 1, std::numeric_limits<T>::max(), std::numeric_limits<T>::min()};
    value = flag() ? special[below(4)] : static_cast<T>(random_.next());
  }
  void fill(std::byte& value) { value = static_cast<std::byte>(below(256)); }
  void fill(std::string& value) {
    constexpr const char* pieces[] = {
        "",     "a",   "sm_90", "\xc3\xa4", "\xe6\x97\xa5\xe6\x9c\xac", "\xf0\x9f\x9a\x80", "\"", "\\", "{}", "'", " ",
        "null", "nan", "%",     "0"};
    value.clear();
    for (std::uint64_t n = below(5); n > 0; --n) value += pieces[below(std::size(pieces))];
  }
  void fill(std::filesystem::path& value) { value = make<std::string>(); }
  void fill(Value& value) {
    const std::uint64_t kind = below(4);
    if (kind == 0) value = flag();
    if (kind == 1) value = make<std::int64_t>();
    if (kind == 2) value = make<double>();
    if (kind == 3) value = make<std::string>();
  }
  template <class T, class Less>
  void fill(std::map<std::string, T, Less>& value) {
    value.clear();
    for (std::uint64_t n = below(4); n > 0; --n) value[make<std::string>()] = make<T>();
  }
  template <class T>
  void fill(std::vector<T>& list) {
    list.resize(below(4));
    for (T& each : list) fill(each);
  }
  template <class T, std::size_t size>
  void fill(std::array<T, size>& list) {
    for (T& each : list) fill(each);
  }
  template <class T>
  void fill(std::optional<T>& value) {
    value = flag() ? std::optional<T>(make<T>()) : std::nullopt;
  }
  template <class A, class B>
  void fill(std::pair<A, B>& pair) {
    fill(pair.first);
    fill(pair.second);
  }
  template <class T>
  requires requires(T& value) { members(value); }
  void fill(T& value) {
    std::apply([&](auto&... each) { (fill(each), ...); }, members(value));
  }
  template <class T>
  requires std::is_enum_v<T>
  void fill(T& value) { value = static_cast<T>(below(count_of(T()))); }

 private:
  base::Random random_;
  bool finite_;
};

/// Equal member by member, NaN equal to NaN.
template <class T>
bool same(const T& a, const T& b) {
  if constexpr (requires { members(a); }) {
    const auto both = [&]<std::size_t... i>(const auto& x, const auto& y, std::index_sequence<i...>) {
      return (same(std::get<i>(x), std::get<i>(y)) && ...);
    };
    const auto x = members(a), y = members(b);
    return both(x, y, std::make_index_sequence<std::tuple_size_v<decltype(x)>>());
  } else if constexpr (std::is_same_v<T, double>) {
    return a == b || (std::isnan(a) && std::isnan(b));
  } else if constexpr (std::is_same_v<T, Value>) {
    const auto *x = std::get_if<double>(&a), *y = std::get_if<double>(&b);
    return x && y ? same(*x, *y) : a == b;
  } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::filesystem::path>) {
    return a == b;
  } else if constexpr (requires { a.first, a.second; }) {
    return same(a.first, b.first) && same(a.second, b.second);
  } else if constexpr (requires { a.has_value(); }) {
    return a.has_value() == b.has_value() && (!a || same(*a, *b));
  } else if constexpr (requires { a.begin(); }) {
    auto y = b.begin();
    for (const auto& each : a)
      if (y == b.end() || !same(each, *y++)) return false;
    return y == b.end();
  } else {
    return a == b;
  }
}

}  // namespace xtune::test
