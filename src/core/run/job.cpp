// Makes options for the program and the library, so that both tune in the same way.
#include "core/run/job.hpp"

#include "core/record/record.hpp"
#include "system/machine.hpp"

namespace xtune::run {

void apply(const SearchSettings& settings, spec::SearchSpec& search) {
  if (!settings.strategy.empty()) search.strategy = settings.strategy;
  if (settings.evals) search.evals = settings.evals;
  if (settings.seed) search.seed = *settings.seed;
  if (settings.seconds) search.seconds = settings.seconds;
}

TuneOptions TuningJob::next_run(const spec::Spec& spec, const target::Target& target,
                                const std::filesystem::path& scratch) {
  TuneOptions options = settings_;
  options.store = kept_ == system::Kept::all ? settings_.store : scratch / "store";
  options.artifacts = artifacts_of(scratch);
  options.scratch = scratch;
  // Later, the runs themselves keep the CPUs busy.
  if (!busy_) busy_ = device::is_cpu(target.device) && system::is_busy();
  options.busy = *busy_;
  options.attempt = *attempts_.insert(record::new_attempt()).first;
  const std::string& arch = target.device.arch;
  if (kept_ == system::Kept::all)
    options.records =
        &records_.try_emplace(arch, options.store, arch, spec.kernel.name, spec.measure.statistic).first->second;
  return options;
}

std::filesystem::path TuningJob::artifacts_of(const std::filesystem::path& scratch) const {
  return kept_ == system::Kept::nothing ? scratch / "store" : settings_.store;
}

record::RecordSet TuningJob::stored(const spec::Spec& spec, const target::Target& target) const {
  if (kept_ != system::Kept::all || settings_.fresh || settings_.sanitize) return {};
  return record::read_records(settings_.store, target.device.arch, spec.kernel.name);
}

}  // namespace xtune::run
