// What a spec is tuned for, be it a kernel or a program.
#pragma once

#include "core/spec/spec.hpp"
#include "core/target/target.hpp"

namespace xtune::target {

/// For a kernel as choose_target(options). For a program: backend "process" on the devices that [process] device names,
/// with the facts of these; its toolchain names what its build starts and the variables that compilers read. Throws
/// Error(unavailable) for a device or a program that is not here (need: device or compiler), Error(invalid_argument)
/// for another backend.
Target choose_target(const spec::Spec& spec, const TargetOptions& options);

/// What a build depends on beside its command and its sources: "g++ sha256:0123456789abcdef, CPATH=/opt/include".
/// Throws Error(unavailable) at the command's place for a program that is not here.
std::string build_fingerprint(const spec::Spec& spec);

/// Throws Error(unavailable), at its place, for a program that [process] exec_prefix, run or check name and that is not
/// here; what depends on the configuration is found out later.
void require_programs(const spec::Spec& spec);

/// A warning for a spec whose build is a build tool (make, ninja, ...) and whose [process] sources is empty: what the
/// tool reads is unknown. Empty for others.
std::string warning_of_unknown_sources(const spec::Spec& spec);

}  // namespace xtune::target
