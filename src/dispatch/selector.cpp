// Lookups in a store: for this architecture, and on request for the others.
#include "dispatch/selector.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <tuple>

#include "base/causes.hpp"
#include "base/text.hpp"
#include "core/build/cache.hpp"
#include "core/model/rank.hpp"
#include "core/record/lookup.hpp"
#include "core/record/objective.hpp"
#include "core/record/record_check.hpp"
#include "core/record/record_log.hpp"
#include "core/record/spec_fit.hpp"
#include "core/space/value.hpp"
#include "system/chosen_store.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::dispatch {

build::Manifest manifest_of(const std::string& key, const std::filesystem::path& store, const store::Bundle* bundle) {
  build::Manifest manifest;
  if (!store.empty()) manifest = build::ArtifactCache(store).manifest(key);
  if (!manifest.empty() || !bundle || bundle->metadata(key).empty()) return manifest;
  try {
    return build::artifact_manifest(key, bundle->metadata(key));
  } catch (const Error&) {  // damaged
    return {};
  }
}

namespace {

/// Whether a part of the key comes from an application's data, reference or check, or from the driver: a loaded kernel
/// has none of the former, and a failure with other data or another driver is a failure of the same code.
bool is_same_code(const std::string& difference) {
  return difference.starts_with("driver: ") || difference.starts_with("buffers: ") ||
         difference.starts_with("reference: given ") ||
         (difference.starts_with("check: ") && difference.ends_with(" -> (none)"));
}

}  // namespace

record::LookupRules SelectionQuery::rules() {
  record::LookupRules rules;
  rules.obstacle = [this](const record::Record& record) {
    std::string obstacle = today.obstacle(record);
    if (obstacle.empty() && !objection_to(record.config).empty()) obstacle = "that failed nearer by";
    return obstacle;
  };
  rules.differences = [this](const record::Record& record) { return today.differences(record); };
  rules.radius = spec.dispatch.radius;
  rules.fit_at_best = [this](const device::DeviceInfo& measured) { return record::fit_at_best(measured, device); };
  return rules;
}

const std::string& SelectionQuery::objection_to(const Bindings& config) {
  const auto known = objections_.find(config);
  return known != objections_.end() ? known->second : objections_.emplace(config, find_objection(config)).first->second;
}

std::vector<std::string> SelectionQuery::objections() const {
  std::vector<std::string> all;
  for (const auto& [config, text] : objections_)
    if (!text.empty()) all.push_back(text);
  return all;
}

std::string SelectionQuery::find_objection(const Bindings& config) {
  const std::string text = space::bindings_text(config);
  std::vector<record::PastLaunch> launches;
  std::vector<std::function<record::Record()>> records;
  for (const store::StoreView& view : stores_->views)
    for (const store::StoredConfig* row : view.suspect(text)) {
      const bool passed = row->outcome == Outcome::ok;
      if (!passed && !record::failed_when_run(row->outcome, "")) continue;
      launches.push_back({&view.problem_of(*row), &view.device_of(*row), passed, row->unix_time_ms});
      records.emplace_back([&view, row] { return view.record_of(*row); });
    }
  if (launches.empty()) return {};
  for (const record::Record& record : own_)
    if (record.config == config) {
      launches.push_back({&record.problem, &record.device, true, record.unix_time_ms});
      records.emplace_back([&record] { return record; });
    }
  const auto holds = [&](std::size_t i) {
    const record::Record record = records[i]();
    if (!launches[i].passed &&
        (!record::failed_when_run(record.outcome, record.stage) || record::is_stored_shortage(record)))
      return false;
    if (!today.obstacle(record).empty()) return false;
    const std::vector<std::string> differences = today.differences(record);
    return std::all_of(differences.begin(), differences.end(), is_same_code);
  };
  const std::optional<std::size_t> against = record::objection(launches, problem, device, holds);
  if (!against) return {};
  const record::Record record = records[*against]();
  return fmt::format("{} failed for {} ({}{}{})", space::shown_text(config), space::shown_text(record.problem),
                     to_string(record.outcome), record.message.empty() ? "" : ": ", record.message);
}

namespace {

Choice::Kind kind_of(record::Match match) {
  switch (match) {
    case record::Match::exact:
      return Choice::Kind::exact;
    case record::Match::bucket:
      return Choice::Kind::bucket;
    case record::Match::nearest:
      return Choice::Kind::nearest;
    case record::Match::none:
      break;
  }
  return Choice::Kind::none;
}

Selection selection_of(record::Match match, record::Record record, double distance, bool stale,
                       const SelectionQuery& query) {
  Selection selection;
  if (stale) selection.choice.stale = record::driver_change(record.device, query.device);
  selection.choice.kind = kind_of(match);
  selection.choice.config = record.config;
  selection.choice.measured_for = record.problem;
  selection.choice.time_ms = measure::statistic(record.time_ms, query.spec.measure.statistic);
  selection.choice.distance = distance;
  selection.record = std::move(record);
  return selection;
}

std::tuple<Choice::Kind, double, bool> rank(const Selection& selection) {
  return {selection.choice.kind, selection.choice.distance, !selection.choice.stale.empty()};
}

}  // namespace

Selector::Selector(const spec::Spec& spec, std::filesystem::path store, std::shared_ptr<const store::Bundle> bundle,
                   bool other_architectures, std::function<void(const std::string&)> say)
    : spec_(spec),
      store_(std::move(store)),
      bundle_(std::move(bundle)),
      other_architectures_(other_architectures),
      say_(std::move(say)) {}

std::shared_ptr<const LoadedStores> Selector::stores_of(const device::DeviceInfo& device) {
  std::vector<std::string> warnings;
  std::shared_ptr<const LoadedStores> stores;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const LoadedStores>& known = loaded_stores_[device.arch + "\n" + device.name];
    if (!known) known = load_stores(device, warnings);
    stores = known;
  }
  // The callback may itself call choice().
  say_once_a_cause(warnings);
  return stores;
}

std::shared_ptr<const LoadedStores> Selector::load_stores(const device::DeviceInfo& device,
                                                          std::vector<std::string>& warnings) const {
  constexpr std::size_t max_stores = 16;
  auto fresh = std::make_shared<LoadedStores>();
  store::StoreViewOptions options;
  options.statistic = spec_.measure.statistic;
  options.bucket = record::bucket_function(spec_, device);
  std::vector<record::Record> newest;
  const auto add = [&](const auto& load) {
    try {
      store::StoreView view = load();
      warnings.insert(warnings.end(), view.warnings().begin(), view.warnings().end());
      for (const store::StoreView::Group& group : view.groups()) {
        if (newest.size() >= max_stores) break;
        newest.push_back(view.record_of(*view.order(group).front()));
      }
      fresh->views.push_back(std::move(view));
    } catch (const Error& error) {
      warnings.emplace_back(error.what());
    }
  };
  if (!store_.empty()) add([&] { return store::StoreView::load(store_, device.arch, spec_.kernel.name, options); });
  if (bundle_) add([&] { return bundle_->view(device.arch, spec_.kernel.name, options); });
  std::stable_sort(newest.begin(), newest.end(),
                   [](const record::Record& a, const record::Record& b) { return a.unix_time_ms > b.unix_time_ms; });
  for (const record::Record& record : newest)
    if (std::find(fresh->toolchains.begin(), fresh->toolchains.end(), record.toolchain) == fresh->toolchains.end())
      fresh->toolchains.push_back(record.toolchain);
  return fresh;
}

void Selector::refresh() {
  const std::lock_guard lock(mutex_);
  loaded_stores_.clear();
}

std::vector<std::string> Selector::toolchains(const device::DeviceInfo& device) {
  return stores_of(device)->toolchains;
}

void Selector::remember(record::Record record) {
  const std::lock_guard lock(mutex_);
  remembered_.push_back(std::move(record));
}

std::vector<record::Record> Selector::remembered(const device::DeviceInfo& device) const {
  const std::lock_guard lock(mutex_);
  std::vector<record::Record> records;
  std::copy_if(remembered_.begin(), remembered_.end(), std::back_inserter(records),
               [&](const record::Record& record) { return record.device.arch == device.arch; });
  return records;
}

void Selector::say_once_a_cause(const std::vector<std::string>& warnings) {
  base::Causes causes;
  for (const std::string& warning : warnings) causes.add(warning);
  for (const base::Cause& cause : causes.all()) {
    {
      const std::lock_guard lock(causes_mutex_);
      if (!causes_.insert(cause.cause).second) continue;
    }
    say_(cause.text());
  }
}

std::vector<record::Record> Selector::records_of(const std::string& arch) {
  try {
    record::RecordSet read = store_.empty() ? bundle_->record_set(arch, spec_.kernel.name)
                                            : record::read_records(store_, arch, spec_.kernel.name);
    say_once_a_cause(read.warnings);
    return std::move(read.records);
  } catch (const Error& error) {
    say_(error.what());
    return {};
  }
}

std::vector<std::string> Selector::recorded_archs() const {
  if (!store_.empty()) return record::recorded_archs(store_, spec_.kernel.name);
  std::vector<std::string> archs;
  for (const store::Bundle::Part& part : bundle_->parts())
    if (part.kernel == spec_.kernel.name) archs.push_back(part.arch);
  return archs;
}

/// As if they had been measured here: only their configurations count.
std::vector<record::Record> Selector::records_elsewhere(const device::DeviceInfo& device) {
  std::vector<record::Record> all;
  for (const std::string& arch : recorded_archs()) {
    // Simulated times of an emulator choose nothing for a device.
    if (arch == device.arch || (device::is_emulated(arch) && !device::is_emulated(device))) continue;
    for (record::Record& record : records_of(arch)) {
      record.device.arch = device.arch;
      record.device.backend = device.backend;
      record.artifact_key.clear();
      all.push_back(std::move(record));
    }
  }
  return all;
}

template <class Ask>
auto Selector::with_stores(const device::DeviceInfo& device, const Ask& ask) {
  constexpr int max_reads = 3;
  for (int reads = 1;; ++reads) {
    try {
      return ask(stores_of(device));
    } catch (const store::RecordsChanged&) {
      if (reads == max_reads) throw;
      refresh();
    }
  }
}

std::string Selector::objection_to(const Bindings& config, const spec::Spec& spec, const Bindings& problem,
                                   const device::DeviceInfo& device, const std::vector<std::string>& archs) {
  return with_stores(device, [&](std::shared_ptr<const LoadedStores> stores) {
    return Query(spec, problem, device, archs, std::move(stores), remembered(device), store_, bundle_)
        .objection_to(config);
  });
}

Selection Selector::from_view(const store::StoreView& view, Query& query) const {
  const record::LookupRules rules = query.rules();
  store::StoreView::Found found = view.find(query.problem, query.device, rules);
  std::string reason = view.explain(found, query.problem, query.device, rules);
  Selection selection;
  const bool stale = found.fit == record::KeyFit::stale;
  if (found.record) selection = selection_of(found.match, std::move(*found.record), found.distance, stale, query);
  selection.choice.reasons.push_back(std::move(reason));
  return selection;
}

/// The store's own measurement comes before an equally near one of the bundle.
Selection Selector::from_views(Query& query) const {
  Selection best;
  for (const store::StoreView& view : query.stores().views) {
    Selection next = from_view(view, query);
    if (best.choice.reasons.empty() || rank(next) < rank(best)) std::swap(best, next);
    best.choice.reasons.insert(best.choice.reasons.end(), next.choice.reasons.begin(), next.choice.reasons.end());
  }
  return best;
}

Selection Selector::from_records(const std::vector<record::Record>& records, Query& query, bool any_key) const {
  record::LookupRules rules = query.rules();
  if (any_key) rules.differences = {};
  rules.bucket = record::bucket_function(query.spec, query.device);
  record::LookupResult found =
      record::look_up(records, query.problem, query.device,
                      record::Objective(query.spec).criterion(query.problem, query.device), rules);
  Selection selection;
  if (found.record) selection = selection_of(found.match, std::move(*found.record), found.distance, found.stale, query);
  selection.choice.reasons = std::move(found.reasons);
  return selection;
}

Selection Selector::select(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device,
                           const std::vector<std::string>& archs) {
  return with_stores(device, [&](std::shared_ptr<const LoadedStores> stores) {
    Query query(spec, problem, device, archs, std::move(stores), remembered(device), store_, bundle_);
    Selection selection = from_all(query);
    for (const std::string& objection : query.objections()) selection.choice.reasons.push_back("skipped: " + objection);
    return selection;
  });
}

Selection Selector::from_all(Query& query) {
  Selection selection = query.spec.objective.goals.empty() ? from_views(query)
                                                           : from_records(records_of(query.device.arch), query, false);
  if (!query.own().empty()) {
    Selection measured_here = from_records(query.own(), query, false);
    if (measured_here.record && rank(measured_here) <= rank(selection)) {
      measured_here.choice.reasons.emplace_back("measured by this process, and not in the store");
      std::swap(selection, measured_here);
    }
  }
  if (selection.record || !other_architectures_) return selection;
  Selection elsewhere = from_records(records_elsewhere(query.device), query, true);
  if (elsewhere.record) {
    // Measured on another device, so not an exact answer for this one.
    elsewhere.choice.kind = Choice::Kind::nearest;
    elsewhere.choice.reasons.push_back("its configuration was measured on another architecture, as was asked for");
  }
  elsewhere.choice.reasons.insert(elsewhere.choice.reasons.begin(), selection.choice.reasons.begin(),
                                  selection.choice.reasons.end());
  return elsewhere;
}

std::shared_ptr<const store::Bundle> open_bundle(const std::filesystem::path& path, const std::string& kernel) {
  if (path.empty()) return nullptr;
  auto bundle = std::make_shared<const store::Bundle>(system::absolute_path(path));
  const std::vector<store::Bundle::Part>& parts = bundle->parts();
  if (std::none_of(parts.begin(), parts.end(), [&](const store::Bundle::Part& part) { return part.kernel == kernel; }))
    throw Error(ErrorKind::invalid_argument, fmt::format("{} has nothing of the kernel '{}'; it has {}",
                                                         base::printable(path.string()), kernel, bundle->contents()));
  return bundle;
}

std::filesystem::path store_for(const std::filesystem::path& given, const std::filesystem::path& bundle, bool frozen) {
  if (!frozen) return system::chosen_store(given);
  if (bundle.empty())
    throw Error(ErrorKind::invalid_argument,
                "settings: frozen is set without a bundle, and a frozen kernel has nothing else to choose from");
  return {};
}

std::vector<std::string> compiled_archs(const device::DeviceInfo& device, const std::string& given) {
  if (!given.empty()) return {given};
  std::vector<std::string> archs{device::code_arch(device)};
  base::add_once(archs, device::code_arch(device.arch));
  return archs;
}

std::optional<space::Config> config_in(const space::Space& space, const Bindings& config) {
  const auto index = space.index_of(config);
  return index ? std::optional<space::Config>(space.at(*index)) : std::nullopt;
}

std::vector<space::Config> default_configs(const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                                           const device::DeviceInfo& device, const Bindings& given) {
  constexpr std::size_t most = 8;
  if (!given.empty()) {
    if (auto config = config_in(space, given)) return {*config};
    throw Error(ErrorKind::invalid_argument, "the default configuration " + space::shown_text(given) +
                                                 " is none of the spec's for " + space::shown_text(problem) +
                                                 " on this device");
  }
  std::vector<space::Config> configs;
  for (const std::uint64_t index : model::default_order(spec, space, problem, device, most))
    configs.push_back(space.at(index));
  return configs;
}

}  // namespace xtune::dispatch
