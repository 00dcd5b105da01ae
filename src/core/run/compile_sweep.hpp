// Compiles configurations without measuring them: what `xtune compile` and compile_all of the library share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/resolve/resolve.hpp"
#include "ipc/services.hpp"

namespace xtune::run {

/// What became of one configuration.
struct SweptConfig {
  std::uint64_t index = 0;  ///< of the space
  bool done = false;        ///< false: the sweep was stopped before its answer came
  std::string key;          ///< of its artifact
  Outcome outcome = Outcome::ok;
  std::string message, log;  ///< log: the compiler's
  build::ResourceUsage usage;
  device::Launch launch;  ///< its own; empty where it has none, which is outcome rejected
  double seconds = 0;     ///< of compiling; 0 where the artifact was there
  bool cached = false;
};

/// One space for one architecture. Configurations that differ in launch-only parameters share an artifact: it is
/// compiled once, and each of them is judged by its own launch.
class CompileSweep {
 public:
  /// All but the texts outlive it.
  CompileSweep(const spec::Spec& spec, const space::Space& space, const resolve::CandidateResolver& resolver,
               std::string backend, std::filesystem::path store, base::EventLoop& loop, ipc::CompileService& compiler);

  /// One answer for each index, in their order. Looks at `stopped` after each turn of the loop; when it is true, what
  /// is under way is cancelled. Throws what the event loop throws, such as Error(unsupported) for an architecture that
  /// the compiler does not know; nothing of this sweep is under way then.
  std::vector<SweptConfig> compile(const std::vector<std::uint64_t>& indices, const std::function<bool()>& stopped);

 private:
  void start(SweptConfig& swept);
  void take(SweptConfig& swept, const ipc::CompileAnswer& answer) const;

  const spec::Spec& spec_;
  const space::Space& space_;
  const resolve::CandidateResolver& resolver_;
  std::string backend_;
  std::filesystem::path store_;
  base::EventLoop& loop_;
  ipc::CompileService& compiler_;
  std::size_t outstanding_ = 0;
  std::map<std::string, std::vector<SweptConfig*>> sharing_;  ///< by the key of the artifact
};

}  // namespace xtune::run
