// Scores a space's configurations and chooses a list of them with different properties.
#include "core/model/rank.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "base/random.hpp"
#include "base/text.hpp"
#include "core/model/field_table.hpp"
#include "system/parallel.hpp"
#include "xtune/error.hpp"

namespace xtune::model {

namespace {

// The ranking of TileLang's carver, for comparison: the bytes that a tile moves, times the waves of the grid.
struct CarverScore {
  double cost = 0;     ///< 0: carver would reject it
  double traffic = 0;  ///< bytes of an output tile over the full reduction
  double waves = 0;
  double tile_elements = 0;
  int blocks = 0;  ///< per compute unit
};

/// Counts like carver: a tensor costs whole transactions of 128 bytes (reads) or 32 bytes (writes); a compute unit
/// holds min(2 * capacity / shared, register file / registers, 4) blocks, where the capacity is that of a block without
/// opting in, and a block has twice as many registers as its output tile.
CarverScore carver_score(const CarverView& view, const device::DeviceModel& device) {
  CarverScore score;
  score.tile_elements = view.tile_elements;
  for (const TileTraffic& tensor : view.tensors) {
    const double transaction = (tensor.written ? 32 : 128) / std::max(1.0, tensor.bytes);
    score.traffic +=
        transaction * tensor.elements / std::min(transaction, std::max(1.0, tensor.contiguous)) * tensor.bytes;
  }
  const auto capacity = static_cast<double>(device.info.shared_per_block);
  const auto file = static_cast<double>(device.info.registers_per_compute_unit);
  const double registers = std::floor(2 * view.tile_elements * view.tile_bits / 32);
  if (!(score.traffic > 0 && view.tile_elements >= 1 && view.grid >= 1)) return score;  // invalid sizes
  if (view.shared_bytes > capacity || registers > file) return score;
  score.blocks = static_cast<int>(std::min(
      {std::floor(2 * capacity / std::max(1.0, view.shared_bytes)), std::floor(file / std::max(1.0, registers)), 4.0}));
  score.waves = std::ceil(view.grid /
                          (std::max(1, score.blocks) * std::max(1.0, static_cast<double>(device.info.compute_units))));
  score.cost = (score.traffic + 1) * score.waves;
  return score;
}

/// "2.1 MB a tile, 3 waves of 3 blocks a compute unit".
std::string describe(const CarverScore& score) {
  return fmt::format(
      "{} a tile, {:g} wave{} of {} block{} a compute unit",
      base::human_bytes(static_cast<std::uint64_t>(score.traffic >= 0 ? std::min(score.traffic, 9e18) : 0)),
      score.waves, score.waves == 1 ? "" : "s", score.blocks, score.blocks == 1 ? "" : "s");
}

constexpr std::size_t max_order = 1000;
// Parts of a space that threads score.
constexpr std::uint64_t min_grain = 5000, max_parts = 16;

std::uint64_t mixed(std::uint64_t hash, double value) {
  return base::mix64(hash ^ std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value));
}

/// Configurations with equal properties for the model.
struct Group {
  double cost = 0;
  std::uint64_t index = ~std::uint64_t{0};  ///< the first of them
  std::uint64_t family = 0, way = 0;
};

bool cheaper(const Group& a, const Group& b) { return a.cost != b.cost ? a.cost < b.cost : a.index < b.index; }

class Scorer {
 public:
  Scorer(const spec::Spec& spec, const space::Space& space, const Bindings& problem, const device::DeviceModel& device,
         RankMode mode)
      : candidate_(*find_template(spec.candidates->template_name)),
        space_(space),
        device_(device),
        type_(input_type(spec, problem)),
        mode_(mode),
        fields_(spec, space, problem, device::device_facts(device.info), candidate_) {}

  /// The group of a configuration; nullptr for one that does not fit.
  const Group* score(std::uint64_t index) {
    const FieldValues values = fields_.values(space_.value_indices(index));
    std::uint64_t seen = 0;
    for (const double value : values) seen = mixed(seen, value);
    ++notes_.scored;
    const auto [entry, fresh] = by_values_.try_emplace(seen, 0);
    if (fresh) entry->second = group_of(values);
    if (entry->second == 0) {
      ++notes_.unfit;
      return nullptr;
    }
    Group& group = groups_.find(entry->second)->second;
    group.index = std::min(group.index, index);
    return &group;
  }

  /// Scores all configurations, in several threads.
  static Scorer of_all(const std::function<Scorer()>& make, std::uint64_t count) {
    const std::uint64_t grain = std::max<std::uint64_t>(min_grain, (count + max_parts - 1) / max_parts);
    std::vector<std::optional<Scorer>> parts((count + grain - 1) / grain);
    system::parallel_for(count, grain, [&](std::uint64_t begin, std::uint64_t end) {
      Scorer& part = parts[begin / grain].emplace(make());
      for (std::uint64_t index = begin; index < end; ++index) part.score(index);
    });
    Scorer whole = make();
    for (std::optional<Scorer>& part : parts) whole.add(*part);
    return whole;
  }

  const Ranking& notes() const noexcept { return notes_; }  ///< the counts, and the first misfit

  /// The error of a field that is out of range in every configuration.
  std::optional<Error> complaint() const { return any_sensible_ ? std::nullopt : complaint_; }

  std::vector<Group> groups() const {
    std::vector<Group> result;
    for (const auto& [look, group] : groups_) result.push_back(group);
    std::sort(result.begin(), result.end(), cheaper);
    return result;
  }

  RankedConfig explained(const Group& group) {
    RankedConfig config{group.index, group.cost, {}, std::nullopt};
    const FieldValues values = fields_.values(space_.value_indices(group.index));
    if (mode_ == RankMode::carver) {
      config.reason = describe(carver_score(candidate_.carver(values, device_, type_), device_));
    } else {
      config.estimate = estimate(candidate_.work(values, device_, type_), device_);
      config.reason = describe(*config.estimate);
    }
    return config;
  }

 private:
  /// The results of another part of the space.
  void add(const Scorer& part) {
    notes_.scored += part.notes_.scored;
    notes_.unfit += part.notes_.unfit;
    if (notes_.misfit.empty()) notes_.misfit = part.notes_.misfit;
    if (!complaint_) complaint_ = part.complaint_;
    any_sensible_ = any_sensible_ || part.any_sensible_;
    for (const auto& [look, group] : part.groups_) {
      Group& own = groups_.try_emplace(look, group).first->second;
      own.index = std::min(own.index, group.index);
    }
  }

  /// The key in groups_, or 0 if it does not fit.
  std::uint64_t group_of(FieldValues values) {
    if (const std::optional<Error> complaint = fields_.complaint()) {
      if (!complaint_) complaint_ = complaint;
      return 0;
    }
    any_sensible_ = true;
    const Work work = candidate_.work(values, device_, type_);
    auto reason = misfit(work, device_);
    double cost = 0;
    std::uint64_t look = 1;
    if (!reason && mode_ == RankMode::carver) {
      const CarverScore score = carver_score(candidate_.carver(values, device_, type_), device_);
      if (!(score.cost > 0)) reason = "carver's limits: " + describe(score);
      cost = score.cost;
      look = mixed(mixed(mixed(look, score.traffic), score.waves), score.tile_elements);
    } else if (!reason) {
      cost = estimate(work, device_).time_ms;
      if (!(cost >= 0 && cost < 1e300)) reason = "sizes that make no sense";
      for (const double value :
           {work.blocks, work.threads, work.registers, work.shared_bytes, work.blocks_at_most,
            static_cast<double>(work.rate), work.flops, work.instructions, work.shared_cycles, work.cache_cycles,
            work.l2_bytes, work.serial_cycles, work.spill_uses, work.memory_bytes, work.bytes_in_flight, work.extra_us})
        look = mixed(look, value);
    }
    if (reason) {
      if (notes_.misfit.empty()) notes_.misfit = *reason;
      return 0;
    }
    look |= 1;
    Group group;
    group.cost = cost;
    for (const std::size_t field : candidate_.ways) group.way = mixed(group.way, values[field]);
    group.family = group.way;
    for (const std::size_t field : candidate_.family) group.family = mixed(group.family, values[field]);
    groups_.try_emplace(look, group);
    return look;
  }

  const CandidateTemplate& candidate_;
  const space::Space& space_;
  const device::DeviceModel& device_;
  const DType type_;
  const RankMode mode_;
  Ranking notes_;
  FieldTable fields_;
  std::unordered_map<std::uint64_t, std::uint64_t> by_values_;
  std::unordered_map<std::uint64_t, Group> groups_;
  std::optional<Error> complaint_;
  bool any_sensible_ = false;  ///< a configuration has all fields in their ranges
};

/// A scorer with what it refers to, and its answers.
struct OwnScorer {
  device::DeviceModel device;
  Scorer scorer;
  std::unordered_map<std::uint64_t, double> known;

  OwnScorer(const spec::Spec& spec, const space::Space& space, const Bindings& problem, const device::DeviceInfo& info)
      : device(device::device_model(info)), scorer(spec, space, problem, device, RankMode::model) {}
};

/// A sample of the space, then moves to better neighbours from the best of it.
void score_sample(Scorer& scorer, const space::Space& space, const RankOptions& options) {
  base::Random random(options.seed);
  for (std::uint64_t i = 0; i < options.sample; ++i) scorer.score(random.below(space.size()));
  std::unordered_set<std::uint64_t> climbed;
  for (int round = 0; round < 8; ++round) {
    std::vector<Group> best = scorer.groups();
    if (best.size() > 32) best.resize(32);
    bool moved = false;
    for (const Group& group : best) {
      if (!climbed.insert(group.index).second) continue;
      moved = true;
      std::vector<std::uint64_t> around = space.neighbours(group.index);
      for (std::size_t i = 0; i < around.size() && i < 500; ++i) {
        std::swap(around[i], around[i + random.below(around.size() - i)]);
        scorer.score(around[i]);
      }
    }
    if (!moved) return;
  }
}

/// groups are ordered by cost. No family takes more than a quarter while others are left; half of the places are
/// divided evenly among the implementations with a cost within twice the best.
std::vector<Group> diverse(const std::vector<Group>& groups, std::size_t top_k) {
  std::unordered_map<std::uint64_t, std::size_t> family_taken, way_places;
  for (const Group& group : groups)
    if (group.cost <= 2 * groups.front().cost) way_places[group.way] = 0;
  for (auto& [way, places] : way_places) places = top_k / (2 * way_places.size());
  const std::size_t share = std::max<std::size_t>(1, (top_k + 3) / 4);
  std::vector<Group> chosen, rest, left;
  // First each implementation's places, then the others in order of cost.
  for (const Group& group : groups) {
    const auto places = way_places.find(group.way);
    const bool own = places != way_places.end() && places->second > 0 && family_taken[group.family] < share;
    (own ? chosen : rest).push_back(group);
    if (own) --places->second, ++family_taken[group.family];
  }
  for (const Group& group : rest) {
    if (chosen.size() >= top_k) break;
    (family_taken[group.family]++ < share ? chosen : left).push_back(group);
  }
  for (std::size_t i = 0; i < left.size() && chosen.size() < top_k; ++i) chosen.push_back(left[i]);
  std::sort(chosen.begin(), chosen.end(), cheaper);
  return chosen;
}

}  // namespace

DType input_type(const spec::Spec& spec, const Bindings& problem) {
  const spec::CandidatesSpec& candidates = *spec.candidates;
  if (candidates.dtype) return spec::dtype_in(candidates.dtype_text, *candidates.dtype, problem);
  for (const spec::ArgSpec& arg : spec.args)
    if (arg.kind == spec::ArgKind::buffer && spec::is_input(arg.role)) return dtype_of(arg, problem);
  return DType::f32;
}

Ranking rank_candidates(const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                        const device::DeviceModel& device, const RankOptions& options) {
  if (!spec.candidates)
    throw Error(ErrorKind::invalid_spec, spec.path.string() + ": the spec has no table [candidates]");
  check_candidates(spec);
  const auto make = [&] { return Scorer(spec, space, problem, device, options.mode); };
  const bool whole = space.size() <= options.whole;
  Scorer scorer = whole ? Scorer::of_all(make, space.size()) : make();
  if (!whole) score_sample(scorer, space, options);
  Ranking ranking = scorer.notes();
  ranking.whole = whole;
  const std::vector<Group> groups = scorer.groups();
  if (const std::optional<Error> complaint = scorer.complaint()) throw Error(*complaint);
  if (groups.empty())
    throw Error(ErrorKind::nothing_valid, spec.path.string() + ": no configuration fits " + device.info.name + " (" +
                                              device.info.arch + "); the first one: " + ranking.misfit);
  for (const Group& group : diverse(groups, options.top_k)) ranking.configs.push_back(scorer.explained(group));
  for (std::size_t i = 0; i < std::min(groups.size(), max_order); ++i) ranking.order.push_back(groups[i].index);
  return ranking;
}

std::function<double(std::uint64_t)> estimator(const spec::Spec& spec, const space::Space& space,
                                               const Bindings& problem, const device::DeviceInfo& device) {
  check_candidates(spec);
  return [own = std::make_shared<OwnScorer>(spec, space, problem, device)](std::uint64_t index) {
    const auto [entry, fresh] = own->known.try_emplace(index, std::numeric_limits<double>::quiet_NaN());
    if (!fresh) return entry->second;
    if (const Group* const group = own->scorer.score(index)) entry->second = group->cost;
    return entry->second;
  };
}

Suggestions suggest(const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                    const device::DeviceInfo& device, std::optional<std::size_t> top_k) {
  Suggestions suggestions;
  if (!spec.candidates || device::is_cpu(device)) return suggestions;
  RankOptions options = rank_options(*spec.candidates);
  options.top_k = top_k.value_or(options.top_k);
  try {
    suggestions.ranking = rank_candidates(spec, space, problem, device::device_model(device), options);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::invalid_spec) throw;
    suggestions.refused = error.what();
  }
  return suggestions;
}

std::optional<std::uint64_t> default_index(const spec::Spec& spec, const space::Space& space,
                                           std::span<const std::uint64_t> ranked) {
  if (spec.dispatch.default_config)
    if (const auto index = space.index_of(*spec.dispatch.default_config)) return index;
  if (!ranked.empty()) return ranked.front();
  return space.size() > 0 ? std::optional<std::uint64_t>(0) : std::nullopt;
}

std::vector<std::uint64_t> default_order(const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                                         const device::DeviceInfo& device, std::size_t most) {
  std::vector<std::uint64_t> ranked, order;
  if (const auto ranking = suggest(spec, space, problem, device, std::max<std::size_t>(most / 2, 1)).ranking)
    for (const RankedConfig& each : ranking->configs) ranked.push_back(each.index);
  const auto add = [&](std::uint64_t index) {
    if (order.size() < most && std::find(order.begin(), order.end(), index) == order.end()) order.push_back(index);
  };
  if (const auto first = default_index(spec, space, ranked)) add(*first);
  for (const std::uint64_t index : ranked) add(index);
  for (std::uint64_t index = 0; index < space.size() && order.size() < most; ++index) add(index);
  return order;
}

}  // namespace xtune::model
