// Lookups in a store: for this architecture, and on request for the others.
#include "dispatch/selector.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "base/causes.hpp"
#include "base/text.hpp"
#include "core/build/cache.hpp"
#include "core/model/rank.hpp"
#include "core/run/first_answer.hpp"
#include "core/space/value.hpp"
#include "core/store/lookup.hpp"
#include "core/store/objective.hpp"
#include "core/store/record_check.hpp"
#include "core/store/record_log.hpp"
#include "core/store/store_view.hpp"
#include "system/chosen_store.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::dispatch {

build::Manifest manifest_of(const std::string& key, const std::filesystem::path& store, const store::Bundle* bundle) {
  build::Manifest manifest;
  if (!store.empty()) manifest = build::ArtifactCache(store).manifest(key);
  if (!manifest.empty() || !bundle || bundle->metadata(key).empty()) return manifest;
  try {
    return build::read_metadata(key, bundle->metadata(key)).artifact.manifest;
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

/// The records of one architecture, as read for one kind of device.
struct LoadedStores {
  std::vector<store::StoreView> views;  ///< the store's, then the bundle's
  std::vector<std::string> toolchains;
};

/// One question, answered by records as today's spec evaluates them: each with its own compiler, which does not matter
/// to a program that only runs an artifact. What is passed by reference must outlive it. One thread at a time.
struct Selector::Query {
  const spec::Spec& spec;
  const Bindings& problem;
  const device::DeviceInfo& device;
  const std::vector<std::string>& archs;
  const std::shared_ptr<const LoadedStores> stores;
  const std::vector<store::Record> own;  ///< winners that are not in any store
  const Selector& selector;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<store::SpecFit>> fits{};  ///< by arch and toolchain
  std::map<Bindings, std::string> known_objections{};  ///< by configuration; empty: none

  /// As Selector::objection_to. Throws store::RecordsChanged.
  const std::string& objection_to(const Bindings& config) {
    const auto known = known_objections.find(config);
    return known != known_objections.end() ? known->second
                                           : known_objections.emplace(config, find_objection(config)).first->second;
  }
  /// All texts that objection_to returned.
  std::vector<std::string> objections() const {
    std::vector<std::string> all;
    for (const auto& [config, text] : known_objections)
      if (!text.empty()) all.push_back(text);
    return all;
  }
  /// From all views of the stores: the store's own measurement comes before an equally near one of the bundle.
  Selection from_views();
  /// Uses whole records: for goals other than the time, and for those of other architectures (any_key).
  Selection from_records(const std::vector<store::Record>& records, bool any_key);

  store::SpecFit& fit(const std::string& arch, const std::string& toolchain) {
    auto& fit = fits[{arch, toolchain}];
    if (!fit)
      fit = std::make_unique<store::SpecFit>(
          spec, problem, device, arch, toolchain, selector.store_,
          [this](const std::string& key) { return manifest_of(key, selector.store_, selector.bundle_.get()); });
    return *fit;
  }
  std::string obstacle(const store::Record& record) { return fit(archs.front(), record.toolchain).obstacle(record); }
  std::vector<std::string> differences(const store::Record& record);
  std::string find_objection(const Bindings& config);
  /// The conditions of today's spec on records.
  store::LookupRules rules();
  /// Replaces a measured configuration of another problem by the best of the model of the hardware, if the model
  /// expects the measured one to take much longer for this problem.
  void prefer_model(Selection& selection);
  Selection from_view(const store::StoreView& view);
  Selection selection_of(const store::LookupResult& found) const;
};

std::vector<std::string> Selector::Query::differences(const store::Record& record) {
  std::vector<std::string> differences;
  for (const std::string& arch : archs) {
    std::vector<std::string> of_arch = fit(arch, record.toolchain).differences(record);
    if (of_arch.empty()) return of_arch;
    if (differences.empty() || store::key_fit(of_arch) < store::key_fit(differences)) differences = std::move(of_arch);
  }
  return differences;
}

store::LookupRules Selector::Query::rules() {
  store::LookupRules rules;
  rules.obstacle = [this](const store::Record& record) {
    std::string obstacle = this->obstacle(record);
    if (obstacle.empty() && !objection_to(record.config).empty()) obstacle = "that failed nearer by";
    return obstacle;
  };
  rules.differences = [this](const store::Record& record) { return differences(record); };
  rules.bucket = store::bucket_function(spec, device);
  rules.radius = spec.dispatch.radius;
  rules.fit_at_best = [this](const device::DeviceInfo& measured) { return store::fit_at_best(measured, device); };
  return rules;
}

std::string Selector::Query::find_objection(const Bindings& config) {
  const std::string text = space::bindings_text(config);
  std::vector<store::PastLaunch> launches;
  std::vector<std::function<store::Record()>> records;
  for (const store::StoreView& view : stores->views)
    for (const store::StoredConfig* row : view.suspect(text)) {
      const bool passed = row->outcome == Outcome::ok;
      if (!passed && !store::failed_when_run(row->outcome, "")) continue;
      launches.push_back({&row->problem(), &row->device(), passed, row->unix_time_ms});
      records.emplace_back([row] { return store::read_record(*row); });
    }
  if (launches.empty()) return {};
  for (const store::Record& record : own)
    if (record.config == config) {
      launches.push_back({&record.problem, &record.device, true, record.unix_time_ms});
      records.emplace_back([&record] { return record; });
    }
  const auto holds = [&](std::size_t i) {
    const store::Record record = records[i]();
    if (!launches[i].passed &&
        (!store::failed_when_run(record.outcome, record.stage) || store::is_stored_shortage(record)))
      return false;
    if (!obstacle(record).empty()) return false;
    const std::vector<std::string> differences = this->differences(record);
    return std::all_of(differences.begin(), differences.end(), is_same_code);
  };
  const std::optional<std::size_t> against = store::objection(launches, problem, device, holds);
  return against ? store::failure_text(records[*against]()) : "";
}

namespace {

/// The kinds have the order of the matches.
Choice::Kind kind_of(store::Match match) { return static_cast<Choice::Kind>(match); }
static_assert(static_cast<int>(store::Match::bucket) == static_cast<int>(Choice::Kind::bucket) &&
              static_cast<int>(store::Match::none) == static_cast<int>(Choice::Kind::none));

std::tuple<Choice::Kind, double, bool> rank(const Selection& selection) {
  return {selection.choice.kind, selection.choice.distance, !selection.choice.stale.empty()};
}

}  // namespace

Selection Selector::Query::selection_of(const store::LookupResult& found) const {
  Selection selection;
  selection.record = found.record;
  if (!found.record) return selection;
  const store::Record& record = *found.record;
  if (found.stale) selection.choice.stale = store::driver_change(record.device, device);
  selection.choice.kind = kind_of(found.match);
  selection.choice.config = record.config;
  selection.choice.measured_for = record.problem;
  selection.choice.time_ms = measure::statistic(record.time_ms, spec.measure.statistic);
  selection.choice.distance = found.distance;
  return selection;
}

Selection Selector::Query::from_view(const store::StoreView& view) {
  store::LookupRules rules = this->rules();
  rules.count_obstacles = false;
  const store::LookupResult found = view.look_up(problem, device, rules);
  Selection selection = selection_of(found);
  selection.choice.reasons.push_back(
      store::summary_of(found, problem, device, spec.measure.statistic, spec.dispatch.radius));
  for (const store::Record& failure : found.failed_elsewhere)
    selection.choice.reasons.push_back(store::failure_text(failure));
  return selection;
}

Selection Selector::Query::from_views() {
  Selection best;
  for (const store::StoreView& view : stores->views) {
    Selection next = from_view(view);
    if (best.choice.reasons.empty() || rank(next) < rank(best)) std::swap(best, next);
    best.choice.reasons.insert(best.choice.reasons.end(), next.choice.reasons.begin(), next.choice.reasons.end());
  }
  return best;
}

Selection Selector::Query::from_records(const std::vector<store::Record>& records, bool any_key) {
  store::LookupRules rules = this->rules();
  if (any_key) rules.differences = {};
  store::LookupResult found =
      store::look_up(records, problem, device, store::Objective(spec).criterion(problem, device), rules);
  Selection selection = selection_of(found);
  selection.choice.reasons = std::move(found.reasons);
  return selection;
}

void Selector::Query::prefer_model(Selection& selection) {
  if (!selection.record) return;
  Choice& found = selection.choice;
  run::Question asked{spec, problem, device};
  const run::FirstAnswer answer =
      run::first_answer(asked, {static_cast<store::Match>(found.kind), found.distance, found.config});
  if (answer.instead.empty() || !objection_to(answer.config).empty()) return;
  Choice predicted;
  predicted.config = answer.config;
  predicted.reasons = std::move(found.reasons);
  predicted.reasons.push_back("not taken: " + answer.instead);
  selection = {std::move(predicted), std::nullopt};
}

Selector::Selector(const spec::Spec& spec, std::filesystem::path store, std::shared_ptr<const store::Bundle> bundle,
                   bool other_architectures, bool by_model, std::function<void(const std::string&)> say)
    : spec_(spec),
      store_(std::move(store)),
      bundle_(std::move(bundle)),
      other_architectures_(other_architectures),
      by_model_(by_model),
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
  store::RowOptions options;
  options.statistic = spec_.measure.statistic;
  std::vector<store::Record> newest;
  const auto add = [&](const auto& load) {
    try {
      store::StoreView view = load();
      warnings.insert(warnings.end(), view.warnings().begin(), view.warnings().end());
      for (const store::StoreView::Group& group : view.groups()) {
        if (newest.size() >= max_stores) break;
        newest.push_back(store::read_record(*view.order(group).front()));
      }
      fresh->views.push_back(std::move(view));
    } catch (const Error& error) {
      warnings.emplace_back(error.what());
    }
  };
  if (!store_.empty()) add([&] { return store::StoreView::load(store_, device.arch, spec_.kernel.name, options); });
  if (bundle_) add([&] { return bundle_->view(device.arch, spec_.kernel.name, options); });
  std::stable_sort(newest.begin(), newest.end(),
                   [](const store::Record& a, const store::Record& b) { return a.unix_time_ms > b.unix_time_ms; });
  for (const store::Record& record : newest) base::add_once(fresh->toolchains, record.toolchain);
  return fresh;
}

void Selector::refresh() {
  const std::lock_guard lock(mutex_);
  loaded_stores_.clear();
}

std::vector<std::string> Selector::toolchains(const device::DeviceInfo& device) {
  return stores_of(device)->toolchains;
}

void Selector::remember(store::Record record) {
  const std::lock_guard lock(mutex_);
  remembered_.push_back(std::move(record));
}

std::vector<store::Record> Selector::remembered(const device::DeviceInfo& device) const {
  const std::lock_guard lock(mutex_);
  std::vector<store::Record> records;
  std::copy_if(remembered_.begin(), remembered_.end(), std::back_inserter(records),
               [&](const store::Record& record) { return record.device.arch == device.arch; });
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

std::vector<store::Record> Selector::records_of(const std::string& arch) {
  try {
    store::RecordSet read = store_.empty() ? bundle_->record_set(arch, spec_.kernel.name)
                                           : store::read_records(store_, arch, spec_.kernel.name);
    say_once_a_cause(read.warnings);
    return std::move(read.records);
  } catch (const Error& error) {
    say_(error.what());
    return {};
  }
}

std::vector<std::string> Selector::recorded_archs() const {
  if (!store_.empty()) return store::recorded_archs(store_, spec_.kernel.name);
  std::vector<std::string> archs;
  for (const store::Bundle::Part& part : bundle_->parts())
    if (part.kernel == spec_.kernel.name) archs.push_back(part.arch);
  return archs;
}

/// As if they had been measured here: only their configurations count.
std::vector<store::Record> Selector::records_elsewhere(const device::DeviceInfo& device) {
  std::vector<store::Record> all;
  for (const std::string& arch : recorded_archs()) {
    // Simulated times of an emulator choose nothing for a device.
    if (arch == device.arch || (device::is_emulated(arch) && !device::is_emulated(device))) continue;
    for (store::Record& record : records_of(arch)) {
      record.device.arch = device.arch;
      record.device.backend = device.backend;
      record.artifact_key.clear();
      all.push_back(std::move(record));
    }
  }
  return all;
}

template <class Ask>
auto Selector::with_query(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device,
                          const std::vector<std::string>& archs, const Ask& ask) {
  constexpr int max_reads = 3;
  for (int reads = 1;; ++reads) {
    try {
      Query query{spec, problem, device, archs, stores_of(device), remembered(device), *this};
      return ask(query);
    } catch (const store::RecordsChanged&) {
      if (reads == max_reads) throw;
      refresh();
    }
  }
}

std::optional<ExpectedTime> Selector::expected(const Choice& choice, const spec::Spec& spec, const Bindings& problem,
                                               const device::DeviceInfo& device) {
  if (choice.kind == Choice::Kind::exact || choice.config.empty()) return std::nullopt;
  run::Question asked{spec, problem, device};
  return with_query(spec, problem, device, {},
                    [&](Query& query) { return run::expected_time(asked, choice.config, query.stores->views); });
}

std::string Selector::objection_to(const Bindings& config, const spec::Spec& spec, const Bindings& problem,
                                   const device::DeviceInfo& device, const std::vector<std::string>& archs) {
  return with_query(spec, problem, device, archs,
                    [&](Query& query) { return std::string(query.objection_to(config)); });
}

Selection Selector::select(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device,
                           const std::vector<std::string>& archs) {
  return with_query(spec, problem, device, archs, [&](Query& query) {
    Selection selection = from_all(query);
    if (by_model_) query.prefer_model(selection);
    for (const std::string& objection : query.objections()) selection.choice.reasons.push_back("skipped: " + objection);
    return selection;
  });
}

Selection Selector::from_all(Query& query) {
  Selection selection = query.spec.objective.goals.empty() ? query.from_views()
                                                           : query.from_records(records_of(query.device.arch), false);
  if (!query.own.empty()) {
    Selection measured_here = query.from_records(query.own, false);
    if (measured_here.record && rank(measured_here) <= rank(selection)) {
      measured_here.choice.reasons.emplace_back("measured by this process, and not in the store");
      std::swap(selection, measured_here);
    }
  }
  if (selection.record || !other_architectures_) return selection;
  Selection elsewhere = query.from_records(records_elsewhere(query.device), true);
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
