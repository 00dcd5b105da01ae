// The exception of a toolchain, a device or a program if the current configuration fails.
#pragma once

#include <stdexcept>
#include <string>

#include "xtune/outcome.hpp"

namespace xtune::build {

/// Thrown by toolchains, devices and programs if the current configuration fails; the worker turns it into a record.
class CandidateFailure : public std::runtime_error {
 public:
  /// log: the compiler's or sanitizer's output.
  CandidateFailure(Outcome outcome, const std::string& message, std::string log = {})
      : std::runtime_error(message), outcome_(outcome), log_(std::move(log)) {}
  Outcome outcome() const noexcept { return outcome_; }  ///< how the attempt ended
  /// The compiler's or sanitizer's output, whole; may be empty.
  const std::string& log() const noexcept { return log_; }

 private:
  Outcome outcome_;
  std::string log_;
};

}  // namespace xtune::build
