// Finding by name: an element of a list, and the word of an enumerator.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>

namespace xtune::base {

/// The first element with this `name`; nullptr if there is none.
template <class List>
auto find_named(List& list, std::string_view name) noexcept -> decltype(std::data(list)) {
  const auto found =
      std::find_if(std::begin(list), std::end(list), [&](const auto& each) { return each.name == name; });
  return found == std::end(list) ? nullptr : &*found;
}

/// Words in the order of the enumerators, which count from 0.
template <class Enum, std::size_t count>
struct EnumWords {
  std::array<const char*, count> words;

  constexpr const char* of(Enum value) const noexcept {
    const auto place = static_cast<std::size_t>(value);
    return place < count ? words[place] : "unknown";
  }
  /// nullopt: an unknown word.
  constexpr std::optional<Enum> find(std::string_view word) const noexcept {
    for (std::size_t i = 0; i < count; ++i)
      if (word == words[i]) return static_cast<Enum>(i);
    return std::nullopt;
  }
};

template <class Enum, class... Words>
constexpr EnumWords<Enum, sizeof...(Words)> enum_words(Words... words) {
  return {{words...}};
}

}  // namespace xtune::base
