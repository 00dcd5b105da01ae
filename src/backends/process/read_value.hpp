// The numbers that a program reports: found in its output or in a file, and read with their units.
#pragma once

#include <stdexcept>
#include <string>

#include "core/device/program_call.hpp"

namespace xtune::process {

/// Why there is no such number: "no line matches the regular expression 'time: (.*)'".
struct NoNumber : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The number that `value` describes in a text. A time is in milliseconds: a unit that is written behind the number
/// counts ("1.2 us"), else value.unit, else ms. Another metric's number may be followed by value.unit alone. Throws
/// NoNumber for what is not there, is no number, is NaN or infinite, or, of a time, is not above zero.
double read_number(const device::ProgramValue& value, const std::string& text);

}  // namespace xtune::process
