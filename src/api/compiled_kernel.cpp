// A compiled configuration as a kernel: the binary comes from the store, everything else from the sweep that compiled
// it.
#include <fmt/core.h>

#include "api/compiled_build.hpp"
#include "backends/backend.hpp"
#include "core/build/cache.hpp"
#include "core/space/bindings_text.hpp"
#include "dispatch/kernel_state.hpp"
#include "xtune/kernel.hpp"
#include "xtune/tune.hpp"

namespace xtune {

Kernel CompiledConfig::kernel(bool checked) const {
  if (outcome != Outcome::ok)
    throw Error(ErrorKind::nothing_valid,
                fmt::format("{} has no binary ({}): {}", space::shown_text(config), to_string(outcome), message));
  if (!build_)
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{} was not compiled by compile_all: only what that returns is callable",
                            space::shown_text(config)));
  dispatch::Build build = build_->build;
  std::optional<build::Artifact> artifact = build::ArtifactCache(build_->store).find(build.artifact.key);
  if (!artifact)
    throw Error(ErrorKind::unavailable,
                fmt::format("{}: the store {} has no binary {} any more: compile it again", space::shown_text(config),
                            build_->store.string(), build.artifact.key));
  build.artifact = std::move(*artifact);
  dispatch::Parts parts;
  parts.spec = *build_->spec;
  parts.runtime = backend::make_backend(build_->backend)->open_runtime();
  Choice choice;
  choice.config = config;
  choice.reasons = {"the configuration that was compiled; it was not measured"};
  parts.fixed = dispatch::Fixed{build_->spec->cases.front(), std::move(choice), std::move(build)};
  LoadSettings settings;
  settings.backend = build_->backend;
  settings.checked = checked;
  return dispatch::make_kernel(std::move(parts), std::move(settings));
}

}  // namespace xtune
