// Holds the finals: rounds of launches, until it is decided which configuration is the fastest.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ipc/services.hpp"

namespace xtune::run {

/// The result of one finalist.
struct FinalistResult {
  Outcome outcome = Outcome::ok;
  std::string message, log;              ///< of its failure
  std::vector<double> samples_ms;        ///< by round, rounded as in records; empty: it failed
  ipc::Reported reported;                ///< by round
  build::Lack lack = build::Lack::none;  ///< for a failure: resource that the machine lacked
};

/// How finalists are compared.
struct FinalsRule {
  measure::Statistic statistic = measure::Statistic::median;
  /// The objective for a finalist's time and the values it has reported so far; less is better. Empty: the time itself.
  std::function<double(std::size_t finalist, const ipc::Reported& reported, double time_ms)> value = {};
};

struct FinalsLimits {
  std::uint64_t seed = 1;  ///< for the orders
  int rounds = 50;         ///< maximum
  double kernel_ms = 200;  ///< maximum for each finalist, checked between requests
  int after_drift = 4;     ///< multiple of both maxima if the device changed its speed
  double timeout_s = 30;   ///< for each finalist in each request
};

/// Requests ten rounds from the bench service at first, then five at a time. Finalists leave when they are certainly
/// slower than the fastest, or certainly as good: the following rounds are for those in doubt. A finalist that fails is
/// out, and the others continue in a new worker; if it is unknown which one crashed the worker, each is launched on its
/// own to find out. A worker that dies three times without a known cause ends the finals.
class Finals {
 public:
  using Done = std::function<void(std::vector<FinalistResult>, std::vector<std::string> taints)>;
  using ReferenceTimed = std::function<void(std::vector<double> samples_ms)>;
  /// bench must outlive this, and this must outlive its calls of bench.
  Finals(ipc::BenchService& bench, std::vector<ipc::BenchJob> jobs, FinalsRule rule, FinalsLimits limits, Done done);
  /// Has the reference kernel timed beside the first rounds.
  void time_reference(ReferenceTimed timed) { reference_timed_ = std::move(timed); }
  void start() { next(); }
  double busy_s() const noexcept { return busy_s_; }  ///< of the device, so far

 private:
  std::vector<std::size_t> members() const;  ///< finalists that are still in
  void next();
  void probe();
  void ask(const std::vector<std::size_t>& who, std::size_t rounds, bool counts);
  void take(const std::vector<std::size_t>& who, const ipc::RoundsAnswer& answer, bool counts);
  void finish();

  ipc::BenchService& bench_;
  std::vector<ipc::BenchJob> jobs_;
  FinalsRule rule_;
  FinalsLimits limits_;
  Done done_;
  ReferenceTimed reference_timed_;  ///< empty: it is not timed, or was
  std::vector<FinalistResult> results_;
  std::vector<bool> left_;             ///< judged
  std::vector<std::size_t> suspects_;  ///< to be launched on their own
  std::vector<std::size_t> unjudged_;  ///< launched together with one that failed, not checked themselves
  std::vector<std::string> taints_;
  std::size_t round_ = 0;
  int mysteries_ = 0;
  double busy_s_ = 0;
};

}  // namespace xtune::run
