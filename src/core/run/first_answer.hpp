// What answers for a problem before it is tuned: the configuration, where it comes from, and its expected time.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "core/run/target.hpp"
#include "core/spec/spec.hpp"
#include "core/store/lookup.hpp"
#include "core/store/objective.hpp"
#include "core/store/store_view.hpp"
#include "xtune/result.hpp"

namespace xtune::run {

/// A problem on a device. What it refers to must outlive it. One thread at a time.
struct Question {
  const spec::Spec& spec;
  const Bindings& problem;
  const device::DeviceInfo& device;
  std::optional<space::Space> known_space = {};  ///< unset: made when it is needed
  const space::Space& space();
};

/// A stored measurement that may answer, as a lookup found it.
struct Measured {
  store::Match match = store::Match::none;
  double distance = 0;  ///< between its problem and the one in question (store::shape_distance)
  Bindings config;
  std::string origin = {};  ///< as in FirstAnswer
};
Measured measured_of(const store::LookupResult& found);

/// What records of other devices rate best: its index in the space, and where it comes from, for people.
using OthersAnswer = std::optional<std::pair<std::uint64_t, std::string>>;

struct FirstAnswer {
  Bindings config;
  std::string origin;        ///< for people
  std::string instead = {};  ///< of a measurement, if it gave way to the model: the model's two times, for people
};
/// In this order: a measurement of this problem, its bucket or the nearest size, where the latter gives way to the best
/// by the spec's [candidates] if the model expects it to take much longer; others; [dispatch] default; the best by
/// [candidates]; the first of the space.
/// others: may be empty. Throws as make_space, and Error(invalid_spec) for the spec's [candidates].
FirstAnswer first_answer(Question& asked, const Measured& found = {},
                         const std::function<OthersAnswer(const space::Space&)>& others = {});

/// The time of a configuration of the space for a problem without a measurement: as the model estimates it, or without
/// a model in proportion to the work by [metrics], else to all sizes, and in the relation to it in which the best
/// configurations of the stored sizes on this kind of device are, near ones before distant ones. The interval follows
/// from how well each of these sizes is predicted by the others; without records it is wide. nullopt: neither a model
/// nor a record knows, or the spec has an objective. Records count whatever their keys are. Throws RecordsChanged,
/// Error(invalid_spec).
std::optional<ExpectedTime> expected_time(Question& asked, const Bindings& config,
                                          std::span<const store::StoreView> views);

/// All records of a spec's kernel on the target's architecture.
class StoredAnswers {
 public:
  /// spec and target must outlive it. view: by options_for(spec).
  StoredAnswers(const spec::Spec& spec, const run::Target& target, store::StoreView view)
      : spec_(spec), target_(target), view_(std::move(view)) {}
  static store::RowOptions options_for(const spec::Spec& spec);

  /// With the failures of the answer's configuration among the reasons.
  store::LookupResult look_up(const Bindings& problem, store::SpecFit& fit) const;
  const store::StoreView& view() const { return view_; }
  /// The criterion of the spec for this problem on the target's device.
  store::Criterion criterion(const Bindings& problem) const;

 private:
  const spec::Spec& spec_;
  const run::Target& target_;
  store::StoreView view_;
};

}  // namespace xtune::run
