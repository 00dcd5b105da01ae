// A line with a checksum is as its writer wrote it. A line without one is from an earlier version or another program.
#include "core/store/record_check.hpp"

#include <fmt/core.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/build/shortage.hpp"
#include "core/resolve/resolve.hpp"
#include "core/store/record.hpp"
#include "system/clock.hpp"
#include "system/subprocess.hpp"

namespace xtune::store {

namespace {

using Json = nlohmann::json;

constexpr std::string_view checksum_opening = ",\"checksum\":\"", checksum_closing = "\"}";
constexpr std::size_t digit_count = 8, checksum_tail = checksum_opening.size() + digit_count + checksum_closing.size();

using Digits = std::array<char, digit_count>;

Digits checksum_digits(std::string_view text) {
  std::uint32_t sum = base::crc32c(text);
  Digits hex{};
  for (std::size_t i = digit_count; i-- > 0; sum >>= 4) hex[i] = "0123456789abcdef"[sum & 15];
  return hex;
}

bool must_have_times(const Record& record) {
  return record.outcome == Outcome::ok || record.outcome == Outcome::pruned;
}

/// How far a summary of samples may differ from that of their stored digits (kept_time_ms): order statistics and means
/// change by no more than the samples do. Earlier versions stored six decimals for short times, too.
double digit_of(std::span<const double> samples_ms, double largest_ms) {
  constexpr double decimal = 6e-7, share = 6e-5;
  const bool by_decimals = std::all_of(samples_ms.begin(), samples_ms.end(),
                                       [](double sample) { return std::round(sample * 1e6) / 1e6 == sample; });
  return (by_decimals ? decimal : std::min(decimal, largest_ms * share)) + largest_ms * 1e-12;
}

// Texts that are not UTF-8, and others in records of earlier versions, are stored in the form of printable(): the
// original text is unknown.
bool is_as_stored(const std::string& text) {
  return text.find("\\x") == std::string::npos && text.find('?') == std::string::npos;
}

const std::string* part_of(const Record& record, std::string_view name) {
  const auto part = std::find_if(record.key_parts.begin(), record.key_parts.end(),
                                 [&](const auto& each) { return each.first == name; });
  return part != record.key_parts.end() && is_as_stored(part->second) ? &part->second : nullptr;
}

bool differs(const Record& record, const char* name, const std::string& own) {
  const std::string* const part = part_of(record, name);
  return part && is_as_stored(own) && *part != own;
}

/// Whether a summary is the result of summarize for the samples, except for the digits that kept_time_ms removes.
bool follows_from(const measure::Summary& summary, std::span<const double> samples_ms) {
  const auto is_sample = [](double sample) { return std::isfinite(sample) && sample >= 0; };  // 0: its digits are lost
  if (samples_ms.size() != summary.count || !std::all_of(samples_ms.begin(), samples_ms.end(), is_sample)) return false;
  const measure::Summary made = measure::summarize(samples_ms);
  const double digit = digit_of(samples_ms, made.max);
  for (const auto member :
       {&measure::Summary::min, &measure::Summary::q1, &measure::Summary::median, &measure::Summary::q3,
        &measure::Summary::mean, &measure::Summary::max, &measure::Summary::low, &measure::Summary::high})
    if (!(std::abs(summary.*member - made.*member) <= digit)) return false;
  return true;
}

/// Whether the text of a key's part "runtime" contains parameters of this configuration with their values.
bool runtime_matches(const std::string& part, const Bindings& config) {
  const Json items = Json::parse(part, nullptr, false);
  if (!items.is_array()) return false;
  Bindings own;
  for (const Json& item : items) {
    if (!item.is_string()) return false;
    const auto& text = item.get_ref<const std::string&>();
    const auto found = config.find(text.substr(0, text.find('=')));
    if (found == config.end()) return false;
    own.insert(*found);
  }
  const std::string expected = resolve::problem_part(own);  // it writes bindings in the form of keys
  return !is_as_stored(expected) || part == expected;
}

}  // namespace

std::string with_checksum(std::string object) {
  object.pop_back();  // the checksum_closing brace
  const Digits sum = checksum_digits(object);
  return object.append(checksum_opening).append(sum.data(), sum.size()).append(checksum_closing);
}

Checksum checksum_of(std::string_view line) {
  if (line.size() <= checksum_tail || !line.ends_with(checksum_closing)) return Checksum::none;
  const std::string_view text = line.substr(0, line.size() - checksum_tail);
  if (line.substr(text.size(), checksum_opening.size()) != checksum_opening) return Checksum::none;
  const Digits sum = checksum_digits(text);
  const std::string_view given = line.substr(text.size() + checksum_opening.size(), digit_count);
  return given == std::string_view(sum.data(), sum.size()) ? Checksum::right : Checksum::wrong;
}

std::string time_damage(const Record& record) {
  const measure::Summary& time = record.time_ms;
  if (!must_have_times(record) || time.count == 0) return {};
  if (!(record.slowness > 0 && std::isfinite(record.slowness))) return "its slowness is not a positive number";
  const std::array times{time.min, time.q1, time.median, time.q3, time.mean, time.max, time.low, time.high};
  return std::all_of(times.begin(), times.end(), measure::is_time)
             ? ""
             : std::string("a time in time_ms is not ") + measure::possible_times;
}

std::string summary_damage(const Record& record) {
  // Without a summary it is never used; recordings that are made by hand have only samples.
  if (!must_have_times(record) || record.time_ms.count == 0) return {};
  if (std::string wrong = time_damage(record); !wrong.empty() || record.samples_ms.empty()) return wrong;
  return follows_from(measure::scaled(record.time_ms, record.slowness), record.samples_ms)
             ? ""
             : "its time_ms does not follow from its samples_ms";
}

std::string key_damage(const Record& record) {
  constexpr std::size_t hash_length = 64;
  if (record.key_parts.empty() || record.key.size() != hash_length) return {};
  const bool as_stored = std::all_of(record.key_parts.begin(), record.key_parts.end(),
                                     [](const auto& part) { return is_as_stored(part.second); });
  if (as_stored && build::key_of(record.key_parts) != record.key) return "its key is not the hash of its key_parts";
  const bool imported = part_of(record, "recorded by");
  if (differs(record, "artifact", record.artifact_key)) return "its artifact_key is not the one in its key_parts";
  if (differs(record, "problem", imported ? to_json(record.problem).dump() : resolve::problem_part(record.problem)))
    return "its problem is not the one in its key_parts";
  if (differs(record, "device", imported ? record.device.name : resolve::device_part(record.device)))
    return "its device is not the one in its key_parts";
  if (differs(record, "driver", record.device.driver)) return "its driver is not the one in its key_parts";
  if (differs(record, "cpu_quota", resolve::cpu_quota_part(record.device)))
    return "its CPU quota is not the one in its key_parts";
  const std::string* const runtime = part_of(record, "runtime");
  if (differs(record, "config", to_json(record.config).dump()) ||
      (runtime && !runtime_matches(*runtime, record.config)))
    return "its configuration is not the one in its key_parts";
  return {};
}

// The texts are those that earlier versions wrote.

namespace {

using re2::RE2;

/// libuv's message, after "the build: cannot start sh: ".
bool tells_a_start_that_failed(const Record& record) {
  static const RE2 expression(
      "(?s)^the (?:build|program|check|validator): cannot start .*: (?:resource temporarily unavailable|"
      "not enough memory|too many open files|file table overflow|text file is busy|no space left on device|"
      "no such file or directory|permission denied|operation not permitted)",
      RE2::Latin1);
  return RE2::PartialMatch(record.message, expression);
}

/// "the program ended with exit code 127: ...", "... killed by signal 15 (terminated)".
bool tells_an_end_by_the_machine(const Record& record) {
  static const RE2 ended("ended with exit code (\\d+)", RE2::Latin1);
  static const RE2 killed("killed by signal (\\d+)", RE2::Latin1);
  int number = 0;
  return (RE2::PartialMatch(record.message, ended, &number) && build::is_exit_of_missing_program(number)) ||
         (RE2::PartialMatch(record.message, killed, &number) && system::comes_from_others(number));
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
  static const RE2 names(
      "CUDA_ERROR_OUT_OF_MEMORY|hipErrorOutOfMemory|cudaErrorMemoryAllocation|CUDA_ERROR_ECC_UNCORRECTABLE|"
      "CUDA_ERROR_NVLINK_UNCORRECTABLE|hipErrorECCNotCorrectable|cudaErrorECCUncorrectable",
      RE2::Latin1);
  return record.stage == "run" && !record.message.starts_with("the program") &&
         RE2::PartialMatch(record.message, names);
}

/// The limit on a kernel's memory was half of the memory that was free at that moment.
bool tells_a_momentary_limit(const Record& record) {
  return record.stage == "run" && record.message.starts_with("the kernel took more than ") &&
         record.message.ends_with(" of memory beside its arguments, half of what was free, and was stopped");
}

bool was_stopped_late(const Record& record) {
  static const RE2 expression("^compiling took longer than ([0-9.]+)", RE2::Latin1);
  constexpr double late_s = 1.5;
  double limit_s = 0;
  return record.stage == "compile" && RE2::PartialMatch(record.message, expression, &limit_s) &&
         record.compile_s > limit_s + late_s;
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
      return tells_a_start_that_failed(record) || has_line_of_lack(message) || tells_a_lack_of_the_device(record) ||
             tells_a_momentary_limit(record) || tells_an_end_by_the_machine(record) ||
             message.starts_with("the build ended well and left an empty file at {out}") ||
             message.find("not by xtune: perhaps the system ran out of memory") != std::string_view::npos;
    case Outcome::wrong_result:
      return (message.starts_with("the check ") || message.starts_with("the validator ")) &&
             tells_an_end_by_the_machine(record);
    case Outcome::ok:
    case Outcome::rejected:
    case Outcome::pruned:
      return false;
  }
  return false;
}

// Compares dates.

constexpr std::int64_t tolerance_ms = 300'000;

void FutureRecords::look_at(const Record& record) {
  if (look_at(record.unix_time_ms, record.device.backend)) newest_of(record.host);
}

bool FutureRecords::look_at(std::int64_t unix_time_ms, std::string_view backend) {
  if (unix_time_ms - now_ms_ <= tolerance_ms || backend == "replay") return false;
  ++count_;
  if (unix_time_ms < newest_ms_) return false;
  newest_ms_ = unix_time_ms;
  return true;
}

std::string FutureRecords::text() const {
  if (count_ == 0) return {};
  return fmt::format("{} {} dated in the future, the newest {}, by host '{}'", count_,
                     count_ == 1 ? "record is" : "records are", system::utc_text(newest_ms_),
                     base::printable(host_, 80));
}

}  // namespace xtune::store
