// Checks that a record's line proves about itself: by its checksum, or else by members that follow from each other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/record/record.hpp"

namespace xtune::record {

/// Whether a line ends in a checksum member, and whether the checksum is right.
enum class Checksum { none, right, wrong };

/// Adds to the text of a JSON object, as its last member, the CRC-32C of the text before that member's comma:
/// ,"checksum":"1a2b3c4d"}. The object has at least one member.
std::string with_checksum(std::string object);
/// line without its newline.
Checksum checksum_of(std::string_view line);

/// Whether it is a time in milliseconds since 1970, before the year 10000: later records would always be the newest.
constexpr bool is_date(std::int64_t unix_ms) { return unix_ms >= 0 && unix_ms < 253'402'300'800'000; }

/// What is wrong with the times of an ok or pruned record; empty: nothing. Times must be finite and positive.
std::string time_damage(const Record& record);
/// The same, and whether the summary follows from the samples.
std::string summary_damage(const Record& record);
/// Whether a summary is the result of summarize for the samples, except for the digits that kept_time_ms removes.
bool follows_from(const measure::Summary& summary, std::span<const double> samples_ms);

/// Whether the text of a key's part "runtime" contains parameters of this configuration with their values.
bool runtime_matches(const std::string& part, const Bindings& config);

/// What is wrong with a record's key, as far as the record shows it; empty: nothing. The key must be the hash of
/// key_parts; the parts artifact, runtime, problem, device and driver must match the record's members. A record without
/// key_parts, or whose key does not have the length of a hash, is not checked.
std::string key_damage(const Record& record);

}  // namespace xtune::record
