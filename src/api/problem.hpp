// Which problem of a spec a caller means.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/spec/spec.hpp"

namespace xtune {

/// Throws Error(invalid_argument) for more compilers at once than make sense.
void check_jobs(std::size_t jobs);

/// The spec's only case with these values instead of its own. Throws Error(invalid_argument): for a name the problem
/// does not have, a value of another type, and where several cases leave open what is meant.
Bindings choose_problem(const spec::Spec& spec, const Bindings& given);

/// The same for every case; those that are alike then are one.
std::vector<Bindings> choose_problems(const spec::Spec& spec, const Bindings& given);

/// These configurations by their number in the space, each once. Invalid ones are told to `passed_over`. Throws
/// Error(invalid_argument) for one that names other parameters than the space has.
std::vector<Bindings> choose_configs(const space::Space& space, const std::vector<Bindings>& configs,
                                     const std::function<void(const std::string&)>& passed_over);

}  // namespace xtune
