// What the library's other parts see of a Tunable: its spec, its space and what is attached to it.
#pragma once

#include <functional>
#include <string>

#include "core/spec/spec.hpp"
#include "xtune/tunable.hpp"

namespace xtune {

/// The parsed spec, with the overlay of a backend where one is named. Data and callbacks are not in it; sources given
/// as text lie in files that live as long as the Tunable or a copy of it. Throws Error(invalid_spec).
spec::Spec spec_of(const Tunable& tunable, const std::string& backend = {});

/// Narrows the spec to what the Tunable's predicates allow for this problem on this device: spec.configs holds the rows
/// then. Nothing without predicates. Throws Error(nothing_valid); Error(invalid_argument) for a name that is no
/// parameter and for a space too large to ask one by one; and what a predicate throws.
void apply_predicates(const Tunable& tunable, spec::Spec& spec, const Bindings& problem, const Bindings& device_facts,
                      const std::function<void()>& poll = {});

}  // namespace xtune
