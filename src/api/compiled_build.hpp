// The data that makes a compiled configuration callable.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/spec/spec.hpp"
#include "dispatch/builder.hpp"

namespace xtune::detail {

struct CompiledBuild {
  std::shared_ptr<const spec::Spec> spec;  ///< with the problem as its only case
  std::string backend;
  std::filesystem::path store;  ///< has the artifact
  dispatch::Build build;        ///< contains only the key of the artifact
};

}  // namespace xtune::detail
