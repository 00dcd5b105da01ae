// The numbers that a program reports: found in its output or in a file, and read with their units.
#pragma once

#include <stdexcept>
#include <string>

#include "core/device/program_call.hpp"

namespace xtune::process {

/// Why the number cannot be read: "no line matches the regular expression 'time: (.*)'".
struct NoNumber : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The number that `value` describes in a text. A time is in milliseconds: a unit written after the number is used
/// ("1.2 us"), else value.unit, else ms. The number of another metric may be followed only by value.unit. Throws
/// NoNumber if it is missing, not a number, NaN or infinite, or if a time is not positive.
double read_number(const device::ProgramValue& value, const std::string& text);

}  // namespace xtune::process
