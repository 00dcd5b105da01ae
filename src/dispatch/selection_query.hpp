// One query of a store's records: the problem, and the evaluation of records by today's spec.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/record/record.hpp"
#include "core/record/spec_fit.hpp"
#include "core/spec/spec.hpp"
#include "core/store/store_view.hpp"

namespace xtune::dispatch {

/// The records of one architecture, as read for one kind of device.
struct LoadedStores {
  std::vector<store::StoreView> views;  ///< the store's, then the bundle's
  std::vector<std::string> toolchains;
};

/// Evaluates records by today's spec, each with its own compiler: the compiler of an artifact does not matter to a
/// program that only runs it.
class Today {
 public:
  Today(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device,
        const std::vector<std::string>& archs)
      : spec_(spec), problem_(problem), device_(device), archs_(archs) {}

  std::string obstacle(const record::Record& record) { return fit(archs_.front(), record.toolchain).obstacle(record); }

  std::vector<std::string> differences(const record::Record& record) {
    std::vector<std::string> differences;
    for (const std::string& arch : archs_) {
      std::vector<std::string> of_arch = fit(arch, record.toolchain).differences(record);
      if (of_arch.empty()) return of_arch;
      if (differences.empty() || record::key_fit(of_arch) < record::key_fit(differences))
        differences = std::move(of_arch);
    }
    return differences;
  }

 private:
  record::SpecFit& fit(const std::string& arch, const std::string& toolchain) {
    auto& fit = fits_[{arch, toolchain}];
    if (!fit) fit = std::make_unique<record::SpecFit>(spec_, problem_, device_, arch, toolchain);
    return *fit;
  }

  const spec::Spec& spec_;
  const Bindings& problem_;
  const device::DeviceInfo& device_;
  const std::vector<std::string>& archs_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<record::SpecFit>> fits_;
};

/// Arguments passed by reference must outlive it. One thread at a time.
class SelectionQuery {
 public:
  SelectionQuery(const spec::Spec& spec_, const Bindings& problem_, const device::DeviceInfo& device_,
                 const std::vector<std::string>& archs, std::shared_ptr<const LoadedStores> stores,
                 std::vector<record::Record> own)
      : spec(spec_),
        problem(problem_),
        device(device_),
        today(spec, problem, device, archs),
        stores_(std::move(stores)),
        own_(std::move(own)) {}
  SelectionQuery(const SelectionQuery&) = delete;
  SelectionQuery& operator=(const SelectionQuery&) = delete;

  const spec::Spec& spec;
  const Bindings& problem;
  const device::DeviceInfo& device;
  Today today;

  const LoadedStores& stores() const noexcept { return *stores_; }
  const std::vector<record::Record>& own() const noexcept { return own_; }  ///< winners that are not in any store

  /// The measurements that are a reason not to run a configuration for the problem (core/record/objection.hpp): a
  /// clause for people, or empty. Throws store::RecordsChanged.
  const std::string& objection_to(const Bindings& config);
  /// The conditions of today's spec on records. They refer to this object.
  record::LookupRules rules();
  /// All texts that objection_to returned.
  std::vector<std::string> objections() const;

 private:
  std::string find_objection(const Bindings& config);

  const std::shared_ptr<const LoadedStores> stores_;
  const std::vector<record::Record> own_;
  std::map<Bindings, std::string> objections_;  ///< by configuration; empty: none
};

}  // namespace xtune::dispatch
