// Chooses a configuration for a problem from what a store holds, and says why.
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

#include "core/record/record.hpp"
#include "core/spec/spec.hpp"
#include "core/store/bundle.hpp"
#include "dispatch/selection_query.hpp"
#include "xtune/kernel.hpp"

namespace xtune::dispatch {

struct Selection {
  Choice choice;
  std::optional<record::Record> record;  ///< what it rests on; none: the default configuration is asked for
};

/// Exact (this problem on this kind of device), else the nearest in the bucket of the [dispatch] key, else the nearest
/// by shape on this architecture, else, where asked for, the same on others. Thread-safe.
class Selector {
 public:
  /// spec outlives it. say: what is damaged in the store, a line each.
  /// bundle: what answers beside the store; may be null.
  Selector(const spec::Spec& spec, std::filesystem::path store, std::shared_ptr<const store::Bundle> bundle,
           bool other_architectures, std::function<void(const std::string&)> say);

  /// spec: the one given, or narrowed for this problem. archs: what artifacts may be compiled for on this device.
  /// Throws as make_space does. A store that cannot be read has no records.
  Selection select(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device,
                   const std::vector<std::string>& archs);

  /// What measurements say against running a configuration for this problem (core/record/objection.hpp): a clause for
  /// people, or empty.
  std::string objection_to(const Bindings& config, const spec::Spec& spec, const Bindings& problem,
                           const device::DeviceInfo& device, const std::vector<std::string>& archs);

  /// Compilers of this architecture's records, the newest first.
  std::vector<std::string> toolchains(const device::DeviceInfo& device);

  /// Forgets what was read, so that new records count.
  void refresh();

  /// A measurement that answers beside the store's, and before equally near ones: what no store keeps.
  void remember(record::Record record);
  const std::filesystem::path& store() const noexcept { return store_; }

 private:
  using Query = SelectionQuery;
  std::shared_ptr<const LoadedStores> stores_of(const device::DeviceInfo& device);
  std::shared_ptr<const LoadedStores> load_stores(const device::DeviceInfo& device,
                                                  std::vector<std::string>& warnings) const;
  /// ask(stores), again where files have changed since they were read.
  template <class Ask>
  auto with_stores(const device::DeviceInfo& device, const Ask& ask);
  Selection from_all(Query& query);
  Selection from_view(const store::StoreView& view, Query& query) const;
  Selection from_views(Query& query) const;
  /// Of whole records: for goals that are not the time alone, and for those of other architectures (any_key).
  Selection from_records(const std::vector<record::Record>& records, Query& query, bool any_key) const;
  std::vector<record::Record> records_of(const std::string& arch);
  std::vector<record::Record> remembered(const device::DeviceInfo& device) const;
  void say_once_a_cause(const std::vector<std::string>& warnings);
  std::vector<record::Record> records_elsewhere(const device::DeviceInfo& device);

  const spec::Spec& spec_;
  const std::filesystem::path store_;
  const std::shared_ptr<const store::Bundle> bundle_;
  const bool other_architectures_;
  const std::function<void(const std::string&)> say_;
  mutable std::mutex mutex_, causes_mutex_;
  std::map<std::string, std::shared_ptr<const LoadedStores>> loaded_stores_;  ///< by kind of device
  std::vector<record::Record> remembered_;
  std::set<std::string> causes_;  ///< of the warnings that were said
};

/// A bundle that has something of the kernel; nullptr for an empty path. Throws Error(invalid_argument) that lists what
/// it has where it has nothing of the kernel, Error(io).
std::shared_ptr<const store::Bundle> open_bundle(const std::filesystem::path& path, const std::string& kernel);

/// What artifacts may be compiled for on this device, the own compiler's choice first. given: LoadSettings::arch.
std::vector<std::string> compiled_archs(const device::DeviceInfo& device, const std::string& given);

/// What to run where nothing is stored, the most promising first: `given` alone where it is one of the space's, else
/// what the spec's [candidates] rate best, then the first of the space. Throws Error(invalid_argument) for one given
/// that is not in the space.
std::vector<space::Config> default_configs(const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                                           const device::DeviceInfo& device, const Bindings& given);

/// The configuration in the order of the space's parameters; nullopt: it is none of the space's.
std::optional<space::Config> config_in(const space::Space& space, const Bindings& config);

}  // namespace xtune::dispatch
