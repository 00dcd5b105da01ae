// Repeats, their comparison, and what follows from both.
#include "core/run/audit.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "core/run/first_answer.hpp"
#include "core/store/best.hpp"
#include "core/store/lookup.hpp"
#include "core/store/objective.hpp"
#include "core/store/record.hpp"
#include "system/files.hpp"

namespace xtune::run {
namespace {

constexpr std::size_t max_neighbours = 8, max_compared = 40;

bool has(const std::vector<Bindings>& list, const Bindings& config) {
  return std::find(list.begin(), list.end(), config) != list.end();
}

/// Whether the repeat lacks a winner, or names another one than `first`, and neither declared the other's as a tie.
/// first: nullptr if no repeat has a winner.
bool differs(const AuditedRepeat& repeat, const AuditedRepeat* first) {
  if (!first || !repeat.winner) return !repeat.winner;
  return *repeat.winner != *first->winner && !has(first->ties, *repeat.winner) && !has(repeat.ties, *first->winner);
}

/// The ratio of values that are not measured round by round, such as a number of registers.
std::optional<measure::PairedRatio> plain_ratio(const std::vector<std::vector<double>>& values, std::size_t own) {
  double min_ms = HUGE_VAL;
  for (const std::vector<double>& each : values)
    if (!each.empty()) min_ms = std::min(min_ms, each.front());
  if (own >= values.size() || values[own].empty() || !(min_ms > 0)) return std::nullopt;
  const double ratio = values[own].front() / min_ms;
  return measure::PairedRatio{ratio, ratio, ratio, 1, true};
}

/// The records of the comparison: those of finals where there are any.
std::vector<const store::Record*> records_of_comparison(const TuneResult& result) {
  std::vector<const store::Record*> records;
  for (const store::Record& record : result.further) records.push_back(&record);
  for (const store::Record& record : result.records)
    if (std::none_of(records.begin(), records.end(), [&](const auto* other) { return other->config == record.config; }))
      records.push_back(&record);
  return records;
}

std::vector<ComparedConfig> compared_in(const spec::Spec& spec, const TuneResult& result,
                                        const std::vector<Bindings>& wanted) {
  const store::Criterion criterion = store::Objective(spec).criterion(result.problem, result.device);
  const std::vector<const store::Record*> records = records_of_comparison(result);
  std::vector<const store::Record*> met;
  std::vector<std::vector<double>> values;
  for (const store::Record* record : records) {
    const bool passed = record->outcome == Outcome::ok;
    if (!record->finals.empty()) met.push_back(record);
    values.emplace_back(passed && std::isfinite(criterion.of(*record)) ? std::vector{criterion.of(*record)}
                                                                       : std::vector<double>());
  }
  const store::FinalsResult finals(met, criterion);
  const std::vector<std::vector<double>> plain = measure::comparable_values(values);
  std::vector<ComparedConfig> compared;
  for (const Bindings& config : wanted) {
    ComparedConfig& one = compared.emplace_back(ComparedConfig{config, {}, ""});
    const auto found = std::find_if(records.begin(), records.end(), [&](const auto* r) { return r->config == config; });
    if (found == records.end()) {
      one.failure = "the spec does not allow it for this problem";
    } else if ((*found)->outcome != Outcome::ok) {
      one.failure = fmt::format("{}: {}", to_string((*found)->outcome), base::one_line((*found)->message));
    } else {
      one.ratio = (*found)->finals.empty() ? plain_ratio(plain, static_cast<std::size_t>(found - records.begin()))
                                           : finals.ratio_to_fastest(**found);
      if (!one.ratio) one.failure = "its values cannot be compared";
    }
  }
  return compared;
}

}  // namespace

AuditedRepeat repeat_of(const spec::Spec& spec, const TuneResult& result) {
  AuditedRepeat repeat;
  repeat.evaluated = result.evaluated();
  repeat.total_s = result.total_s;
  const auto best = store::best_of(result.all(), store::Objective(spec).criterion(result.problem, result.device));
  if (!best) return repeat;
  repeat.winner = best->record->config;
  repeat.time_ms = measure::statistic(best->record->time_ms, spec.measure.statistic);
  for (const store::Record* tie : best->ties) repeat.ties.push_back(tie->config);
  return repeat;
}

double ComparedConfig::regret() const { return ratio ? ratio->median - 1 : HUGE_VAL; }

std::vector<std::pair<Bindings, std::size_t>> AuditedCase::winners() const {
  std::vector<std::pair<Bindings, std::size_t>> all;
  for (const AuditedRepeat& repeat : repeats) {
    if (!repeat.winner) continue;
    const auto known =
        std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.first == *repeat.winner; });
    if (known == all.end())
      all.emplace_back(*repeat.winner, 1);
    else
      ++known->second;
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return all;
}

const AuditedRepeat* AuditedCase::reference() const {
  const auto all = winners();
  if (all.empty()) return nullptr;
  return &*std::find_if(repeats.begin(), repeats.end(),
                        [&](const AuditedRepeat& repeat) { return repeat.winner == all.front().first; });
}

bool AuditedCase::flips(const AuditedRepeat& repeat) const { return differs(repeat, reference()); }

std::size_t AuditedCase::flips() const {
  const AuditedRepeat* const first = reference();
  return static_cast<std::size_t>(std::count_if(
      repeats.begin(), repeats.end(), [first](const AuditedRepeat& repeat) { return differs(repeat, first); }));
}

double AuditedCase::agreement() const {
  std::size_t pairs = 0, same = 0;
  for (std::size_t i = 0; i < repeats.size(); ++i)
    for (std::size_t k = 0; k < i; ++k, ++pairs) same += repeats[i].winner && repeats[i].winner == repeats[k].winner;
  return pairs ? static_cast<double>(same) / static_cast<double>(pairs) : 1;
}

const ComparedConfig* AuditedCase::find(const Bindings& config) const {
  const auto found =
      std::find_if(compared.begin(), compared.end(), [&](const ComparedConfig& one) { return one.config == config; });
  return found == compared.end() ? nullptr : &*found;
}

void find_neighbours(const spec::Spec& spec, std::vector<AuditedCase>& cases) {
  for (AuditedCase& one : cases) {
    one.neighbours.clear();
    const auto bucket = store::bucket_function(spec, one.device);
    for (const AuditedCase& other : cases) {
      const std::optional<double> distance = store::shape_distance(one.problem, other.problem);
      const AuditedRepeat* const named = other.reference();
      if (&other == &one || !distance || !named) continue;
      const bool in_bucket = bucket && !bucket(one.problem).empty() && bucket(one.problem) == bucket(other.problem);
      one.neighbours.push_back(
          {other.problem, *named->winner, *distance, in_bucket, in_bucket || *distance <= spec.dispatch.radius});
    }
    std::stable_sort(one.neighbours.begin(), one.neighbours.end(), [](const auto& a, const auto& b) {
      return std::pair(!a.in_bucket, a.distance) < std::pair(!b.in_bucket, b.distance);
    });
    one.neighbours.resize(std::min(one.neighbours.size(), max_neighbours));
    one.preferred.reset();
    if (one.repeats.empty() || one.neighbours.empty() || !one.neighbours.front().in_reach) continue;
    const AuditedNeighbour& nearest = one.neighbours.front();
    const Measured measured{nearest.in_bucket ? store::Match::bucket : store::Match::nearest, nearest.distance,
                            nearest.winner};
    Question asked{spec, one.problem, one.device};
    if (FirstAnswer answer = first_answer(asked, measured); !answer.instead.empty())
      one.preferred = std::move(answer.config);
  }
}

std::vector<Bindings> configs_to_compare(const AuditedCase& one) {
  std::vector<Bindings> list;
  const auto add = [&](const Bindings& config) {
    if (list.size() < max_compared && !has(list, config)) list.push_back(config);
  };
  for (const auto& [winner, count] : one.winners()) add(winner);
  if (list.empty()) return list;
  if (one.default_config) add(*one.default_config);
  if (one.preferred) add(*one.preferred);
  for (const AuditedNeighbour& neighbour : one.neighbours) add(neighbour.winner);
  for (const Bindings& tie : one.reference()->ties) add(tie);
  return list;
}

Audit::Audit(spec::Spec spec, Settings settings) : spec_(std::move(spec)), settings_(std::move(settings)) {
  for (const Bindings& problem : spec_.cases) cases_.emplace_back().problem = problem;
}

TuneOptions Audit::options(const std::filesystem::path& scratch) const {
  TuneOptions options;
  options.store = store();
  options.scratch = scratch;
  options.attempt = store::new_attempt();
  return options;
}

bool Audit::tune(std::size_t number, std::uint64_t repeat, const run::Target& target, const TuneServices& services,
                 TuneObserver& observer) {
  AuditedCase& one = cases_.at(number);
  spec::Spec spec = spec_;
  if (!settings_.same_seed) spec.search.seed += repeat;
  const system::TemporaryDirectory scratch;
  const TuneOptions chosen = options(scratch.path());
  const TuneResult result = run::tune(spec, one.problem, target, chosen, services, observer);
  if (result.interrupted) return false;
  one.device = result.device;
  one.default_config = result.default_config;
  one.repeats.push_back(repeat_of(spec, result));
  one.repeats.back().seed = spec.search.seed;
  return true;
}

void Audit::end_repeat() {
  std::error_code error;
  const std::filesystem::path all = spec_.search.seconds ? store() : store() / "records";
  std::filesystem::remove_all(all, error);
  if (error) throw Error(ErrorKind::io, all.string() + ": cannot be emptied for the next repeat: " + error.message());
}

bool Audit::compare(std::size_t number, const run::Target& target, const TuneServices& services,
                    TuneObserver& observer) {
  AuditedCase& one = cases_.at(number);
  spec::Spec spec = spec_;
  spec.search.seconds.reset();
  const system::TemporaryDirectory scratch;
  TuneOptions chosen = options(scratch.path());
  chosen.only = configs_to_compare(one);
  chosen.compare = chosen.fresh = true;
  if (chosen.only.empty()) return true;
  const TuneResult result = run::tune(spec, one.problem, target, chosen, services, observer);
  if (result.interrupted) return false;
  one.compared = compared_in(spec, result, chosen.only);
  return true;
}

namespace {

void take_worse(std::optional<AuditFindings::Worst>& worst, const AuditedCase& one, const Bindings& config,
                const AuditedNeighbour* neighbour = nullptr) {
  const ComparedConfig* const found = one.find(config);
  if (!found || (worst && found->regret() <= worst->regret)) return;
  worst = {found->regret(), !found->ratio || found->ratio->low > 1, &one, neighbour};
}

}  // namespace

AuditFindings findings_of(const std::vector<AuditedCase>& cases) {
  AuditFindings findings;
  double agreement = 0;
  for (const AuditedCase& one : cases) {
    findings.repeats += one.repeats.size();
    findings.flips += one.flips();
    agreement += one.agreement();
    for (const AuditedRepeat& repeat : one.repeats) findings.without_winner += !repeat.winner;
    for (const auto& [winner, count] : one.winners()) take_worse(findings.winner, one, winner);
    if (const AuditedRepeat* const reference = one.reference())
      for (const Bindings& tie : reference->ties) take_worse(findings.tie, one, tie);
    // What a call would run if this case had not been measured.
    if (!one.neighbours.empty() && one.neighbours.front().in_reach)
      take_worse(findings.neighbour, one, one.preferred.value_or(one.neighbours.front().winner),
                 &one.neighbours.front());
    if (one.default_config) take_worse(findings.default_config, one, *one.default_config);
  }
  if (!cases.empty()) findings.agreement = agreement / static_cast<double>(cases.size());
  return findings;
}

}  // namespace xtune::run
