// A target as text, for a driver on another machine.
#pragma once

#include <string>

#include "core/run/target.hpp"
#include "xtune/remote.hpp"

namespace xtune {

DescribedTarget describe(const run::Target& target);
/// The inverse: one device, and nothing of the files of its compiler. Throws Error(invalid_argument).
run::Target described_target(const std::string& text);

}  // namespace xtune
