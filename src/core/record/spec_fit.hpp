// Whether stored records are still valid for their spec, which may have changed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/record/lookup.hpp"
#include "core/resolve/resolve.hpp"
#include "core/spec/spec.hpp"

namespace xtune::record {

/// Returns a function for the bucket of a problem on this device: the text of the values of the spec's [dispatch] key;
/// "" for a problem for which the key cannot be evaluated. It holds no reference to the spec. Empty if the spec has no
/// key.
std::function<std::string(const Bindings& problem)> bucket_function(const spec::Spec& spec,
                                                                    const device::DeviceInfo& device);

/// Compares records with a spec that may have changed: parameters renamed, constraints tightened, the source edited.
/// Not for use by several threads at once.
class SpecFit {
 public:
  /// The wanted answer: a problem on a device, compiled for `arch` by `toolchain`. spec must outlive this object.
  /// store: as for CandidateResolver. manifest_of: what the compile of a record's artifact read (build/manifest.hpp);
  /// empty: as the store has it. Throws as make_space does.
  SpecFit(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device, std::string arch,
          std::string toolchain, std::filesystem::path store = {},
          std::function<build::Manifest(const std::string& artifact_key)> manifest_of = {});
  ~SpecFit();

  /// Why the record's configuration is not in the spec's space for this problem and device, or empty.
  std::string obstacle(const Record& record) const;
  /// How the record's key differs from the one that its configuration, problem and device would have today, one line
  /// each (stored -> today). Seed and protocol are ignored: they describe how carefully the time was measured, not what
  /// was measured. The driver counts if the device's is known and the record is from this kind of device. The record
  /// must have no obstacle.
  std::vector<std::string> differences(const Record& record);

  /// Obstacle, differences and bucket for look_up; they refer to this object.
  LookupRules rules();

 private:
  const resolve::CandidateResolver& resolver_for(const Record& record);

  const spec::Spec& spec_;
  const space::Space space_;
  const device::DeviceInfo device_;
  const std::string arch_, toolchain_;
  const std::filesystem::path store_;
  std::function<build::Manifest(const std::string& artifact_key)> manifest_of_;
  const std::function<std::string(const Bindings&)> bucket_;
  std::map<std::string, std::unique_ptr<resolve::CandidateResolver>> resolvers_;  ///< by problem and device
};

}  // namespace xtune::record
