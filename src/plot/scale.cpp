// Ticks at round values.
#include "plot/scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plot/markup.hpp"

namespace xtune::plot {
namespace {

std::vector<Tick> linear_ticks(double low, double high, std::size_t wanted) {
  const double step = round_step((high - low) / static_cast<double>(std::max<std::size_t>(1, wanted)));
  const int decimals = std::clamp(-static_cast<int>(std::floor(std::log10(step) + 1e-9)), 0, 12);
  std::vector<Tick> ticks;
  for (double at = std::ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) {
    const double value = std::abs(at) < step * 1e-9 ? 0 : at;
    ticks.push_back({value, std::abs(value) >= 1e7 ? short_number(value) : fmt::format("{:.{}f}", value, decimals)});
  }
  return ticks;
}

std::vector<Tick> log_ticks(double low, double high, std::size_t wanted) {
  const int first = static_cast<int>(std::floor(std::log10(low))), last = static_cast<int>(std::ceil(std::log10(high)));
  const auto with = [&](std::initializer_list<int> digits, int decades) {
    std::vector<Tick> ticks;
    for (int decade = first; decade <= last; decade += decades)
      for (const int digit : digits) {
        const double value = digit * std::pow(10.0, decade);
        if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) ticks.push_back({value, short_number(value)});
      }
    return ticks;
  };
  if (std::vector<Tick> ticks = with({1, 2, 5}, 1); ticks.size() <= wanted + 1) {
    if (ticks.size() >= 3) return ticks;
    return linear_ticks(low, high, wanted > 1 ? wanted - 1 : 1);
  }
  std::vector<Tick> ticks = with({1}, 1);
  for (int decades = 2; ticks.size() > wanted + 1; ++decades) ticks = with({1}, decades);
  return ticks.size() >= 2 ? ticks : with({1, 3}, 1);
}

}  // namespace

PlotScale::PlotScale(ScaleKind kind, double low, double high) : kind_(kind), low_(low), high_(high) {
  if (!std::isfinite(low_) || !std::isfinite(high_)) low_ = 0, high_ = 1;
  if (low_ > high_) std::swap(low_, high_);
  if (kind_ == ScaleKind::logarithmic && !(low_ > 0)) kind_ = ScaleKind::linear;
  if (low_ == high_) {
    const double apart = low_ == 0 ? 1 : std::abs(low_) * 0.1;
    low_ -= apart, high_ += apart;
  }
}

PlotScale PlotScale::categories(std::vector<std::string> labels) {
  PlotScale scale(ScaleKind::categories, 0, std::max<double>(1, static_cast<double>(labels.size())));
  scale.labels_ = std::move(labels);
  return scale;
}

PlotScale PlotScale::fitting(std::span<const double> values, bool from_zero) {
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value), high = std::max(high, value);
  }
  if (low > high) return {ScaleKind::linear, 0, 1};
  if (!from_zero && low > 0 && high >= 8 * low) return {ScaleKind::logarithmic, low / 1.1, high * 1.1};
  if (from_zero) low = std::min(0.0, low), high = std::max(0.0, high);
  const PlotScale apart(ScaleKind::linear, low, high);
  const double step = round_step((apart.high_ - apart.low_) / 5);
  double floor = std::floor(apart.low_ / step + 1e-9) * step;
  const double ceiling = std::ceil(apart.high_ / step - 1e-9) * step;
  if (low >= 0) floor = std::max(0.0, floor);
  return {ScaleKind::linear, floor, ceiling};
}

double PlotScale::at(double value) const {
  if (kind_ == ScaleKind::categories) return (value + 0.5) / high_;
  const double inside = std::isnan(value) ? low_ : std::clamp(value, low_, high_);
  if (kind_ == ScaleKind::logarithmic) return std::log(inside / low_) / std::log(high_ / low_);
  return (inside - low_) / (high_ - low_);
}

std::vector<Tick> PlotScale::ticks(std::size_t wanted) const {
  if (kind_ == ScaleKind::linear) return linear_ticks(low_, high_, wanted);
  if (kind_ == ScaleKind::logarithmic) return log_ticks(low_, high_, wanted);
  std::vector<Tick> ticks;
  const std::size_t every = wanted == 0 ? 1 : (labels_.size() + wanted - 1) / wanted;
  for (std::size_t i = 0; i < labels_.size(); i += std::max<std::size_t>(1, every))
    ticks.push_back({static_cast<double>(i), labels_[i]});
  return ticks;
}

double round_step(double least) {
  if (!(least > 0) || !std::isfinite(least)) return 1;
  const double power = std::pow(10, std::floor(std::log10(least) + 1e-9));
  for (const double digit : {1.0, 2.0, 5.0})
    if (digit * power >= least * (1 - 1e-9)) return digit * power;
  return 10 * power;
}

TimeUnit time_unit(double typical_ms) {
  if (typical_ms >= 1000) return {"s", 1e-3};
  if (typical_ms >= 1 || !(typical_ms > 0)) return {"ms", 1};
  if (typical_ms >= 1e-3) return {"us", 1e3};
  return {"ns", 1e6};
}

}  // namespace xtune::plot
