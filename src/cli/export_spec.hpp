// What `xtune export` takes from a spec.
#pragma once

#include <string>

#include "cli/output.hpp"
#include "core/run/target.hpp"
#include "core/spec/spec.hpp"

namespace xtune::cli {

/// Throws Error(unsupported) for what no exported library has.
void require_exportable(const std::string& path, const spec::Spec& spec, const run::Target& target);
/// Names, expressions, arguments and steps, for the script export.py; the same for all backends of one library.
Json exported_spec(const spec::Spec& spec, const std::string& backend);

}  // namespace xtune::cli
