// Ranking the configurations of a space by a model of the hardware, before anything is measured.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/model/work.hpp"
#include "core/space/space.hpp"
#include "core/spec/spec.hpp"

namespace xtune::model {

enum class RankMode {
  model,   ///< time, estimated from traffic, waves, occupancy, latency, shared memory and peaks
  carver,  ///< (traffic + 1) * waves, as TileLang's carver counts them
};

struct RankOptions {
  std::size_t top_k = 20;
  RankMode mode = RankMode::model;
  /// Spaces up to this size are scored completely; for larger ones, a uniform sample of `sample` configurations,
  /// improved by moving to better neighbours.
  std::uint64_t whole = 2'000'000, sample = 200'000;
  std::uint64_t seed = 1;
};

struct RankedConfig {
  std::uint64_t index = 0;  ///< in the space
  double cost = 0;          ///< model: estimated ms; carver: bytes * waves
  std::string reason;
  std::optional<Estimate> estimate;  ///< only for mode model
};

struct Ranking {
  std::vector<RankedConfig> configs;  ///< by cost, at most top_k; only configurations that fit the device
  std::vector<std::uint64_t> order;   ///< the 1,000 cheapest, of any family
  std::uint64_t scored = 0, unfit = 0;
  bool whole = true;   ///< the whole space was scored
  std::string misfit;  ///< why the first configuration that does not fit does not fit
};

/// The configurations of `space` that the spec's [candidates] section rates best on a device. Only one of several with
/// equal properties is listed, and at most a quarter of top_k come from one family (same tile and threads) while others
/// are available. Pure: the same arguments give the same result. Throws Error(invalid_spec), at its place, for an error
/// in the template, a field or a mapped expression, also if a value is out of its field's range in every configuration;
/// Error(nothing_valid) if no configuration fits the device, or a size is above the maximum of the model.
Ranking rank_candidates(const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                        const device::DeviceModel& device, const RankOptions& options);

/// The model's time of a configuration in milliseconds; NaN: it does not fit the device. spec and space must outlive
/// the function, which threads must not share. Throws Error(invalid_spec) as rank_candidates.
std::function<double(std::uint64_t)> estimator(const spec::Spec& spec, const space::Space& space,
                                               const Bindings& problem, const device::DeviceInfo& device);

struct Suggestions {
  std::optional<Ranking> ranking;  ///< nullopt: the model has nothing to say
  std::string refused;             ///< why the model cannot rank this problem on this device
};

/// The ranking, for code that goes on without one: nothing without [candidates] and on a CPU, which the model does not
/// know; `refused` where no configuration fits, the device is unknown, or a size is above the model's maximum. top_k:
/// instead of the spec's. Throws Error(invalid_spec).
Suggestions suggest(const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                    const device::DeviceInfo& device, std::optional<std::size_t> top_k = {});

/// What runs for a problem without a measurement: the spec's [dispatch] default, if the space has it; else the first of
/// `ranked`, what [candidates] rate best; else the first of the space. nullopt: the space is empty.
std::optional<std::uint64_t> default_index(const spec::Spec& spec, const space::Space& space,
                                           std::span<const std::uint64_t> ranked);

/// That configuration, and those to try after it if it does not run: the best by [candidates], then the first of the
/// space. Up to `most`; the indices in the space, each once. Throws Error(invalid_spec).
std::vector<std::uint64_t> default_order(const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                                         const device::DeviceInfo& device, std::size_t most);

/// The element type for the model: that of [candidates], else that of the first input buffer.
DType input_type(const spec::Spec& spec, const Bindings& problem);

/// Mode and number from spec.candidates.
RankOptions rank_options(const spec::CandidatesSpec& spec);

/// Checks the template's name, unknown fields and missing fields, which only this stage can check. Throws
/// Error(invalid_spec).
void check_candidates(const spec::Spec& spec);

/// Evaluates the mapped fields for up to 1,000 configurations of the space. Throws Error(invalid_spec), at its place,
/// for an expression that fails or gives a string, and for fields that are out of their ranges in all of them. Returns
/// why the model cannot rank this problem although the spec is valid: a size above the maximum of the model.
std::optional<std::string> check_fields(const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                                        const Bindings& device_facts);

/// A spec of only the template: its default parameters for this device, mapped to the fields of the same names. Throws
/// Error(invalid_argument) for an unknown template or type, and for sizes that are missing, unknown or out of range.
spec::Spec template_spec(const std::string& template_name, const std::string& dtype, const Bindings& problem,
                         const device::DeviceModel& device);

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
