// From a configuration of the space to compile requests, launches, arguments and keys.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/build/candidate_failure.hpp"
#include "core/build/keys.hpp"
#include "core/measure/device.hpp"
#include "core/spec/spec.hpp"
#include "core/validate/compare.hpp"
#include "core/validate/inputs.hpp"

namespace xtune::resolve {

/// The texts of a measurement key's parts "problem", "device" and "cpu_quota".
std::string problem_part(const Bindings& problem);
std::string device_part(const device::DeviceInfo& device);
/// "0.5", the CPUs that a control group allows; empty: no limit, or the device is not a CPU, and the key has no such
/// part.
std::string cpu_quota_part(const device::DeviceInfo& device);

/// A configuration for which a text has no value, or one that is not allowed: "gemm.toml:31:9: division by zero in
/// "N // B" (B = 0, N = 64)".
struct NoValue : build::CandidateFailure {
  NoValue(spec::Location at_, std::string complaint_)
      : build::CandidateFailure(Outcome::rejected,
                                at_.file.empty() ? complaint_ : spec::to_string(at_) + ": " + complaint_),
        at(std::move(at_)),
        complaint(std::move(complaint_)) {}
  spec::Location at;
  std::string complaint;  ///< without the place, which must not be part of a key
};

/// One problem on one device. Reads the sources once and parses every text once; cheap for each configuration. spec and
/// space must outlive it. An expression that fails throws Error(invalid_spec) at its place, or
/// CandidateFailure(rejected) with place and values if it uses a parameter. Only launch and scalars do this, so call
/// launch before a request is compiled.
class CandidateResolver {
 public:
  /// store: where earlier compiles left their manifests (build/manifest.hpp); empty: nowhere.
  CandidateResolver(const spec::Spec& spec, const space::Space& space, Bindings problem, device::DeviceInfo device,
                    std::string arch, std::string toolchain_fingerprint, bool sanitize,
                    const std::filesystem::path& store = {});
  ~CandidateResolver();

  /// The problem, "device.*" and the configuration's parameters, as names for expressions.
  Bindings bindings(const space::Config& config) const;

  /// The request, with the files and the toolchain that its key describes. A text without a value for this
  /// configuration is replaced by its error; launch then rejects the configuration.
  build::CompileRequest compile_request(const space::Config& config) const;
  /// The keys that the request's artifact has, depending on the files that its compile reads, as far as earlier
  /// compiles of the source show them; the most likely one first. Only the compile itself shows which one it is.
  std::vector<std::string> artifact_keys(const build::CompileRequest& request) const;
  std::string artifact_key(const build::CompileRequest& request) const { return artifact_keys(request).front(); }
  /// What a compile of this request has read; of_reference: it is the reference's, which is part of each measurement
  /// key.
  void learn(const std::string& source_name, const build::Manifest& manifest, bool of_reference = false) const;
  /// Whether learn() has changed measurement keys since this object was made.
  bool reference_changed() const;
  /// The launches of its kernels; for a program its call. Throws CandidateFailure(rejected) if no step is left, and
  /// where scratch and tensor_maps do; NoValue for a launch that no device supports (zero, negative or beyond 32 bits),
  /// and for a configuration for which a text of the kernel, the launch or an argument has no value.
  device::LaunchPlan launch(const space::Config& config) const;
  /// The arguments by value, encoded, in kernel order; then those that steps give instead, in the order of launches.
  std::vector<measure::ScalarArgument> scalars(const space::Config& config) const;

  /// Which limit of the device forbids this launch: "dynamic shared memory: 262144 bytes, the device allows 232448".
  /// artifact: with the resources that the compiler reported; nullptr before compiling.
  std::optional<std::string> limit_violation(const device::LaunchPlan& launch, const build::Artifact* artifact) const;

  /// The buffer arguments but for scratch, in kernel order. Throws Error(invalid_spec) for a shape that is zero,
  /// negative or larger than limit_bytes (0: this machine's memory).
  std::vector<validate::ArgumentLayout> layouts(std::uint64_t limit_bytes = 0) const;
  /// The scratch buffers, in kernel order, whose fill is zero where every launch is to find zeros. Throws
  /// NoValue for a shape that is zero or negative, or larger than the memory of the device (of this machine, where that
  /// is not known).
  std::vector<validate::ArgumentLayout> scratch(const space::Config& config) const;
  /// The tensor maps, in kernel order. Throws CandidateFailure(rejected) with the argument and the values for one that
  /// the device does not have, Error(invalid_spec) if no configuration could have it.
  std::vector<measure::TensorMap> tensor_maps(const space::Config& config) const;
  /// The constants, in the spec's order; throws as layouts does.
  std::vector<validate::ArgumentLayout> constants(std::uint64_t limit_bytes = 0) const;
  /// The tolerance of each output in the spec. Throws Error(invalid_spec) for a negative reduction length.
  std::vector<std::pair<std::string, validate::ToleranceRule>> tolerances() const;

  /// Artifact key, problem, launch-only parameters, arguments, seed, launch, validation, protocol, device (backend,
  /// vendor, arch, name, compute units), driver, CPU quota. A launch that cannot be resolved counts by its message.
  build::KeyParts measurement_key_parts(const space::Config& config, const std::string& artifact_key) const;
  /// Throws Error(io) with the name of a file that the measurement keys describe and that has changed: data, files of a
  /// reference command, a program's sources. Call it before a measurement is stored.
  void throw_if_data_changed() const;

  /// The configuration whose values the reference has: its own; else that of [dispatch] default; else the first one
  /// that is valid and whose launch the device allows. It does not depend on -D, --filter and the like.
  space::Config reference_config() const;
  /// The parameters on which a reference without its own configuration depends, as far as its texts and sources show,
  /// with their values.
  struct ReferenceValues {
    Bindings values;
    std::vector<std::string> macros;  ///< those that a source names which is not the tuned kernel's
  };
  const ReferenceValues& reference_values() const;
  /// As compile_request and launch, for a reference kernel at reference_config(). Its launch is its own, else the tuned
  /// kernel's. Macros that its options define have the options' values. Whatever fails throws Error(invalid_spec).
  build::CompileRequest reference_request() const;
  device::LaunchPlan reference_launch() const;
  /// The words of [validate] check; none: the spec has none. Throws Error(invalid_spec).
  std::vector<std::string> check_command() const;
  /// Which of the constants the variables of the reference's request are: all where it is of the tuned kernel's source,
  /// else those that its source or a header of it names.
  std::vector<std::size_t> reference_constants() const;

 private:
  friend class MeasurementKeys;
  space::Config default_reference_config() const;
  std::string launch_part(const space::Config& config) const;
  std::string maps_text(const space::Config& config) const;
  void check_sums(const space::Config& config, const std::vector<validate::ArgumentLayout>& scratch) const;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace xtune::resolve
