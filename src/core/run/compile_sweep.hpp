// Compiles configurations without measuring them: the common part of `xtune compile` and the library's compile_all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/resolve/resolve.hpp"
#include "core/run/common_failure.hpp"
#include "core/run/services.hpp"
#include "core/run/target.hpp"
#include "system/event_loop.hpp"

namespace xtune::run {

/// The result of one configuration.
struct SweptConfig {
  std::uint64_t index = 0;  ///< in the space
  bool done = false;        ///< false: the sweep was stopped before its answer arrived
  std::string key;          ///< of its artifact
  Outcome outcome = Outcome::ok;
  std::string message, log;  ///< log: of the compiler
  build::ResourceUsage usage;
  std::vector<build::KernelEntry> entries;  ///< Artifact::entries
  device::LaunchPlan launch;                ///< its own launch; empty if it has none, which is outcome rejected
  double seconds = 0;                       ///< compile time; 0 if the artifact already existed
  bool cached = false;
};

/// Static and dynamic shared memory of a block; of several steps, the maximum. nullopt: the compiler reports none, and
/// the launch has none.
std::optional<std::int64_t> shared_bytes(const SweptConfig& swept);

/// One space for one architecture. Configurations that differ only in launch-only parameters share an artifact: it is
/// compiled once, and each of them is checked with its own launch.
class CompileSweep {
 public:
  /// All references except the texts must outlive it.
  CompileSweep(const spec::Spec& spec, const space::Space& space, const resolve::CandidateResolver& resolver,
               std::string backend, std::filesystem::path store, system::EventLoop& loop, CompileService& compiler);

  /// One answer for each index, in their order. If all fail alike, no more than show that are compiled: then
  /// common_failure() is the message about the others, which are not done. Checks `stopped` after each turn of the
  /// loop; if it is true, jobs in progress are cancelled. Throws the errors of the event loop, such as
  /// Error(unsupported) for an architecture that the compiler does not support; no job of this sweep is in progress
  /// then.
  std::vector<SweptConfig> compile(const std::vector<std::uint64_t>& indices, const std::function<bool()>& stopped,
                                   bool keep_going = false);
  const std::string& common_failure() const noexcept { return given_up_; }
  /// Of the first artifact that has one (build/unread_headers.hpp).
  const std::string& warning() const noexcept { return warning_; }
  /// Sentences about parameters.
  std::vector<std::string> without_effect() const { return images_.without_effect(space_); }

 private:
  void start(SweptConfig& swept);
  void take(SweptConfig& swept, const CompileAnswer& answer);

  const spec::Spec& spec_;
  const space::Space& space_;
  const resolve::CandidateResolver& resolver_;
  std::string backend_;
  std::filesystem::path store_;
  system::EventLoop& loop_;
  CompileService& compiler_;
  CommonFailure common_;
  EqualImages images_;
  std::string given_up_, warning_;
  std::size_t outstanding_ = 0;
  std::map<std::string, std::vector<SweptConfig*>> sharing_;  ///< by key of the artifact
  std::map<std::string, CompileAnswer> answers_;              ///< by key of the artifact
};

/// Which other compilers of the backend compile a configuration that the target's refuses. They are asked, for up to a
/// minute each, and their artifacts go to the store. A sentence for the user; empty: there are no others here.
std::string other_compilers(const spec::Spec& spec, const Bindings& problem, const Target& target,
                            const Bindings& config, const std::filesystem::path& store, system::EventLoop& loop,
                            CompileService& compiler, const std::function<bool()>& stopped);

}  // namespace xtune::run
