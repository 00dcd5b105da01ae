// Chooses a configuration for a problem from the records of a store, and explains the choice.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/spec/spec.hpp"
#include "core/store/bundle.hpp"
#include "core/store/lookup.hpp"
#include "core/store/record.hpp"
#include "xtune/kernel.hpp"

namespace xtune::dispatch {

struct LoadedStores;

/// What the compile of an artifact read, as its metadata in the store or the bundle have it. bundle: may be null.
build::Manifest manifest_of(const std::string& key, const std::filesystem::path& store, const store::Bundle* bundle);

struct Selection {
  Choice choice;
  /// The record behind the choice; unset: use the choice's configuration if it has one, else the default one.
  std::optional<store::Record> record;
};

/// Exact (this problem on this kind of device), else the nearest in the bucket of the [dispatch] key, else the nearest
/// by shape on this architecture, else, if requested, the same on others. Thread-safe.
class Selector {
 public:
  /// spec must outlive it. say: receives reports of damage in the store, one line each. bundle: used in addition to the
  /// store; may be null. store: empty: only the bundle is used. by_model: a nearest match gives way to the best
  /// configuration of the spec's [candidates] if that is expected to be much faster.
  Selector(const spec::Spec& spec, std::filesystem::path store, std::shared_ptr<const store::Bundle> bundle,
           bool other_architectures, bool by_model, std::function<void(const std::string&)> say);

  /// spec: the one given to the constructor, or restricted for this problem. archs: architectures that artifacts for
  /// this device may have. Throws as make_space does. A store that cannot be read has no records.
  Selection select(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device,
                   const std::vector<std::string>& archs);

  /// run::expected_time of a choice that was not measured for this problem.
  std::optional<ExpectedTime> expected(const Choice& choice, const spec::Spec& spec, const Bindings& problem,
                                       const device::DeviceInfo& device);

  /// The measurements that are a reason not to run a configuration for this problem (core/store/lookup.hpp): a
  /// clause for people, or empty.
  std::string objection_to(const Bindings& config, const spec::Spec& spec, const Bindings& problem,
                           const device::DeviceInfo& device, const std::vector<std::string>& archs);

  /// Compilers of this architecture's records, the newest first.
  std::vector<std::string> toolchains(const device::DeviceInfo& device);

  /// Drops the records that were read, so that new records count.
  void refresh();

  /// Adds a measurement that is used in addition to the store's, and before equally near ones: one that is not in any
  /// store.
  void remember(store::Record record);
  const std::filesystem::path& store() const noexcept { return store_; }

 private:
  struct Query;
  std::shared_ptr<const LoadedStores> stores_of(const device::DeviceInfo& device);
  std::shared_ptr<const LoadedStores> load_stores(const device::DeviceInfo& device,
                                                  std::vector<std::string>& warnings) const;
  /// Calls ask(query), and once more if files have changed since they were read.
  template <class Ask>
  auto with_query(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device,
                  const std::vector<std::string>& archs, const Ask& ask);
  Selection from_all(Query& query);
  /// The store's, or without a store the bundle's.
  std::vector<store::Record> records_of(const std::string& arch);
  std::vector<std::string> recorded_archs() const;
  std::vector<store::Record> remembered(const device::DeviceInfo& device) const;
  void say_once_a_cause(const std::vector<std::string>& warnings);
  std::vector<store::Record> records_elsewhere(const device::DeviceInfo& device);

  const spec::Spec& spec_;
  const std::filesystem::path store_;
  const std::shared_ptr<const store::Bundle> bundle_;
  const bool other_architectures_, by_model_;
  const std::function<void(const std::string&)> say_;
  mutable std::mutex mutex_, causes_mutex_;
  std::map<std::string, std::shared_ptr<const LoadedStores>> loaded_stores_;  ///< by kind of device
  std::vector<store::Record> remembered_;
  std::set<std::string> causes_;  ///< causes of the warnings that were sent
};

/// A bundle that has records of the kernel; nullptr for an empty path. Throws Error(invalid_argument) with the bundle's
/// contents if it has none of the kernel, Error(io).
std::shared_ptr<const store::Bundle> open_bundle(const std::filesystem::path& path, const std::string& kernel);

/// The store for lookups: empty if only the bundle may be used. Throws Error(invalid_argument) if a frozen lookup has
/// no bundle, and the errors of chosen_store.
std::filesystem::path store_for(const std::filesystem::path& given, const std::filesystem::path& bundle, bool frozen);

/// The architectures that artifacts for this device may have, the own compiler's choice first. given:
/// LoadSettings::arch.
std::vector<std::string> compiled_archs(const device::DeviceInfo& device, const std::string& given);

/// The configurations to run if nothing is stored, the most promising first: only `given` if it is in the space, else
/// those that the spec's [candidates] rate best, then the first of the space. Throws Error(invalid_argument) if `given`
/// is not in the space.
std::vector<space::Config> default_configs(const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                                           const device::DeviceInfo& device, const Bindings& given);

/// The configuration in the order of the space's parameters; nullopt: it is not in the space.
std::optional<space::Config> config_in(const space::Space& space, const Bindings& config);

}  // namespace xtune::dispatch
