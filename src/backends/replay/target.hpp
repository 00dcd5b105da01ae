// The inputs of a run that is answered from recordings: the recording, the device and the spec.
#pragma once

#include <string>
#include <vector>

#include "core/replay/recording.hpp"
#include "core/spec/spec.hpp"
#include "core/target/target.hpp"

namespace xtune::replay {

/// The recording of this problem: of the spec's kernel if there is one, and of the device architecture `arch` unless
/// that is empty. device: number among the remaining ones. Throws Error(invalid_argument) with a list of the
/// recordings.
const Recording& choose_recording(const std::vector<Recording>& recordings, const spec::Spec& spec,
                                  const Bindings& problem, const std::string& arch, int device);

/// The recorded device under the backend "replay", whose records do not count as measurements. Its toolchain is the
/// recording's name and a digest of its contents, so that records of different recordings are distinguished.
target::Target target_of(const Recording& recording);

/// Makes every parameter a compile-time one, so that each configuration has its own artifact, by which it is found.
/// Removes the reference and the commands of a program, as nothing is computed. Switches off race and finals, as a
/// recording already has its samples.
void prepare(spec::Spec& spec);

/// The number of configurations of the space that are recorded. Throws Error(invalid_argument) if there are none: the
/// recording is of another space.
std::uint64_t recorded_of(const space::Space& space, const Recording& recording);

}  // namespace xtune::replay
