// The exception of a toolchain, a device or a program if the current configuration fails.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "xtune/outcome.hpp"

namespace xtune::build {

/// The user's files that a compiler read, as it lists them, and paths that it would have read if a file were there.
struct FilesRead {
  std::vector<std::string> files, absent;
};

/// Thrown by toolchains, devices and programs if the current configuration fails; the worker turns it into a record.
class CandidateFailure : public std::runtime_error {
 public:
  /// log: the compiler's or sanitizer's output.
  CandidateFailure(Outcome outcome, const std::string& message, std::string log = {})
      : std::runtime_error(message), outcome_(outcome), log_(std::move(log)) {}
  Outcome outcome() const noexcept { return outcome_; }  ///< how the attempt ended
  /// The compiler's or sanitizer's output, whole; may be empty.
  const std::string& log() const noexcept { return log_; }

  /// Of a compile that failed; null: the compiler does not list them.
  std::shared_ptr<const FilesRead> files_read;

 private:
  Outcome outcome_;
  std::string log_;
};

}  // namespace xtune::build
