// Looks at records only: no spec is needed, and none can say what older records were measured with.
#include "core/store/compare.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/build/cache.hpp"
#include "core/space/value.hpp"
#include "core/store/best.hpp"
#include "core/store/lookup.hpp"
#include "core/store/record.hpp"
#include "xtune/error.hpp"

namespace xtune::store {

namespace {

using ConfigRecords = std::map<Bindings, const Record*>;

/// The newest record of each configuration that has its outcome.
ConfigRecords newest_of(const std::vector<const Record*>& records) {
  ConfigRecords newest;
  for (const Record* record : records)
    if (is_first(*record)) newest[record->config] = record;
  for (const Record* record : records) newest.try_emplace(record->config, record);
  return newest;
}

bool has_time(const Record& record) { return record.outcome == Outcome::ok && record.time_ms.median > 0; }

bool is_measured(Outcome outcome) { return outcome == Outcome::ok || outcome == Outcome::pruned; }

std::string device_text(const device::DeviceInfo& device) {
  return fmt::format("{} ({}, {})", device.name, device.backend, device.arch);
}

/// How the keys of two records differ, with names for what changed in the artifact.
std::vector<std::string> key_changes(const CaseComparison& pair, const Record& before, const Record& after) {
  // A result file has no keys.
  const bool have_keys = !before.key_parts.empty() && !after.key_parts.empty();
  std::vector<std::string> lines;
  if (have_keys)
    lines = with_changes_named(build::key_difference(before.key_parts, after.key_parts), pair.before.store,
                               before.artifact_key, build::stored_sources(pair.after.store, after.artifact_key));
  const bool other_config = before.config != after.config;
  std::erase_if(lines, [&](const std::string& line) {
    constexpr std::string_view define = "define ";
    const bool of_config =
        line.starts_with(define) && after.config.contains(line.substr(define.size(), line.find(':') - define.size()));
    return other_config && (of_config || line.starts_with("entry: ") || line.starts_with("runtime: ") ||
                            line.starts_with("launch: ") || line.starts_with("artifact: "));
  });
  for (std::string& line : lines) {
    if (line.starts_with("device: "))
      line = "device: " + device_text(before.device) + " -> " + device_text(after.device);
    if (line.starts_with("artifact: ")) line = "artifact: another source, compiler or option";
  }
  const bool named =
      std::any_of(lines.begin(), lines.end(), [](const auto& line) { return line.starts_with("compiler: "); });
  if (!named && before.toolchain != after.toolchain && !before.toolchain.empty() && !after.toolchain.empty())
    lines.push_back("compiler: " + before.toolchain + " -> " + after.toolchain);
  // It names the device.
  if (!have_keys && !may_be_same_hardware(before.device, after.device))
    lines.push_back("device: " + device_text(before.device) + " -> " + device_text(after.device));
  return lines;
}

/// What versions are told apart by.
struct Version {
  build::ArtifactSources sources;
  const Record* record = nullptr;             ///< the first of it
  std::map<Bindings, std::string> artifacts;  ///< by configuration
  ComparedGroup group;

  bool holds(const Record& other, const build::ArtifactSources& other_sources) const {
    const auto known = artifacts.find(other.config);
    return record->toolchain == other.toolchain && same_driver(record->device, other.device) &&
           build::same_sources(sources, other_sources) &&
           (known == artifacts.end() || known->second == other.artifact_key);
  }
};

void compare_configs(CaseComparison& pair, double noise) {
  const ConfigRecords before = newest_of(pair.before.records), after = newest_of(pair.after.records);
  for (const auto& [config, record] : before) {
    const auto other = after.find(config);
    if (other == after.end()) {
      ++pair.only_before;
      continue;
    }
    ++pair.both;
    ConfigChange change{record, other->second, {}};
    const bool both_measured = is_measured(record->outcome) && is_measured(other->second->outcome);
    if (!both_measured && record->outcome != other->second->outcome) pair.outcomes.push_back(change);
    if (!has_time(*record) || !has_time(*other->second)) continue;
    change.ratio = time_ratio(*record, *other->second, noise);
    if (pair.best_before && config == pair.best_before->config) pair.same_best = change;
    if (change.ratio.change == Change::same)
      ++pair.same;
    else
      pair.timed.push_back(change);
  }
  pair.only_after = after.size() - pair.both;
  std::stable_sort(pair.timed.begin(), pair.timed.end(), [](const ConfigChange& a, const ConfigChange& b) {
    return std::abs(std::log(a.ratio.value)) > std::abs(std::log(b.ratio.value));
  });
}

std::string problem_of(const ComparedGroup& group) { return group.kernel + "\n" + space::bindings_text(group.problem); }

}  // namespace

const char* to_string(Change change) noexcept {
  return base::enum_words<Change>("same", "faster", "slower", "lost", "found").of(change);
}

std::vector<ComparedGroup> compared_groups(const std::vector<Record>& records, const std::filesystem::path& store) {
  std::map<std::string, ComparedGroup> groups;
  for (const Record& record : records) {
    if (is_sanitized(record) || record.drift) continue;
    ComparedGroup& group = groups[group_of(record)];
    if (group.records.empty()) group = {record.kernel, record.problem, record.device, {}, store};
    group.records.push_back(&record);
  }
  std::vector<ComparedGroup> list;
  for (auto& [name, group] : groups) {
    std::stable_sort(group.records.begin(), group.records.end(),
                     [](const auto* a, const auto* b) { return is_earlier(*a, *b); });
    list.push_back(std::move(group));
  }
  return list;
}

std::vector<ComparedGroup> versions_of(const ComparedGroup& group) {
  std::vector<Version> versions;
  std::map<std::string, build::ArtifactSources> known;
  for (const Record* record : group.records) {
    const auto [sources, is_new] = known.try_emplace(record->artifact_key);
    // The calls of a program have their own files.
    if (is_new || !sources->second.source) sources->second = sources_of(group.store, *record);
    const auto version =
        std::find_if(versions.rbegin(), versions.rend(),
                     [&, &of = sources->second](const Version& each) { return each.holds(*record, of); });
    Version* to = version == versions.rend() ? nullptr : &*version;
    if (!to) {
      to = &versions.emplace_back();
      to->sources = sources->second;
      to->record = record;
      to->group = group;
      to->group.records.clear();
      to->group.device = record->device;
    }
    to->artifacts.emplace(record->config, record->artifact_key);
    to->group.records.push_back(record);
  }
  std::vector<ComparedGroup> groups;
  for (Version& version : versions) groups.push_back(std::move(version.group));
  // Going back to an older source makes that the newest.
  std::stable_sort(groups.begin(), groups.end(), [](const ComparedGroup& a, const ComparedGroup& b) {
    return a.records.back()->unix_time_ms < b.records.back()->unix_time_ms;
  });
  return groups;
}

TimeRatio time_ratio(const Record& before, const Record& after, double noise) {
  const measure::Summary &a = before.time_ms, &b = after.time_ms;
  TimeRatio ratio;
  ratio.value = b.median / a.median;
  ratio.low = a.high > 0 && b.low > 0 ? b.low / a.high : ratio.value;
  ratio.high = a.low > 0 && b.high > 0 ? b.high / a.low : ratio.value;
  const bool overlaps = ratio.low <= 1 && ratio.high >= 1;
  // As far up as down: 1.05 times as long, or 1 / 1.05.
  const bool small = std::max(ratio.value, 1 / ratio.value) <= 1 + noise;
  if (!overlaps && !small) ratio.change = ratio.value < 1 ? Change::faster : Change::slower;
  return ratio;
}

namespace {

/// Nothing that failed since is an answer: another reference may have found it wrong.
std::optional<Best> answer_of(const ComparedGroup& group) {
  const ConfigRecords newest = newest_of(group.records);
  std::vector<const Record*> standing = group.records;
  std::erase_if(standing, [&](const Record* each) { return !is_measured(newest.at(each->config)->outcome); });
  if (standing.empty()) return std::nullopt;
  const auto rank = [](const Record* each) { return std::pair(each->unix_time_ms, each->score.has_value()); };
  const Record* const last = *std::max_element(standing.begin(), standing.end(),
                                               [&](const Record* a, const Record* b) { return rank(a) < rank(b); });
  return best_of(standing, recorded_criterion(*last));
}

/// By what both runs ranked, if it was the same and not the time.
TimeRatio answer_ratio(const Record& before, const Record& after, double noise) {
  if (before.objective != after.objective || !before.score || !after.score) return time_ratio(before, after, noise);
  const double a = *before.score, b = *after.score;
  TimeRatio ratio;
  if (a == b) return ratio;
  const bool have_ratio = a * b > 0;  // a value that is maximised is negative
  ratio.value = ratio.low = ratio.high = !have_ratio ? (b < a ? 0 : HUGE_VAL) : a > 0 ? b / a : a / b;
  if (!have_ratio || std::max(ratio.value, 1 / ratio.value) > 1 + noise)
    ratio.change = b < a ? Change::faster : Change::slower;
  return ratio;
}

}  // namespace

bool has_answer(const ComparedGroup& group) { return answer_of(group).has_value(); }

CaseComparison compare(const ComparedGroup& before, const ComparedGroup& after, double noise) {
  CaseComparison pair;
  pair.before = before;
  pair.after = after;
  if (const auto best = answer_of(before)) pair.best_before = best->record;
  if (const auto best = answer_of(after)) pair.best_after = best->record;
  compare_configs(pair, noise);
  if (pair.best_before && pair.best_after)
    pair.ratio = answer_ratio(*pair.best_before, *pair.best_after, noise);
  else if (pair.best_before || pair.best_after)
    pair.ratio.change = pair.best_before ? Change::lost : Change::found;
  // One configuration that both have shows more than two that differ anyway.
  const ConfigRecords newest_after = newest_of(after.records);
  const Record* one = pair.best_before ? pair.best_before : before.records.back();
  auto other = newest_after.find(one->config);
  for (const auto& [config, record] : newest_of(before.records)) {
    if (other != newest_after.end()) break;
    if ((other = newest_after.find(config)) != newest_after.end()) one = record;
  }
  pair.differences = key_changes(pair, *one, other != newest_after.end() ? *other->second : *after.records.back());
  return pair;
}

Comparisons compare_all(std::vector<ComparedGroup> before, std::vector<ComparedGroup> after, double noise) {
  Comparisons all;
  const auto take = [&](const ComparedGroup& group, const auto& fits) {
    const auto found = std::find_if(after.begin(), after.end(), [&](const ComparedGroup& other) {
      return problem_of(other) == problem_of(group) && fits(other);
    });
    if (found == after.end()) return false;
    all.cases.push_back(compare(group, *found, noise));
    after.erase(found);
    return true;
  };
  std::erase_if(before, [&](const ComparedGroup& group) {
    return take(group, [&](const ComparedGroup& other) { return same_device(group.device, other.device); });
  });
  const auto count = [](const std::vector<ComparedGroup>& groups, const std::string& problem) {
    return std::count_if(groups.begin(), groups.end(), [&](const auto& each) { return problem_of(each) == problem; });
  };
  std::vector<ComparedGroup> left;
  for (const ComparedGroup& group : before) {
    const std::string problem = problem_of(group);
    const bool alone = count(before, problem) == 1 && count(after, problem) == 1;
    if (!alone || !take(group, [](const ComparedGroup&) { return true; })) left.push_back(group);
  }
  all.only_before = std::move(left);
  all.only_after = std::move(after);
  return all;
}

namespace {

/// One number is a summary without an interval.
void set_time(Record& record, double time_ms) {
  record.time_ms.count = 1;
  record.time_ms.min = record.time_ms.median = record.time_ms.mean = record.time_ms.inlier_mean = record.time_ms.max =
      time_ms;
  record.time_ms.low = record.time_ms.high = time_ms;
}

void set_measured(Record& record, const nlohmann::json& measured) {
  set_time(record, measured.at("time_ms"));
  record.objective = measured.value("ranked_by", "");
  if (!record.objective.empty()) record.score = measured.at("score");
  const auto interval = measured.find("interval_ms");
  if (interval == measured.end() || !interval->is_array() || interval->size() != 2) return;
  record.time_ms.low = interval->at(0);
  record.time_ms.high = interval->at(1);
}

std::vector<Record> records_of_case(const nlohmann::json& result) {
  Record common;
  common.kernel = result.at("kernel");
  common.problem = bindings_from_json(result.at("problem"));
  const nlohmann::json& device = result.at("device");
  common.device.name = device.at("name");
  common.device.backend = device.at("backend");
  common.device.arch = device.at("arch");
  std::map<Bindings, Record> by_config;
  const auto record_for = [&](const nlohmann::json& json) -> Record& {
    const Bindings config = bindings_from_json(json.at("config"));
    Record& record = by_config.try_emplace(config, common).first->second;
    record.config = config;
    return record;
  };
  for (const nlohmann::json& tried : result.at("trace")) {
    if (tried.contains("finals")) continue;
    Record& record = record_for(tried);
    record.outcome = outcome_from_string(tried.at("outcome").get<std::string>()).value_or(Outcome::crashed);
    record.message = tried.value("message", "");
    if (tried.at("time_ms").is_number()) set_time(record, tried.at("time_ms"));
  }
  for (const nlohmann::json& measured : result.at("top")) set_measured(record_for(measured), measured);
  std::vector<Record> records;
  if (result.at("best").is_object()) set_measured(record_for(result.at("best")), result.at("best"));
  for (auto& [config, record] : by_config) {
    record.key = "result " + std::to_string(records.size());
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace

std::vector<Record> records_of_result(const nlohmann::json& result, const std::string& name) {
  std::vector<Record> records;
  try {
    if (!result.is_array()) return records_of_case(result);
    for (const nlohmann::json& one : result) {
      if (one.contains("error")) continue;  // a case that failed has no results
      std::vector<Record> own = records_of_case(one);
      std::move(own.begin(), own.end(), std::back_inserter(records));
    }
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::invalid_argument,
                base::printable(name) +
                    ": no result of `xtune run --format json`: it lacks kernel, problem, device, trace, "
                    "top or best");
  }
  return records;
}

namespace {

/// The configurations that passed, each once, the ranked ones first.
std::vector<const Bindings*> passed(const std::vector<const Record*>& records,
                                    const std::vector<const Record*>& ranked) {
  std::set<std::string> known;
  std::vector<const Bindings*> configs;
  const auto add = [&](const Record& record) {
    if (known.insert(space::bindings_text(record.config)).second) configs.push_back(&record.config);
  };
  for (const Record* const record : ranked) add(*record);
  for (const Record* const record : records)
    if (record->outcome == Outcome::pruned) add(*record);
  return configs;
}

}  // namespace

TopValues top_values(const std::vector<space::Parameter>& parameters, const std::vector<const Record*>& records,
                     const Criterion& criterion, double share) {
  const std::vector<const Record*> ranked = store::ranked(records, criterion);
  const std::vector<const Bindings*> fully = passed({}, ranked), configs = passed(records, ranked);
  TopValues top{share, configs.size(), 0, {}};
  const auto wanted = static_cast<std::size_t>(std::ceil(share * static_cast<double>(configs.size()) - 1e-9));
  top.best = std::min(std::max<std::size_t>(wanted, 1), fully.size());
  for (const space::Parameter& parameter : parameters) {
    std::map<Value, ValueCount> counts;
    for (std::size_t i = 0; i < configs.size(); ++i) {
      const auto found = configs[i]->find(parameter.name);
      if (found == configs[i]->end()) continue;
      ValueCount& count = counts.try_emplace(found->second, ValueCount{parameter.name, found->second}).first->second;
      ++count.measured;
      if (i < top.best) ++count.best;
    }
    if (counts.size() < 2) continue;
    std::vector<ValueCount> sorted;
    for (auto& [value, count] : counts) sorted.push_back(std::move(count));
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const ValueCount& a, const ValueCount& b) { return a.best > b.best; });
    std::move(sorted.begin(), sorted.end(), std::back_inserter(top.values));
  }
  return top;
}

}  // namespace xtune::store
