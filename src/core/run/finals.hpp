// Holds the finals: rounds of launches, until who is fastest is decided.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ipc/services.hpp"

namespace xtune::run {

/// What came of one finalist.
struct FinalistResult {
  Outcome outcome = Outcome::ok;
  std::string message, log;              ///< of a failure
  std::vector<double> samples_ms;        ///< by round, rounded as records keep them; empty: it failed
  ipc::Reported reported;                ///< by round, too
  build::Lack lack = build::Lack::none;  ///< of the machine, of a failure
};

/// How finalists compare.
struct FinalsRule {
  measure::Statistic statistic = measure::Statistic::median;
  /// What a finalist's time is worth, with what it has reported so far; less is better. Empty: the time itself.
  std::function<double(std::size_t finalist, const ipc::Reported& reported, double time_ms)> value = {};
};

struct FinalsLimits {
  std::uint64_t seed = 1;  ///< of the orders
  int rounds = 50;         ///< at most
  double kernel_ms = 200;  ///< of each finalist at most, looked at between requests
  double timeout_s = 30;   ///< of each finalist in each request
};

/// Asks the bench service for ten rounds at first and five at a time then. Who is certainly slower than the fastest
/// leaves, and who is certainly as good: the rounds that follow are for those in doubt. Who fails is
/// out, and the others go on in a new worker; where nobody knows who took the worker down, each is launched alone to
/// find out. A worker that dies three times with no culprit ends the finals.
class Finals {
 public:
  using Done = std::function<void(std::vector<FinalistResult>, std::vector<std::string> taints)>;
  /// bench outlives this, and this the calls that it asked bench for.
  Finals(ipc::BenchService& bench, std::vector<ipc::BenchJob> jobs, FinalsRule rule, FinalsLimits limits, Done done);
  void start() { next(); }
  double busy_s() const noexcept { return busy_s_; }  ///< of the device, so far

 private:
  std::vector<std::size_t> members() const;  ///< who is still in
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
  std::vector<FinalistResult> results_;
  std::vector<bool> left_;             ///< judged
  std::vector<std::size_t> suspects_;  ///< to be launched alone
  std::vector<std::size_t> unjudged_;  ///< launched with one that failed, before their own results were looked at
  std::vector<std::string> taints_;
  std::size_t round_ = 0;
  int mysteries_ = 0;
  double busy_s_ = 0;
};

}  // namespace xtune::run
