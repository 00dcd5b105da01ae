// The list of valid configurations that [space] configs names: a CSV file, one configuration per line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/space/space.hpp"

namespace xtune::spec {

/// Returns rows of value indices into parameters, in the file's order. The first line names every parameter once, in
/// any order; fields with commas or quotes are in double quotes (RFC 4180). Throws Error(invalid_spec) that opens with
/// name:line:column for an unknown name or value, a line of another length, a repeated configuration, and an empty
/// list.
std::vector<std::vector<std::uint32_t>> parse_configs(const std::string& text, const std::string& name,
                                                      const std::vector<space::Parameter>& parameters);

/// The text that parse_configs reads: every configuration of the space, in its order.
std::string configs_text(const space::Space& space);

}  // namespace xtune::spec
