// The records of a store for a spec, for commands that only look things up.
#pragma once

#include "cli/cases.hpp"
#include "core/record/lookup.hpp"
#include "core/record/objective.hpp"
#include "core/store/bundle.hpp"
#include "core/store/store_view.hpp"

namespace xtune::cli {

/// Prints to stderr that the store does not exist, if it does not.
void tell_missing_store(const CommonOptions& options);

/// The store's records of this kernel on the target's architecture; prints damage to stderr.
std::vector<record::Record> stored_records(const spec::Spec& spec, const CommonOptions& options,
                                           const target::Target& target);

/// What a call runs for a problem without an answer; nullopt: the space is empty.
std::optional<Bindings> default_of(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device);

/// The records of the spec's kernel on the target's architecture. If only a statistic of the time ranks, they are rows
/// of a StoreView, about 200 bytes each; else whole records, of which there should not be a million.
class StoredAnswers {
 public:
  /// Prints damage and a missing store to standard error. spec and target must outlive it. whole: read whole records in
  /// any case. bundle: its records are read instead of the store's.
  StoredAnswers(const spec::Spec& spec, const CommonOptions& options, const target::Target& target, bool whole = false,
                const store::Bundle* bundle = nullptr);

  record::LookupResult look_up(const Bindings& problem, record::SpecFit& fit) const;
  bool empty() const;

  const store::StoreView* view() const { return view_ ? &*view_ : nullptr; }  ///< null: see records()
  const std::vector<record::Record>& records() const { return records_; }

 private:
  const spec::Spec& spec_;
  const target::Target& target_;
  std::optional<store::StoreView> view_;
  std::vector<record::Record> records_;
};

}  // namespace xtune::cli
