// Checks of a spec that need more than the spec, such as names that later stages define, and its reference for a
// worker.
#pragma once

#include <optional>
#include <string>

#include "core/resolve/resolve.hpp"
#include "core/run/services.hpp"
#include "core/space/space.hpp"
#include "core/spec/spec.hpp"

namespace xtune::run {

/// The search strategy exists; a builtin reference exists, has the arrays it needs, bound to buffer arguments, and no
/// others, and the words it knows; a reference kernel's options define no parameter whose value its launch has from
/// elsewhere. Throws Error(invalid_spec) at the place of the word, naming the nearest valid one.
void check_spec(const spec::Spec& spec);

/// Throws Error(nothing_valid) if no configuration of the space can be launched: each has a launch, scratch buffer,
/// tensor map or scalar that is not allowed, or that exceeds a limit of the resolver's device. Of a space that is too
/// large, 2^18 configurations are tried; if none of them can be launched, returns a sentence that says so.
std::optional<std::string> check_launches(const spec::Spec& spec, const space::Space& space,
                                          const resolve::CandidateResolver& resolver);

/// Throws Error(unsupported) at a goal that needs energy_j on a CPU. Whether a GPU counts energy shows when it is
/// measured.
void check_objective(const spec::Spec& spec, const device::DeviceInfo& device);

/// A reference that is not a kernel, without its kind, place and name.
ReferencePlan plan_contents(const spec::Spec& spec, const resolve::CandidateResolver& resolver);

/// Throws Error(invalid_spec) at the reference's place where it is a file that does not hold what its output holds, or
/// a builtin that does not fit the arguments. limit_bytes: as for CandidateResolver::layouts.
void check_reference(const spec::Spec& spec, const resolve::CandidateResolver& resolver, std::uint64_t limit_bytes = 0);

}  // namespace xtune::run
