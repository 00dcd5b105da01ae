// Data that the bench workers need before the first configuration: inputs, reference, and the kernel that checks both.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "core/resolve/resolve.hpp"
#include "core/run/services.hpp"
#include "core/spec/spec.hpp"

namespace xtune::run {

struct RunParts;

/// A reference that is not a kernel, without its kind, place and name.
ReferencePlan plan_contents(const spec::Spec& spec, const resolve::CandidateResolver& resolver);

/// Compiles the reference kernel and the check kernel, if there are any, and then gives the problem to all devices.
class ProblemSetup {
 public:
  explicit ProblemSetup(RunParts& run) : run_(run) {}

  /// Call it before each configuration is compiled, so that the device need not wait for its reference behind the whole
  /// queue; later calls do nothing. If a reference cannot be made, Error leaves the event loop: invalid_spec with the
  /// compiler's log; io if the compiler crashed or was killed.
  void prepare();
  bool done() const noexcept { return done_; }
  /// Call it after CompileService::cancel_all: unfinished steps start again with the next prepare.
  void restart();

 private:
  using CheckKernel = std::pair<std::optional<build::Artifact>, std::optional<CompileJob>>;
  using Reference = std::pair<ReferencePlan, std::optional<CompileJob>>;
  void compile_check_kernel(std::function<void(CheckKernel)> done);
  void make_reference(std::function<void(Reference)> done);
  void open(Reference reference, CheckKernel check_kernel);

  RunParts& run_;
  bool begun_ = false, done_ = false;
};

}  // namespace xtune::run
