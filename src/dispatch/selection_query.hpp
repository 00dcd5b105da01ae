// One question to the records of a store: for which problem, and what today's spec makes of them.
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

/// What is read of one architecture's records, by way of one kind of device.
struct LoadedStores {
  std::vector<store::StoreView> views;  ///< the store's, then the bundle's
  std::vector<std::string> toolchains;
};

/// What today's spec says of records, each held against its own compiler: which one made an artifact does not matter to
/// who only runs it.
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

/// What is passed by reference outlives it. One thread at a time.
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
  const std::vector<record::Record>& own() const noexcept { return own_; }  ///< winners that no store keeps

  /// What measurements say against running a configuration for the problem (core/record/objection.hpp): a clause for
  /// people, or empty. Throws store::RecordsChanged.
  const std::string& objection_to(const Bindings& config);
  /// What today's spec asks of records. They borrow this.
  record::LookupRules rules();
  /// All that objection_to told.
  std::vector<std::string> objections() const;

 private:
  std::string find_objection(const Bindings& config);

  const std::shared_ptr<const LoadedStores> stores_;
  const std::vector<record::Record> own_;
  std::map<Bindings, std::string> objections_;  ///< by configuration; empty: none
};

}  // namespace xtune::dispatch
