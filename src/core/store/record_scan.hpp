// Reads of one record's line only what choosing among records needs, without making a tree of it.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/measure/statistics.hpp"
#include "xtune/outcome.hpp"

namespace xtune::store {

/// Views into the line; objects and arrays as their JSON text.
struct ScannedRecord {
  std::string_view problem, config, device;
  std::string_view key, artifact_key, attempt, finals, finals_by;
  std::string_view key_parts, samples_ms, usage;  ///< may be empty
  std::string_view stage, message;                ///< as JSON; may be empty
  Outcome outcome = Outcome::ok;
  bool tainted = false, drift = false, sanitized = false;
  bool has_checksum = false;  ///< and it is right
  measure::Summary time_ms;   ///< without noise; count = 0: there are no times
  double compile_s = 0;
  std::int64_t unix_time_ms = 0;
};

/// False: the line is not of the plain form that RecordWriter gives nearly every record (nothing but ASCII and no
/// escapes in members' names and in what is read, finite numbers, every required member), its checksum or a time is
/// wrong, or it is no record at all; read_record_line tells. Members that are not read are passed over by their
/// brackets and quotes. known_device: the JSON text of the device of the line before, which is nearly always that of
/// this one; may be empty.
bool scan_record(std::string_view line, ScannedRecord& record, std::string_view known_device = {});

/// The number that is all of a text.
bool scan_number(std::string_view text, double& number);
bool scan_number(std::string_view text, std::int64_t& number);

}  // namespace xtune::store
