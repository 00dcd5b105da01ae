// Computes the work of each configuration with its template.
#include "core/model/modelled_work.hpp"

#include "core/model/field_table.hpp"
#include "core/model/rank.hpp"
#include "xtune/error.hpp"

namespace xtune::model {

std::vector<std::optional<ModelledWork>> modelled_work(const spec::Spec& spec, const space::Space& space,
                                                       const Bindings& problem, const device::DeviceModel& device,
                                                       std::span<const std::uint64_t> indices) try {
  std::vector<std::optional<ModelledWork>> result;
  const CandidateTemplate* const candidate = spec.candidates ? find_template(spec.candidates->template_name) : nullptr;
  if (!candidate) return result;
  FieldTable fields(spec, space, problem, device::device_facts(device.info), *candidate);
  for (const std::uint64_t index : indices) {
    const FieldValues values = fields.values(space.value_indices(index));
    if (fields.complaint()) {
      result.emplace_back();
      continue;
    }
    const Work work = candidate->work(values, device, input_type(spec, problem));
    result.push_back(ModelledWork{work.flops * work.blocks, work.memory_bytes, work.rate});
  }
  return result;
} catch (const Error&) {
  return {};
}

}  // namespace xtune::model
