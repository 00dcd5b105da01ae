// Surfaces over one space of tiles and switches.
#include "synthetic.hpp"

#include <algorithm>
#include <cmath>

#include "base/random.hpp"

using namespace xtune::base;
using namespace xtune::lab;
using namespace xtune::search;
using namespace xtune::space;

namespace xtune::transfer {
namespace {

constexpr double deviation = 0.6;  // of the logarithm of times
constexpr double ruggedness = 0.1;

double normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return radius * std::cos(2 * M_PI * random.uniform());
}

// The logarithm of a device's time at a point of the unit cube.
class Device {
 public:
  Device(Surface surface, std::size_t width, std::uint64_t seed) : surface_(surface), seed_(seed) {
    Random random(mix64(seed));
    for (std::size_t basin = 0; basin < (surface == Surface::bowl ? 1 : 5); ++basin) {
      basins_.push_back({{}, {}, 0.6 * random.uniform()});
      for (std::size_t i = 0; i < width; ++i) {
        basins_.back().centre.push_back(random.uniform());
        basins_.back().weight.push_back(0.3 + 1.5 * random.uniform());
      }
    }
    for (std::size_t i = 0; i < width * width; ++i) interactions_.push_back(0.8 * normal(random));
    for (std::size_t i = 0; i < width; ++i) costs_.push_back(random.uniform());
  }

  double at(const std::vector<double>& point, std::uint64_t index) const {
    double sum = 0;
    for (const Basin& basin : basins_) sum += std::exp(-4 * depth(basin, point));
    double value = -0.25 * std::log(sum + 1e-9);
    for (std::size_t i = 0; i < point.size(); ++i)
      for (std::size_t k = i + 1; k < point.size(); ++k)
        value += interactions_[i * point.size() + k] * (point[i] - 0.5) * (point[k] - 0.5);
    if (surface_ == Surface::cliffs) {
      double used = 0.2;
      for (std::size_t i = 0; i < point.size(); ++i) used += costs_[i] * point[i] / static_cast<double>(point.size());
      value -= 0.25 * std::log(std::floor(2 / used));  // blocks that fit
    }
    Random random(mix64(seed_ ^ mix64(index)));
    return value + ruggedness * normal(random);
  }

 private:
  struct Basin {
    std::vector<double> centre, weight;
    double above;
  };
  static double depth(const Basin& basin, const std::vector<double>& point) {
    double sum = basin.above;
    for (std::size_t i = 0; i < point.size(); ++i)
      sum += basin.weight[i] * (point[i] - basin.centre[i]) * (point[i] - basin.centre[i]);
    return sum;
  }

  Surface surface_;
  std::uint64_t seed_;
  std::vector<Basin> basins_;
  std::vector<double> interactions_, costs_;
};

// Standardised logarithms of time, for each configuration.
std::vector<double> surface_of(const Space& space, Surface surface, std::uint64_t seed) {
  const Device device(surface, space.parameters().size(), seed);
  std::vector<double> values;
  double mean = 0, square = 0;
  for (std::uint64_t index = 0; index < space.size(); ++index) {
    std::vector<double> point;
    const std::vector<std::uint32_t> digits = space.value_indices(index);
    for (std::size_t i = 0; i < digits.size(); ++i)
      point.push_back(static_cast<double>(digits[i]) / static_cast<double>(space.parameters()[i].values.size() - 1));
    values.push_back(device.at(point, index));
    mean += values.back() / static_cast<double>(space.size());
  }
  for (const double value : values) square += (value - mean) * (value - mean) / static_cast<double>(space.size());
  for (double& value : values) value = (value - mean) / std::sqrt(square);
  return values;
}

std::vector<Value> numbers(const std::vector<std::int64_t>& list) { return {list.begin(), list.end()}; }

}  // namespace

Recording synthetic_recording(Surface surface, std::uint64_t seed) {
  std::vector<Parameter> parameters{{"BLOCK_X", numbers({16, 32, 64, 128, 256}), true},
                                    {"BLOCK_Y", numbers({1, 2, 4, 8, 16}), true},
                                    {"TILE_X", numbers({1, 2, 3, 4, 6, 8}), true},
                                    {"TILE_Y", numbers({1, 2, 4, 8}), true},
                                    {"UNROLL", numbers({0, 1, 2, 4}), true},
                                    {"SHARED", numbers({0, 1}), true},
                                    {"PAD", numbers({0, 1}), true}};
  const auto number = [&](const std::vector<std::uint32_t>& digits, std::size_t i) {
    return std::get<std::int64_t>(parameters[i].values[digits[i]]);
  };
  std::vector<RecordedRow> rows;
  std::vector<std::uint32_t> digits(parameters.size(), 0);
  for (bool more = true; more;) {
    const std::int64_t threads = number(digits, 0) * number(digits, 1);
    if (threads >= 32 && threads <= 1024) {
      const std::int64_t tile = threads * number(digits, 2) * number(digits, 3);
      RecordedConfig config;
      if (tile * (1 + number(digits, 5)) > 16'384) config.outcome = Outcome::launch_failed;
      config.compile_s = 1;
      rows.push_back({digits, config});
    }
    more = false;
    for (std::size_t i = parameters.size(); i-- > 0 && !more;) {
      more = ++digits[i] < parameters[i].values.size();
      if (!more) digits[i] = 0;
    }
  }
  Recording recording = make_recording(parameters, std::move(rows));
  recording.name = (surface == Surface::bowl ? "bowl-" : "cliffs-") + std::to_string(seed);
  recording.kernel = "synthetic";
  const std::vector<double> values = surface_of(recording.space, surface, seed);
  for (std::uint64_t index = 0; index < recording.configs.size(); ++index) {
    RecordedConfig& config = recording.configs[index];
    if (config.outcome != Outcome::ok) continue;
    config.time_ms = std::exp(deviation * values[index]);
    config.samples_ms = {config.time_ms};
  }
  return recording;
}

std::vector<Observation> synthetic_source(const Recording& recording, Surface surface, double likeness,
                                          std::uint64_t seed) {
  const std::vector<double> other = surface_of(recording.space, surface, mix64(seed));
  const double own_part = std::sqrt(1 - likeness * likeness);
  std::vector<Observation> observations;
  for (std::uint64_t index = 0; index < recording.configs.size(); ++index) {
    const RecordedConfig& config = recording.configs[index];
    const bool ok = config.outcome == Outcome::ok || index % 5 == 0;
    const double value = config.outcome == Outcome::ok ? std::log(config.time_ms) / deviation : 0;
    const double time_ms = 3 * std::exp(deviation * (likeness * value + own_part * other[index]));
    observations.push_back({index, ok ? Outcome::ok : Outcome::launch_failed, ok ? time_ms : 0});
  }
  return observations;
}

}  // namespace xtune::transfer
