// How much arithmetic and memory traffic the cost model sees in measured configurations.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/model/work.hpp"
#include "core/space/space.hpp"
#include "core/spec/spec.hpp"

namespace xtune::model {

/// Of one launch.
struct ModelledWork {
  double flops = 0, memory_bytes = 0;
  device::Rate rate = device::Rate::f32;
};

/// By the spec's [candidates] for these configurations of a space with the spec's parameters; nullopt: a field is out
/// of its range. Empty: the spec has no such section, or the model does not know the kernel or the device.
std::vector<std::optional<ModelledWork>> modelled_work(const spec::Spec& spec, const space::Space& space,
                                                       const Bindings& problem, const device::DeviceModel& device,
                                                       std::span<const std::uint64_t> indices);

}  // namespace xtune::model
