// The identity of an artifact: a hash over everything that can change the binary.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/build/artifact.hpp"

namespace xtune::build {

/// Before the path of a file of controls for ptxas, in a request's options. Keys have the file's digest in its place.
inline constexpr const char* controls_option = "--ptxas-options=--apply-controls=";

/// One named part of a key, so that `xtune why` can show which part differs: ("options", "[\"-O3\"]").
using KeyParts = std::vector<std::pair<std::string, std::string>>;

/// The version of what keys describe. Records and artifacts of another one never answer.
inline constexpr const char* key_schema = "2";

/// Hex SHA-256 over the parts' canonical JSON text: an array of [name, value] arrays without spaces. Bytes that are not
/// UTF-8 stay as they are, so different parts always have different texts.
std::string key_of(const KeyParts& parts);

/// ["a","b"]: the canonical JSON text of a list, as used in key parts.
std::string canonical_list(const std::vector<std::string>& items);

/// backend, arch, toolchain, source digest (of SourceClosure::canonical_text), entry, options, defines, sanitize,
/// schema; more_entries and variables where there are any.
KeyParts artifact_key_parts(const CompileRequest& request, const std::string& backend, const std::string& fingerprint,
                            const std::string& source_digest);

/// The differences, one line each: "options: [\"-O2\"] -> [\"-O3\"]", "problem: M=64 -> (none)". Empty: no difference.
std::vector<std::string> key_difference(const KeyParts& a, const KeyParts& b);
/// The part names in the result of key_difference: "options, problem".
std::string part_names(const std::vector<std::string>& differences);

}  // namespace xtune::build
