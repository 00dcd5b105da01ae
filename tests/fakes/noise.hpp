// How long launches take on a device that does not exist: a true time with what real devices add to it. Seeded.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/random.hpp"

namespace xtune::fakes {

/// All relative to the kernel's true time. Noise of a device adds time; only jitter can reduce it a little.
struct Noise {
  double spread = 0.003;  ///< mean of an exponential part
  double jitter = 0.001;  ///< deviation of a normal part
  double spike_rate = 0;  ///< launches that take `spike` times as long, one by one
  double spike = 10;
  double burst_rate = 0;  ///< launches that begin a burst: eight launches, `burst` times as long each
  double burst = 1.1;
  double drift = 0;           ///< amplitude of a slow wave
  int drift_launches = 2000;  ///< its period
};

class NoisyDevice {
 public:
  NoisyDevice(const Noise& noise, std::uint64_t seed) : noise_(noise), random_(seed) {}
  double launch_ms(double true_ms) {
    const double wave =
        noise_.drift * std::sin(6.283185307179586 * static_cast<double>(launches_++) / noise_.drift_launches);
    double factor = 1 + wave - noise_.spread * std::log(1 - random_.uniform()) + noise_.jitter * normal();
    if (random_.uniform() < noise_.burst_rate) burst_left_ = 8;
    if (burst_left_ > 0) {
      --burst_left_;
      factor *= noise_.burst;
    }
    if (random_.uniform() < noise_.spike_rate) factor *= noise_.spike;
    return true_ms * std::max(factor, 0.5);
  }
  std::uint64_t launches() const noexcept { return launches_; }

 private:
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - random_.uniform()));
    return radius * std::cos(6.283185307179586 * random_.uniform());
  }
  Noise noise_;
  base::Random random_;
  std::uint64_t launches_ = 0;
  int burst_left_ = 0;
};

}  // namespace xtune::fakes
