// Checks of a spec that need more than the spec: names that later stages define.
#pragma once

#include "core/spec/spec.hpp"

namespace xtune::run {

/// Checks that the search strategy exists; that a builtin reference exists, has exactly the arrays it needs, bound to
/// buffer arguments, and has only words it knows. Throws Error(invalid_spec) at the place of the word, with the nearest
/// valid one.
void check_spec(const spec::Spec& spec);

}  // namespace xtune::run
