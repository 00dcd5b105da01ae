// The search of a run: what is known before it starts, and its strategy, driven in step with the outcomes of its
// proposals, so that the same outcomes always lead to the same search.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/run/target.hpp"
#include "core/search/strategy.hpp"
#include "core/spec/spec.hpp"

namespace xtune::store {
class GrowingRecords;
}  // namespace xtune::store

namespace xtune::run {

class Advisor;
struct AdvisorResult;
struct RunContext;

/// Knowledge of a search before it starts: suggestions of the hardware model, and records of other devices and
/// problems.
struct Knowledge {
  std::vector<std::uint64_t> first;  ///< by the spec's [candidates]
  /// The configuration of calls without a measurement, which a search tries before all others; unset: the space is
  /// empty, or only a part of the spec's.
  std::optional<std::uint64_t> default_index;
  std::vector<search::Source> sources;
  search::Prior prior;             ///< by the spec's [candidates]
  std::vector<std::string> notes;  ///< for the user, one line each: what guides the search, or why something does not
};

/// The candidates of the spec's [candidates] for a GPU with a known model, and the default configuration.
Knowledge candidates_of(const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                        const run::Target& target);

/// Adds the stored records of the same kernel on other devices, of other problems on this one, and of this one with
/// another driver. Only records that existed before this problem was first measured on this device with its driver
/// count, so that a run that is continued or repeated has the same guidance as at first. A replay is not guided by
/// records of this problem on the device that it replays, from any backend; a run that measures is guided by results of
/// another backend on its device. GPUs learn only from GPUs, CPUs only from CPUs. The nearest ones are used, up to
/// eight sources. here: the store's records of this kernel on this architecture, refreshed. before_unix_ms: newer
/// records are not used.
void add_sources(Knowledge& knowledge, const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                 const run::Target& target, const store::GrowingRecords& here, const std::filesystem::path& store,
                 std::int64_t before_unix_ms = std::numeric_limits<std::int64_t>::max());

/// A strategy's proposals depend on the outcomes of its earlier proposals and on when it sees them. Here it sees the
/// next one whenever as many proposals as the window allows have none that it has seen, and these in the order in which
/// they were stored, so that a long compile holds nothing up. The same records give the same order: a run resumes, and
/// a stored run repeats, without new measurements. An advisor's proposals change the path at any time.
///
/// Processes that share a search cannot wait for different outcomes: they see them in the order of proposal. So neither
/// the speed of a compile worker nor a crash changes the path of any of them, and the slowest compile holds it up.
class SearchPath {
 public:
  struct Window {
    std::size_t proposals = 1;  ///< maximum number without an outcome, at least 1; none if the strategy does not learn
    bool in_order = false;      ///< outcomes are seen in the order of proposal
  };
  SearchPath(std::unique_ptr<search::Strategy> strategy, Window window);
  ~SearchPath();

  struct Proposal {
    std::uint64_t number = 0;  ///< counts from 0
    std::uint64_t index = 0;   ///< in the space
    bool advised = false;      ///< by the advisor
  };
  /// From now on the advisor is asked for proposals; nullptr: none.
  void set_advisor(std::unique_ptr<Advisor> advisor);
  /// nullopt: none was asked.
  std::optional<AdvisorResult> advice() const;
  /// nullopt: not before another outcome is known, or never again (exhausted).
  std::optional<Proposal> next();
  /// Call it once for each proposal. Outcomes of the run have increasing times at which they are stored.
  void set_outcome(std::uint64_t number, const search::Observation& outcome, std::int64_t stored_ms);
  /// From now on others propose (peer_work.hpp).
  void ignore_outcomes() { ignores_outcomes_ = true; }
  /// Whether outcomes change the proposals: proposals made far ahead of them are then worth less.
  bool learns() const noexcept { return sequence() == nullptr; }
  /// Its proposals, if outcomes do not change them; else nullptr.
  const search::Sequence* sequence() const noexcept { return strategy_->sequence(); }
  /// The strategy has seen every outcome and proposes nothing more.
  bool exhausted() const noexcept { return exhausted_; }

 private:
  std::optional<Proposal> next_of_strategy();
  bool show_next();
  std::unique_ptr<search::Strategy> strategy_;
  const Window window_;
  /// Those that it has not seen, by when they were stored (0 if in order) and number.
  std::map<std::pair<std::int64_t, std::uint64_t>, search::Observation> outcomes_;
  std::uint64_t proposed_ = 0, shown_ = 0;
  bool starved_ = false;  ///< it proposes nothing until it sees another outcome
  bool exhausted_ = false;
  bool ignores_outcomes_ = false;
  std::unique_ptr<Advisor> advisor_;
};

/// Whether records of other devices and problems guide the search.
bool learns_from_store(const RunContext& run);
/// records: of the kernel and architecture, refreshed. Notes for the user are sent to the observer.
std::unique_ptr<search::Strategy> make_search(const RunContext& run, const store::GrowingRecords& records);
/// parallel: maximum number of compilers at once.
SearchPath::Window proposal_window(const RunContext& run, std::size_t parallel);

}  // namespace xtune::run
