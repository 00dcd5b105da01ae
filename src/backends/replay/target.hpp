// What a run needs to know to be served from recordings: which recording, which device, which spec.
#pragma once

#include <string>
#include <vector>

#include "core/replay/recording.hpp"
#include "core/spec/spec.hpp"
#include "core/target/target.hpp"

namespace xtune::replay {

/// The recordings of this problem: of the spec's kernel where any is, of its device architecture where arch is not
/// empty. device counts among those that are left. Throws Error(invalid_argument) that says what the recordings hold.
const Recording& choose_recording(const std::vector<Recording>& recordings, const spec::Spec& spec,
                                  const Bindings& problem, const std::string& arch, int device);

/// The recorded device under the backend "replay", whose records are nobody's measurements; its toolchain names the
/// recording and a digest of what it holds, so that records of one are not taken for another's.
target::Target target_of(const Recording& recording);

/// Every parameter becomes one of compiling, so that each configuration has an artifact of its own to be known by; the
/// reference and the commands of a program are dropped, as nothing is computed; without race and finals, as a recording
/// has its samples already.
void prepare(spec::Spec& spec);

/// How many configurations of the space are recorded. Throws Error(invalid_argument) when none is: a recording of
/// another space.
std::uint64_t recorded_of(const space::Space& space, const Recording& recording);

}  // namespace xtune::replay
