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

/// The headers of the user that a source includes, directly or not.
struct UserHeaders {
  build::ScannedFiles files;
  std::vector<build::MissingInclude> missing;
  std::vector<std::string> searched;  ///< directories, in order

  /// Without those that are too large to be read as tokens, such as tables of numbers.
  std::vector<std::pair<std::filesystem::path, std::string>> texts() const;
};

/// nullopt: options of the kernel include more. Throws Error(io) for a header that cannot be read.
std::optional<UserHeaders> user_headers(const spec::SourceText& source, const spec::KernelSpec& kernel);

/// Whether a kernel that declares this type may get these elements, or this number. Bytes, and integers as large as
/// what they stand for, are a usual disguise.
bool fits(DType declared, DType given, bool is_buffer);

/// Throws Error(invalid_spec) at its place in the spec for a kernel, or reference kernel, that its source does not
/// have, or that declares another number of arguments, one of another kind or type, or a pointer to const for what the
/// spec says it writes. What a macro, a template or a missing header may change is not judged. Throws Error(io).
void check_signatures(const spec::Spec& spec);

}  // namespace xtune::init
