// Reads only those parts of a record's line that are needed to choose among records, without a JSON tree.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/measure/statistics.hpp"
#include "xtune/outcome.hpp"

namespace xtune::store {

/// Views into the line; objects and arrays as JSON text.
struct ScannedRecord {
  std::string_view problem, config, device;
  std::string_view key, artifact_key, attempt, finals, finals_by;
  std::string_view key_parts, samples_ms, usage, repeatable;  ///< may be empty
  std::string_view stage, message;                            ///< as JSON; may be empty
  Outcome outcome = Outcome::ok;
  bool tainted = false, drift = false, sanitized = false;
  bool has_checksum = false;  ///< it has one, and it is right
  measure::Summary time_ms;   ///< without noise; count = 0: no times
  double compile_s = 0, slowness = 1;
  std::int64_t unix_time_ms = 0;
};

/// False: the line does not have the plain form of nearly all records of RecordWriter (only ASCII and no escapes in
/// members' names and in the members that are read, finite numbers, every required member), its checksum or a time is
/// wrong, or it is not a record; read_record_line finds out. Other members are skipped by their brackets and quotes.
/// known_device: the JSON text of the device of the previous line, which is nearly always the same; may be empty.
bool scan_record(std::string_view line, ScannedRecord& record, std::string_view known_device = {});

/// Parses a text that must be exactly one number.
bool scan_number(std::string_view text, double& number);
bool scan_number(std::string_view text, std::int64_t& number);

}  // namespace xtune::store
