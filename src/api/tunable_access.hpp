// Access to a Tunable for other parts of the library: its spec, its space and its attachments.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/spec/spec.hpp"
#include "xtune/tunable.hpp"

namespace xtune {

/// Where a Tunable was read from.
struct SpecFile {
  std::filesystem::path path;  ///< absolute
  Bindings defines;
};
/// None for one that was built in code, or from text.
std::optional<SpecFile> spec_file_of(const Tunable& tunable);

/// The parsed spec, with the overlay of a backend if one is named. It does not contain data and callbacks; sources
/// given as text are in files that exist as long as the Tunable or a copy of it. Throws Error(invalid_spec).
spec::Spec spec_of(const Tunable& tunable, const std::string& backend = {});

/// Restricts the spec to the configurations that the Tunable's predicates allow for this problem on this device:
/// spec.configs then has the rows. Does nothing without predicates. Throws Error(nothing_valid);
/// Error(invalid_argument) for a name that is not a parameter and for a space that is too large to enumerate; and the
/// exceptions of predicates.
void apply_predicates(const Tunable& tunable, spec::Spec& spec, const Bindings& problem, const Bindings& device_facts,
                      const std::function<void()>& poll = {});

}  // namespace xtune
