// What an application names is checked against the spec, and against what xtune knows.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/spec/spec.hpp"
#include "xtune/dtype.hpp"

namespace xtune {

/// Throws Error(invalid_argument) for an unreasonable number of compilers.
void check_jobs(std::size_t jobs);

/// The spec's only case, with its values replaced by these. Throws Error(invalid_argument) for a name that the problem
/// does not have, a value of another type, and if several cases match.
Bindings choose_problem(const spec::Spec& spec, const Bindings& given);

/// The same for every case; cases that become equal are merged.
std::vector<Bindings> choose_problems(const spec::Spec& spec, const Bindings& given);

/// Throws Error(invalid_argument) for a configuration that has other names than these parameters, and for a value that
/// is not among its parameter's.
void require_values(const std::vector<space::Parameter>& parameters, const Bindings& config, const std::string& where);

/// These configurations by their number in the space, each once. Invalid ones are passed to `passed_over`. Throws
/// Error(invalid_argument) for one that has other parameters than the space.
std::vector<Bindings> choose_configs(const space::Space& space, const std::vector<Bindings>& configs,
                                     const std::function<void(const std::string&)>& passed_over);

/// Throws Error(invalid_argument) for a strategy that does not exist, with the names of all strategies. where: start of
/// the message, "TuneSettings::strategy".
void require_strategy(const std::string& where, const std::string& name);

/// Throws Error(invalid_argument) for a number that is not one of DType's.
void require_dtype(DType dtype);

}  // namespace xtune
