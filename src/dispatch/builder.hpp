// Compiled kernels for configurations: from the store, and from a compiler only where the store has none.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/build/cache.hpp"
#include "core/record/record.hpp"
#include "core/resolve/resolve.hpp"
#include "core/store/bundle.hpp"

namespace xtune::dispatch {

struct Build {
  build::Artifact artifact;
  device::Launch launch;
  std::vector<measure::ScalarArgument> scalars;  ///< all of the spec's, in kernel order
  std::vector<std::uint64_t> scratch_bytes{};    ///< of each scratch buffer, in kernel order
  std::vector<validate::ArgumentLayout> constants{};
};

/// Bytes of each scratch buffer. Throws CandidateFailure(rejected) for one that no device of this kind can hold.
std::map<std::string, std::uint64_t> scratch_of(const spec::Spec& spec, const Bindings& problem,
                                                const device::DeviceInfo& device, const Bindings& config);

/// The store has no such artifact, and nothing may or can compile it.
struct NotStored : Error {
  using Error::Error;
};

/// Thread-safe.
class Builder {
 public:
  /// bundle: artifacts beside the store's; may be null. open: the compiler, asked for when it is first needed; empty:
  /// never.
  Builder(std::filesystem::path store, std::shared_ptr<const store::Bundle> bundle,
          std::function<std::unique_ptr<build::Toolchain>()> open, std::function<void(const std::string&)> say);

  /// One configuration of the space for this problem and device. record: the measurement that answers, or nullptr; an
  /// artifact that it names is loaded only as it measured it, any other one when it is of today's source. toolchains:
  /// whose artifacts will do as well as the own compiler's; archs: what may be compiled for, and `archs.front()` is.
  /// Throws CandidateFailure for a configuration that has no launch or does not compile, NotStored, and Error(io) for a
  /// source that cannot be read.
  Build build(const spec::Spec& spec, const space::Space& space, const Bindings& problem,
              const device::DeviceInfo& device, const space::Config& config, const record::Record* record,
              const std::vector<std::string>& toolchains, const std::vector<std::string>& archs);

  /// An artifact that counts as the store's.
  void remember(build::Artifact artifact);

 private:
  build::Toolchain* toolchain();

  /// record: as build has it. One of another image than that record measured counts as none, as does a damaged one of
  /// the bundle; both are told.
  std::optional<build::Artifact> find(const std::string& key, const record::Record* record) const;

  build::ArtifactCache cache_;
  const std::shared_ptr<const store::Bundle> bundle_;
  const std::function<std::unique_ptr<build::Toolchain>()> open_;
  const std::function<void(const std::string&)> say_;
  mutable std::mutex remembered_mutex_;
  std::map<std::string, build::Artifact> remembered_;  ///< by key
  std::atomic<bool> told_not_kept_{false};
  std::mutex mutex_;
  std::unique_ptr<build::Toolchain> toolchain_;
  std::string lack_;  ///< why there is no compiler
};

}  // namespace xtune::dispatch
