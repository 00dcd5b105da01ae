// One call of tune or tune_cases: a target, and runs of the tuner on it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/run_turn.hpp"
#include "core/run/job.hpp"
#include "core/spec/spec.hpp"
#include "dispatch/tuning.hpp"
#include "xtune/tune.hpp"

namespace xtune {

/// Used on one thread, which holds the turn. Tunable and settings must outlive it.
class TuneCall {
 public:
  /// Throws Error for invalid settings, and if there is no device, compiler or xtune program.
  TuneCall(const Tunable& tunable, const TuneSettings& settings);
  ~TuneCall();

  const spec::Spec& spec() const noexcept { return base_; }
  /// A result for each problem; fewer if the stop token ends it. With [objective] across and several problems, each
  /// result contains the configuration for all.
  std::vector<Result> tune(const std::vector<Bindings>& problems);
  /// One problem, for calls of the winner.
  dispatch::Tuned tune_for_calls(const Bindings& problem);

 private:
  /// One problem, with its attachments prepared.
  struct Case;

  /// An empty result if the stop token ends it.
  run::TuneResult unless_stopped(const Case& one, const std::function<run::TuneResult()>& body) const;
  void prepare(Case& one);
  run::TuneResult tune_one(Case& one);
  std::vector<Bindings> listed_configs(Case& one);
  run::TuneResult run(Case& one, std::vector<Bindings> only);
  /// Why the store does not have the record and its artifact; empty: it has them.
  std::string reason_not_kept(const Case& one, const store::Record& winner) const;
  Result result_of(Case& one, const run::TuneResult& tuned);
  std::vector<Result> tune_across(std::vector<std::unique_ptr<Case>>& cases, std::vector<run::TuneResult>& tuned);
  bool predicts() const { return base_.search.effort == "none"; }
  bool stopped() const { return settings_.stop.stop_requested(); }

  const Tunable& tunable_;
  const TuneSettings& settings_;
  run::TuningJob job_;
  const run::Target target_;
  spec::Spec base_;
  StoppableLoop stoppable_;
};

}  // namespace xtune
