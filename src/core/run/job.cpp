// Makes options for the program and the library, so that both tune in the same way.
#include "core/run/job.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "core/space/value.hpp"
#include "core/store/lookup.hpp"
#include "core/store/record.hpp"
#include "system/machine.hpp"

namespace xtune::run {

void apply(const SearchSettings& settings, spec::SearchSpec& search) {
  if (!settings.strategy.empty()) search.strategy = settings.strategy;
  if (!settings.effort.empty()) search.effort = settings.effort;
  if (settings.evals) search.evals = settings.evals;
  if (settings.seed) search.seed = *settings.seed;
  if (settings.seconds) search.seconds = settings.seconds;
}

TuneOptions TuningJob::next_run(const spec::Spec& spec, const run::Target& target,
                                const std::filesystem::path& scratch) {
  TuneOptions options = settings_;
  options.store = kept_ == system::Kept::all ? settings_.store : scratch / "store";
  options.artifacts = artifacts_of(scratch);
  options.scratch = scratch;
  // Later, the runs themselves keep the CPUs busy.
  if (!busy_) busy_ = device::is_cpu(target.device) && system::is_busy();
  options.busy = *busy_;
  options.attempt = *attempts_.insert(store::new_attempt()).first;
  const std::string& arch = target.device.arch;
  if (kept_ == system::Kept::all)
    options.records =
        &records_.try_emplace(arch, options.store, arch, spec.kernel.name, spec.measure.statistic).first->second;
  return options;
}

std::filesystem::path TuningJob::artifacts_of(const std::filesystem::path& scratch) const {
  return kept_ == system::Kept::nothing ? scratch / "store" : settings_.store;
}

store::RecordSet TuningJob::stored(const spec::Spec& spec, const run::Target& target) const {
  if (kept_ != system::Kept::all || settings_.fresh || settings_.sanitize) return {};
  return store::read_records(settings_.store, target.device.arch, spec.kernel.name);
}

namespace {

constexpr std::size_t max_of_each = 8;

void add(TuneResult& to, TuneResult&& more) {
  std::move(more.records.begin(), more.records.end(), std::back_inserter(to.records));
  std::move(more.further.begin(), more.further.end(), std::back_inserter(to.further));
  for (const auto& [outcome, count] : more.counts) to.counts[outcome] += count;
  for (const auto& [outcome, count] : more.unread) to.unread[outcome] += count;
  to.from_store += more.from_store;
  to.total_s += more.total_s;
  to.compile_cpu_s += more.compile_cpu_s;
  to.compile_wall_s += more.compile_wall_s;
  to.device_busy_s += more.device_busy_s;
  to.interrupted |= more.interrupted;
  to.out_of_time |= more.out_of_time;
}

}  // namespace

std::vector<Bindings> shortlist(const store::Objective& objective, const std::vector<TuneResult>& cases,
                                std::size_t count) {
  std::map<std::string, Bindings> listed;
  for (const TuneResult& each : cases) {
    const auto order = store::ranked(each.all(), objective.criterion(each.problem, each.device));
    for (std::size_t i = 0; i < std::min(count, order.size()); ++i)
      listed.emplace(space::bindings_text(order[i]->config), order[i]->config);
  }
  std::vector<Bindings> list;
  for (auto& [text, config] : listed) list.push_back(std::move(config));
  return list;
}

std::vector<Bindings> not_measured(const TuneResult& of_case, const std::vector<Bindings>& list) {
  std::vector<Bindings> missing;
  const std::vector<const store::Record*> records = of_case.all();
  for (const Bindings& config : list)
    if (std::none_of(records.begin(), records.end(), [&](const store::Record* record) {
          return record->outcome != Outcome::pruned && record->config == config;
        }))
      missing.push_back(config);
  return missing;
}

store::CaseRecords records_of(const TuneResult& of_case) { return {of_case.problem, of_case.device, of_case.all()}; }

void measure_across(const store::Objective& objective, std::vector<TuneResult>& cases,
                    const std::function<TuneResult(std::size_t, const std::vector<Bindings>&)>& measure,
                    const std::function<bool()>& stopped) {
  const std::vector<Bindings> listed = shortlist(objective, cases, max_of_each);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::vector<Bindings> missing = not_measured(cases[i], listed);
    if (!missing.empty() && !stopped()) add(cases[i], measure(i, missing));
  }
}

std::optional<store::AcrossChoice> choose_across(const std::vector<RunCase>& cases, const run::Target& target,
                                                 const std::vector<store::Record>& stored) {
  if (cases.empty()) return std::nullopt;
  std::vector<store::CaseRecords> known;
  for (const RunCase& each : cases) {
    store::CaseRecords& records = known.emplace_back(records_of(*each.result));
    if (stored.empty()) continue;
    store::SpecFit fit(*each.spec, records.problem, target.device, target.arch, target.backend.toolchain);
    std::vector<const store::Record*> all = store::answering(stored, records.problem, records.device, fit.rules());
    // The run's own are on one scale, and the same ones in the store are not.
    std::set<std::pair<std::string_view, std::int64_t>> kept;
    for (const store::Record* record : all) kept.emplace(record->key, record->unix_time_ms);
    for (const store::Record* record : records.records)
      if (!kept.contains({record->key, record->unix_time_ms})) all.push_back(record);
    records.records = std::move(all);
  }
  const spec::Spec& any = *cases.front().spec;
  return store::choose_across(store::Objective(any), any.objective.across, known);
}

}  // namespace xtune::run
