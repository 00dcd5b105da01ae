// How sources are made.
#include "scenarios.hpp"

#include <algorithm>
#include <cmath>

#include "base/random.hpp"

using namespace xtune::base;
using namespace xtune::lab;
using namespace xtune::search;
using namespace xtune::space;

namespace xtune::transfer {
namespace {

std::vector<Observation> observations_of(const Recording& recording) {
  std::vector<Observation> observations;
  for (std::uint64_t index = 0; index < recording.configs.size(); ++index)
    observations.push_back({index, recording.configs[index].outcome, recording.configs[index].time_ms});
  return observations;
}

// Times that differ by a tenth or so from configuration to configuration.
Source alike(const Recording& recording, std::uint64_t seed) {
  Source source{"alike", observations_of(recording)};
  for (Observation& each : source.observations) {
    Random random(mix64(seed ^ mix64(each.index)));
    double sum = -3;
    for (int i = 0; i < 6; ++i) sum += random.uniform();
    each.time_ms *= 2 * std::exp(0.15 * sum);
  }
  return source;
}

Source inverted(const Recording& recording) {
  Source source{"inverted", observations_of(recording)};
  for (Observation& each : source.observations)
    if (each.outcome == Outcome::ok) each.time_ms = 1 / each.time_ms;
  return source;
}

// Positions of ok configurations, fastest first.
std::vector<std::size_t> ranked(const std::vector<Observation>& observations) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < observations.size(); ++i)
    if (observations[i].outcome == Outcome::ok) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(observations[a].time_ms, a) < std::pair(observations[b].time_ms, b);
  });
  return order;
}

Source shuffled(const Recording& recording, std::uint64_t seed) {
  Source source{"shuffled", observations_of(recording)};
  const std::vector<std::size_t> order = ranked(source.observations);
  Random random(seed);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(source.observations[order[i - 1]].time_ms, source.observations[order[random.below(i)]].time_ms);
  return source;
}

// The fastest part in reverse: alike where it does not matter, wrong where it does.
Source top_reversed(const Recording& recording, double part) {
  Source source{"top reversed", observations_of(recording)};
  const std::vector<std::size_t> order = ranked(source.observations);
  const auto count = static_cast<std::size_t>(part * static_cast<double>(order.size()));
  for (std::size_t i = 0; i < count / 2; ++i)
    std::swap(source.observations[order[i]].time_ms, source.observations[order[count - 1 - i]].time_ms);
  return source;
}

// Each parameter's values in reverse: as smooth as the target, with another optimum.
Source mirrored(const Recording& recording, std::uint64_t seed) {
  Source source{"mirrored", {}};
  for (const Observation& each : observations_of(recording)) {
    std::vector<std::uint32_t> digits = recording.space.value_indices(each.index);
    for (std::size_t i = 0; i < digits.size(); ++i)
      digits[i] = static_cast<std::uint32_t>(recording.space.parameters()[i].values.size()) - 1 - digits[i];
    const auto index = recording.space.index_of(digits);
    if (!index) continue;
    Random random(mix64(seed ^ mix64(*index)));
    source.observations.push_back({*index, each.outcome, each.time_ms * std::exp(0.1 * random.uniform())});
  }
  return source;
}

// A few of a source's records.
Source handful(Source source, std::size_t count, std::uint64_t seed) {
  std::vector<Observation> kept;
  Random random(seed);
  while (kept.size() < count) {
    const Observation& drawn = source.observations[random.below(source.observations.size())];
    if (drawn.outcome == Outcome::ok) kept.push_back(drawn);
  }
  source.observations = std::move(kept);
  return source;
}

// Where the parameter of the most values has the half of them that the optimum has not.
Source other_half(Source source, const Recording& recording) {
  const std::vector<Parameter>& parameters = recording.space.parameters();
  std::size_t widest = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].values.size() > parameters[widest].values.size()) widest = i;
  const std::vector<Observation> own = observations_of(recording);
  const auto upper = [&](std::uint64_t index) {
    return recording.space.value_indices(index)[widest] >= parameters[widest].values.size() / 2;
  };
  const bool best = upper(own[ranked(own).front()].index);
  std::erase_if(source.observations, [&](const Observation& each) { return upper(each.index) == best; });
  return source;
}

}  // namespace

std::vector<Scenario> device_scenarios(const std::vector<Recording>& recordings, std::size_t target) {
  const std::vector<Source> all = guides_for(recordings, target).sources;
  std::vector<Scenario> scenarios;
  for (std::size_t subset = 1; subset < std::size_t{1} << all.size(); ++subset) {
    Scenario scenario{"devices", {}, {}};
    for (std::size_t i = 0; i < all.size(); ++i) {
      if ((subset >> i & 1) == 0) continue;
      scenario.sources += (scenario.sources.empty() ? "" : ", ") + all[i].name;
      scenario.guides.push_back(all[i]);
    }
    scenarios.push_back(std::move(scenario));
  }
  return scenarios;
}

std::vector<Scenario> made_scenarios(const Recording& target) {
  return {
      {"alike", "alike", {alike(target, 1)}},
      {"alike", "alike, 12 records", {handful(alike(target, 1), 12, 1)}},
      {"mixed",
       "alike, inverted, shuffled, mirrored",
       {alike(target, 1), inverted(target), shuffled(target, 1), mirrored(target, 1)}},
      {"partly", "alike, the half without the optimum", {other_half(alike(target, 1), target)}},
      {"partly", "fastest fifth reversed", {top_reversed(target, 0.2)}},
      {"partly", "fastest twentieth reversed", {top_reversed(target, 0.05)}},
      {"adversarial", "inverted", {inverted(target)}},
      {"adversarial", "inverted, 12 records", {handful(inverted(target), 12, 1)}},
      {"adversarial", "shuffled", {shuffled(target, 1)}},
      {"adversarial", "mirrored", {mirrored(target, 1)}},
      {"adversarial", "mirrored thrice", {mirrored(target, 1), mirrored(target, 2), mirrored(target, 3)}},
      {"adversarial", "inverted, shuffled, mirrored", {inverted(target), shuffled(target, 1), mirrored(target, 1)}}};
}

std::vector<Scenario> synthetic_scenarios(const Recording& target, Surface surface, std::uint64_t seed) {
  const auto source = [&](double likeness, std::uint64_t number) {
    return Source{std::to_string(likeness), synthetic_source(target, surface, likeness, mix64(seed) + number)};
  };
  return {{"alike", "likeness .95", {source(0.95, 1)}},
          {"alike", "likeness .8", {source(0.8, 2)}},
          {"partly", "likeness .5", {source(0.5, 3)}},
          {"mixed", "likeness .95, 0, 0, 0", {source(0.95, 1), source(0, 4), source(0, 5), source(0, 6)}},
          {"adversarial", "likeness 0", {source(0, 4)}},
          {"adversarial", "likeness 0, 0", {source(0, 5), source(0, 6)}},
          {"adversarial", "likeness -.5", {source(-0.5, 7)}}};
}

}  // namespace xtune::transfer
