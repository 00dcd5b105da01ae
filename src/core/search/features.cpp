// Logarithms, alignments, indicators and pairs, computed once for each parameter.
#include "core/search/features.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/space/value.hpp"

namespace xtune::search {

namespace {

constexpr std::size_t max_pairs = 200;  // with more, trees would rarely try a feature twice

std::vector<float> scaled(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double least = *low;
  const double range = *high - least;
  std::vector<float> result;
  for (const double value : values) result.push_back(range > 0 ? static_cast<float>((value - least) / range) : 0.0f);
  return result;
}

double alignment(double number) {
  double twos = 0;
  for (; number >= 2 && std::fmod(number, 2) == 0 && twos < 16; number /= 2) ++twos;
  return twos;
}

}  // namespace

Features::Features(const space::Space& space) {
  const auto& parameters = space.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].values.size() < 2) continue;
    std::vector<double> numbers;
    for (const Value& value : parameters[i].values)
      if (const auto number = space::number_or_flag(value); number && std::isfinite(*number))
        numbers.push_back(*number);
    if (numbers.size() == parameters[i].values.size())
      add_numbers(i, numbers);
    else
      add_words(i, parameters[i].values.size());
  }
  for (std::size_t i = 0; i < logarithms_.size(); ++i)
    for (std::size_t j = i + 1; j < logarithms_.size() && pairs_.size() < max_pairs; ++j) pairs_.push_back({i, j});
}

void Features::add_numbers(std::size_t parameter, const std::vector<double>& numbers) {
  const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
  const double least = *low;
  const double most = *high;
  if (least < 0 || most <= 0) {
    columns_.push_back({parameter, scaled(numbers)});
    return;
  }
  double min_positive = most;
  for (const double number : numbers)
    if (number > 0) min_positive = std::min(min_positive, number);
  const double zero = std::log2(min_positive) - std::max(1.0, std::log2(most / min_positive) / 2);
  std::vector<double> logarithms, alignments;
  for (const double number : numbers) {
    logarithms.push_back(number > 0 ? std::log2(number) : zero);
    alignments.push_back(alignment(number));
  }
  columns_.push_back({parameter, scaled(logarithms)});
  if (least <= 0) return;
  logarithms_.push_back({parameter, {logarithms.begin(), logarithms.end()}});
  const std::vector<float> aligned = scaled(alignments);
  const auto& plain = columns_.back().values;
  const bool varies = *std::max_element(aligned.begin(), aligned.end()) > 0;
  const bool same =
      std::equal(plain.begin(), plain.end(), aligned.begin(), [](float a, float b) { return std::abs(a - b) < 1e-3f; });
  if (varies && !same) columns_.push_back({parameter, aligned});
}

void Features::add_words(std::size_t parameter, std::size_t count) {
  // Two words are one feature.
  for (std::size_t word = 0; word < (count == 2 ? 1 : count); ++word) {
    columns_.push_back({parameter, std::vector<float>(count, 0)});
    columns_.back().values[word] = 1;
  }
}

void Features::plain(std::span<const std::uint32_t> value_indices, float* features) const {
  for (const Column& column : columns_) *features++ = column.values[value_indices[column.parameter]];
}

void Features::all(std::span<const std::uint32_t> value_indices, float* features) const {
  plain(value_indices, features);
  features += plain_count();
  for (const Pair& pair : pairs_) {
    const Column& first = logarithms_[pair.left];
    const Column& second = logarithms_[pair.right];
    const float left = first.values[value_indices[first.parameter]];
    const float right = second.values[value_indices[second.parameter]];
    *features++ = left + right;
    *features++ = left - right;
  }
}

}  // namespace xtune::search
