// A description of a run without a winner.
#pragma once

#include <string>
#include <vector>

#include "xtune/outcome.hpp"

namespace xtune {

struct Failed {
  Outcome outcome = Outcome::rejected;
  std::string message;
};

/// "2 wrong_result, 1 crashed. The first failure (crashed): ..."
std::string failures_text(const std::vector<Failed>& failures);

}  // namespace xtune
