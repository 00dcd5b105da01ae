// Looks up the answer for a problem, and lists the records that were skipped.
#include "core/record/lookup.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <tuple>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/record/record_access.hpp"
#include "core/space/bindings_text.hpp"
#include "core/space/value.hpp"

namespace xtune::record {
namespace {

// Maximum number of reasons of this kind; more would not help.
constexpr std::size_t max_further = 8;

std::string describe(const device::DeviceInfo& device) {
  return fmt::format("{} ({}, {})", device.name, device.arch, device.backend);
}

LookupGroup::Order order_of(std::vector<const Record*> records, const Criterion& criterion, const LookupRules& rules) {
  LookupGroup::Order order;
  if (rules.obstacle)
    std::erase_if(records, [&](const Record* record) {
      const std::string obstacle = rules.obstacle(*record);
      if (!obstacle.empty()) ++order.left_out[obstacle];
      return !obstacle.empty();
    });
  order.left = records.size();
  const std::vector<const Record*> best = ranked(records, criterion);
  order.ranked = best.size();
  order.record = [best](std::size_t i) -> const Record& { return *best[i]; };
  order.device = [best](std::size_t i) -> const device::DeviceInfo& { return best[i]->device; };
  const auto failures = std::make_shared<Failures<RecordAccess, const Record*>>(std::move(records));
  order.any_failure = [best, failures](std::size_t i, const auto& visit) {
    return failures->any(space::bindings_text(best[i]->config), [&](const Record* record) { return visit(*record); });
  };
  return order;
}

std::vector<std::string> reasons_of(const LookupCounts& counts, const device::DeviceInfo& device) {
  std::vector<std::string> reasons;
  if (counts.records == 0) reasons.push_back("no records of this kernel on " + device.arch);
  const auto tell = [&](std::size_t count, const std::string& what) {
    if (count) reasons.push_back(fmt::format("{} records {}: never served as this one's", count, what));
  };
  tell(counts.other_arch, "of another architecture than " + device.arch);
  tell(counts.other_backend, "of another backend than " + device.backend);
  tell(counts.sanitized, "of kernels built with --sanitize");
  tell(counts.other_problem, "of problems with other dimensions");
  return reasons;
}

}  // namespace

std::optional<double> shape_distance(const Bindings& a, const Bindings& b) {
  if (a.size() != b.size()) return std::nullopt;
  double distance = 0;
  for (auto left = a.begin(), right = b.begin(); left != a.end(); ++left, ++right) {
    if (left->first != right->first) return std::nullopt;
    if (left->second == right->second) continue;
    const auto x = space::number_of(left->second), y = space::number_of(right->second);
    if (!x || !y || !(*x > 0) || !(*y > 0)) return std::nullopt;
    distance += std::abs(std::log2(*x / *y));
  }
  return distance;
}

std::string outside_radius(double radius) {
  return fmt::format("outside of [dispatch] radius = {:.3g}: the default configuration answers", radius);
}

const char* to_string(Match match) noexcept {
  return base::enum_words<Match>("exact", "bucket", "nearest", "none").of(match);
}

RankedChoice choose_ranked(const LookupGroup::Order& order, const LookupRules& rules) {
  RankedChoice choice;
  if (!rules.differences) return choice.record = order.record(0), choice;
  const auto holds = [&](const Record& record) { return rules.differences(record).empty(); };
  // Key fits ignore the seed. A configuration that is wrong for the inputs of one seed is wrong, even if another seed's
  // do not show it.
  const auto is_wrong = [&](const Record& record) { return record.outcome == Outcome::wrong_result && holds(record); };
  for (std::size_t i = 0; i < order.ranked; ++i) {
    const KeyFit known = key_fit(choice.differences);
    if (order.may_answer && !order.may_answer(i)) {
      ++choice.failed;
      continue;
    }
    if (choice.record && rules.fit_at_best && rules.fit_at_best(order.device(i)) >= known) continue;
    const Record& record = order.record(i);
    std::vector<std::string> differences = rules.differences(record);
    const KeyFit fit = key_fit(differences);
    if (choice.record && fit >= known) continue;
    if (order.any_failure(i, fit == KeyFit::holds ? std::function<bool(const Record&)>(is_wrong) : holds)) {
      ++choice.failed;
      continue;
    }
    choice.place = i, choice.record = record, choice.differences = std::move(differences);
    if (fit == KeyFit::holds) return choice.passed_over = i - choice.failed, choice;
  }
  return choice;
}

LookupResult look_up(std::vector<LookupGroup> groups, const std::function<LookupGroup::Order(const LookupGroup&)>& rank,
                     const LookupCounts& counts, const Bindings& problem, const device::DeviceInfo& device,
                     const Criterion& criterion, const LookupRules& rules) {
  LookupResult result;
  result.reasons = reasons_of(counts, device);
  const std::string bucket = rules.bucket ? rules.bucket(problem) : "";
  for (LookupGroup& group : groups)
    group.nearness.in_bucket = !bucket.empty() && rules.bucket(*group.problem) == bucket;
  std::stable_sort(groups.begin(), groups.end(),
                   [](const LookupGroup& a, const LookupGroup& b) { return a.nearness.rank() < b.nearness.rank(); });
  std::size_t further = 0;
  for (const LookupGroup& group : groups) {
    if (result.match != Match::none && ++further > max_further) continue;
    const std::string what = fmt::format("problem {} on {}, distance {:.3g}", space::shown_text(*group.problem),
                                         describe(*group.device), group.nearness.distance);
    const auto tell = [&](const std::string& text) { result.reasons.push_back(what + ": " + text); };
    if (result.match != Match::none) {
      tell("further away, not taken");
      continue;
    }
    if (!rules.reaches(group.nearness)) {
      if (!result.beyond && rank(group).ranked > 0) result.beyond = group.nearness.distance;
      if (++further <= max_further) tell(outside_radius(rules.radius));
      continue;
    }
    const LookupGroup::Order order = rank(group);
    for (const auto& [obstacle, count] : order.left_out) tell(fmt::format("{} records {}: skipped", count, obstacle));
    if (order.ranked == 0) {
      if (order.left > 0) tell(fmt::format("{} records, none of them ok", order.left));
      continue;
    }
    RankedChoice choice = choose_ranked(order, rules);
    if (choice.failed > 0)
      tell(fmt::format("{} records skipped: their configurations failed as this spec is now", choice.failed));
    if (!choice.record) continue;
    result.match = group.nearness.match();
    result.distance = group.nearness.distance;
    const Record& taken = *choice.record;
    result.stale = key_fit(choice.differences) == KeyFit::stale;
    tell(fmt::format("taken as the {} match, {}{}", to_string(result.match),
                     base::human_time_ms(measure::statistic(taken.time_ms, criterion.statistic)),
                     taken.tainted.empty() ? "" : fmt::format("; tainted: {}", fmt::join(taken.tainted, "; "))));
    if (choice.passed_over > 0)
      tell(fmt::format("{} records skipped: measured under a key that is no longer this spec's", choice.passed_over));
    if (result.stale)
      tell(fmt::format("stale: {}; `xtune run` measures again", driver_change(taken.device, device)));
    else if (!choice.differences.empty())
      tell(fmt::format("measured under another key than this spec's; what differs: {}",
                       build::part_names(choice.differences)));
    result.differences = std::move(choice.differences);
    result.record = std::move(choice.record);
    result.beyond.reset();
  }
  if (further > max_further)
    result.reasons.push_back(
        fmt::format("{} more problems or devices: further away, not taken", further - max_further));
  return result;
}

LookupResult look_up(const std::vector<Record>& records, const Bindings& problem, const device::DeviceInfo& device,
                     const Criterion& criterion, const LookupRules& rules) {
  std::map<std::tuple<std::string, std::string, int>, std::vector<const Record*>> by_problem;  // and device
  LookupCounts counts;
  counts.records = records.size();
  for (const Record& record : records) {
    if (record.device.arch != device.arch) {
      ++counts.other_arch;
    } else if (record.device.backend != device.backend) {
      ++counts.other_backend;
    } else if (is_sanitized(record)) {
      ++counts.sanitized;
    } else if (!shape_distance(record.problem, problem)) {
      ++counts.other_problem;
    } else {
      by_problem[{space::bindings_text(record.problem), record.device.name, record.device.compute_units}].push_back(
          &record);
    }
  }
  std::vector<LookupGroup> groups;
  std::vector<const std::vector<const Record*>*> members;
  for (const auto& [name, own] : by_problem) {
    const Record& first = *own.front();
    const Nearness nearness{*shape_distance(first.problem, problem), same_device(first.device, device)};
    groups.push_back({&first.problem, &first.device, nearness, members.size()});
    members.push_back(&own);
  }
  const auto rank = [&](const LookupGroup& group) { return order_of(*members[group.number], criterion, rules); };
  return look_up(std::move(groups), rank, counts, problem, device, criterion, rules);
}

}  // namespace xtune::record
