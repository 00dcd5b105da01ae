// The configuration of a function of the application, as the words of a program's call or build (tunable_toml.cpp).
#pragma once

#include <string>
#include <vector>

#include "core/space/space.hpp"
#include "xtune/value.hpp"

namespace xtune {

/// words: anything, then NAME=VALUE for each parameter in its order, then anything. Throws Error(invalid_spec) for a
/// word that is not a value of its parameter.
Bindings config_of_words(const std::vector<std::string>& words, const std::vector<space::Parameter>& parameters);

}  // namespace xtune
