// The texts are those that earlier versions wrote.
#include "core/record/stored_shortage.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "core/build/shortage.hpp"

namespace xtune::record {
namespace {

/// libuv's message, after "the build: cannot start sh: ".
bool tells_a_start_that_failed(std::string_view message) {
  constexpr std::string_view starts[] = {"the build: cannot start ", "the program: cannot start ",
                                         "the check: cannot start "};
  constexpr std::string_view reasons[] = {": resource temporarily unavailable",
                                          ": not enough memory",
                                          ": too many open files",
                                          ": file table overflow",
                                          ": text file is busy",
                                          ": no space left on device",
                                          ": no such file or directory",
                                          ": permission denied",
                                          ": operation not permitted"};
  return std::any_of(std::begin(starts), std::end(starts),
                     [&](std::string_view start) { return message.starts_with(start); }) &&
         std::any_of(std::begin(reasons), std::end(reasons),
                     [&](std::string_view reason) { return message.find(reason) != std::string_view::npos; });
}

/// "the program ended with exit code 127: ...", "... killed by signal 15 (terminated)".
bool tells_an_end_by_the_machine(std::string_view message) {
  const auto number_after = [&](std::string_view words) {
    const std::size_t at = message.find(words);
    int number = 0;
    if (at != message.npos)
      std::from_chars(message.data() + at + words.size(), message.data() + message.size(), number);
    return number;
  };
  return build::is_exit_of_missing_program(number_after("ended with exit code ")) ||
         base::comes_from_others(number_after("killed by signal "));
}

bool has_line_of_lack(std::string_view text) {
  for (const std::string_view line : base::split_lines(text)) {
    const build::Lack lack = build::lack_in_line(line);
    if (lack == build::Lack::room || lack == build::Lack::processes || lack == build::Lack::killed ||
        lack == build::Lack::unclear)
      return true;
  }
  return false;
}

/// Recognised by the names that CUDA and HIP (on AMD, on NVIDIA) give to errors of the device or its memory. Output of
/// the program itself does not count.
bool tells_a_lack_of_the_device(const Record& record) {
  const std::string_view message = record.message;
  if (record.stage != "run" || message.starts_with("the program")) return false;
  constexpr std::string_view names[] = {"CUDA_ERROR_OUT_OF_MEMORY",        "hipErrorOutOfMemory",
                                        "cudaErrorMemoryAllocation",       "CUDA_ERROR_ECC_UNCORRECTABLE",
                                        "CUDA_ERROR_NVLINK_UNCORRECTABLE", "hipErrorECCNotCorrectable",
                                        "cudaErrorECCUncorrectable"};
  return std::any_of(std::begin(names), std::end(names),
                     [&](std::string_view name) { return message.find(name) != std::string_view::npos; });
}

/// The limit on a kernel's memory was half of the memory that was free at that moment.
bool tells_a_momentary_limit(const Record& record) {
  return record.stage == "run" && record.message.starts_with("the kernel took more than ") &&
         record.message.ends_with(" of memory beside its arguments, half of what was free, and was stopped");
}

bool was_stopped_late(const Record& record) {
  constexpr std::string_view opening = "compiling took longer than ";
  constexpr double late_s = 1.5;
  const std::string_view message = record.message;
  double limit_s = 0;
  if (!message.starts_with(opening) || record.stage != "compile") return false;
  const auto [end, error] = std::from_chars(message.data() + opening.size(), message.data() + message.size(), limit_s);
  return error == std::errc() && record.compile_s > limit_s + late_s;
}

}  // namespace

bool is_stored_shortage(const Record& record) {
  const std::string_view message = record.message;
  switch (record.outcome) {
    case Outcome::timed_out:
      return was_stopped_late(record);
    case Outcome::compile_failed:
    case Outcome::launch_failed:
    case Outcome::crashed:
      return tells_a_start_that_failed(message) || has_line_of_lack(message) || tells_a_lack_of_the_device(record) ||
             tells_a_momentary_limit(record) || tells_an_end_by_the_machine(message) ||
             message.starts_with("the build ended well and left an empty file at {out}") ||
             message.find("not by xtune: perhaps the system ran out of memory") != std::string_view::npos;
    case Outcome::wrong_result:
      return message.starts_with("the check ") && tells_an_end_by_the_machine(message);
    case Outcome::ok:
    case Outcome::rejected:
    case Outcome::pruned:
      return false;
  }
  return false;
}

}  // namespace xtune::record
