// How the expected outputs of a problem will be made: compiles the reference kernel where there is one.
#pragma once

#include <filesystem>
#include <functional>

#include "core/resolve/resolve.hpp"
#include "core/target/target.hpp"
#include "ipc/services.hpp"

namespace xtune {

/// Lives as long as a run. A reference that cannot be made is the spec's fault: Error(invalid_spec) with the compiler's
/// log; Error(io) where its compiler crashed or was killed.
class ReferenceBuilder {
 public:
  ReferenceBuilder(const Spec& spec, const CandidateResolver& resolver, const Target& target,
                   std::filesystem::path store, std::filesystem::path scratch);
  /// config: whose launch a reference kernel without its own borrows. done is called from the event loop, or at once
  /// where nothing has to be compiled.
  void build(const Config& config, CompileService& compiler, std::function<void(ReferencePlan)> done);

 private:
  ReferencePlan plan_builtin(const Config& config) const;
  const Spec& spec_;
  const CandidateResolver& resolver_;
  const Target& target_;
  std::filesystem::path store_, scratch_;
};

}  // namespace xtune
