// Lookups by the spec's objective.
#include "cli/stored_answers.hpp"

#include "base/text.hpp"
#include "dispatch/selector.hpp"

namespace xtune::cli {

void tell_missing_store(const CommonOptions& options) {
  std::error_code ignored;
  if (!std::filesystem::exists(options.store_path(), ignored))
    tell("note: the store {} does not exist\n", base::printable(options.store_path().string()));
}

std::optional<Bindings> default_of(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device) {
  const space::Space space = spec::make_space(spec, problem, device::device_facts(device));
  const std::vector<space::Config> configs = dispatch::default_configs(spec, space, problem, device, {});
  return configs.empty() ? std::nullopt : std::optional(space.named(configs.front()));
}

StoredAnswers::StoredAnswers(const spec::Spec& spec, const CommonOptions& options, const target::Target& target,
                             const store::Bundle* bundle)
    : spec_(spec), target_(target), view_([&] {
        if (!bundle) tell_missing_store(options);
        store::StoreView::Options view;
        view.statistic = spec.measure.statistic;
        view.all = true;
        return bundle ? bundle->view(target.device.arch, spec.kernel.name, view)
                      : store::StoreView::load(options.store_path(), target.device.arch, spec.kernel.name, view);
      }()) {
  tell_warnings(view_.warnings());
}

record::Criterion StoredAnswers::criterion(const Bindings& problem) const {
  return record::Objective(spec_).criterion(problem, target_.device);
}

record::LookupResult StoredAnswers::look_up(const Bindings& problem, record::SpecFit& fit) const {
  return view_.look_up(problem, target_.device, fit.rules(), criterion(problem));
}

}  // namespace xtune::cli
