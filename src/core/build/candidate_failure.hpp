// The exception of a toolchain, a device or a program if the current configuration fails.
#pragma once

#include <optional>
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

  /// Gives it another message, or log, while it is handled and thrown again.
  void set_message(const std::string& message) { std::runtime_error::operator=(std::runtime_error(message)); }
  void set_log(std::string log) { log_ = std::move(log); }

  /// Of a compile that failed; unset: the compiler does not list them.
  std::optional<FilesRead> files_read;

 private:
  Outcome outcome_;
  std::string log_;
};

}  // namespace xtune::build
