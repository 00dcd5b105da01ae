// Takes a late sample again.
#pragma once

#include "core/measure/device.hpp"

namespace xtune::measure {

/// The first sample of `take` that is not late, of at most three; else the last.
template <class Take>
Sample punctual_sample(const Take& take) {
  constexpr int retakes = 2;
  Sample sample = take();
  for (int i = 0; sample.late && i < retakes; ++i) sample = take();
  return sample;
}

}  // namespace xtune::measure
