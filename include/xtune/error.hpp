// The one exception type of xtune, with its closed set of kinds.
#pragma once

#include <stdexcept>
#include <string>

namespace xtune {

/// Why xtune could not do what was asked. A configuration that fails is not an Error: it is a record with an outcome.
enum class ErrorKind {
  invalid_spec,      ///< the spec file is wrong; the message opens with `file:line:column`
  invalid_argument,  ///< a command-line or API argument is wrong
  unavailable,       ///< a device, driver, compiler or backend is missing
  unsupported,       ///< understood, but this build or backend cannot do it
  nothing_valid,     ///< no configuration of the space is valid, or none passed
  io,                ///< a file or pipe could not be read or written
  interrupted,       ///< the user or the scheduler asked to stop
};

/// Snake-case name of a kind, as JSON output prints it ("invalid_spec").
const char* to_string(ErrorKind kind) noexcept;

/// An error whose message explains what is wrong, where, and what to do about it.
class Error : public std::runtime_error {
 public:
  /// message: whole sentences for people.
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const noexcept { return kind_; }  ///< the kind of problem

 private:
  ErrorKind kind_;
};

}  // namespace xtune
