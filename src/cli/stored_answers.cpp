// Chooses between rows and whole records.
#include "cli/stored_answers.hpp"

#include "base/text.hpp"
#include "core/record/record_log.hpp"
#include "dispatch/selector.hpp"

namespace xtune::cli {

void tell_missing_store(const CommonOptions& options) {
  std::error_code ignored;
  if (!std::filesystem::exists(options.store_path(), ignored))
    tell("note: the store {} does not exist\n", base::printable(options.store_path().string()));
}

std::vector<record::Record> stored_records(const spec::Spec& spec, const CommonOptions& options,
                                           const target::Target& target) {
  tell_missing_store(options);
  record::RecordSet set = record::read_records(options.store_path(), target.device.arch, spec.kernel.name);
  tell_warnings(set.warnings);
  return std::move(set.records);
}

std::optional<Bindings> default_of(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device) {
  const space::Space space = spec::make_space(spec, problem, device::device_facts(device));
  const std::vector<space::Config> configs = dispatch::default_configs(spec, space, problem, device, {});
  return configs.empty() ? std::nullopt : std::optional(space.named(configs.front()));
}

StoredAnswers::StoredAnswers(const spec::Spec& spec, const CommonOptions& options, const target::Target& target,
                             bool whole, const store::Bundle* bundle)
    : spec_(spec), target_(target) {
  if (whole || !spec.objective.goals.empty()) {
    if (!bundle) {
      records_ = stored_records(spec, options, target);
      return;
    }
    record::RecordSet set = bundle->record_set(target.device.arch, spec.kernel.name);
    tell_warnings(set.warnings);
    records_ = std::move(set.records);
    return;
  }
  if (!bundle) tell_missing_store(options);
  store::StoreView::Options view;
  view.statistic = spec.measure.statistic;
  view.all = true;
  view_.emplace(bundle ? bundle->view(target.device.arch, spec.kernel.name, view)
                       : store::StoreView::load(options.store_path(), target.device.arch, spec.kernel.name, view));
  tell_warnings(view_->warnings());
}

record::LookupResult StoredAnswers::look_up(const Bindings& problem, record::SpecFit& fit) const {
  if (view_) return view_->look_up(problem, target_.device, fit.rules());
  return xtune::record::look_up(records_, problem, target_.device,
                                record::Objective(spec_).criterion(problem, target_.device), fit.rules());
}

bool StoredAnswers::empty() const { return view_ ? view_->records() == 0 : records_.empty(); }

}  // namespace xtune::cli
