// Looks the answer for a problem up, and tells what was passed over.
#include "core/record/lookup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <tuple>

#include "base/enum_words.hpp"
#include "base/text.hpp"
#include "core/record/record_access.hpp"
#include "core/space/bindings_text.hpp"
#include "core/space/value.hpp"

namespace xtune::record {
namespace {

// More reasons of this one kind help nobody.
constexpr std::size_t max_further = 8;

std::string describe(const device::DeviceInfo& device) {
  return fmt::format("{} ({}, {})", device.name, device.arch, device.backend);
}

struct Group {
  std::vector<const Record*> records;  // of one problem, on one device
  double distance = 0;
  bool exact_device = false;
};

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

struct ChosenRecord {
  std::optional<Record> record;
  std::vector<std::string> differences;
  std::size_t passed_over = 0;  // faster ones whose key differs
  std::size_t failed = 0;       // those whose configuration failed as the spec is today
};

// Of records in their order: the first whose key holds, else the first stale one, else the first.
ChosenRecord choose(const LookupGroup::Order& order, const LookupRules& rules) {
  if (!rules.differences) return {order.record(0), {}, 0};
  const auto holds = [&](const Record& record) { return rules.differences(record).empty(); };
  // Keys hold whatever the seed. What is wrong for one seed's inputs is wrong, though another seed's do not show it.
  const auto is_wrong = [&](const Record& record) { return record.outcome == Outcome::wrong_result && holds(record); };
  ChosenRecord choice;
  std::size_t failed = 0;
  for (std::size_t i = 0; i < order.ranked; ++i) {
    if (choice.record && rules.fit_at_best && rules.fit_at_best(order.device(i)) >= key_fit(choice.differences))
      continue;
    const Record& record = order.record(i);
    std::vector<std::string> differences = rules.differences(record);
    if (differences.empty()) {
      if (!order.any_failure(i, is_wrong)) return {record, {}, i - failed, failed};
      ++failed;
      continue;
    }
    if (choice.record && key_fit(differences) >= key_fit(choice.differences)) continue;
    if (order.any_failure(i, holds))
      ++failed;
    else
      choice = {record, std::move(differences)};
  }
  choice.failed = failed;
  return choice;
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

const char* to_string(Match match) noexcept {
  return base::enum_words<Match>("exact", "bucket", "nearest", "none").of(match);
}

LookupResult look_up(std::vector<LookupGroup> groups, const LookupCounts& counts, const Bindings& problem,
                     const device::DeviceInfo& device, const Criterion& criterion, const LookupRules& rules) {
  LookupResult result;
  result.reasons = reasons_of(counts, device);
  const std::string bucket = rules.bucket ? rules.bucket(problem) : "";
  for (LookupGroup& group : groups) group.in_bucket = !bucket.empty() && rules.bucket(*group.problem) == bucket;
  std::stable_sort(groups.begin(), groups.end(), [](const LookupGroup& a, const LookupGroup& b) {
    const auto rank = [](const LookupGroup& group) {
      return std::tuple(group.distance != 0, !group.in_bucket, group.distance, !group.exact_device);
    };
    return rank(a) < rank(b);
  });
  std::size_t further = 0;
  for (const LookupGroup& group : groups) {
    if (result.match != Match::none && ++further > max_further) continue;
    const std::string what = fmt::format("problem {} on {}, distance {:.3g}", space::bindings_text(*group.problem),
                                         describe(*group.device), group.distance);
    const auto tell = [&](const std::string& text) { result.reasons.push_back(what + ": " + text); };
    if (result.match != Match::none) {
      tell("further away, not taken");
      continue;
    }
    const LookupGroup::Order order = group.rank();
    for (const auto& [obstacle, count] : order.left_out) tell(fmt::format("{} records {}: left out", count, obstacle));
    if (order.ranked == 0) {
      if (order.left > 0) tell(fmt::format("{} records, none of them ok", order.left));
      continue;
    }
    ChosenRecord choice = choose(order, rules);
    if (choice.failed > 0)
      tell(fmt::format("{} records left out: their configurations failed as this spec is now", choice.failed));
    if (!choice.record) continue;
    const bool exact = group.distance == 0 && group.exact_device;
    result.match = exact ? Match::exact : group.in_bucket && group.distance != 0 ? Match::bucket : Match::nearest;
    result.distance = group.distance;
    const Record& taken = *choice.record;
    result.stale = key_fit(choice.differences) == KeyFit::stale;
    tell(fmt::format("taken as the {} match, {}{}", to_string(result.match),
                     base::human_time_ms(measure::statistic(taken.time_ms, criterion.statistic)),
                     taken.tainted.empty() ? "" : fmt::format("; tainted: {}", fmt::join(taken.tainted, "; "))));
    if (choice.passed_over > 0)
      tell(fmt::format("{} records passed over, measured under a key that is no longer this spec's",
                       choice.passed_over));
    if (result.stale)
      tell(fmt::format("stale: {}; `xtune run` measures again", driver_change(taken.device, device)));
    else if (!choice.differences.empty())
      tell(fmt::format("measured under another key than this spec's; what differs: {}",
                       build::part_names(choice.differences)));
    result.differences = std::move(choice.differences);
    result.record = std::move(choice.record);
  }
  if (further > max_further)
    result.reasons.push_back(
        fmt::format("{} more problems or devices: further away, not taken", further - max_further));
  return result;
}

LookupResult look_up(const std::vector<Record>& records, const Bindings& problem, const device::DeviceInfo& device,
                     const Criterion& criterion, const LookupRules& rules) {
  std::map<std::tuple<std::string, std::string, int>, Group> by_problem;
  LookupCounts counts;
  counts.records = records.size();
  for (const Record& record : records) {
    if (record.device.arch != device.arch) {
      ++counts.other_arch;
    } else if (record.device.backend != device.backend) {
      ++counts.other_backend;
    } else if (is_sanitized(record)) {
      ++counts.sanitized;
    } else if (const auto distance = shape_distance(record.problem, problem); !distance) {
      ++counts.other_problem;
    } else {
      Group& group =
          by_problem[{space::bindings_text(record.problem), record.device.name, record.device.compute_units}];
      group.records.push_back(&record);
      group.distance = *distance;
      group.exact_device = same_device(record.device, device);
    }
  }
  std::vector<LookupGroup> groups;
  for (const auto& [name, group] : by_problem) {
    const Record& first = *group.records.front();
    groups.push_back({&first.problem, &first.device, group.distance, group.exact_device, false,
                      [&records = group.records, &criterion, &rules] { return order_of(records, criterion, rules); }});
  }
  return look_up(std::move(groups), counts, problem, device, criterion, rules);
}

}  // namespace xtune::record
