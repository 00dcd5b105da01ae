// The program of [search] advisor: asked during a search for configurations that the search then tries.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/run/run_context.hpp"
#include "system/subprocess.hpp"

namespace xtune::run {

/// Asks at the start and again whenever AdvisorSpec::every configurations have been evaluated since. Nothing waits for
/// an answer. A proposal that cannot be tried is refused, and the next question names it with the reason. If the
/// program fails, exceeds its time, or answers something else than a list, there is a warning and it is not asked
/// again. At any time at most the rounded-up share of the proposals so far are the program's.
class Advisor {
 public:
  struct Listeners {
    std::function<std::uint64_t()> evaluated;                         ///< number of evaluated configurations
    std::function<const std::vector<store::Record>&()> results = {};  ///< of the evaluated configurations
  };
  /// The spec has an advisor. The references must outlive it.
  Advisor(const RunContext& run, system::EventLoop& loop, Listeners listeners);
  ~Advisor();
  Advisor(const Advisor&) = delete;
  Advisor& operator=(const Advisor&) = delete;

  /// Asks if it is time to. Returns a configuration that the strategy should propose next; nullopt: none now. After one
  /// was returned there is none before proposed() or refuse() was called for it.
  std::optional<std::uint64_t> next();
  /// A configuration of next() that the strategy does not take.
  void refuse(std::uint64_t index);
  /// Counts a proposal of the strategy. Returns whether it is the advisor's.
  bool proposed(std::uint64_t index);
  const AdvisorResult& result() const noexcept { return result_; }

 private:
  bool is_due() const;
  std::uint64_t wanted() const;
  void ask();
  void take(const system::CommandResult& ended);
  void take_proposal(const nlohmann::json& proposal);
  void refuse(const nlohmann::json& proposal, const std::string& reason);
  void give_up(const std::string& why);

  const RunContext& run_;
  system::EventLoop& loop_;
  const Listeners listeners_;
  std::unique_ptr<system::RunningCommand> command_;
  bool given_up_ = false;
  std::uint64_t asked_at_ = 0;   ///< number of evaluated configurations at the last question
  std::uint64_t asked_for_ = 0;  ///< maximum number of configurations of the answer
  std::uint64_t proposals_ = 0;  ///< of the strategy
  std::deque<std::uint64_t> queue_;
  std::unordered_set<std::uint64_t> known_;  ///< that were ever in queue_
  std::optional<std::uint64_t> offered_;
  std::vector<std::pair<nlohmann::json, std::string>> refused_;  ///< since the last question: proposal, reason
  AdvisorResult result_;
};

/// The advisor of a run, or nullptr: the spec has none, or this run cannot use one, with a note for the user. learns:
/// of the strategy.
std::unique_ptr<Advisor> make_advisor(const RunContext& run, system::EventLoop& loop, bool learns,
                                      Advisor::Listeners listeners);

}  // namespace xtune::run
