// The arithmetic and memory traffic of measured configurations, according to the cost model.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/model/work.hpp"
#include "core/space/space.hpp"
#include "core/spec/spec.hpp"

namespace xtune::model {

/// The work of one launch.
struct ModelledWork {
  double flops = 0, memory_bytes = 0;
  device::Rate rate = device::Rate::f32;
};

/// The work of these configurations by the spec's [candidates]; the space must have the spec's parameters. nullopt: a
/// field is out of its range. Empty: the spec has no such section, or the model does not support the kernel or the
/// device.
std::vector<std::optional<ModelledWork>> modelled_work(const spec::Spec& spec, const space::Space& space,
                                                       const Bindings& problem, const device::DeviceModel& device,
                                                       std::span<const std::uint64_t> indices);

}  // namespace xtune::model
