// The statistic of a configuration's samples that ranks it.
#pragma once

#include <optional>
#include <string_view>

#include "base/named.hpp"

namespace xtune::spec {

/// inlier_mean: the mean without outliers (measure::Summary), which [measure] outliers = "drop" makes of the mean.
enum class Statistic { median, min, mean, inlier_mean };

/// The words in specs, records and options.
inline constexpr auto statistic_words = base::enum_words<Statistic>("median", "min", "mean", "mean without outliers");

constexpr const char* to_string(Statistic statistic) noexcept { return statistic_words.of(statistic); }
/// nullopt for an unknown word.
constexpr std::optional<Statistic> statistic_from_string(std::string_view word) noexcept {
  return statistic_words.find(word);
}

}  // namespace xtune::spec
