// The target of a spec, for a kernel or a program.
#pragma once

#include "core/spec/spec.hpp"
#include "core/target/target.hpp"

namespace xtune::target {

/// For a kernel as choose_target(options). For a program: backend "process" on the devices that [process] device names,
/// with their facts; its toolchain contains the program that its build starts and the variables that compilers read.
/// Throws Error(unavailable) for a device or a program that is missing (need: device or compiler),
/// Error(invalid_argument) for another backend.
Target choose_target(const spec::Spec& spec, const TargetOptions& options);

/// The dependencies of a build besides its command and its sources: "g++ sha256:0123456789abcdef, CPATH=/opt/include".
/// Throws Error(unavailable) at the command's place for a program that is missing.
std::string build_fingerprint(const spec::Spec& spec);

/// Throws Error(unavailable), at its place, for a missing program that [process] exec_prefix, run or check names;
/// programs that depend on the configuration are checked later.
void require_programs(const spec::Spec& spec);

/// A warning for a spec whose build is a build tool (make, ninja, ...) and whose [process] sources is empty: the files
/// that the tool reads are unknown. Empty for others.
std::string warning_of_unknown_sources(const spec::Spec& spec);

}  // namespace xtune::target
