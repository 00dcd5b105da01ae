// Declarations of shared memory, rewritten for the CPU.
#pragma once

#include <cstddef>

#include "backends/host/token_edits.hpp"

namespace xtune::host {

struct SharedPlace {
  bool at_namespace_scope = false;
  bool sanitize = false;  ///< RewriteOptions::sanitize
};

/// Rewrites the declaration around the `__shared__` at token i; returns the last token that it has processed.
std::size_t rewrite_shared(TokenEdits& text, std::size_t i, const SharedPlace& place);

}  // namespace xtune::host
