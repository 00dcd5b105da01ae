// The checks of a spec that need more than the spec: names that later stages give meaning to.
#pragma once

#include "core/spec/spec.hpp"

namespace xtune::run {

/// The search strategy exists; a builtin reference exists, has the arrays it needs, bound to buffer arguments, and no
/// others, and the words it knows. Throws Error(invalid_spec) at the place of the word, naming the nearest valid one.
void check_spec(const spec::Spec& spec);

}  // namespace xtune::run
