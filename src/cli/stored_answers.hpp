// The records of a store for a spec, for commands that only look things up.
#pragma once

#include <optional>

#include "cli/cases.hpp"
#include "core/record/lookup.hpp"
#include "core/record/objective.hpp"
#include "core/store/bundle.hpp"
#include "core/store/store_view.hpp"

namespace xtune::cli {

/// Prints to stderr that the store does not exist, if it does not.
void tell_missing_store(const CommonOptions& options);

/// What a call runs for a problem without an answer; nullopt: the space is empty.
std::optional<Bindings> default_of(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device);

/// All records of the spec's kernel on the target's architecture.
class StoredAnswers {
 public:
  /// Prints damage and a missing store to standard error. spec and target must outlive it. bundle: its records are read
  /// instead of the store's.
  StoredAnswers(const spec::Spec& spec, const CommonOptions& options, const target::Target& target,
                const store::Bundle* bundle = nullptr);

  record::LookupResult look_up(const Bindings& problem, record::SpecFit& fit) const;
  const store::StoreView& view() const { return view_; }
  /// The criterion of the spec for this problem on the target's device.
  record::Criterion criterion(const Bindings& problem) const;

 private:
  const spec::Spec& spec_;
  const target::Target& target_;
  store::StoreView view_;
};

}  // namespace xtune::cli
