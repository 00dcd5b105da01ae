// How the attempt to compile, run and validate one configuration ended.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace xtune {

/// A failed configuration is data: it is recorded with its outcome and the search goes on.
enum class Outcome {
  ok,              ///< measured and validated
  rejected,        ///< a constraint or resource limit forbids it; the message names which
  compile_failed,  ///< the compiler refused it; the log says why
  launch_failed,   ///< the driver refused to load or launch it
  wrong_result,    ///< it ran, and its outputs differ from the reference
  timed_out,       ///< compiling or running exceeded its time limit
  crashed,         ///< the compiler or the kernel took its worker process down
  pruned,          ///< beaten in the race: its time is a lower bound, not a failure
};

const char* to_string(Outcome outcome) noexcept;
std::optional<Outcome> outcome_from_string(std::string_view name) noexcept;

/// Thrown by toolchains, devices and programs when the configuration at hand fails; the worker turns it into a record.
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

}  // namespace xtune
