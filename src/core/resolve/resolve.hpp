// From a configuration of the space to what is compiled, launched and asked: requests, launches, arguments and keys.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/build/keys.hpp"
#include "core/measure/device.hpp"
#include "core/spec/spec.hpp"
#include "core/validate/compare.hpp"
#include "core/validate/inputs.hpp"

namespace xtune::resolve {

/// The texts of a measurement key's parts "problem", "device" and "cpu_quota".
std::string problem_part(const Bindings& problem);
std::string device_part(const device::DeviceInfo& device);
/// "0.5", the CPUs that a control group allows; empty: all, or the device is no CPU, and the key has no such part.
std::string cpu_quota_part(const device::DeviceInfo& device);

/// A scalar argument as the kernel takes it. nullopt: the value does not fit the type, or is a text.
std::optional<measure::ScalarArgument> encode_scalar(DType type, const Value& value);

/// One problem on one device. Reads the sources once, parses every text once; cheap per configuration. spec and space
/// outlive it. Expressions that fail throw Error(invalid_spec) at their place, where a parameter has a part in it
/// CandidateFailure(rejected) with place and values: launch and scalars do, so a request is compiled only after launch.
class CandidateResolver {
 public:
  CandidateResolver(const spec::Spec& spec, const space::Space& space, Bindings problem, device::DeviceInfo device,
                    std::string arch, std::string toolchain_fingerprint, bool sanitize);
  ~CandidateResolver();

  /// The problem, "device.*" and the configuration's parameters, as expressions see them.
  Bindings bindings(const space::Config& config) const;
  /// Parameter name -> value.
  Bindings config_bindings(const space::Config& config) const;

  /// With the files and the toolchain that its key describes. A text without a value for this configuration stands as
  /// what went wrong with it; launch then rejects it.
  build::CompileRequest compile_request(const space::Config& config) const;
  std::string artifact_key(const build::CompileRequest& request) const;
  /// Of a program: its call, and no shape. Throws CandidateFailure(rejected) for a launch that no device takes (zero,
  /// negative or beyond 32 bits) and for a configuration for which a text of the kernel, the launch or an argument has
  /// no value.
  device::Launch launch(const space::Config& config) const;
  /// The scalar arguments, encoded, in kernel order.
  std::vector<measure::ScalarArgument> scalars(const space::Config& config) const;

  /// Which limit of the device forbids this launch: "dynamic shared memory: 262144 bytes, the device allows 232448".
  /// usage: what the compiler reported, nullptr before compiling.
  std::optional<std::string> limit_violation(const device::Launch& launch, const build::ResourceUsage* usage) const;

  /// The buffer arguments but for scratch, in kernel order. Throws Error(invalid_spec) for a shape that is zero,
  /// negative or larger than limit_bytes (0: this machine's memory).
  std::vector<validate::ArgumentLayout> layouts(std::uint64_t limit_bytes = 0) const;
  /// The scratch buffers, in kernel order, whose fill is zero where every launch is to find zeros. Throws
  /// CandidateFailure(rejected) for a shape that is zero or negative, or larger than the memory of the device (of this
  /// machine, where that is not known).
  std::vector<validate::ArgumentLayout> scratch(const space::Config& config) const;
  /// The constants, in the spec's order; throws as layouts does.
  std::vector<validate::ArgumentLayout> constants(std::uint64_t limit_bytes = 0) const;
  /// What the spec says of the tolerance of each output. Throws Error(invalid_spec) for a negative reduction length.
  std::vector<std::pair<std::string, validate::ToleranceRule>> tolerances() const;

  /// Artifact key, problem, launch-only parameters, arguments, seed, launch, validation, protocol, device (backend,
  /// vendor, arch, name, compute units), driver, CPU quota. A launch that cannot be resolved counts by its message.
  build::KeyParts measurement_key_parts(const space::Config& config, const std::string& artifact_key) const;
  /// Throws Error(io) that names the file where one that the measurement keys describe has changed: data, files of a
  /// reference command, a program's sources. To be asked before what was measured is stored.
  void throw_if_data_changed() const;

  /// The configuration whose values the reference kernel has: its own, else config.
  space::Config reference_config(const space::Config& config) const;
  /// The same for a reference kernel. Its launch is its own, else the tuned kernel's in `config`. Macros that its
  /// options define have the options' values. One configuration stands for all here: whatever fails throws
  /// Error(invalid_spec).
  build::CompileRequest reference_request(const space::Config& config) const;
  device::Launch reference_launch(const space::Config& config) const;
  /// The words of [validate] check; none: the spec has none. Throws Error(invalid_spec).
  std::vector<std::string> check_command() const;
  /// Which of the constants the variables of the reference's request are: all where it is of the tuned kernel's source,
  /// else those that its source or a header of it names.
  std::vector<std::size_t> reference_constants(const space::Config& config) const;
  std::string reference_artifact_key(const build::CompileRequest& request) const;

 private:
  friend class MeasurementKeys;
  std::string launch_part(const space::Config& config) const;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace xtune::resolve
