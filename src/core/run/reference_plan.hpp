// How the expected outputs of a problem will be made: compiles the reference kernel if there is one.
#pragma once

#include <filesystem>
#include <functional>

#include "core/resolve/resolve.hpp"
#include "core/target/target.hpp"
#include "ipc/services.hpp"

namespace xtune::run {

/// Has the lifetime of a run. If a reference cannot be made, it throws Error(invalid_spec) with the compiler's log;
/// Error(io) if the compiler crashed or was killed.
class ReferenceBuilder {
 public:
  ReferenceBuilder(const spec::Spec& spec, const resolve::CandidateResolver& resolver, const target::Target& target,
                   std::filesystem::path store, std::filesystem::path scratch);
  /// done is called from the event loop, or at once if nothing has to be compiled.
  void build(ipc::CompileService& compiler, std::function<void(ipc::ReferencePlan)> done);

 private:
  ipc::ReferencePlan plan_builtin() const;
  const spec::Spec& spec_;
  const resolve::CandidateResolver& resolver_;
  const target::Target& target_;
  std::filesystem::path store_, scratch_;
};

}  // namespace xtune::run
