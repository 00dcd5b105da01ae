// The arguments of a spec against the parameters that its kernels declare.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/build/source_closure.hpp"
#include "core/spec/spec.hpp"

namespace xtune::init {

/// The headers of the user that a source includes, directly or not; nullopt: options of the kernel include more. Throws
/// Error(io) for one that cannot be read.
std::optional<build::ScannedFiles> user_headers(const std::filesystem::path& source, const std::string& text,
                                                const spec::KernelSpec& kernel = {});

/// Their texts, without those that are too large to be read as tokens, such as tables of numbers. Throws Error(io).
std::vector<std::pair<std::filesystem::path, std::string>> header_texts(const build::ScannedFiles& headers);

/// Throws Error(invalid_spec) at its place in the spec for a kernel, or reference kernel, that its source does not
/// have, or that declares another number of arguments, one of another kind or type, or a pointer to const for what the
/// spec says it writes. What a macro, a template or a missing header may change is not judged. Throws Error(io).
void check_signatures(const spec::Spec& spec);

}  // namespace xtune::init
