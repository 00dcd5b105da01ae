#include "core/store/shape_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace xtune::store {

namespace {

std::string kind_of(const Bindings& problem, std::vector<double>& logs) {
  std::string kind;
  logs.clear();
  for (const auto& [name, value] : problem) {
    const double number = space::number_of(value).value_or(0);
    if (number > 0) logs.push_back(std::log2(number));
    kind += name + (number > 0 ? "\n" : fmt::format("={}:{}\n", value.index(), to_text(value)));
  }
  return kind + std::to_string(logs.size());
}

std::string bytes_of(const std::vector<double>& logs) {
  return {reinterpret_cast<const char*>(logs.data()), logs.size() * sizeof(double)};
}

}  // namespace

ShapeIndex::ShapeIndex(const std::vector<const Bindings*>& problems) {
  std::vector<double> logs;
  for (std::uint32_t i = 0; i < problems.size(); ++i) {
    const std::string name = kind_of(*problems[i], logs);
    same_[name + bytes_of(logs)].push_back(i);
    Kind& kind = kinds_[name];
    kind.problems.push_back(i);
    kind.logs.insert(kind.logs.end(), logs.begin(), logs.end());
  }
}

std::vector<std::uint32_t> ShapeIndex::nearest(const Bindings& problem) const {
  std::vector<double> own;
  const std::string name = kind_of(problem, own);
  if (const auto same = same_.find(name + bytes_of(own)); same != same_.end()) return same->second;
  return comparable(problem, 1).near;
}

ShapeIndex::Comparable ShapeIndex::comparable(const Bindings& problem, std::size_t count) const {
  constexpr double rounding = 1e-9;
  std::vector<double> own, distances;
  const auto found = kinds_.find(kind_of(problem, own));
  if (found == kinds_.end()) return {};
  const Kind& kind = found->second;
  const double* log = kind.logs.data();
  for (std::size_t i = 0; i < kind.problems.size(); ++i) {
    double distance = 0;  // NaN if both have an infinite size
    for (const double size : own) distance += std::abs(*log++ - size);
    distances.push_back(distance);
  }
  std::vector<double> sorted = distances;
  std::replace_if(
      sorted.begin(), sorted.end(), [](double each) { return std::isnan(each); }, HUGE_VAL);
  const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(count, sorted.size()) - 1);
  std::nth_element(sorted.begin(), last, sorted.end());
  Comparable all;
  for (std::size_t i = 0; i < distances.size(); ++i)
    (distances[i] > *last + rounding ? all.far : all.near).push_back(kind.problems[i]);
  return all;
}

}  // namespace xtune::store
