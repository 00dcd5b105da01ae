// Looks the answer for a problem up, and tells what was passed over.
#include "core/record/lookup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/text.hpp"
#include "core/space/bindings_text.hpp"

namespace xtune {
namespace {

std::optional<double> size_of_value(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::nullopt;
}

struct Group {
  std::vector<const Record*> records;  // of one problem, on one device
  double distance = 0;
  bool exact_device = false;
  bool in_bucket = false;
};

std::string describe(const DeviceInfo& device) {
  return fmt::format("{} ({}, {})", device.name, device.arch, device.backend);
}

// The records by problem and device, nearest first; those that cannot answer are left out and counted in `reasons`.
std::vector<Group> groups_of(const std::vector<Record>& records, const Bindings& problem, const DeviceInfo& device,
                             const LookupRules& rules, std::vector<std::string>& reasons) {
  std::map<std::tuple<std::string, std::string, int>, Group> groups;
  std::size_t other_arch = 0, other_backend = 0, other_problem = 0, of_sanitizer = 0;
  for (const Record& record : records) {
    if (record.device.arch != device.arch) {
      ++other_arch;
    } else if (record.device.backend != device.backend) {
      ++other_backend;
    } else if (is_sanitized(record)) {
      ++of_sanitizer;
    } else if (const auto distance = shape_distance(record.problem, problem); !distance) {
      ++other_problem;
    } else {
      Group& group = groups[{bindings_text(record.problem), record.device.name, record.device.compute_units}];
      group.records.push_back(&record);
      group.distance = *distance;
      group.exact_device = same_device(record.device, device);
    }
  }
  const auto tell = [&](std::size_t count, const std::string& what) {
    if (count) reasons.push_back(fmt::format("{} records {}: never served as this one's", count, what));
  };
  tell(other_arch, "of another architecture than " + device.arch);
  tell(other_backend, "of another backend than " + device.backend);
  tell(of_sanitizer, "of kernels built with --sanitize");
  tell(other_problem, "of problems with other dimensions");
  std::vector<Group> sorted;
  const std::string bucket = rules.bucket ? rules.bucket(problem) : "";
  for (auto& [name, group] : groups) {
    group.in_bucket = !bucket.empty() && rules.bucket(group.records.front()->problem) == bucket;
    sorted.push_back(std::move(group));
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const Group& a, const Group& b) {
    const auto rank = [](const Group& group) {
      return std::tuple(group.distance != 0, !group.in_bucket, group.distance, !group.exact_device);
    };
    return rank(a) < rank(b);
  });
  return sorted;
}

// Takes those out that may not answer, and tells how many and why.
void leave_out(std::vector<const Record*>& records, const LookupRules& rules, const std::string& what,
               std::vector<std::string>& reasons) {
  if (!rules.obstacle) return;
  std::map<std::string, std::size_t> counts;
  std::erase_if(records, [&](const Record* record) {
    const std::string obstacle = rules.obstacle(*record);
    if (!obstacle.empty()) ++counts[obstacle];
    return !obstacle.empty();
  });
  for (const auto& [obstacle, count] : counts)
    reasons.push_back(fmt::format("{}: {} records {}: left out", what, count, obstacle));
}

struct ChosenRecord {
  const Record* record = nullptr;
  std::vector<std::string> differences;
  std::size_t passed_over = 0;  // faster ones whose key differs
};

// Of records in their order: the first whose key holds, else the first stale one, else the first.
ChosenRecord choose(const std::vector<const Record*>& order, const LookupRules& rules) {
  if (!rules.differences) return {order.front(), {}, 0};
  ChosenRecord choice;
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::vector<std::string> differences = rules.differences(*order[i]);
    if (differences.empty()) return {order[i], {}, i};
    if (!choice.record || key_fit(differences) < key_fit(choice.differences))
      choice = {order[i], std::move(differences), 0};
  }
  return choice;
}

}  // namespace

std::optional<double> shape_distance(const Bindings& a, const Bindings& b) {
  if (a.size() != b.size()) return std::nullopt;
  double distance = 0;
  for (auto left = a.begin(), right = b.begin(); left != a.end(); ++left, ++right) {
    if (left->first != right->first) return std::nullopt;
    if (left->second == right->second) continue;
    const auto x = size_of_value(left->second), y = size_of_value(right->second);
    if (!x || !y || !(*x > 0) || !(*y > 0)) return std::nullopt;
    distance += std::abs(std::log2(*x / *y));
  }
  return distance;
}

const char* to_string(Match match) noexcept {
  switch (match) {
    case Match::exact:
      return "exact";
    case Match::bucket:
      return "bucket";
    case Match::nearest:
      return "nearest";
    case Match::none:
      return "none";
  }
  return "unknown";
}

LookupResult look_up(const std::vector<Record>& records, const Bindings& problem, const DeviceInfo& device,
                     const Criterion& criterion, const LookupRules& rules) {
  LookupResult result;
  if (records.empty()) result.reasons.push_back("no records of this kernel on " + device.arch);
  for (Group& group : groups_of(records, problem, device, rules, result.reasons)) {
    const Record& first = *group.records.front();
    const bool exact = group.distance == 0 && group.exact_device;
    const std::string what = fmt::format("problem {} on {}, distance {:.3g}", bindings_text(first.problem),
                                         describe(first.device), group.distance);
    if (result.match != Match::none) {
      result.reasons.push_back(what + ": further away, not taken");
      continue;
    }
    leave_out(group.records, rules, what, result.reasons);
    const std::vector<const Record*> order = ranked(group.records, criterion);
    if (order.empty()) {
      if (!group.records.empty())
        result.reasons.push_back(fmt::format("{}: {} records, none of them ok", what, group.records.size()));
      continue;
    }
    ChosenRecord choice = choose(order, rules);
    const Record& taken = *choice.record;
    result.match = exact ? Match::exact : group.in_bucket && group.distance != 0 ? Match::bucket : Match::nearest;
    result.record = taken;
    result.distance = group.distance;
    result.differences = std::move(choice.differences);
    result.stale = key_fit(result.differences) == KeyFit::stale;
    result.reasons.push_back(
        fmt::format("{}: taken as the {} match, {}{}", what, to_string(result.match),
                    human_time_ms(statistic(taken.time_ms, criterion.statistic)),
                    taken.tainted.empty() ? "" : fmt::format("; tainted: {}", fmt::join(taken.tainted, "; "))));
    if (choice.passed_over > 0)
      result.reasons.push_back(
          fmt::format("{}: {} records passed over, measured under a key that is no longer this "
                      "spec's",
                      what, choice.passed_over));
    if (result.stale)
      result.reasons.push_back(
          fmt::format("{}: stale: {}; `xtune run` measures again", what, driver_change(taken.device, device)));
    else if (!result.differences.empty())
      result.reasons.push_back(fmt::format("{}: measured under another key than this spec's; what differs: {}", what,
                                           part_names(result.differences)));
  }
  return result;
}

}  // namespace xtune
