// Compiled kernels for configurations: from the store, or from a compiler if the store has none; and loaded, with what
// the variables of their source hold.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/runtime.hpp"
#include "core/build/cache.hpp"
#include "core/resolve/resolve.hpp"
#include "core/store/bundle.hpp"
#include "core/store/record.hpp"

namespace xtune::dispatch {

struct Build {
  build::Artifact artifact;
  device::LaunchPlan launch;
  std::vector<measure::ScalarArgument> scalars;  ///< all scalars of the spec, in kernel order
  std::vector<std::uint64_t> scratch_bytes{};    ///< of each scratch buffer, in kernel order
  std::vector<validate::ArgumentLayout> constants{};
  std::vector<measure::TensorMap> maps{};  ///< in kernel order
};

/// All of a build but its artifact. Throws CandidateFailure(rejected) for a configuration that has no launch.
Build build_without_artifact(const resolve::CandidateResolver& resolver, const space::Config& config);

/// Bytes of each scratch buffer. Throws CandidateFailure(rejected) for one that no device of this kind can hold.
std::map<std::string, std::uint64_t> scratch_of(const spec::Spec& spec, const Bindings& problem,
                                                const device::DeviceInfo& device, const Bindings& config);

/// The store has no such artifact, and it may not or cannot be compiled.
struct NotStored : Error {
  using Error::Error;
};

/// Returns the compiler for an architecture. Throws Error(unavailable).
using OpenToolchain = std::function<std::unique_ptr<build::Toolchain>(const std::string& arch)>;

/// Thread-safe.
class Builder {
 public:
  using Usable = std::function<bool(const build::Artifact&)>;
  /// store: empty: only the bundle is used. bundle: artifacts in addition to the store's; may be null. usable: other
  /// stored artifacts count as missing. open: called at the first use for an architecture; empty: never compile.
  Builder(std::filesystem::path store, std::shared_ptr<const store::Bundle> bundle, Usable usable, OpenToolchain open,
          std::function<void(const std::string&)> say);

  /// Builds one configuration of the space for this problem and device. record: the measurement that is used, or
  /// nullptr. The artifact that it names is loaded only if it is the measured one; any other artifact only if it is of
  /// today's source. toolchains: whose artifacts are as good as the own compiler's; archs: architectures of usable
  /// artifacts; `archs.front()` is compiled for. Throws CandidateFailure for a configuration that has no launch or does
  /// not compile, NotStored, and Error(io) if a source cannot be read.
  Build build(const spec::Spec& spec, const space::Space& space, const Bindings& problem,
              const device::DeviceInfo& device, const space::Config& config, const store::Record* record,
              const std::vector<std::string>& toolchains, const std::vector<std::string>& archs);

  /// Adds an artifact that counts as stored.
  void remember(build::Artifact artifact);

 private:
  /// The compiler for an architecture, or why there is none.
  struct Opened {
    std::unique_ptr<build::Toolchain> toolchain;
    std::string lack;
  };
  Opened& toolchain(const std::string& arch);

  /// record: as for build. An artifact with another image than that record measured counts as missing, as does a
  /// damaged one of the bundle; both are reported.
  std::optional<build::Artifact> find(const std::string& key, const store::Record* record) const;

  /// What the compile of a known artifact read; empty: nothing else than its source shows, or unknown.
  build::Manifest manifest_of_artifact(const std::string& key) const;

  std::optional<build::ArtifactCache> cache_;  ///< unset: no store
  const std::filesystem::path store_;
  const std::shared_ptr<const store::Bundle> bundle_;
  const Usable usable_;
  const OpenToolchain open_;
  const std::function<void(const std::string&)> say_;
  mutable std::mutex remembered_mutex_;
  std::map<std::string, build::Artifact> remembered_;  ///< by key
  std::atomic<bool> told_not_kept_{false};
  std::mutex mutex_;
  std::map<std::string, Opened> toolchains_;  ///< by architecture
};

/// The constants of one kernel. Each kernel has its own modules for them, so that two kernels of one spec can hold
/// different contents. Thread-safe; spec outlives it.
class Constants {
 public:
  explicit Constants(const spec::Spec& spec) : spec_(spec) {}

  /// From now on: copied, and written to all modules that are loaded, once what is queued in their contexts has ended.
  /// Throws Error(invalid_argument) for a name that is not a constant, and for contents of another type (unset: not
  /// known) or too large; Error(unavailable) where the driver cannot copy.
  void set(const std::string& name, std::optional<DType> dtype, std::span<const std::byte> contents,
           backend::Runtime& runtime);

  /// Loads the kernel of each step of the build, with their variables filled: by what was set, else by the spec's value
  /// or file. Throws as Launcher::load does, CandidateFailure(launch_failed) for a variable that is smaller than the
  /// spec's constant, and Error(invalid_argument) for a constant without contents or with more than its variable holds.
  std::vector<backend::LoadedKernel> load(const Build& build, backend::Runtime& runtime);

 private:
  struct Module {
    std::uintptr_t context = 0;
    std::vector<backend::LoadedVariable> variables;  ///< in the order of the spec's constants
  };
  std::vector<std::byte> contents_of(const validate::ArgumentLayout& layout) const;
  void write(backend::Runtime& runtime, const validate::ArgumentLayout& layout,
             const backend::LoadedVariable& variable) const;

  const spec::Spec& spec_;
  std::mutex mutex_;
  std::map<std::string, std::vector<std::byte>> given_;
  std::map<const void*, Module> modules_;  ///< by the address of their first variable
};

/// Throws Error(unsupported): a result's binary does not tell where its variables are.
void require_no_constants(const spec::Spec& spec);

}  // namespace xtune::dispatch
