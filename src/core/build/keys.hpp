// The identity of an artifact: a hash over everything that can change the binary.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/build/artifact.hpp"

namespace xtune::build {

/// One named part of a key, so that `xtune why` can say which part differs: ("options", "[\"-O3\"]").
using KeyParts = std::vector<std::pair<std::string, std::string>>;

/// Hex SHA-256 over the parts' canonical JSON text: an array of [name, value] arrays without spaces. Bytes that are not
/// UTF-8 stay as they are, so different parts never have the same text.
std::string key_of(const KeyParts& parts);

/// ["a","b"]: the canonical JSON text of a list, as key parts hold it.
std::string canonical_list(const std::vector<std::string>& items);

/// Hex SHA-256 over the text of the source and of every file it includes, directly or not, that include_dirs (and each
/// including file's own folder, for quoted includes) resolve. Files found nowhere belong to the toolchain and count by
/// name alone. Conservative: an #include behind a false #if counts too. Where the files lie does not matter, only what
/// they hold and how they are named by those who include them. Read once per run, not per configuration.
std::string source_digest(const CompileRequest& request);

/// backend, arch, toolchain, source digest, entry, options, defines, sanitize; variables where there are any.
KeyParts artifact_key_parts(const CompileRequest& request, const std::string& backend, const std::string& fingerprint,
                            const std::string& source_digest);

/// What differs, a line each: "options: [\"-O2\"] -> [\"-O3\"]", "problem: M=64 -> (none)". Empty: the same.
std::vector<std::string> key_difference(const KeyParts& a, const KeyParts& b);
/// The names in what key_difference returned: "options, problem".
std::string part_names(const std::vector<std::string>& differences);

}  // namespace xtune::build
