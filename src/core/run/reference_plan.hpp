// How the expected outputs of a problem will be made: compiles the reference kernel where there is one.
#pragma once

#include <filesystem>
#include <functional>

#include "core/resolve/resolve.hpp"
#include "core/target/target.hpp"
#include "ipc/services.hpp"

namespace xtune::run {

/// Lives as long as a run. A reference that cannot be made is the spec's fault: Error(invalid_spec) with the compiler's
/// log; Error(io) where its compiler crashed or was killed.
class ReferenceBuilder {
 public:
  ReferenceBuilder(const spec::Spec& spec, const resolve::CandidateResolver& resolver, const target::Target& target,
                   std::filesystem::path store, std::filesystem::path scratch);
  /// config: whose launch a reference kernel without its own borrows. done is called from the event loop, or at once
  /// where nothing has to be compiled.
  void build(const space::Config& config, ipc::CompileService& compiler, std::function<void(ipc::ReferencePlan)> done);

 private:
  ipc::ReferencePlan plan_builtin(const space::Config& config) const;
  const spec::Spec& spec_;
  const resolve::CandidateResolver& resolver_;
  const target::Target& target_;
  std::filesystem::path store_, scratch_;
};

}  // namespace xtune::run
