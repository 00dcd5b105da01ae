// The statistic of a configuration's samples that ranks it.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace xtune::spec {

enum class Statistic { median, min, mean };

/// The words of specs, records and options, in the order of the enumerators.
inline constexpr std::array statistic_words{"median", "min", "mean"};

constexpr const char* to_string(Statistic statistic) noexcept {
  return statistic_words[static_cast<std::size_t>(statistic)];
}
/// nullopt: an unknown word.
constexpr std::optional<Statistic> statistic_from_string(std::string_view word) noexcept {
  for (std::size_t i = 0; i < statistic_words.size(); ++i)
    if (word == statistic_words[i]) return static_cast<Statistic>(i);
  return std::nullopt;
}

}  // namespace xtune::spec
