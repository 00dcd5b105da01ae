// What a spec says today of the records that it left in a store.
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

/// Tells the bucket of a problem on this device: the text of the values of the spec's [dispatch] key; "" for a problem
/// that the key cannot be evaluated for. Holds no reference to the spec. Empty where the spec has no key.
std::function<std::string(const Bindings& problem)> bucket_function(const spec::Spec& spec,
                                                                    const device::DeviceInfo& device);

/// A spec changes while its records stay: parameters are renamed, constraints tightened, the source edited. Not for use
/// by several threads at once.
class SpecFit {
 public:
  /// What is asked for: a problem on a device, compiled for `arch` by `toolchain`. spec outlives it. Throws as
  /// make_space does.
  SpecFit(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device, std::string arch,
          std::string toolchain);
  ~SpecFit();

  /// Why the record's configuration is none of the spec's for this problem and device, or empty.
  std::string obstacle(const Record& record) const;
  /// How the record's key differs from the one that its configuration, problem and device would have today, a line each
  /// (stored -> today). Seed and protocol are left out: they say how carefully was measured, not what. The driver
  /// counts where the device's is known and the record is of this kind of device. No obstacle may stand against the
  /// record.
  std::vector<std::string> differences(const Record& record);

  /// Both and the bucket, for look_up; they borrow this.
  LookupRules rules();

 private:
  const resolve::CandidateResolver& resolver_for(const Record& record);

  const spec::Spec& spec_;
  const space::Space space_;
  const device::DeviceInfo device_;
  const std::string arch_, toolchain_;
  const std::function<std::string(const Bindings&)> bucket_;
  std::map<std::string, std::unique_ptr<resolve::CandidateResolver>> resolvers_;  ///< by problem and device
};

}  // namespace xtune::record
