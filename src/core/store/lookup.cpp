// Looks up the answer for a problem, and lists the records that were skipped.
#include "core/store/lookup.hpp"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <sstream>
#include <string_view>
#include <tuple>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/build/cache.hpp"
#include "core/build/manifest.hpp"
#include "core/space/value.hpp"
#include "core/spec/template_text.hpp"
#include "core/store/best.hpp"
#include "xtune/error.hpp"

namespace xtune::store {

// The driver's part in a key: the only part that lookups may ignore.

KeyFit key_fit(const std::vector<std::string>& differences) {
  const bool driver_only = std::all_of(differences.begin(), differences.end(),
                                       [](const std::string& line) { return line.starts_with("driver: "); });
  return differences.empty() ? KeyFit::holds : driver_only ? KeyFit::stale : KeyFit::differs;
}

bool same_driver(const device::DeviceInfo& a, const device::DeviceInfo& b) {
  return a.driver == b.driver || a.driver.empty() || b.driver.empty();
}

KeyFit fit_at_best(const device::DeviceInfo& measured, const device::DeviceInfo& now) {
  return same_device(measured, now) && !same_driver(measured, now) ? KeyFit::stale : KeyFit::holds;
}

std::string protocol_setting(const build::KeyParts& parts, std::string_view setting) {
  const std::string before = " " + std::string(setting) + " ";
  for (const auto& [name, text] : parts)
    if (const std::size_t at = text.find(before); name == "protocol" && at != std::string::npos) {
      const std::size_t begin = at + before.size();
      return text.substr(begin, text.find(' ', begin) - begin);
    }
  return {};
}

std::string driver_change(const device::DeviceInfo& measured, const device::DeviceInfo& now) {
  return fmt::format("driver {} when it was measured, driver {} now", measured.driver, now.driver);
}

build::ArtifactSources sources_of(const std::filesystem::path& store, const Record& record) {
  build::ArtifactSources sources;
  if (!store.empty()) sources = build::stored_sources(store, record.artifact_key);
  for (const auto& [name, text] : record.key_parts) {
    constexpr std::string_view opening = " files ";
    const std::size_t at = name == "launch" ? text.rfind(opening) : text.npos;
    std::istringstream rest(at == text.npos ? "" : text.substr(at + opening.size()));
    if (nlohmann::json files; at != text.npos) try {
        for (const std::string file : (rest >> files, files))
          sources.files.push_back({file.substr(0, file.rfind(' ')), file.substr(file.rfind(' ') + 1)});
      } catch (const nlohmann::json::exception&) {  // words of the command that look alike
      }
  }
  return sources;
}

build::ArtifactSources sources_now(const build::CompileRequest& request) {
  build::ManifestNow all;
  for (const build::Manifest& manifest : request.known_manifests) {
    all.manifest = manifest;
    all.keyed.add(build::contents_of(manifest, request.source_name).keyed);
  }
  return build::sources_of(build::with_reads(request, all));
}

std::vector<std::string> with_changes_named(std::vector<std::string> differences, const std::filesystem::path& store,
                                            const std::string& artifact_key, const build::ArtifactSources& now) {
  const auto artifact = std::find_if(differences.begin(), differences.end(),
                                     [](const std::string& line) { return line.starts_with("artifact: "); });
  if (artifact == differences.end()) return differences;
  const std::vector<std::string> changes = build::source_changes(build::stored_sources(store, artifact_key), now);
  if (changes.empty()) return differences;
  differences.insert(differences.erase(artifact), changes.begin(), changes.end());
  return differences;
}

std::string changes_text(const std::vector<std::string>& differences) {
  constexpr std::size_t longest = 100;
  std::string text;
  for (const std::string& line : differences) {
    const bool tells = line.size() <= longest && !line.starts_with("artifact: ");
    text += (text.empty() ? "" : "; ") + (tells ? line : line.substr(0, line.find(':')));
  }
  return text;
}

namespace {

constexpr std::size_t max_further = max_shown_groups - 1;

std::string describe(const device::DeviceInfo& device) {
  return fmt::format("{} ({}, {})", device.name, device.arch, device.backend);
}

LookupGroup::Order order_of(std::vector<const Record*> records, const Criterion& criterion) {
  LookupGroup::Order order;
  order.left = records.size();
  const std::vector<const Record*> best = ranked(records, criterion);
  order.ranked = best.size();
  order.record = [best](std::size_t i) -> const Record& { return *best[i]; };
  order.device = [best](std::size_t i) -> const device::DeviceInfo& { return best[i]->device; };
  order.without_first = [best, records, criterion](std::size_t rank) {
    return order_of(without_first<RecordAccess>(records, best, rank), criterion);
  };
  const auto failures = std::make_shared<Failures<RecordAccess, const Record*>>(std::move(records));
  order.any_failure = [best, failures](std::size_t i, const auto& visit) {
    return failures->any(space::bindings_text(best[i]->config), [&](const Record* record) { return visit(*record); });
  };
  return order;
}

LookupGroup::Order order_of(std::vector<const Record*> records, const Criterion& criterion, const LookupRules& rules) {
  std::map<std::string, std::size_t> left_out;
  if (rules.obstacle)
    std::erase_if(records, [&](const Record* record) {
      const std::string obstacle = rules.obstacle(*record);
      if (!obstacle.empty()) ++left_out[obstacle];
      return !obstacle.empty();
    });
  LookupGroup::Order order = order_of(std::move(records), criterion);
  order.left_out = std::move(left_out);
  return order;
}

std::vector<std::string> reasons_of(const LookupCounts& counts, const device::DeviceInfo& device) {
  std::vector<std::string> reasons;
  if (counts.records == 0) reasons.push_back("no records of this kernel on " + device.arch);
  const auto tell = [&](std::size_t count, const std::string& what) {
    if (count)
      reasons.push_back(fmt::format("{} {}: never served as this one's", base::counted(count, "record"), what));
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

namespace {

/// The ranked record that is used.
struct RankedChoice {
  std::size_t place = 0;
  std::optional<Record> record;  ///< unset: each configuration failed under the current spec
  std::vector<std::string> differences;
  std::size_t passed_over = 0;    ///< faster ones whose key differs
  std::optional<Record> fastest;  ///< the fastest of these, and how its key differs
  std::vector<std::string> fastest_differences;
  std::size_t failed = 0;  ///< records whose configuration failed under the current spec
};

/// The first record whose key holds, else the first stale one, else the first. order must not be empty.
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
    if (choice.record && !choice.fastest)
      choice.fastest = std::move(choice.record), choice.fastest_differences = std::move(choice.differences);
    choice.place = i, choice.record = record, choice.differences = std::move(differences);
    if (fit == KeyFit::holds) return choice.passed_over = i - choice.failed, choice;
  }
  return choice;
}

/// Once more without those before the choice, until it is the first one.
RankedChoice choose_in_version(LookupGroup::Order order, const LookupRules& rules) {
  RankedChoice choice = choose_ranked(order, rules);
  while (choice.record && choice.place > 0) {
    order = order.without_first(choice.place);
    RankedChoice again = choose_ranked(order, rules);
    again.passed_over += choice.passed_over, again.failed += choice.failed;
    if (choice.fastest) {
      again.fastest = std::move(choice.fastest);
      again.fastest_differences = std::move(choice.fastest_differences);
    }
    choice = std::move(again);
  }
  return choice;
}

std::string place_text(const LookupGroup& group) {
  const std::string problem = space::shown_text(*group.problem);
  return fmt::format("{} on {}, distance {:.3g}", problem.empty() ? "the problem" : "problem " + problem,
                     describe(*group.device), group.nearness.distance);
}

std::vector<std::string> named(const LookupRules& rules, const Record& record, std::vector<std::string> differences) {
  return rules.named ? rules.named(record, std::move(differences)) : differences;
}

}  // namespace

LookupResult look_up(std::vector<LookupGroup> groups, const std::function<LookupGroup::Order(const LookupGroup&)>& rank,
                     const LookupCounts& counts, const Bindings& problem, const device::DeviceInfo& device,
                     const Criterion& criterion, const LookupRules& rules, const FurtherGroups& others) {
  LookupResult result;
  result.reasons = reasons_of(counts, device);
  const std::string bucket = rules.bucket ? rules.bucket(problem) : "";
  for (LookupGroup& group : groups)
    group.nearness.in_bucket = !bucket.empty() && rules.bucket(*group.problem) == bucket;
  std::stable_sort(groups.begin(), groups.end(),
                   [](const LookupGroup& a, const LookupGroup& b) { return a.nearness.rank() < b.nearness.rank(); });
  std::size_t further = 0, left = others.count;
  const auto wants_more = [&] { return left > 0 && (result.match == Match::none || further < max_further); };
  for (std::size_t i = 0; i < groups.size() || wants_more(); ++i) {
    if (i == groups.size()) {
      left = 0;
      for (const LookupGroup& other : others.get()) groups.push_back(other);
    }
    const LookupGroup& group = groups[i];
    if (result.match != Match::none && ++further > max_further) continue;
    const std::string what = place_text(group);
    const auto tell = [&](const std::string& text) { result.reasons.push_back(what + ": " + text); };
    if (result.match != Match::none) {
      tell("further away, not taken");
      continue;
    }
    if (!rules.reaches(group.nearness)) {
      if (!result.beyond && rank(group).ranked > 0)
        result.beyond = group.nearness.distance, result.beyond_problem = *group.problem;
      if (++further <= max_further) tell(outside_radius(rules.radius));
      continue;
    }
    const LookupGroup::Order order = rank(group);
    for (const auto& [obstacle, count] : order.left_out)
      tell(fmt::format("{} {}: skipped", base::counted(count, "record"), obstacle));
    if (order.ranked == 0) {
      if (order.left > 0) tell(fmt::format("{}, none of them ok", base::counted(order.left, "record")));
      continue;
    }
    RankedChoice choice = choose_in_version(order, rules);
    if (choice.failed > 0)
      tell(fmt::format("{} skipped: their configurations failed as this spec is now",
                       base::counted(choice.failed, "record")));
    if (!choice.record) continue;
    result.match = group.nearness.match();
    result.distance = group.nearness.distance;
    result.exact_device = group.nearness.exact_device;
    result.passed_over = choice.passed_over;
    const Record& taken = *choice.record;
    result.stale = key_fit(choice.differences) == KeyFit::stale;
    result.differences = named(rules, taken, std::move(choice.differences));
    tell(fmt::format("taken as the {} match, {}{}", to_string(result.match),
                     base::human_time_ms(measure::statistic(taken.time_ms, criterion.statistic)),
                     taken.tainted.empty() ? "" : fmt::format("; tainted: {}", fmt::join(taken.tainted, "; "))));
    if (choice.passed_over > 0 && choice.fastest)
      tell(fmt::format("faster, but skipped: {} of another state ({})", choice.passed_over,
                       changes_text(named(rules, *choice.fastest, std::move(choice.fastest_differences)))));
    if (result.stale)
      tell(fmt::format("stale: {}; `xtune run` measures again", driver_change(taken.device, device)));
    else if (!result.differences.empty())
      tell("measured under another key than this spec's; what differs: " + changes_text(result.differences));
    result.record = std::move(choice.record);
    result.beyond.reset();
  }
  further += left;
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

std::string summary_of(const LookupResult& found, const Bindings& problem, const device::DeviceInfo& device,
                       measure::Statistic statistic, double radius) {
  if (found.beyond)
    return fmt::format("none: the nearest measured problem, {}, has distance {:.3g}, {}",
                       space::shown_text(found.beyond_problem), *found.beyond, outside_radius(radius));
  if (!found.record)
    return fmt::format("none: no stored configuration may answer for {} on {} ({}, {})", space::shown_text(problem),
                       device.name, device.arch, device.backend);
  const Record& record = *found.record;
  std::string text =
      fmt::format("{}: {}, {}", to_string(found.match), base::one_line(space::bindings_text(record.config)),
                  base::human_time_ms(measure::statistic(record.time_ms, statistic)));
  if (record.problem != problem)
    text += fmt::format(", measured for {} (distance {:.3g})", space::shown_text(record.problem), found.distance);
  if (!found.exact_device) text += ", measured on " + record.device.name;
  if (found.stale) text += ", stale: " + driver_change(record.device, device);
  if (!found.stale && !found.differences.empty()) text += ", of an earlier state of the spec";
  if (found.passed_over) text += fmt::format(", {} faster ones of an earlier state skipped", found.passed_over);
  if (!record.tainted.empty()) text += ", tainted";
  return text;
}

// Goes through the launches from the nearest on until some that still hold decide.

bool failed_when_run(Outcome outcome, std::string_view stage) {
  switch (outcome) {
    case Outcome::launch_failed:
    case Outcome::wrong_result:
    case Outcome::timed_out:
    case Outcome::crashed:
      return stage != "compile" && stage != "space";
    case Outcome::ok:
    case Outcome::rejected:
    case Outcome::compile_failed:
    case Outcome::pruned:
      break;
  }
  return false;
}

std::string failure_text(const Record& failure) {
  return fmt::format("{} failed for {} ({}{}{})", space::shown_text(failure.config), space::shown_text(failure.problem),
                     to_string(failure.outcome), failure.message.empty() ? "" : ": ", failure.message);
}

std::optional<std::size_t> objection(const std::vector<PastLaunch>& launches, const Bindings& problem,
                                     const device::DeviceInfo& device, const std::function<bool(std::size_t)>& holds) {
  using Rank = std::tuple<double, bool>;
  std::vector<Rank> ranks;
  for (const PastLaunch& launch : launches)
    ranks.emplace_back(shape_distance(*launch.problem, problem).value_or(std::numeric_limits<double>::infinity()),
                       !same_device(*launch.device, device));
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < launches.size(); ++i)
    if (launches[i].device->arch == device.arch && launches[i].device->backend == device.backend) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    // Newest first, so that the first one of a problem counts for it.
    return std::tuple(ranks[a], -launches[a].unix_time_ms) < std::tuple(ranks[b], -launches[b].unix_time_ms);
  });
  for (auto from = order.begin(); from != order.end();) {
    const auto to = std::find_if(from, order.end(), [&](std::size_t i) { return ranks[i] != ranks[*from]; });
    std::vector<const Bindings*> passed;
    for (; from != to; ++from) {
      const PastLaunch& launch = launches[*from];
      const bool is_settled =
          std::any_of(passed.begin(), passed.end(), [&](const Bindings* other) { return *other == *launch.problem; });
      if (is_settled || !holds(*from)) continue;
      if (!launch.passed) return *from;
      passed.push_back(launch.problem);
    }
    if (!passed.empty()) return std::nullopt;
  }
  return std::nullopt;
}

// Compares records with the current spec.

namespace {

/// An application's data and its reference in code have a digest in a run only: a lookup compares the rest.
build::KeyParts without_contents_in_code(const spec::Spec& spec, build::KeyParts parts) {
  const spec::ReferenceSpec& reference = spec.validate.reference;
  const bool unknown_reference = reference.kind == spec::ReferenceSpec::Kind::given && reference.digest.empty();
  for (auto& [name, value] : parts) {
    if (name == "reference" && unknown_reference && value.starts_with("given ")) value = "given";
    if (name != "buffers" && name != "constants") continue;
    const nlohmann::json list = nlohmann::json::parse(value, nullptr, false);
    if (!list.is_array()) continue;
    std::vector<std::string> items;
    for (const nlohmann::json& item : list) {
      std::string text = item.is_string() ? item.get<std::string>() : item.dump();
      // "0: x in f32[1000] sha256:..."
      const std::size_t begin = text.find(": ") + 2, end = text.find(' ', begin);
      const spec::ArgSpec* const arg = base::find_named(spec.args, text.substr(begin, end - begin));
      if (end != text.npos && arg && arg->in_code && arg->file.empty()) text.erase(text.rfind(' '));
      items.push_back(std::move(text));
    }
    value = build::canonical_list(items);
  }
  return parts;
}

/// The record's measurement key, if the configuration may have it today; else the most likely one.
build::KeyParts key_like(const resolve::CandidateResolver& resolver, const space::Config& config, const Record& record,
                         const std::function<build::Manifest(const std::string& artifact_key)>& manifest_of) {
  const build::CompileRequest request = resolver.compile_request(config);
  const auto find = [&]() -> std::optional<build::KeyParts> {
    for (const std::string& artifact : resolver.artifact_keys(request))
      if (build::KeyParts parts = resolver.measurement_key_parts(config, artifact); build::key_of(parts) == record.key)
        return parts;
    return std::nullopt;
  };
  if (auto found = find()) return *std::move(found);
  if (const build::Manifest manifest = manifest_of(record.artifact_key); !manifest.empty()) {
    resolver.learn(request.source_name, manifest);
    if (auto found = find()) return *std::move(found);
  }
  return resolver.measurement_key_parts(config, resolver.artifact_key(request));
}

}  // namespace

std::function<std::string(const Bindings&)> bucket_function(const spec::Spec& spec, const device::DeviceInfo& device) {
  if (spec.dispatch.key.empty()) return {};
  std::vector<spec::CompiledText> key;
  for (const spec::Text& text : spec.dispatch.key) key.push_back(spec::CompiledText::expression(text));
  return [key, facts = device::device_facts(device)](const Bindings& problem) {
    std::string bucket;
    try {
      for (const spec::CompiledText& part : key)
        bucket += (bucket.empty() ? "" : ", ") + to_text(part.evaluate(spec::lookup_names(problem, facts)));
    } catch (const Error&) {
      return std::string();
    }
    return bucket;
  };
}

SpecFit::SpecFit(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device, std::string arch,
                 std::string toolchain, std::filesystem::path store,
                 std::function<build::Manifest(const std::string& artifact_key)> manifest_of)
    : spec_(spec),
      space_(spec::make_space(spec, problem, device::device_facts(device))),
      device_(device),
      arch_(std::move(arch)),
      toolchain_(std::move(toolchain)),
      store_(std::move(store)),
      manifest_of_(std::move(manifest_of)),
      bucket_(bucket_function(spec, device)),
      form_(space_.parameters()) {
  if (!manifest_of_)
    manifest_of_ = [from = store_](const std::string& key) {
      return from.empty() ? build::Manifest() : build::ArtifactCache(from).manifest(key);
    };
}

SpecFit::~SpecFit() = default;

std::string SpecFit::obstacle(const Record& record) const {
  const std::optional<space::Config> config = space_.ordered(record.config);
  if (!config) return "whose parameters are not this spec's";
  if (!space_.index_of(*config)) return "whose configuration this spec does not allow (its values or its constraints)";
  return {};
}

std::vector<std::string> SpecFit::differences(const Record& record) {
  try {
    const space::Config config = space_.at(space_.index_of(record.config).value());
    const resolve::CandidateResolver& resolver = resolver_for(record);
    const build::KeyParts parts = key_like(resolver, config, record, manifest_of_);
    if (build::key_of(parts) == record.key) return {};
    std::vector<std::string> differences = build::key_difference(without_contents_in_code(spec_, record.key_parts),
                                                                 without_contents_in_code(spec_, parts));
    const bool driver_counts = fit_at_best(record.device, device_) == KeyFit::stale;
    std::erase_if(differences, [&](const std::string& line) {
      return line.starts_with("seed: ") || line.starts_with("protocol: ") ||
             (line.starts_with("driver: ") && !driver_counts);
    });
    const auto setting = [](const build::KeyParts& of, const char* name) { return protocol_setting(of, name); };
    if (const std::string then = setting(record.key_parts, "flush"), now = setting(parts, "flush");
        !then.empty() && then != now)
      differences.push_back("flush: " + then + " -> " + now);
    const auto launched_by = [&](const build::KeyParts& of) {
      const std::string by = setting(of, "launch");
      return by.empty() ? std::string("stream") : by;
    };
    if (const std::string then = launched_by(record.key_parts), now = launched_by(parts); then != now)
      differences.push_back("launch by: " + then + " -> " + now);
    const bool built_otherwise = std::any_of(differences.begin(), differences.end(),
                                             [](const std::string& line) { return line.starts_with("artifact: "); });
    if (built_otherwise && record.toolchain != toolchain_)
      differences.push_back("toolchain: " + record.toolchain + " -> " + toolchain_);
    return differences;
  } catch (const Error& error) {
    return {std::string("today's key cannot be computed: ") + error.what()};
  }
}

std::vector<std::string> SpecFit::named(const Record& record, std::vector<std::string> differences) {
  const auto config = space_.ordered(record.config);
  if (!config) return differences;
  const build::CompileRequest request = resolver_for(record).compile_request(*config);
  std::vector<std::string> named =
      with_changes_named(std::move(differences), store_, record.artifact_key, sources_now(request));
  const auto is = [](const char* what) { return [=](const std::string& line) { return line.starts_with(what); }; };
  if (std::any_of(named.begin(), named.end(), is("compiler: "))) std::erase_if(named, is("toolchain: "));
  return named;
}

LookupRules SpecFit::rules() {
  return {[this](const Record& record) { return obstacle(record); },
          [this](const Record& record) { return differences(record); },
          [this](const Record& record, std::vector<std::string> found) { return named(record, std::move(found)); },
          [this](const device::DeviceInfo& measured) { return fit_at_best(measured, device_); },
          bucket_,
          spec_.dispatch.radius,
          [this](std::string_view names, std::string_view values) {
            space::Config config;
            return form_.decode(names, values, config) && space_.index_of(config);
          }};
}

const resolve::CandidateResolver& SpecFit::resolver_for(const Record& record) {
  device::DeviceInfo device = record.device;
  if (same_device(device, device_) && !device_.driver.empty()) device.driver = device_.driver;
  if (same_device(device, device_)) device.cpu_quota_milli = device_.cpu_quota_milli;
  device.locked_clock_mhz = device_.locked_clock_mhz;
  std::string id = device.name + "\n" + std::to_string(device.compute_units) + "\n" + device.driver + "\n" +
                   resolve::cpu_quota_part(device);
  for (const auto& [name, value] : record.problem) id += "\n" + name + "=" + to_text(value);
  auto& resolver = resolvers_[id];
  if (!resolver)
    resolver = std::make_unique<resolve::CandidateResolver>(spec_, space_, record.problem, device, arch_, toolchain_,
                                                            false, store_);
  return *resolver;
}

}  // namespace xtune::store
